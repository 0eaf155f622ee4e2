"""Runs as a whole: rounds, resume, limits, signals, two coordinators, a killed one."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fire.project import DIRTY, Project
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

# Whoever waits for such an agent's end waits in vain; the second attempt has one.
STUCK = {"default": [["fix", ["sleep", "600"]], "fix"]}


def digest(folder: Path) -> str:
    """Every byte, name and mode below a folder."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        total.update(f"{path.relative_to(folder)}\0{path.lstat().st_mode}\0".encode())
        if path.is_file() and not path.is_symlink():
            total.update(path.read_bytes())
    return total.hexdigest()


def wait_for_attempt(project: Project, number: int = 1) -> None:
    """Until so many have begun: an agent of each will be started."""
    until(lambda: project.attempts() >= number, "an attempt")


def killed_when(project: Project, landed: int) -> int:
    """The exit code of a run that is killed once so many attempts have landed, if it has not ended by then."""
    child = project.start()
    until(lambda: child.poll() is not None or project.attempts("state = 'landed'") >= landed, f"{landed} that landed")
    child.kill()
    child.communicate()
    return child.returncode


def test_a_dry_run_changes_nothing_byte_for_byte(project: Project) -> None:
    project.configure({"default": ["fix"]})
    before = digest(project.folder)
    ended = project.run("--dry-run")
    assert ended.code == 1, ended.err
    assert digest(project.folder) == before
    (plan,) = ended.document["sweeps"]
    assert plan["findings"] == 8
    assert len(plan["units"]) == 4
    assert project.run("--units-per-fire", "2").code == 5
    before = digest(project.folder)
    ended = project.run("--dry-run")
    assert ended.code == 1, ended.err
    assert digest(project.folder) == before


def test_a_drained_backlog_is_not_attempted_again(project: Project) -> None:
    project.configure({"default": ["fix"]})
    assert project.run().code == 0
    done, tip = project.attempts(), project.git("rev-parse", "sweeper/s")
    ended = project.run()
    assert ended.code == 0, ended.err
    assert project.attempts() == done
    assert project.git("rev-parse", "sweeper/s") == tip


