"""Real agent programs against the scripted model server, in real sandboxes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sweeper.testing.model_script import Asked, Edit, Fail, Hang, Read, Reply, Run, Say, Script, do, looping, turns
from tests.agents.conftest import OLD, Sweeping, fixing_units, unit_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ONE = "pkg/m0.py"
BOTH = pytest.mark.parametrize("agent", ["claude", "codex"])
LONG = pytest.mark.long  # the whole matrix of agents and failures: minutes of other people's programs starting
OTHERS = ["pi", "copilot", "gemini", "qwen", "opencode", "aider", "mini"]
MANY = ["claude", "codex", *(pytest.param(agent, marks=LONG) for agent in OTHERS)]
EARLY = ("question", "edit-of-another-file")  # of the failures, those that are seen in every run
SHORT = {"first_output": "20s", "idle": "8s", "wall": "40s"}


@pytest.mark.parametrize("agent", MANY)
def test_an_agent_mends_a_repository(sweeping: Callable[..., Sweeping], agent: str) -> None:
    sweep = sweeping()
    sweep.configure({"agent": agent})
    ended = sweep.run(agent)
    assert ended.code == 0, ended.err + ended.out
    assert sweep.project.recount() == 0
    assert ended.kinds(ONE) == ["fixed"]
    counted = sum(tally.input + tally.cached + tally.written for tally in sweep.server.counted.values())
    written = sum(tally.output for tally in sweep.server.counted.values())
    assert (ended.report["usage"]["input_tokens"], ended.report["usage"]["output_tokens"]) == (counted, written)
    assert ended.report["usage"]["micro_usd"] > 0


def one(reply: Reply | Script) -> Script:
    """pkg/m0.py gets this, every other unit is mended."""

    def script(asked: Asked) -> Reply:
        if unit_of(asked) != ONE:
            return fixing_units(asked)
        return reply(asked) if callable(reply) else reply

    return script


PROMPT_TOO_LONG = "prompt is too long: 250000 tokens > 200000 maximum"
FAILURES: dict[str, tuple[Reply | Script, str, str]] = {
    "400": (Fail(400, "invalid_request_error", "messages: at least one is required"), "unclassified", "bad_request"),
    "overflow": (Fail(400, "invalid_request_error", PROMPT_TOO_LONG), "context_overflow", ""),
    "refusal": (Say("I can't help with that request.", stop="refusal"), "declined", ""),
    "prose": (Say("I'm sorry, but I can't help with this request."), "declined", ""),
    "question": (Say("Which of the two imports do you want me to remove?"), "needs_input", "asks a question"),
    "no-tool-call": (Say("There is nothing to fix here."), "no_change", "no change"),
    "edit-of-another-file": (
        turns(do(Run("echo 'X = 1' >> /swept/pkg/m1.py")), Say("Fixed.")), "rejected", "scope",
    ),
    "new-file": (turns(do(Run("echo hi > /swept/notes.txt")), Say("Fixed.")), "rejected", "scope"),
    "suppression": (
        turns(do(Run("sed -i 's/$/  # noqa/' /swept/pkg/m0.py")), Say("Fixed.")), "rejected", "suppression",
    ),
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("failure", [pytest.param(f, marks=() if f in EARLY else LONG) for f in FAILURES])
def test_a_failure_has_its_one_class(sweeping: Callable[..., Sweeping], agent: str, failure: str) -> None:
    reply, kind, reason = FAILURES[failure]
    if (agent, failure) == ("codex", "refusal"):
        kind, reason = "no_change", "no change"  # it ends well and says nothing of it
    sweep = sweeping(one(reply))
    sweep.configure({"agent": agent, "clocks": SHORT})
    ended = sweep.run(agent)
    assert (ended.kinds(ONE), ended.reasons(ONE)) == ([kind], [reason]), ended.unit(ONE)
    assert ended.kinds("pkg/m1.py") == ["fixed"]


@BOTH
@pytest.mark.parametrize(
    ("fail", "reason"),
    [
        (Fail(401, "authentication_error", "invalid x-api-key"), "auth"),
        (Fail(403, "permission_error", "your organization is disabled"), "auth"),
        (Fail(429, "insufficient_quota", "You exceeded your current quota, please check your plan"), "quota"),
        (Fail(400, "invalid_request_error", "Your credit balance is too low to access the API"), "quota"),
        (Fail(404, "not_found_error", "model: no-such-model"), "unknown_model"),
    ],
    ids=lambda value: f"{value.status}-{value.kind}" if isinstance(value, Fail) else str(value),
)
def test_d01_an_account_that_is_refused_stops_the_run_once(
    sweeping: Callable[..., Sweeping], agent: str, fail: Fail, reason: str
) -> None:
    sweep = sweeping(lambda asked: fail, files=6)
    sweep.configure({"agent": agent}, {"agent": agent, "prompt": "retry"}, top="[limits]\nslots = 1")
    ended = sweep.run(agent)
    assert ended.code == 3
    # one more may have been on its way while the first was landed
    assert ended.report["outcomes"].keys() == {"refused"}
    assert ended.report["outcomes"]["refused"] <= 2
    assert reason in ended.report["ended"]
    assert {unit["state"] for unit in ended.report["units"]} == {"open"}


@BOTH
@pytest.mark.parametrize(
    ("reply", "clock"),
    [(Hang(), "idle"), (Say("I will now think about it", ending="stall"), "idle"), (looping, "wall")],
    ids=["hang", "stall", "loop"],
)
def test_d16_our_clocks_end_it(
    sweeping: Callable[..., Sweeping], agent: str, reply: Reply | Script, clock: str
) -> None:
    sweep = sweeping(one(reply))
    clocks = {"idle": "6s", "wall": "25s"} if clock == "idle" else {"wall": "8s"}
    rich = "[limits]\nusd_per_attempt = 100\nusd_per_fire = 500\nusd_per_day = 500"
    sweep.configure({"agent": agent, "clocks": clocks, "max_turns": 500}, top=rich)
    ended = sweep.run(agent)
    assert (ended.kinds(ONE), ended.reasons(ONE)) == (["timed_out"], [clock])
    assert ended.kinds("pkg/m1.py") == ["fixed"]


def test_d16_a_turn_limit_is_no_verdict_on_what_was_done(sweeping: Callable[..., Sweeping]) -> None:
    def script(asked: Asked) -> Reply:
        path = f"/swept/{unit_of(asked)}"
        return turns(do(Read(path)), do(Edit(path, OLD, "")), *[do(Run("true"))] * 50)(asked)

    sweep = sweeping(script)
    sweep.configure({"agent": "claude", "max_turns": 4, "prompt": "standard"})
    ended = sweep.run("claude")
    assert ended.code == 0, ended.err
    assert sweep.project.recount() == 0


def test_d16_a_turn_limit_without_a_change(sweeping: Callable[..., Sweeping]) -> None:
    sweep = sweeping(one(looping))
    sweep.configure({"agent": "claude", "max_turns": 4})
    ended = sweep.run("claude")
    assert (ended.kinds(ONE), ended.reasons(ONE)) == (["no_change"], ["turn limit"])


@LONG
@BOTH
@pytest.mark.parametrize("status", [500, 529])
def test_an_overload_charges_nobody(sweeping: Callable[..., Sweeping], agent: str, status: int) -> None:
    failing = 6

    def script(asked: Asked) -> Reply:
        return Fail(status, "overloaded_error") if asked.number <= failing else fixing_units(asked)

    sweep = sweeping(script)
    sweep.configure({"agent": agent}, top="[limits]\nslots = 1")
    ended = sweep.run(agent)
    assert ended.code == 0, ended.err
    assert sweep.project.recount() == 0
    assert set(ended.kinds(ONE)) <= {"fixed", "transient"}


@LONG
@BOTH
def test_a_cut_stream_charges_nobody(sweeping: Callable[..., Sweeping], agent: str) -> None:
    def script(asked: Asked) -> Reply:
        return Say("this stream is about to be cut", ending="cut") if asked.number <= 4 else fixing_units(asked)

    sweep = sweeping(script)
    sweep.configure({"agent": agent}, top="[limits]\nslots = 1")
    ended = sweep.run(agent)
    assert ended.code == 0, ended.err
    assert set(ended.kinds(ONE)) <= {"fixed", "transient"}
