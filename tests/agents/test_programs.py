"""Real agent programs against the scripted model server, in real sandboxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from sweeper.testing.model_script import Asked, Do, Edit, Read, Reply, Run, Say, do, turns
from tests.agents.conftest import Sweeping
from tests.agents.scripts import (
    ACCOUNT,
    BROKEN,
    FINE,
    OLD,
    ONE,
    OTHER,
    PASSING,
    UNITS,
    answered,
    by_unit,
    garbling,
    looping,
    most_turns,
    obeying,
    unit_of,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LONG = pytest.mark.long  # the whole matrix of agents and failures: minutes of other people's programs starting
FIRST = ["claude", "codex"]
OTHERS = ["pi", "copilot", "gemini", "qwen", "opencode", "aider", "mini"]
MANY = [*FIRST, *(pytest.param(agent, marks=LONG) for agent in OTHERS)]
KINDS = ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)]
RICH = "usd_per_attempt = 100\nusd_per_fire = 900\nusd_per_day = 900\n"


def needs(request: pytest.FixtureRequest, sandbox: str) -> None:
    if sandbox == "docker":
        request.getfixturevalue("docker_engine")


@pytest.mark.parametrize("sandbox", KINDS)
@pytest.mark.parametrize("agent", MANY)
def test_an_agent_mends_a_repository(
    sweeping: Callable[..., Sweeping], agent: str, sandbox: str, request: pytest.FixtureRequest
) -> None:
    needs(request, sandbox)
    sweep = sweeping()
    sweep.configure({"agent": agent})
    ended = sweep.run(agent, sandbox=sandbox)
    assert ended.code == 0, ended.err + ended.out
    assert sweep.project.recount() == 0
    assert ended.kinds(ONE) == ["fixed"]
    counted = sum(tally.input + tally.cached + tally.written for tally in sweep.server.counted.values())
    written = sum(tally.output for tally in sweep.server.counted.values())
    assert (ended.report["usage"]["input_tokens"], ended.report["usage"]["output_tokens"]) == (counted, written)
    assert ended.report["usage"]["micro_usd"] > 0


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("agent", MANY)
def test_d16_d18_d23_every_failure_has_its_one_class(sweeping: Callable[..., Sweeping], agent: str) -> None:
    """Each failure is a unit of one sweep, so that none of them reaches beyond its own."""
    places = {name: f"pkg/m{number}.py" for number, name in enumerate(["whole", *UNITS])}
    sweep = sweeping(by_unit({places[name]: failure.reply for name, failure in UNITS.items()}), files=len(places))
    (sweep.project.folder / OTHER).write_text(FINE)
    sweep.project.commit()
    slots, idle, wall = (4, "15s", "30s") if agent in FIRST else (2, "120s", "330s")  # some take long to start
    # without a pilot: most of these units fail, and none is to wait for the slowest of the first
    rung = {"agent": agent, "clocks": {"idle": idle, "wall": wall}, "max_turns": most_turns(agent), "pilot": 0}
    sweep.configure(rung, top=f"[limits]\nslots = {slots}\n{RICH}", more="max_rounds = 1")
    ended = sweep.run(agent)
    found = {name: list(zip(ended.kinds(place), ended.reasons(place), strict=True)) for name, place in places.items()}
    right = {name: [failure.ends(agent)] for name, failure in UNITS.items()}
    if agent == "gemini":  # it gives a silent model up after a minute, says so and asks again
        right["hang"] = [("timed_out", "wall")]
    assert found == {"whole": [("fixed", "")], **right}


@pytest.mark.parametrize("failure", ACCOUNT)
@pytest.mark.parametrize("agent", MANY)
def test_d01_an_account_that_is_refused_stops_the_run_once(
    sweeping: Callable[..., Sweeping], agent: str, failure: str
) -> None:
    sweep = sweeping(lambda asked: answered(ACCOUNT[failure].reply, asked), files=6)
    sweep.configure({"agent": agent}, {"agent": agent, "prompt": "retry"}, top="[limits]\nslots = 1")
    ended = sweep.run(agent)
    assert ended.code == 3
    # one more may have been on its way while the first was landed
    assert ended.report["outcomes"].keys() == {"refused"}
    assert ended.report["outcomes"]["refused"] <= 2
    assert ACCOUNT[failure].reason in ended.report["ended"]
    assert {unit["state"] for unit in ended.report["units"]} == {"open"}


@pytest.mark.parametrize("agent", MANY)
def test_d02_what_passes_charges_nobody(sweeping: Callable[..., Sweeping], agent: str) -> None:
    places = {name: f"pkg/m{number}.py" for number, name in enumerate(PASSING)}
    script = by_unit({places[name]: failure.reply for name, failure in PASSING.items()}, times=3)
    sweep = sweeping(script, files=len(places))
    sweep.configure({"agent": agent}, top=f"[limits]\nslots = 2\n{RICH}")
    ended = sweep.run(agent)
    assert ended.code == 0, ended.err
    assert sweep.project.recount() == 0
    assert {each["rung"] for unit in ended.report["units"] for each in unit["tries"]} == {0}
    assert ended.report["outcomes"].keys() <= {"fixed", "transient"}
    assert {seen.status for seen in sweep.server.seen} >= {200, 429, 500, 529}


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("agent", [*FIRST, *OTHERS])
def test_an_answer_that_is_none_charges_nobody(sweeping: Callable[..., Sweeping], agent: str) -> None:
    names = [*BROKEN, "garbled", "uncounted"]
    places = {name: f"pkg/m{number}.py" for number, name in enumerate(names)}
    broken = by_unit({places[name]: reply for name, reply in BROKEN.items()}, times=3)
    seen: Counter[str] = Counter()

    def script(asked: Asked) -> Reply:
        unit = unit_of(asked)
        seen[unit] += 1
        if unit == places["garbled"]:
            return garbling(replace(asked, number=seen[unit]))
        reply = broken(asked)
        return replace(reply, usage=False) if unit == places["uncounted"] and isinstance(reply, (Say, Do)) else reply

    sweep = sweeping(script, files=len(places))
    rung = {"agent": agent, "clocks": {"idle": "90s", "wall": "180s"}, "max_turns": most_turns(agent), "pilot": 0}
    sweep.configure(rung, top=f"[limits]\nslots = 2\n{RICH}", more="max_rounds = 1")
    ended = sweep.run(agent)
    found = {name: list(zip(ended.kinds(place), ended.reasons(place), strict=True)) for name, place in places.items()}
    # opencode reads no stream of Anthropic's protocol without a count, and asks until its clock
    blind = {"uncounted": ("timed_out", "idle")} if agent == "opencode" else {}
    assert {name: outcomes[-1] for name, outcomes in found.items()} == dict.fromkeys(names, ("fixed", "")) | blind
    earlier = [kind for outcomes in found.values() for kind, _ in outcomes[:-1]]
    assert set(earlier) <= {"transient"}
    assert ended.unit(places["uncounted"])["tries"][-1]["usage"]["micro_usd"] > 100_000, "never counted too low"
    assert sweep.project.recount() == 2 * len(blind)


# Codex, pi, Copilot and aider can't count their turns: the clock ends them.
COUNTING = ["claude", *(pytest.param(agent, marks=LONG) for agent in ("gemini", "qwen", "opencode", "mini"))]


@pytest.mark.parametrize("agent", COUNTING)
def test_d16_a_turn_limit_is_no_verdict_on_what_was_done(sweeping: Callable[..., Sweeping], agent: str) -> None:
    def script(asked: Asked) -> Reply:
        path = f"/swept/{unit_of(asked)}"
        more = [do(Run(f"echo {number}")) for number in range(50)]
        return turns(do(Read(path)), do(Edit(path, OLD, "")), *more)(asked)

    sweep = sweeping(obeying(script))
    sweep.configure({"agent": agent, "max_turns": 4})
    ended = sweep.run(agent)
    assert ended.code == 0, ended.err
    assert sweep.project.recount() == 0
    assert len(sweep.server.seen) < 20


@pytest.mark.parametrize("agent", COUNTING)
def test_d16_a_turn_limit_without_a_change(sweeping: Callable[..., Sweeping], agent: str) -> None:
    sweep = sweeping(obeying(by_unit({ONE: looping})))
    sweep.configure({"agent": agent, "max_turns": 4}, more="max_rounds = 1")
    ended = sweep.run(agent)
    reason = "no change" if agent == "opencode" else "turn limit"  # it is its model that ends
    assert (ended.kinds(ONE), ended.reasons(ONE)) == (["no_change"], [reason])
