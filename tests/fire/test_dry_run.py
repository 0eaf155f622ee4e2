"""Dry runs: `plan` leaves every byte as it is, `fix` every branch; the run that follows pays for nothing again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.fire.project import Project
from tests.fire.test_runs import STUCK, digest, wait_for_attempt
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

LADDER = ({"default": ["fix_some"]}, {"default": ["fix"]})


def look(project: Project) -> dict[str, object]:
    """What a dry run may not touch: work tree, index, HEAD, and every ref that is not ours."""
    git = project.folder / ".git"
    return {
        "tree": {
            path.name: digest(path) if path.is_dir() else path.read_bytes()
            for path in project.folder.iterdir()
            if path != git
        },
        "index": (git / "index").read_bytes(),
        "HEAD": (git / "HEAD").read_bytes(),
        "config": (git / "config").read_bytes(),
        "refs": [line for line in project.git("for-each-ref").splitlines() if "refs/sweeper/" not in line],
        "logs": digest(git / "logs"),
    }


@pytest.mark.parametrize("words", [("run", "--dry-run"), ("run", "--dry-run=plan"), ("plan",)])
def test_a_plan_leaves_even_a_stale_index_as_it_is(project: Project, words: tuple[str, ...]) -> None:
    """A status of git's own would refresh it; what is listed first here is no sweep's name."""
    project.configure(*LADDER)
    os.utime(project.folder / "pkg/m0.py", (1, 1))
    before = digest(project.folder)
    ended = project.sweeper(*words, "--json", "--sandbox", "bubblewrap", "s")
    assert ended.code == 1, ended.err
    assert ended.document["kind"] == "plan"
    assert digest(project.folder) == before


def test_a_dry_fix_moves_nothing_and_the_run_after_it_pays_nothing(project: Project) -> None:
    project.configure(*LADDER)
    (project.folder / "pkg/m0.py").write_text("import ast\nimport bisect\n\nVALUE = 77\n")
    project.git("add", "pkg/m0.py")
    (project.folder / "new.txt").write_text("mine")
    project.git("tag", "mine")
    before = look(project)
    dry = project.run("--dry-run=fix")
    assert dry.code == 0, dry.err
    assert look(project) == before
    assert (dry.report["buckets"]["fixed"], dry.report["branch"], dry.report["dry_run"]) == (8, "", "fix")
    paid = project.attempts()
    assert paid == 8
    assert "`sweeper run` lands them" in project.sweeper("report").out
    assert project.sweeper("resume", "--sandbox", "bubblewrap").code == 0  # it is drained: nothing to go on with
    assert look(project) == before
    assert "`sweeper run` lands it" in project.sweeper("status").out
    ended = project.run("--dry-run")
    (plan,) = ended.document["sweeps"]
    assert ended.code == 1, "there is something to land"
    assert (plan["units"], plan["lands"]) == ([], dry.report["tip"])
    project.git("gc", "-q", "--prune=now")
    done = project.run()
    assert done.code == 0, done.err
    assert project.attempts() == paid
    assert (done.report["run"], done.report["tip"]) == (dry.report["run"], dry.report["tip"])
    assert project.git("rev-parse", "sweeper/s").strip() == dry.report["tip"]
    assert done.report["dry_run"] == ""
    ended = project.run("--dry-run")
    assert (ended.code, ended.document["sweeps"][0]["lands"]) == (0, "")
    assert project.recount() == 0
    assert look(project) | {"refs": 0, "logs": 0} == before | {"refs": 0, "logs": 0}


def test_a_dry_fix_ends_at_a_limit_and_the_run_goes_on(project: Project) -> None:
    project.configure(*LADDER)
    before = look(project)
    assert project.run("--dry-run=fix", "--units-per-fire", "3").code == 5
    assert look(project) == before
    assert project.attempts() == 3
    ended = project.run()
    assert ended.code == 0, ended.err
    assert project.attempts() == 8
    assert project.recount() == 0


def test_a_dry_fix_that_was_interrupted_is_resumed_as_one(project: Project) -> None:
    project.configure(dict(STUCK))
    before = look(project)
    first = project.start("--dry-run=fix")
    wait_for_attempt(project)
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=PATIENCE)
    assert first.returncode == 130
    ended = project.sweeper("resume", "--json", "--sandbox", "bubblewrap")
    assert (ended.code, ended.report["dry_run"]) == (0, "fix"), ended.err
    assert look(project) == before
    assert project.run().code == 0
    assert project.recount() == 0


def test_a_sweep_that_is_called_like_a_value_is_a_sweep(project: Project) -> None:
    """Only what stands after "=" is a value: `--dry-run fix` starts no attempt."""
    project.configure(*LADDER)
    ended = project.run("--dry-run", "fix")
    assert ended.code == 2
    assert "write --dry-run=fix" in ended.err
    assert not Path(project.folder / ".git/sweeper/ledger.sqlite3").exists()


def test_a_plan_is_priced_from_the_limits_and_then_from_what_was_seen(project: Project) -> None:
    project.configure(*LADDER)
    (plan,) = project.run("--dry-run").document["sweeps"]
    assert [(one["attempts"], one["basis"]) for one in plan["expected"]] == [(4, "no history: limits")] * 2
    assert project.run("--units-per-fire", "4").code == 5
    (project.folder / "pkg/m9.py").write_text("import ast\nimport bisect\n\nVALUE = 9\n")
    project.commit()
    before = digest(project.folder)
    (plan,) = project.run("--dry-run").document["sweeps"]
    assert digest(project.folder) == before
    first, second = plan["expected"]
    assert (first["basis"], first["mended"]) == ("from 4 attempts of this sweep", 0.0)
    assert second["basis"] == "no history: limits"
    assert "from 4 attempts of this sweep" in project.sweeper("plan", "--sandbox", "bubblewrap").out
    # another command on that rung is another rung, of which nothing is known
    project.configure({"default": ["nothing"]}, LADDER[1])
    assert project.run("--dry-run").document["sweeps"][0]["expected"][0]["basis"] == "no history: limits"
