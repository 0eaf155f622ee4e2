"""A great many units through the Action's own step: one pull request and one summary, each within its limit."""

from __future__ import annotations

import time
from pathlib import Path

import anyio
import pytest

from sweeper.cli import sweeps
from sweeper.cli.console import Console
from sweeper.cli.options import Wanted
from sweeper.forge import body as bodies
from sweeper.ledger.contract import Queued, Run
from sweeper.records import Evidence, Finding, Kind, Outcome, Unit, UnitState
from sweeper.runner import summary
from tests.action.step import Steps
from tests.forge.conftest import Cloned
from tests.forge.made import CLEAN, DIRTY, Made, machine
from tests.forge.server import Forge

MARKED = 40  # units that a person should look at
FOLDER = 50  # files in one
NAME = "é" * 60  # more bytes than characters
SETTINGS = """
[sweep.s]
check = "ruff check --select F401 --output-format json ."
[[sweep.s.ladder]]
run = "ruff check --fix {files}"
"""

pytestmark = pytest.mark.slow


def unit_of(number: int) -> Unit:
    path = f"pkg/d{number // FOLDER}/{NAME}{number}.py"
    finding = Finding(path, 1, 8, "F401", "`os` imported but unused")
    return Unit(f"{number:032x}", "s", path, (path,), (finding,))


def line_of_commits(made: Made, base: str, units: list[Unit]) -> list[str]:
    """One commit a unit, as a barrier writes them; without git's own start for each."""
    stream = []
    for number, unit in enumerate(units):
        trailers = f"Sweeper-Unit: {unit.key}\nSweeper-Attempt: 1\nSweeper-Rung: 1\n"
        message = f"s: fix unit {number}\n\n1 finding before, 0 after.\n\n{trailers}".encode()
        parent = base if number == 0 else f":{number}"
        head = f"commit refs/sweeper/made\nmark :{number + 1}\ncommitter s <s@localhost> {1000 + number} +0000\n"
        stream.append(f"{head}data {len(message)}\n".encode() + message)
        stream.append(f"from {parent}\nM 100644 inline {unit.paths[0]}\ndata {len(CLEAN)}\n".encode() + CLEAN + b"\n")
    marks = made.project.top.parent / "marks"
    made.project.git("fast-import", "--quiet", f"--export-marks={marks}", stdin=b"".join(stream))
    found = dict(row.split(" ") for row in marks.read_text().splitlines())
    return [found[f":{number + 1}"] for number in range(len(units))]


async def fixed_in_one_round(made: Made, units: list[Unit], settled: sweeps.Settled) -> None:
    """The run as its barrier has left it: everything merged, nothing published."""
    base = await made.repo.resolve("HEAD")
    run = Run("20260101000000abcdef", "s", base, settled.digest("s"), tip=base, created=time.time())
    ledger = made.ledger
    await ledger.create_run(run, {"config": settled.sweeps["s"].model_dump(mode="json"), "check": ["ruff"]})
    await ledger.note(run.id, "first", {unit.paths[0]: {"F401": 1} for unit in units})
    await ledger.open_round(run.id, 1, [Queued(unit, 1) for unit in units], (), fresh=True)
    commits = line_of_commits(made, base, units)
    room = anyio.CapacityLimiter(200)

    async def land(number: int, unit: Unit) -> None:
        async with room:
            claim = await ledger.claim(unit.key, run.id)
            assert claim is not None
            row = await ledger.start(claim, 0, 1)
            evidence = Evidence(("ruff", "check", unit.paths[0]), 0, "", (), 1, 0)
            reviews = (f"code_removed: {unit.title}: a part is gone",) if number < MARKED else ()
            outcome = Outcome(unit.key, row.number, 0, Kind.FIXED, base, commits[number], evidence, reviews=reviews)
            await ledger.land(claim, outcome, UnitState.VERIFIED, 1)

    async with anyio.create_task_group() as group:
        for number, unit in enumerate(units):
            group.start_soon(land, number, unit)
    merged = {unit.key: commit for unit, commit in zip(units, commits, strict=True)}
    await ledger.close_round(run.id, 1, commits[-1], merged, [])


@pytest.mark.parametrize("number", [600, pytest.param(3000, marks=pytest.mark.long)])
def test_e06_so_many_units_are_one_pull_request_and_one_summary_within_their_limits(
    tmp_path: Path, forge: Forge, bwrap: Path, number: int
) -> None:
    units = [unit_of(each) for each in range(number)]
    project = Cloned.__new__(Cloned)  # its folder is made by `machine`
    project.folder, project.forge = tmp_path / "project", forge
    steps = Steps(tmp_path / "steps", project)

    async def main() -> None:
        async with machine(project.folder, forge, {unit.paths[0]: DIRTY for unit in units}) as made:
            steps.settle(SETTINGS)
            settled = sweeps.settle(Wanted(yes=True), project.folder, Console(steps.environment()))
            await fixed_in_one_round(made, units, settled)

    anyio.run(main)
    already = tmp_path / "summary"
    already.write_text("é" * (summary.LIMIT // 2 - 10_000) + "\n")
    there = already.stat().st_size
    done = steps.run(GITHUB_STEP_SUMMARY=str(already))
    assert done.code == 0, done.log
    assert "goes on with run" in done.log, "not the run that was made"
    assert (done.outputs["fixed-count"], done.outputs["pull-request-operation"]) == (str(number), "created")
    assert done.outputs["pull-request-head-sha"] == forge.hub.tip("sweeper/s")
    assert forge.hub.git("rev-list", "--count", "main..sweeper/s") == str(number)

    body = project.pull.body
    assert 15_000 < len(body) < len(body.encode()) <= bodies.LIMIT
    assert f"**{number:,} findings fixed** in {number:,} units" in body
    assert body.count("**review**") == MARKED
    assert f"- `pkg/d1`: {FOLDER} units; `F401` {FOLDER} → 0" in body

    whole = already.read_bytes()
    assert there + 2_000 < len(whole) <= summary.LIMIT
    added = whole[there:].decode()
    assert "Pull request #1 created" in added
    assert f"- and {number - MARKED - 10:,} more" in added
    assert summary.CUT not in added
    assert len(done.commands) == 10, "annotations of one kind"
