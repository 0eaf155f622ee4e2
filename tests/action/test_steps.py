"""The Action's two steps as processes: real sandboxes and the fake forge, hostile content, cancelled jobs."""

from __future__ import annotations

import json
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sweeper.runner import summary
from tests.action.step import Stepped, Steps
from tests.forge.conftest import Cloned
from tests.forge.server import BOT_TOKEN
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow
NOTHING = "true {files}"  # a rung that mends nothing


@pytest.fixture
def steps(tmp_path: Path, project: Cloned) -> Steps:
    project.settle()
    return Steps(tmp_path / "steps", project)


def test_held_units_are_annotated_counted_and_never_tried_again_in_the_next_clone(steps: Steps) -> None:
    steps.project.settle(NOTHING)
    settings = (steps.checkout / "sweeper.toml").read_text()
    first = steps.run(fail_on="held")
    assert first.code == 1
    assert "landed" in first.log
    assert (first.outputs["status"], first.outputs["held-count"], first.outputs["fixed-count"]) == (
        "remaining",
        "8",
        "0",
    )
    assert [line.partition("::")[2].split(",")[1] for line in first.commands] == [f"file=pkg/m{n}.py" for n in range(4)]
    assert all(line.startswith("::warning title=s%3A held,file=") for line in first.commands)
    assert not steps.project.forge.hub.pulls
    steps.move(state=True)
    steps.settle(settings)
    second = steps.run()
    assert second.code == 0, second.log
    assert second.outputs["held-count"] == "8"
    assert "landed" not in second.log, "a held unit was tried again"


def test_e12_an_empty_backlog_is_drained_without_a_branch_or_a_pull_request(steps: Steps) -> None:
    project = steps.project
    for file in (project.folder / "pkg").iterdir():
        file.write_text("VALUE = 1\n")
    project.commit()
    project.push()
    done = steps.run(fail_on="remaining")
    assert done.code == 0, done.log
    assert (done.outputs["status"], done.outputs["fixed-count"], done.outputs["remaining-count"]) == (
        "drained",
        "0",
        "0",
    )
    assert done.outputs["pull-request-operation"] == "none"
    assert list(project.forge.hub.branches()) == ["main"]
    broken = steps.run(check="ruff check --no-such-option .", pull_request="false")
    assert (broken.code, broken.outputs["status"], broken.outputs["fixed-count"]) == (3, "check-broken", "")


def test_what_a_repository_names_its_files_is_no_command_and_no_output(steps: Steps) -> None:
    project = steps.project
    project.settle(NOTHING)
    (project.folder / "pkg" / "::error::x\n::set-output name=status::stolen.py").write_text("import ast\n")
    project.commit()
    project.push()
    done = steps.run(pull_request="true")
    assert done.outputs["status"] == "remaining"
    kinds = {line.split(" ")[0] for line in done.commands}
    assert kinds == {"::warning"}
    assert len(done.commands) == 5
    assert "\n::" not in done.summary


def test_e06_a_summary_that_is_full_or_that_nobody_can_write_costs_no_run(steps: Steps) -> None:
    full = steps.folder / "full"
    full.write_text("é" * (summary.LIMIT // 2 - 100))
    done = steps.run(GITHUB_STEP_SUMMARY=str(full))
    assert done.code == 0, done.log
    assert full.stat().st_size <= summary.LIMIT
    missing = steps.run(GITHUB_STEP_SUMMARY=str(steps.folder / "no" / "folder"), GITHUB_OUTPUT="")
    assert missing.code == 0, missing.log
    assert "was not told everything" in missing.log


def test_e02_a_pull_request_by_the_jobs_own_token_says_that_no_workflow_starts(steps: Steps) -> None:
    done = steps.run(GITHUB_TOKEN=BOT_TOKEN)
    assert done.code == 0, done.log
    assert "such a pull request starts no other workflow" in done.summary
    assert "such a pull request starts no other workflow" in steps.project.pull.body
    assert BOT_TOKEN not in done.log


def test_e11_an_empty_key_is_no_key_and_stops_before_any_sandbox(steps: Steps) -> None:
    text = (steps.checkout / "sweeper.toml").read_text()
    steps.settle(text.replace('run = "ruff check --fix {files}"', 'agent = "claude"'))
    done = steps.run(ANTHROPIC_API_KEY="")
    assert done.code == 2, done.log
    assert done.outputs["status"] == "configuration"
    assert "ANTHROPIC_API_KEY" in done.commands[0]
    assert "sandboxes:" not in done.log


def test_e11_a_pull_requests_own_commit_is_not_worked_on_beside_secrets(steps: Steps) -> None:
    tip = steps.project.git("rev-parse", "HEAD").strip()
    steps.project.commit("of a pull request")
    event = {"GITHUB_EVENT_NAME": "pull_request_target", "GITHUB_SHA": tip}
    done = steps.run(**event)
    assert (done.code, done.outputs["status"]) == (2, "configuration")
    assert "brings this repository's secrets" in done.commands[0]
    assert "sandboxes:" not in done.log
    assert steps.run(dry_run="false", trust_checkout="true", **event).code == 0


def test_a_dry_run_shows_the_whole_pull_request_and_the_real_one_lands_it_in_the_next_clone(steps: Steps) -> None:
    forge, settings = steps.project.forge, (steps.checkout / "sweeper.toml").read_text()
    before = forge.hub.state()["branches"]
    dry = steps.run(dry_run="pr")
    assert dry.code == 0, dry.log
    assert (dry.outputs["status"], dry.outputs["fixed-count"]) == ("dry-run", "8")
    assert "landed" in dry.log
    assert "Pull request, on paper only (created)" in dry.summary
    assert "**8 findings fixed** in 4 units" in dry.summary
    assert forge.hub.state()["branches"] == before
    assert not forge.hub.pulls
    steps.move(state=True)
    steps.settle(settings)
    done = steps.run()
    assert done.code == 0, done.log
    assert done.outputs["pull-request-operation"] == "created"
    assert "landed" not in done.log, "a unit was attempted again"
    assert len(steps.project.subjects()) == 4


def test_commits_of_an_unfinished_run_are_carried_into_the_next_clone(steps: Steps) -> None:
    settings = (steps.checkout / "sweeper.toml").read_text()
    first = steps.run(units_per_fire="1", pull_request="false")
    assert (first.code, first.outputs["status"], first.outputs["fixed-count"]) == (0, "limit", "2")
    steps.move(state=True)
    steps.settle(settings)
    second = steps.run()
    assert second.code == 0, second.log
    assert "goes on with run" in second.log
    assert "6 findings in 3 units" in second.log, "the first one's commit was lost"
    assert second.outputs["fixed-count"] == "8"
    assert len(steps.project.subjects()) == 4


@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_a_ledger_whose_commits_are_not_here_begins_a_new_run_and_says_so(steps: Steps, harm: str) -> None:
    settings = (steps.checkout / "sweeper.toml").read_text()
    steps.run(units_per_fire="1", pull_request="false")
    bundle = steps.move(state=True) / ".git" / "sweeper" / "commits.bundle"
    steps.settle(settings)
    if harm == "missing":
        bundle.unlink()
    else:
        bundle.write_bytes(bundle.read_bytes()[:-40])
    done = steps.run()
    assert done.code == 0, done.log
    assert "has commits that are not in this clone: a new run begins" in done.log
    assert ("were not brought back" in done.log) == (harm == "damaged")
    assert done.outputs["fixed-count"] == "8"
    assert len(steps.project.subjects()) == 4


@pytest.mark.kill
@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGHUP])
def test_e09_a_cancelled_step_ends_in_good_order_before_it_is_killed(steps: Steps, first: signal.Signals) -> None:
    steps.project.settle({"default": [["fix", ["sleep", "600"]]]})
    process = steps.start()
    until(lambda: bool(steps.project.agents()), "an agent")
    process.send_signal(first)
    log, _ = process.communicate(timeout=PATIENCE)
    done = steps.ended(process.returncode, log)
    assert done.code == (130 if first is signal.SIGINT else 143)
    assert done.outputs["status"] == "cancelled"
    assert not steps.project.agents()
    assert known(steps, "SELECT count(*) FROM unit WHERE state = 'claimed'") == 0
    assert not steps.project.forge.hub.pulls


