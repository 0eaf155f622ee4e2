"""The conformance corpus: what agents printed on success and on every failure, each with its one right class."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeper import agents
from sweeper.agents import words
from sweeper.agents.masks import MASKED, hides
from sweeper.classify import Signs, Traffic, Trouble, before_verify
from sweeper.records import Kind
from sweeper.sandbox.contract import Facts

CORPUS = Path(__file__).parent.parent / "data" / "agents"
CASES = json.loads((CORPUS / "corpus.json").read_text())


def read(case: dict[str, object]) -> agents.Left:
    def bytes_of(name: str) -> bytes:
        file = case.get(name)
        return (CORPUS / str(file)).read_bytes() if file else b""

    return agents.find(str(case["agent"])).read(agents.Printed(bytes_of("stdout"), bytes_of("stderr")))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['agent']}-{case['name']}")
def test_a_transcript_has_its_one_class(case: dict[str, object]) -> None:
    left = read(case)
    assert (str(left.trouble) if left.trouble else None) == case["trouble"]
    if tokens := case.get("tokens"):
        assert left.usage is not None
        assert [left.usage.input_tokens, left.usage.output_tokens] == tokens
    assert list(left.denied) == case.get("denied", [])
    facts = Facts(exit_code=int(str(case["exit"])))
    found = before_verify(facts, changed=False, signs=Signs(left.trouble, None, left.denied))
    assert found is not None
    assert str(found.kind) == case["kind"]


@pytest.mark.parametrize("name", sorted(agents.AGENTS))
@pytest.mark.parametrize("junk", [b"", b"\xff\xfe{", b"[" * 100_000, b'{"type":"result","usage":[]}\n', b"null\n1\n"])
def test_no_output_breaks_an_adapter(name: str, junk: bytes) -> None:
    left = agents.find(name).read(agents.Printed(junk, junk))
    assert left.usage is None or left.usage.input_tokens >= 0


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ("You've hit your limit · resets 1pm", Trouble.RATE_LIMIT),
        ("API Error: Rate limit reached", Trouble.RATE_LIMIT),
        ("Please run /login", Trouble.AUTH),
        ("insufficient_quota: 429 You exceeded your current quota", Trouble.QUOTA),
        ("prompt is too long: 250000 tokens > 200000 maximum", Trouble.CONTEXT_OVERFLOW),
        ("All fine.", None),
    ],
)
def test_d01_words_of_errors(said: str, trouble: Trouble | None) -> None:
    assert words.error(said) is trouble


@pytest.mark.parametrize(
    ("claimed", "trouble"),
    [
        ("I can't help with that.", Trouble.DECLINED),
        ("I'm sorry, but I cannot assist with this request.", Trouble.DECLINED),
        ("Do you trust the files in this folder? [y/N]", Trouble.QUESTION),
        ("Both are unused. Should I remove them", Trouble.QUESTION),
        ("Fixed. The imports can't be used any more.", None),
    ],
)
def test_d04_d23_words_of_prose(claimed: str, trouble: Trouble | None) -> None:
    assert words.prose(claimed) is trouble


def kind(signs: Signs, exit_code: int = 0, *, changed: bool = False, oom: bool = False) -> tuple[Kind, str] | None:
    found = before_verify(Facts(exit_code=exit_code, oom=oom), changed=changed, signs=signs)
    return tuple(found) if found else None  # type: ignore[return-value]


def test_d01_an_agent_is_not_believed_about_the_account() -> None:
    quiet = Traffic(requests=3)
    assert kind(Signs(Trouble.AUTH, quiet)) == (Kind.UNCLASSIFIED, "auth")
    refused = Traffic(requests=3, error=Trouble.AUTH, account=Trouble.AUTH)
    assert kind(Signs(None, refused)) == (Kind.REFUSED, "auth")
    assert kind(Signs(Trouble.AUTH, None)) == (Kind.REFUSED, "auth")  # no gateway: nobody else knows


def test_d05_root_is_refused() -> None:
    assert kind(Signs(Trouble.ROOT, Traffic()), 1) == (Kind.REFUSED, "agent cannot start")


def test_d18_a_context_overflow_climbs() -> None:
    assert kind(Signs(Trouble.CONTEXT_OVERFLOW, Traffic(2)), 1) == (Kind.CONTEXT_OVERFLOW, "")
    assert kind(Signs(Trouble.BAD_REQUEST, Traffic(2, Trouble.CONTEXT_OVERFLOW)), 1) == (Kind.CONTEXT_OVERFLOW, "")


def test_a_recovered_error_is_none() -> None:
    assert kind(Signs(None, Traffic(5, Trouble.OVERLOADED))) == (Kind.NO_CHANGE, "no change")
    assert kind(Signs(Trouble.OVERLOADED, Traffic(5, Trouble.OVERLOADED)), 1) == (Kind.TRANSIENT, "overloaded")


def test_money() -> None:
    assert kind(Signs(Trouble.BAD_REQUEST, Traffic(5, exhausted="limits.usd_per_fire")), 1) == (
        Kind.TRANSIENT,
        "limits.usd_per_fire",
    )
    assert kind(Signs(None, Traffic(5, exhausted="limits.usd_per_attempt"))) == (Kind.NO_CHANGE, "budget spent")


def test_nothing_at_all_is_unknown() -> None:
    assert kind(Signs(None, Traffic(0), silent=True)) == (Kind.UNCLASSIFIED, "ended before it called its model")
    assert kind(Signs(None, Traffic(2), silent=True)) == (Kind.UNCLASSIFIED, "said nothing")


def test_a_change_is_always_judged() -> None:
    for trouble in Trouble:
        assert kind(Signs(trouble, Traffic(1, account=Trouble.AUTH)), 1, changed=True) is None


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        (".claude/settings.json", True),
        ("a/b/.Claude/x", True),
        (".mcp.json", True),
        ("deep/.env", True),
        (".github/hooks/x.json", True),
        (".github/workflows/ci.yml", False),
        ("CLAUDE.md", False),
        ("src/env.py", False),
        ("hooks/x.json", False),
    ],
)
def test_masks(path: str, hidden: bool) -> None:
    assert hides(path, MASKED) is hidden
