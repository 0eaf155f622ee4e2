"""A whole run as a user starts it: real git, real ruff, real sandboxes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import PROGRAM, Place, environment
from tests.held import Held
from tests.signals import at_once
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.usefixtures("bwrap")

CHECK = ("--", "ruff", "check", ".")


@pytest.fixture
def held(tmp_path: Path) -> Held:
    return Held(tmp_path / "tools")


def fixing(place: Place, held: Held) -> tuple[str, ...]:
    """A sweep whose fixer mends five of six units at once, and the other when it is let go; `run`'s arguments."""
    place.commit({f"m{n}.py": "import os\n" for n in range(6)})
    fixer = held.program("fixer", f'test "$1" != m0.py || {{ {held.waiting}; }}; echo "x = 1" > "$1"')
    return ("run", "--slots", "2", "--fix", f"{fixer} {{files}}", *CHECK)


def wait_for(process: subprocess.Popen[str], said: str) -> list[str]:
    """The lines of stderr up to one that holds `said`."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if said in line:
            return lines
    raise AssertionError(f"{said!r} was never said: {lines}")


def test_a_check_without_any_configuration_is_drained_as_far_as_its_fixers_go(findings: Place) -> None:
    before = findings.git("status", "--porcelain")
    done = findings.run("run", *CHECK)
    assert done.code == 1, done.err
    assert "4 in all" in done.out
    assert "3 fixed" in done.out
    assert "1 held: ladder exhausted" in done.out
    assert "sandboxes: bubblewrap" in done.err
    assert "plain.py" not in done.err.split("round 2")[1]
    assert (
        done.err.count("ruff: rung 2: fixes that their own tool does not call safe, and no tests are configured") == 1
    )
    assert "marked for review (1):\n  unsafe.py\n" in done.out
    assert "review: unsafe_fixer: its tool does not call such fixes safe, and no test ran" in done.out
    assert findings.git("log", "--format=%s", "main..sweeper/ruff").count("\n") == 2
    assert findings.git("diff", "--name-only", "main..sweeper/ruff").split() == ["plain.py", "unsafe.py"]
    assert findings.git("status", "--porcelain") == before
    assert findings.git("branch", "--show-current").strip() == "main"
    story = findings.run("why", "stubborn.py")
    assert story.code == 0
    assert story.out.count("attempt ") == 2
    assert "--unsafe-fixes" in story.out
    status = findings.run("status", "--json").document["sweeps"][0]
    assert status["held"][0]["unit"] == "stubborn.py"
    assert "nothing more to try" in findings.run("status").out
    assert "1 held" in findings.run("report").out
    assert "`stubborn.py`" in findings.run("report", "--markdown").out
    replayed = findings.run("replay")
    assert (replayed.code, "every command is the same" in replayed.out) == (0, True), replayed


def test_where_tests_are_configured_nobody_is_warned_of_unsafe_fixes(findings: Place) -> None:
    planned = findings.run("plan", *CHECK)
    assert 'or --test "COMMAND", has the gate run tests' in planned.err
    assert "does not call safe" not in findings.run("plan", "--test", "true", *CHECK).err
    tested = findings.run("run", "--test", "true", *CHECK)
    assert ("3 fixed" in tested.out, "does not call safe" in tested.err) == (True, False), tested
    assert "unsafe_fixer" not in tested.out


def test_json_is_one_document_and_progress_is_elsewhere(findings: Place) -> None:
    done = findings.run("run", "--json", *CHECK)
    document = done.document
    assert (document["schema_version"], document["exit_code"], done.code) == (1, 1, 1)
    buckets = document["sweeps"][0]["buckets"]
    assert (buckets["total"], buckets["fixed"], buckets["remaining"]) == (4, 3, 1)
    assert "round 1" in done.err
    quiet = findings.run("run", "--quiet", "--fresh", "--json", *CHECK)
    assert (quiet.err, quiet.document["kind"]) == ("", "report")


def test_the_configuration_counts_though_it_is_not_committed(findings: Place) -> None:
    (findings.top / "sweeper.toml").write_text('[sweep.ruff]\ncheck = "ruff check ."\n')
    assert "uncommitted" not in findings.run("plan").err
    (findings.top / "mine.txt").write_text("mine")
    assert "uncommitted edits are not included: mine.txt\n" in findings.run("plan").err


def test_a_plan_changes_nothing(findings: Place) -> None:
    refs = findings.git("for-each-ref")
    done = findings.run("plan", *CHECK)
    assert done.code == 1, done.err
    assert "4 findings in 3 units" in done.out
    assert "rung 2    command: ruff check" in done.out
    assert findings.git("for-each-ref") == refs
    assert not (findings.top / ".git/sweeper/ledger.sqlite3").exists()
    dry = findings.run("run", "--dry-run", "--json", *CHECK)
    assert dry.document["sweeps"][0]["units"][0]["title"] == "plain.py"


def test_findings_from_standard_input_are_the_backlog(findings: Place) -> None:
    """Only what was given is worked on, and only if the check reproduces it."""
    top = str(findings.top)
    given = [
        {
            "filename": f"{top}/{name}",
            "code": "F401",
            "message": f"`{module}` imported but unused",
            "location": {"row": row, "column": 8},
            "end_location": {"row": row, "column": 10},
            "cell": None,
            "fix": None,
            "noqa_row": row,
            "url": "",
        }
        for name, module, row in (("plain.py", "os", 1), ("unsafe.py", "json", 1))
    ]
    done = findings.run("run", "--from", "-", "--check", "ruff check .", "--json", stdin=json.dumps(given))
    assert done.code == 0, done.err
    (sweep,) = done.document["sweeps"]
    assert sweep["buckets"] | {"held": 0, "open": 0, "skipped": 0} == {
        "first": 1,
        "fixed": 1,
        "already_clean": 1,
        "held": 0,
        "open": 0,
        "skipped": 0,
        "appeared": 0,
        "remaining": 0,
        "total": 2,
    }
    assert findings.git("diff", "--name-only", "main..sweeper/ruff-given").split() == ["plain.py"]


def test_given_findings_leave_the_whole_sweep_s_branch_and_held_units_alone(findings: Place) -> None:
    findings.run("run", *CHECK)
    tip, (before,) = findings.git("rev-parse", "sweeper/ruff"), findings.run("status", "--json").document["sweeps"]
    given = findings.run("run", "--from", "-", *CHECK, stdin="plain.py:1:8: F401 `os` imported but unused\n")
    assert given.code == 0, given.err
    assert findings.git("rev-parse", "sweeper/ruff") == tip
    after = {sweep["sweep"]: sweep for sweep in findings.run("status", "--json").document["sweeps"]}
    assert after["ruff"] == before
    assert set(after) == {"ruff", "ruff-given"}


def test_given_findings_of_a_configured_sweep_are_a_sweep_of_their_own(findings: Place) -> None:
    """Each gives a part of the findings: nothing of what is held is lost by that, there or in the whole sweep."""
    (findings.top / "sweeper.toml").write_text(
        '[sweep.ruff]\ncheck = "ruff check ."\n[[sweep.ruff.ladder]]\nrun = "ruff check --fix {files}"\n'
    )
    findings.run("run", "ruff")
    whole, (before,) = findings.git("rev-parse", "sweeper/ruff"), findings.run("status", "--json").document["sweeps"]
    assert [unit["unit"] for unit in before["held"]] == ["stubborn.py", "unsafe.py"]

    long = findings.run("run", "ruff", "--from", "-", stdin="stubborn.py:1:89: E501 Line too long (106 > 88)\n")
    assert (long.code, "ruff-given: nothing more to try" in long.out) == (1, True), long
    unused = findings.run("run", "ruff", "--from", "-", stdin="plain.py:1:8: F401 `os` imported but unused\n")
    assert (unused.code, "ruff-given: drained in 1 round" in unused.out) == (0, True), unused
    assert "stubborn.py" not in unused.out
    assert "stubborn.py" not in findings.run("report", "ruff-given", "--format", "rdjson").out

    after = {sweep["sweep"]: sweep for sweep in findings.run("status", "--json").document["sweeps"]}
    assert (after["ruff"], findings.git("rev-parse", "sweeper/ruff")) == (before, whole)
    assert [unit["unit"] for unit in after["ruff-given"]["held"]] == ["stubborn.py"]
    findings.commit({"stubborn.py": "X = 1\n"})
    findings.run("run", "ruff", "--from", "-", stdin="plain.py:1:8: F401 `os` imported but unused\n")
    after = {sweep["sweep"]: sweep for sweep in findings.run("status", "--json").document["sweeps"]}
    assert after["ruff-given"]["held"] == []


def test_findings_that_are_not_understood_are_no_empty_backlog(findings: Place) -> None:
    done = findings.run("run", "--from", "-", *CHECK, stdin="Traceback (most recent call last):\n  boom\n")
    assert done.code == 3
    assert "--from -" in done.err
    missing = findings.run("run", "--from", "nowhere.json", *CHECK)
    assert missing.code == 2
    assert "nowhere.json" in missing.err


def test_given_findings_that_are_left_out_are_told(findings: Place) -> None:
    given = "/elsewhere/z.py:1:2: F401 x\nplain.py:1:8: F401 `os` imported but unused\nwhat is this\n"
    done = findings.run("plan", "--from", "-", *CHECK, stdin=given)
    assert "--from -: 1 finding left out, outside the repository: /elsewhere/z.py" in done.err
    assert "--from -: 1 line not understood" in done.err


def test_findings_from_a_pipe_of_the_shell(findings: Place) -> None:
    out, into = os.pipe()
    os.write(into, b"plain.py:1:8: F401 `os` imported but unused\n")
    os.close(into)
    done = subprocess.run(
        [*PROGRAM, "plan", "--from", f"/dev/fd/{out}", *CHECK],
        cwd=findings.top, env=environment(), pass_fds=[out], capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    os.close(out)
    assert (done.returncode, "ruff-given: 4 findings in 1 unit" in done.stdout) == (1, True), done


def test_a_released_unit_starts_again(findings: Place) -> None:
    findings.run("run", *CHECK)
    done = findings.run("release", "stubborn.py")
    assert "stubborn.py: released" in done.out
    again = findings.run("release", "stubborn.py")
    assert again.code == 2
    assert "not held" in again.err
    assert findings.run("status", "--json").document["sweeps"][0]["units"] == {"open": 1, "settled": 2}


def test_a_broken_check_is_no_success(findings: Place) -> None:
    done = findings.run("run", "--", "ruff", "check", "--config", "nowhere.toml", ".")
    assert done.code == 3
    assert "broken" in done.err
    planned = findings.run("plan", "--", "ruff", "check", "--config", "nowhere.toml", ".")
    assert planned.code == 3
    (printed,) = (line for line in planned.err.splitlines() if line.startswith("what it printed: "))
    logs = Path(printed.partition(": ")[2])
    assert (logs / "stderr").exists()
    shutil.rmtree(logs.parents[2])
    missing = findings.run("run", "--fix", "true", "--", "no-such-linter", ".")
    assert missing.code == 3
    assert "no-such-linter" in missing.err


def test_a_limit_ends_a_run_that_can_go_on(findings: Place) -> None:
    done = findings.run("run", "--units-per-fire", "1", *CHECK)
    assert done.code == 5, done.err
    resumed = findings.run("resume")
    assert resumed.code == 1, resumed.err
    assert "3 fixed" in resumed.out
    assert "nothing to resume" in findings.run("resume").err


# The wall limit passes while the first unit is landed, by the clock that the engine goes by.
LATE = """
import sys, time
from functools import partial
from sweeper import fire
from sweeper.cli import main
from sweeper.sweep.sweep import Sweep