@pytest.mark.kill
def test_e09_the_last_step_removes_what_a_killed_one_left_and_starts_the_commands_again(steps: Steps) -> None:
    steps.project.settle({"default": [["fix", ["sleep", "600"]]]})
    process = steps.start()
    until(lambda: bool(steps.project.agents()), "an agent")
    process.kill()
    log, _ = process.communicate(timeout=PATIENCE)
    assert log.count("0123456789abcdef") == 1, "stopped, and never started"
    after = steps.run("after")
    assert after.code == 0
    until(lambda: not steps.project.agents(), "the end of every agent")
    assert after.log.endswith("::0123456789abcdef::\n")
    steps.project.settle()
    assert steps.run().outputs["status"] == "drained"


def test_the_last_step_fails_no_job_where_there_is_nothing(steps: Steps) -> None:
    steps.checkout = steps.folder
    assert steps.run("after").code == 0


def test_the_report_is_a_json_file_of_its_own(steps: Steps) -> None:
    done = steps.run(pull_request="false")
    made = report(done)
    assert (made["kind"], made["exit_code"]) == ("report", 0)
    assert [unit["paths"] for unit in made["sweeps"][0]["units"]] == [[f"pkg/m{n}.py"] for n in range(4)]


@pytest.mark.kill
@pytest.mark.parametrize("last_step", [True, False])
def test_what_a_killed_run_had_captured_goes_along_or_is_done_again(steps: Steps, last_step: bool) -> None:
    slow = {"default": [["fix", ["sleep", "600"]], "fix"], "units": {"pkg/m[01].py": ["fix"]}}
    steps.project.settle(slow, top="[limits]\nslots = 2\n")
    settings = (steps.checkout / "sweeper.toml").read_text()
    process = steps.start()
    verified = "SELECT count(*) FROM unit WHERE state = 'verified'"
    until(lambda: known(steps, verified) == 2, "two verified units")
    until(lambda: known(steps, "SELECT count(*) FROM attempt") == 4, "attempts on the others")
    process.kill()
    process.communicate(timeout=PATIENCE)
    until(lambda: not steps.project.agents(), "the end of every agent")
    if last_step:
        assert steps.run("after").code == 0
    steps.move(state=True)
    steps.settle(settings)
    done = steps.run()
    assert done.code == 0, done.log
    assert done.outputs["fixed-count"] == "8"
    assert len(steps.project.subjects()) == 4
    again = {unit["title"] for unit in report(done)["sweeps"][0]["units"] if len(unit["tries"]) > 1}
    assert again == ({"pkg/m2.py", "pkg/m3.py"} if last_step else set()), "in a new run the count begins anew"
    assert ("a new run begins" in done.log) != last_step


def report(done: Stepped) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(Path(done.outputs["report-path"]).read_text())
    return value


def known(steps: Steps, sql: str) -> int:
    try:
        return int(steps.project.ledger(sql)[0][0])
    except sqlite3.OperationalError:
        return 0
