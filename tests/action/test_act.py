"""The Action as a runner starts it, by `act`: the shipped workflows, real sandboxes, real pushes, the fake forge."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.action.conftest import commit_settings
from tests.action.runner import Runner
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow


@pytest.mark.timeout(300)
def test_the_quickstart_is_one_pull_request_that_is_found_again_and_a_persons_commit_stays(quickstart: Runner) -> None:
    project, hub = quickstart.project, quickstart.project.forge.hub
    workflow = quickstart.example("scheduled.yml")
    first = quickstart.run(workflow, "schedule")
    assert first.code == 0, first.log
    fixed = first.report["sweeps"][0]["buckets"]["first"]
    assert first.outputs | {"report-path": ""} == {
        "status": "drained", "exit-code": "0", "fixed-count": str(fixed), "remaining-count": "0", "held-count": "0",
        "cost-usd": "0.0000", "report-path": "", "pull-request-number": "1", "pull-request-numbers": "1",
        "pull-request-url": f"{project.forge.url}/acme/widgets/pull/1", "pull-request-operation": "created",
        "pull-request-head-sha": hub.tip("sweeper/ruff"), "pull-request-branch": "sweeper/ruff",
    }  # fmt: skip
    written = max(at for at, request in enumerate(hub.requests) if not request.startswith("GET "))
    assert "GET /api/v3/repos/acme/widgets/pulls/1" in hub.requests[written:], "the head was not read back"
    assert green(quickstart, "sweeper/ruff")
    assert "Pull request #1 created" in first.summary
    assert f"**{fixed}** fixed" in first.summary
    assert f"**{fixed} findings fixed**" in project.pull.body

    before = hub.state()
    second = quickstart.run(workflow, "schedule")
    assert second.code == 0, second.log
    assert second.outputs["pull-request-operation"] == "none"
    assert second.outputs["pull-request-head-sha"] == first.outputs["pull-request-head-sha"]
    after = hub.state()
    assert json.dumps([after["branches"], after["pulls"]]) == json.dumps([before["branches"], before["pulls"]])
    asked = after["requests"][len(before["requests"]) :]
    assert {request.split()[0] for request in asked} == {"GET"}, "something was written"
    assert "landed" not in second.log, "a unit was attempted again"

    # Somebody takes what there is by hand and goes on with the branch; then there are new findings.
    who = ("-c", "user.name=Human", "-c", "user.email=human@example.invalid")
    taken = hub.git(*who, "commit-tree", "sweeper/ruff^{tree}", "-p", "main", "-m", "Taken by hand")
    hub.git("update-ref", "refs/heads/main", taken)
    hub.commit_on("main", "larder/late.py", "import os\n\nLATE = 1\n", "New findings")
    theirs = hub.commit_on("sweeper/ruff", "larder/rates.py", '"""By hand."""\n\nRATE = 3\n', "A person's")
    third = quickstart.run(workflow, "schedule")
    assert third.code == 0, third.log
    assert third.outputs["fixed-count"] == "1"
    assert (third.outputs["pull-request-number"], third.outputs["pull-request-operation"]) == ("1", "updated")
    head = third.outputs["pull-request-head-sha"]
    assert head == hub.tip("sweeper/ruff") == project.pull.last_head
    own = hub.git("log", "--format=%s", "--first-parent", f"{theirs}..{head}").splitlines()
    assert own == ["ruff: fix larder/late.py", "Merge the base into sweeper/ruff"]
    assert green(quickstart, "sweeper/ruff")
    said = "sweeper/ruff has commits that are not ours: they stay, and ours go on top of them"
    assert said in third.log
    assert said in project.pull.body
    assert len(hub.pulls) == 1


def green(runner: Runner, branch: str) -> bool:
    """Check and tests of the quickstart on a branch of the forge, without sweeper."""
    into = runner.folder / f"judged-{time.monotonic_ns()}"
    runner.project.forge.hub.git("worktree", "add", "-q", "--detach", str(into), branch)
    programs = Path(sys.executable).parent
    for words in (["ruff", "check", "-q", "--no-cache", "."], ["pytest", "-q"]):
        if subprocess.run([programs / words[0], *words[1:]], cwd=into, check=False, capture_output=True).returncode:
            return False
    return True


def test_a_pull_request_from_a_fork_gets_a_plan_and_nothing_else(runner: Runner) -> None:
    """Case E11 as a runner meets it: no secrets, a token that may only read, a run that would push."""
    forge = runner.project.forge
    before = forge.hub.state()
    payload = {
        "pull_request": {
            "head": {"repo": {"full_name": "somebody/widgets", "fork": True}},
            "base": {"repo": {"full_name": "acme/widgets", "fork": False}},
        }
    }
    workflow = runner.example("scheduled.yml").replace('  schedule:\n    - cron: "17 2 * * 1-5"', "  pull_request:")
    job = runner.run(workflow, "pull_request", payload, "-s", "GITHUB_TOKEN=", "-s", "ANTHROPIC_API_KEY=")
    assert job.code == 0, job.log
    assert (job.outputs["status"], job.outputs["remaining-count"], job.outputs["fixed-count"]) == ("dry-run", "8", "0")
    assert job.outputs["pull-request-operation"] == "none"
    assert "a pull request from a fork has no secrets" in job.summary
    assert "8 findings in 4 units" in job.summary
    assert "pkg/m0.py" in job.summary
    assert forge.hub.state() | {"requests": []} == before | {"requests": []}
    assert not forge.hub.requests, "the forge was asked"


def test_the_dry_run_workflow_is_green_with_findings_and_starts_no_agent(runner: Runner) -> None:
    job = runner.run(runner.example("pull-request.yml"), "pull_request", {"pull_request": {}})
    assert job.code == 0, job.log
    assert job.outputs["status"] == "dry-run"
    assert "it was asked for" in job.summary
    assert job.report["kind"] == "plan"
    assert not runner.project.forge.hub.requests


def test_a_cancelled_job_leaves_no_sandbox_and_the_next_one_drains(runner: Runner) -> None:
    project = runner.project
    project.settle({"default": [["fix", ["sleep", "600"]]]})
    commit_settings(project)
    workflow = runner.example("scheduled.yml")
    process = runner.start(workflow, "schedule")
    until(lambda: bool(project.agents()), "an agent")
    process.send_signal(signal.SIGINT)
    log, _ = process.communicate(timeout=PATIENCE)
    job = runner.ended(process.returncode, log)
    assert job.code != 0
    assert "bubblewrap: " in log, "the last step was passed over"
    until(lambda: not project.agents(), "the end of every agent")
    assert not project.forge.hub.pulls
    project.settle()
    commit_settings(project)
    after = runner.run(workflow, "schedule")
    assert after.code == 0, after.log
    assert after.outputs["status"] == "drained"


@pytest.mark.long
def test_the_manual_workflow_needs_no_configuration(runner: Runner) -> None:
    inputs = {"dry-run": "false", "check": "ruff check .", "setup": "", "units": "50"}
    given = [f"--input={name}={value}" for name, value in inputs.items()]
    job = runner.run(runner.example("manual.yml"), "workflow_dispatch", {"inputs": inputs}, *given)
    assert job.code == 0, job.log
    assert job.outputs["status"] == "drained"
    assert job.outputs["pull-request-branch"] == "sweeper/ruff"
    assert f"8 findings fixed, see {job.outputs['pull-request-url']}" in job.log


@pytest.mark.long
def test_a_job_of_the_matrix_runs_its_own_sweep_alone(runner: Runner) -> None:
    workflow = runner.example("matrix.yml").replace("[ruff, mypy, eslint]", "[s, t]")
    project = runner.project
    place = project.folder / ".github" / "sweeper.toml"
    place.write_text(place.read_text() + '\n[sweep.t]\ncheck = "false"\n[[sweep.t.ladder]]\nrun = "true"\n')
    project.commit("two sweeps")
    project.push()
    job = runner.run(workflow, "schedule", None, "--matrix", "sweep:s")
    assert job.code == 0, job.log
    assert job.outputs["pull-request-branch"] == "sweeper/s"
    assert [sweep["sweep"] for sweep in job.report["sweeps"]] == ["s"]