def test_e12_a_clean_tree_makes_no_branch(projects: Callable[..., Project]) -> None:
    project = projects(0)
    project.configure({"default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert not project.has_branch()


def test_f10_another_base_is_another_run(project: Project) -> None:
    project.configure({"default": ["nothing"]})
    assert project.run().code == 1
    (project.folder / "pkg/m0.py").write_text("import ast\n\nMORE = 1\n")
    project.commit("theirs")
    project.configure({"default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert len(project.ledger("SELECT id FROM run")) == 2
    assert project.recount() == 0


def test_f10_an_outcome_of_failure_is_not_success_later(project: Project) -> None:
    project.configure({"default": ["nothing"]})
    assert project.run().code == 1
    ended = project.run()
    assert ended.code == 1
    assert ended.report["buckets"]["fixed"] == 0
    assert project.attempts() == 4


def test_a_limit_ends_the_fire_and_the_next_goes_on(project: Project) -> None:
    project.configure({"default": ["fix"]})
    ended = project.run("--units-per-fire", "2")
    assert ended.code == 5, ended.err
    assert ended.report["buckets"]["fixed"] == 4
    assert project.recount() == 4
    ended = project.run()
    assert ended.code == 0, ended.err
    assert project.attempts() == 4
    assert project.recount() == 0


def test_a_second_coordinator_says_who_holds_the_sweep(project: Project) -> None:
    project.configure(dict(STUCK))
    first = project.start()
    try:
        wait_for_attempt(project)
        ended = project.run()
        assert ended.code == 7
        assert str(first.pid) in ended.err
    finally:
        first.kill()
        first.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_a_signal_stops_at_once_and_loses_nothing(project: Project, number: signal.Signals, code: int) -> None:
    project.configure(dict(STUCK))
    first = project.start()
    until(project.agents, "an agent")
    first.send_signal(number)
    _, err = first.communicate(timeout=PATIENCE)
    assert first.returncode == code, err
    assert "sweeper resume" in err
    assert not project.agents()
    ended = project.sweeper("resume", "--json", "--sandbox", "bubblewrap")
    assert ended.code == 0, ended.err
    assert project.recount() == 0


def test_f06_an_interrupt_starts_no_waiting_unit(projects: Callable[..., Project]) -> None:
    project = projects(12)
    project.configure(dict(STUCK), top="[limits]\nslots = 2\n")
    first = project.start()
    wait_for_attempt(project, 2)
    first.send_signal(signal.SIGINT)
    _, err = first.communicate(timeout=PATIENCE)
    assert first.returncode == 130, err
    assert project.attempts() == 2


def test_a_killed_coordinator_leaves_nothing_and_loses_nothing(projects: Callable[..., Project]) -> None:
    undisturbed = projects(8)
    steps = {"default": [[["sleep", "0.3"], "fix_some"]]}, {"default": [[["sleep", "0.3"], "fix"]]}
    undisturbed.configure(*steps)
    assert undisturbed.run().code == 0
    project = projects(8)
    project.configure(*steps)
    codes = [killed_when(project, landed) for landed in (1, 3, 6, 9, 12)]  # of two rounds' 16
    assert codes[0] == -signal.SIGKILL
    ended = project.run()
    assert ended.code == 0, ended.err
    assert project.git("rev-parse", "sweeper/s^{tree}") == undisturbed.git("rev-parse", "sweeper/s^{tree}")
    assert project.ledger("SELECT count(*) FROM unit WHERE state != 'settled'") == [(0,)]
    assert project.ledger("SELECT 1 FROM attempt WHERE state = 'landed' GROUP BY unit, round HAVING count(*) > 1") == []


def test_the_agents_of_a_killed_coordinator_end_with_it(project: Project) -> None:
    project.configure(dict(STUCK), top="[limits]\nslots = 2\n")
    child = project.start()
    until(lambda: len(project.agents()) >= 2, "two agents")
    child.kill()
    child.communicate()
    until(lambda: not project.agents(), "their end")


def test_what_was_handed_in_is_the_backlog(project: Project) -> None:
    project.configure({"default": ["fix"]})
    findings = (
        "pkg/m0.py:1:8: F401 `ast` imported but unused\n"
        "pkg/m0.py:2:8: F401 `bisect` imported but unused\n"
        "pkg/m1.py:9:1: F401 `gone` imported but unused\n"
    )
    ended = project.run("--from", "-", stdin=findings)
    assert ended.report["buckets"]["fixed"] == 2, ended.err
    assert ended.report["buckets"]["already_clean"] == 1
    assert project.recount("sweeper/s-given") == 6


def test_a05_a_check_that_is_not_understood_is_broken(project: Project) -> None:
    project.configure({"default": ["fix"]}, check="sh -c 'echo oops; exit 1'")
    ended = project.run()
    assert ended.code == 3
    assert "oops" in ended.err


def test_a_missing_tool_names_the_line_to_add(project: Project) -> None:
    project.configure({"default": ["fix"]}, check="no-such-linter .")
    ended = project.run()
    assert ended.code == 3
    assert "no-such-linter" in ended.err


def test_a15_what_the_check_excludes_stays_excluded(project: Project) -> None:
    (project.folder / "ruff.toml").write_text('extend-exclude = ["vendored"]\nlint.select = ["F401"]\n')
    (project.folder / "vendored").mkdir()
    (project.folder / "vendored/m.py").write_text(DIRTY.format(1))
    project.commit()
    project.configure({"default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert project.show("vendored/m.py") == DIRTY.format(1)
    # named by hand the excluded file is checked, so files by name mean another thing than the whole run
    project.configure({"default": ["fix"]}, check="ruff check --output-format json . vendored/m.py")
    ended = project.run()
    assert ended.code == 0, ended.err
    assert "verified by the whole check" in ended.err
    assert project.show("vendored/m.py") == "\nVALUE = 1\n"


def test_replay_finds_the_same_commands(project: Project) -> None:
    project.configure({"default": ["fix_some"]}, {"default": ["fix"]})
    ended = project.run()
    replayed = project.sweeper("replay", ended.report["run"])
    assert replayed.code == 0, replayed.out + replayed.err


def test_the_story_of_a_unit(project: Project) -> None:
    project.configure({"default": ["nothing"]}, {"default": ["fix"]})
    assert project.run().code == 0
    told = project.sweeper("why", "pkg/m0.py")
    assert told.code == 0, told.err
    assert "no_change" in told.out
    assert "fixed" in told.out


def test_a_branch_with_a_human_commit_is_left_alone(project: Project) -> None:
    project.configure({"default": ["fix"]})
    assert project.run("--units-per-fire", "2").code == 5
    project.git("checkout", "-q", "sweeper/s")
    theirs = project.commit("a human's")
    project.git("checkout", "-q", "main")
    ended = project.run()
    assert ended.code == 0, ended.err
    assert project.git("rev-parse", "sweeper/s").strip() == theirs
    assert project.recount(ended.report["branch"]) == 0


def test_the_user_s_checkout_of_our_branch_is_not_moved(project: Project) -> None:
    project.configure({"default": ["fix"]})
    assert project.run("--units-per-fire", "2").code == 5
    project.git("checkout", "-q", "sweeper/s")
    project.git("branch", "-f", "main", "main")
    tip = project.git("rev-parse", "HEAD")
    ended = project.run("--base", "main")
    assert project.git("rev-parse", "HEAD") == tip
    assert "checked out" in ended.err


def test_captures_of_an_ended_run_are_dropped_by_a_later_one(project: Project) -> None:
    project.configure({"default": ["delete"]})
    assert project.run().code == 1
    first = project.git("for-each-ref", "refs/sweeper", "--format=%(refname)")
    assert len(first.split()) == 4
    project.configure({"default": ["fix"]})
    assert project.run().code == 0
    project.commit("theirs")
    assert project.run().code == 0
    assert not set(first.split()) & set(project.git("for-each-ref", "refs/sweeper", "--format=%(refname)").split())


def test_b23_commits_that_cannot_be_signed_are_said_to_be_unsigned(project: Project) -> None:
    project.git("config", "commit.gpgsign", "true")
    project.git("config", "gpg.program", "/bin/false")
    project.configure({"default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert "NOT signed" in ended.err
    assert project.recount() == 0


@pytest.mark.docker
def test_a_backlog_is_drained_in_containers(project: Project, docker_engine: object) -> None:
    project.configure({"default": ["fix_some"]}, {"default": ["fix"]})
    ended = project.run(sandbox="docker")
    assert ended.code == 0, ended.err
    assert project.recount() == 0


@pytest.mark.docker
def test_c01_a_killed_coordinator_s_containers_are_taken_over(project: Project, docker_engine: object) -> None:
    project.configure(dict(STUCK))
    first = project.start(sandbox="docker")
    until(project.agents, "an agent")
    first.kill()
    first.communicate()
    assert project.agents(), "containers outlive a killed coordinator, until somebody looks after them"
    ended = project.run(sandbox="docker")
    assert ended.code == 0, ended.err
    assert project.recount() == 0
    assert not project.agents()


def test_f10_a_base_that_is_gone_wedges_nothing(project: Project) -> None:
    """Rewritten history, or a ledger that was carried into a fresh clone: what was claimed there is given back."""
    project.configure({"default": ["hang"]})
    child = project.start()
    wait_for_attempt(project)
    child.kill()
    child.communicate()
    project.git("commit", "-q", "--amend", "-m", "rewritten")
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")
    project.configure({"default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert "given back" in ended.err
    assert project.recount() == 0
