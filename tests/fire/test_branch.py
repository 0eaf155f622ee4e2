"""The branch that a run ends with: whatever is in its way, nothing that was fixed is lost."""

from __future__ import annotations

from tests.fire.project import Project


def test_b17_a_branch_whose_name_cannot_be_costs_nothing(project: Project) -> None:
    """A branch `sweeper` leaves no room for `sweeper/s`, and for no other name below it."""
    project.git("branch", "sweeper")
    project.configure({"default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert "a branch sweeper, beside which" in ended.err
    assert not project.has_branch()
    assert project.recount(ended.report["branch"]) == 0


def test_b17_f10_a_branch_that_was_locked_is_shown_by_resume(project: Project) -> None:
    """A run whose branch could not be set has not ended: it is gone on with, and nothing is attempted twice."""
    lock = project.folder / ".git" / "refs" / "heads" / "sweeper" / "s.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    project.configure({"default": ["fix"]})
    ended = project.run()
    assert ended.code == 70
    assert "remove it yourself" in ended.err
    assert ended.report["buckets"]["fixed"] == 8
    assert ended.report["ended"] == ""
    assert not project.has_branch()
    lock.unlink()
    resumed = project.sweeper("resume", "--json", "--sandbox", "bubblewrap")
    assert resumed.code == 0, resumed.err
    assert project.recount() == 0
    assert project.ledger("SELECT count(*) FROM attempt") == [(4,)]


def test_a_branch_that_shows_another_run_from_now_on_says_what_it_showed(project: Project) -> None:
    project.configure({"default": ["fix"]})
    assert project.run().code == 0
    same = project.run("--fresh")
    assert "showed an earlier run" not in same.err  # the same commits again
    old = project.git("rev-parse", "sweeper/s").strip()
    project.configure({"default": ["fix_some"]})
    other = project.run()
    assert f"sweeper/s showed an earlier run until now; `git branch NAME {old[:12]}` brings that back" in other.err


def test_a_branch_that_was_deleted_or_set_back_is_shown_again(project: Project) -> None:
    """And one that somebody went on with is left as it is."""
    project.configure({"default": ["fix"]})
    assert project.run().code == 0
    tip = project.git("rev-parse", "sweeper/s")
    for words in (("-D", "sweeper/s"), ("-f", "sweeper/s", "main")):
        project.git("branch", *words)
        assert project.run().code == 0
        assert project.git("rev-parse", "sweeper/s") == tip
    project.git("checkout", "-q", "sweeper/s")
    theirs = project.commit("a human's")
    project.git("checkout", "-q", "main")
    assert project.run().code == 0
    assert project.git("rev-parse", "sweeper/s").strip() == theirs