land, passed = Sweep.land, 0

async def landing(*args):
    global passed
    passed = 7200
    return await land(*args)

Sweep.land = landing
fire.drain = partial(fire.drain, clock=lambda: time.time() + passed)
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("files", "code", "ended"),
    [("plain.py", 0, "drained"), ("stubborn.py", 1, "nothing more to try"), ("unsafe.py", 5, "wall"), (".", 5, "wall")],
)
def test_a_limit_that_passes_during_the_last_landing_has_ended_nothing(
    findings: Place, files: str, code: int, ended: str
) -> None:
    """What is left decides: nothing, what a person does, or what the next rung or unit would be tried for."""
    ladder = () if files == "unsafe.py" else ("--fix", "ruff check --fix {files}")
    done = subprocess.run(
        [sys.executable, "-c", LATE, "run", "--json", "--slots", "1", "--wall", "1h", *ladder, *CHECK[:-1], files],
        cwd=findings.top,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == code, done
    document = json.loads(done.stdout)
    assert (document["ended"], document["exit_code"]) == (ended, code)
    assert ("nothing to resume" in findings.run("resume").err) == (ended != "wall")


def test_a_plan_without_a_rung_shows_the_backlog_and_the_way_out(findings: Place) -> None:
    check = ("--", "grep", "-rn", "--include=*.py", "import", ".")
    done = findings.run("plan", *check, OPENAI_API_KEY="", ANTHROPIC_API_KEY="")
    assert (done.code, "grep: 2 findings in 1 unit" in done.out) == (1, True), done
    assert "no rung   no ladder is configured and 'grep' has no fixer of its own" in done.out
    assert "2  plain.py  no rung" in done.out
    ran = findings.run("run", *check, OPENAI_API_KEY="", ANTHROPIC_API_KEY="")
    assert (ran.code, ran.out) == (2, "")
    for said in (done.err, ran.err):
        assert (
            '--fix "fixer {files}" gives a rung, and so does run = "fixer {files}" below [[sweep.grep.ladder]]' in said
        )
        assert "an agent is a rung too: " in said
    assert not (findings.top / ".git/sweeper/ledger.sqlite3").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_a_signal_stops_dispatch_and_says_how_to_go_on(place: Place, held: Held, number: int, code: int) -> None:
    argv = fixing(place, held)
    process = place.start(*argv)
    lines = wait_for(process, "landed")
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, (out, err, lines)
    assert "sweeper resume" in err
    assert "not finished" in out
    status = place.run("status", "--json").document["sweeps"][0]
    assert "claimed" not in status["units"]
    assert 1 <= status["outcomes"]["fixed"] < 6
    held.let_go()
    resumed = place.run("resume", "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.document["sweeps"][0]["buckets"]["fixed"] == 6


def test_a_signal_before_the_first_dispatch(place: Place) -> None:
    place.commit({"a.py": "import os\n", "check": "import time; time.sleep(600)\n"})
    process = place.start("run", "--fix", "true", "--", "python", "check", str(place.top))
    until(lambda: running(f"check\0{place.top}\0"), "the check")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, ""), err


def test_a_second_signal_ends_at_once_and_leaks_nothing(place: Place, held: Held) -> None:
    process = place.start(*fixing(place, held))
    fixer = f"{held.folder}/bin/fixer\0m0.py\0"
    until(lambda: running(fixer), "an agent")
    at_once(process.pid, signal.SIGINT, signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, ""), err
    until(lambda: not running(fixer), "the agent's end")


def running(words: str) -> bool:
    """Whether a command runs that ends with these words, each with its NUL, and is not sweeper's own."""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        if line.endswith(words) and "\0run\0" not in line:
            return True
    return False


@pytest.mark.slow
def test_a_second_coordinator_is_told_who_works(place: Place, held: Held) -> None:
    argv = fixing(place, held)
    process = place.start(*argv)
    wait_for(process, "round 1")
    second = place.run(*argv)
    assert second.code == 7
    assert str(process.pid) in second.err
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)


def test_a_plan_is_what_a_run_would_do_after_an_earlier_one(findings: Place) -> None:
    """What was fixed on a branch that nobody merged is there again on the next base, from the first rung on."""
    findings.run("run", *CHECK)
    findings.commit({"more.txt": "x\n"})
    planned = findings.run("plan", "--json", *CHECK)
    (sweep,) = planned.document["sweeps"]
    assert {unit["rung"] for unit in sweep["units"] if not unit["hold"]} == {0}, planned.out
    assert planned.code == 1


def test_a_plan_of_what_is_only_held_has_nothing_to_do(findings: Place) -> None:
    (findings.top / "sweeper.toml").write_text('[sweep.ruff]\ncheck = "ruff check ."\nladder = []\n')
    planned = findings.run("plan", "--json")
    assert planned.code == 0, planned.err
    (sweep,) = planned.document["sweeps"]
    assert all(unit["hold"] for unit in sweep["units"])
