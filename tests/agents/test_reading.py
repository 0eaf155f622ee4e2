"""The conformance corpus: what agents printed on success and on every failure, each with its one right class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper import agents
from sweeper.agents import words
from sweeper.agents.masks import MASKED, hides
from sweeper.ladder.classify import Signs, Traffic, Trouble, before_verify
from sweeper.records import Kind
from sweeper.sandbox.contract import Clock, Facts
from tests.agents.scripts import FAILURES

CORPUS = Path(__file__).parent.parent / "data" / "agents"
CASES = json.loads((CORPUS / "corpus.json").read_text())


TRANSCRIPTS = {path.name for path in CORPUS.iterdir()} - {"corpus.json"}


def read(case: dict[str, Any]) -> agents.Left:
    def bytes_of(name: str) -> bytes:
        file = case.get(name)
        return (CORPUS / str(file)).read_bytes() if file else b""

    return agents.find(str(case["agent"])).read(agents.Printed(bytes_of("stdout"), bytes_of("stderr")))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['agent']}-{case['name']}")
def test_a_transcript_has_its_one_class(case: dict[str, Any]) -> None:
    left = read(case)
    assert (str(left.trouble) if left.trouble else None) == case["trouble"]
    if tokens := case.get("tokens"):
        assert left.usage is not None
        assert [left.usage.input_tokens, left.usage.output_tokens] == tokens
    assert list(left.denied) == case.get("denied", [])
    clock = Clock(case["clock"]) if case.get("clock") else None
    facts = Facts(exit_code=case["exit"], signal=case.get("signal"), clock=clock)
    silent = not case["stdout"] and not case["stderr"]
    found = before_verify(
        facts, changed=case.get("changed", False), signs=Signs(left.trouble, traffic(case), left.denied, silent)
    )
    assert (str(found.kind) if found else None) == case["kind"]
    assert (found.reason if found else None) == case.get("reason", found and found.reason)


def traffic(case: dict[str, Any]) -> Traffic | None:
    """What the gateway saw of a recorded run; samples from elsewhere had none."""
    if "requests" not in case:
        return None
    error, account = (Trouble(case[name]) if case[name] else None for name in ("error", "account"))
    more = [case[name] for name in ("parked", "exhausted", "failing", "declined")]
    return Traffic(case["requests"], error, account, *more)


def test_every_agent_is_recorded_on_every_failure() -> None:
    """`python -m tests.agents.record` adds what is missing."""
    recorded = {(case["agent"], case["name"]) for case in CASES if "requests" in case}
    assert recorded == {(agent, f"run-{failure}") for agent in agents.IMAGED for failure in FAILURES}
    assert {name for case in CASES for name in (case["stdout"], case["stderr"]) if name} == TRANSCRIPTS


@pytest.mark.parametrize("case", [case for case in CASES if "requests" in case], ids=lambda case: case["stdout"])
def test_a_recorded_class_is_the_right_one(case: dict[str, Any]) -> None:
    failure = FAILURES[case["name"].removeprefix("run-")]
    right = (None, None) if failure.verified else failure.ends(case["agent"])
    assert (case["kind"], case["reason"]) == right
    assert case["changed"] == failure.verified
    if case["name"] == "run-loop" and case["agent"] != "aider":  # which has no tools to loop with
        assert case["requests"] > 5  # fewer were a program that did not come to it


@pytest.mark.parametrize("name", sorted(agents.AGENTS))
@pytest.mark.parametrize("junk", [b"", b"\xff\xfe{", b"[" * 100_000, b'{"type":"result","usage":[]}\n', b"null\n1\n"])
def test_no_output_breaks_an_adapter(name: str, junk: bytes) -> None:
    left = agents.find(name).read(agents.Printed(junk, junk))
    assert left.usage is None or left.usage.input_tokens >= 0


# Of what agents print, with whatever in the place of anything.
WORDS = st.sampled_from([
    "type", "result", "error", "message", "usage", "item", "text", "part", "data", "event", "assistant", "role",
    "content", "status", "stats", "tokens", "cost", "cache", "permission_denials", "total_cost_usd", "input_tokens",
    "output_tokens", "num_turns", "is_error", "subtype", "turn.completed", "turn.failed", "item.completed",
    "agent_message", "turn_end", "step_finish", "session.error", "assistant.message", "assistant.usage",
])  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | WORDS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=12,
)
EVENTS = st.lists(st.dictionaries(WORDS, VALUES, max_size=8).map(lambda event: json.dumps(event).encode()), max_size=6)


@pytest.mark.parametrize("name", sorted(agents.IMAGED - {"aider", "mini"}))  # which print no events
@settings(max_examples=25)
@given(EVENTS, st.binary(max_size=20))
def test_no_event_breaks_an_adapter(name: str, events: list[bytes], junk: bytes) -> None:
    """A change must not be lost for what its agent said of it."""
    printed = b"\n".join([*events, junk])
    left = agents.find(name).read(agents.Printed(printed, junk))
    assert len(left.claimed) <= words.CLAIM
    assert left.usage is None or min(left.usage.input_tokens, left.usage.output_tokens, left.usage.micro_usd) >= 0


@pytest.mark.parametrize("name", sorted(agents.AGENTS))
@pytest.mark.parametrize(
    "part", [b"Tokens: 1 sent, ", b"1", b'{"type":"message","role":"assistant","content":"x"}\n', b"\xff"]
)
def test_a_long_output_is_read_in_no_time(name: str, part: bytes) -> None:
    """In more than a time that grows with its square, the coordinator would stand still."""
    long = b"Tokens: 1 sent, " + part * ((1 << 20) // len(part))
    agents.find(name).read(agents.Printed(long, long))


@pytest.mark.parametrize("name", ["claude", "qwen"])
def test_a_byte_that_is_no_text_hides_no_result(name: str) -> None:
    result = b'{"type":"result","subtype":"success","is_error":true,"result":"API Error: 429 \xff","usage":{}}\n'
    assert agents.find(name).read(agents.Printed(result)).trouble is not None


def test_a_question_at_the_end_of_a_long_answer_is_one() -> None:
    said = "There are many ways. " * 200 + "Which one do you want?"
    result = json.dumps({"type": "result", "subtype": "success", "result": said, "num_turns": 1, "usage": {}})
    assert agents.find("claude").read(agents.Printed(result.encode())).trouble is Trouble.QUESTION


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


@pytest.mark.parametrize(
    ("trouble", "found"),
    [
        (Trouble.QUESTION, (Kind.NEEDS_INPUT, "asks a question")),
        (Trouble.TURNS, (Kind.NO_CHANGE, "turn limit")),
        (Trouble.DECLINED, (Kind.DECLINED, "")),
    ],
)
@pytest.mark.parametrize("error", [Trouble.RATE_LIMIT, Trouble.OVERLOADED, Trouble.SERVER, Trouble.CUT])
def test_what_the_model_did_after_an_overcome_error_is_not_its_providers(
    error: Trouble, trouble: Trouble, found: tuple[Kind, str]
) -> None:
    """Else a turn limit after one absorbed 429 would be paid for again and again."""
    assert kind(Signs(trouble, Traffic(5, error)), 1) == found
    assert kind(Signs(trouble, Traffic(5, error, failing=True)), 1) == (Kind.TRANSIENT, str(error))
    assert kind(Signs(None, Traffic(5, error, declined=True)), 1) == (Kind.DECLINED, "")


def test_an_agent_that_has_asked_its_model_could_start() -> None:
    assert kind(Signs(None, Traffic(0)), 127) == (Kind.REFUSED, "agent cannot start")
    assert kind(Signs(None, Traffic(3)), 127) == (Kind.NO_CHANGE, "exit 127")


def test_an_agent_that_asks_in_vain_until_its_clock_is_not_to_blame() -> None:
    facts = Facts(exit_code=None, signal=9, clock=Clock.WALL)
    failing = Traffic(4, Trouble.SERVER, failing=True)
    assert before_verify(facts, changed=False, signs=Signs(None, failing)) == (Kind.TRANSIENT, "server")
    recovered = Traffic(4, Trouble.SERVER)
    assert before_verify(facts, changed=False, signs=Signs(None, recovered)) == (Kind.TIMED_OUT, "wall")


def test_d23_a_refusal_that_an_agent_hides_is_one() -> None:
    assert kind(Signs(None, Traffic(2, declined=True))) == (Kind.DECLINED, "")


def test_a_status_that_looks_like_a_signal_is_an_error() -> None:
    facts = Facts(exit_code=None, signal=16)  # Gemini CLI exits with 400
    bad = Traffic(1, Trouble.BAD_REQUEST, failing=True)
    assert before_verify(facts, changed=False, signs=Signs(Trouble.BAD_REQUEST, bad)) == (
        Kind.UNCLASSIFIED,
        "bad_request",
    )
    assert before_verify(facts, changed=False, signs=Signs(None, bad)) == (Kind.UNCLASSIFIED, "signal 16")


def test_money() -> None:
    assert kind(Signs(Trouble.BAD_REQUEST, Traffic(5, exhausted="limits.usd_per_fire")), 1) == (
        Kind.TRANSIENT,
        "limits.usd_per_fire",
    )
    # what an answer cost that broke off is unknown: that it filled the attempt's budget is not the agent's fault
    broken = Traffic(5, Trouble.OVERLOADED, exhausted="limits.usd_per_attempt", failing=True)
    assert kind(Signs(Trouble.BUDGET, broken), 1) == (Kind.TRANSIENT, "overloaded")
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


@pytest.mark.parametrize(
    ("path", "hidden"),
    [(".github", True), ("a/.GitHub", True), (".vscode", True), ("a/.github/workflows", False), ("x.py", False)],
)
def test_a_link_that_may_lead_to_a_masked_name_is_masked(path: str, hidden: bool) -> None:
    assert hides(path, MASKED, link=True) is hidden
    assert not hides(path, MASKED)
