"""What each thing that an agent may do comes to, through the command line."""

from __future__ import annotations

import subprocess

import pytest

from tests.fire.project import DIRTY, Project

CLEAN = "\nVALUE = 0\n"
ONE = "pkg/m0.py"


def others(**steps: object) -> dict[str, object]:
    """A script in which pkg/m0.py does `steps` and every other unit is fixed."""
    return {"units": {ONE: [steps["do"]]}, "default": ["fix"]}


def test_a_backlog_is_drained_into_one_commit_a_unit(project: Project) -> None:
    base = project.git("rev-parse", "HEAD").strip()
    project.configure({"default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert ended.report["buckets"]["fixed"] == 8 == ended.report["buckets"]["first"]
    assert project.recount() == 0
    assert len(project.git("log", "--format=%H", f"{base}..sweeper/s").split()) == 4
    assert project.git("rev-parse", "HEAD").strip() == base
    assert (project.folder / ONE).read_text() == DIRTY.format(0)


def test_the_default_ladder_is_the_fixer_of_the_check(project: Project) -> None:
    ended = project.run("--", "ruff", "check", "--output-format", "json", ".")
    assert ended.code == 0, ended.err
    assert project.recount("sweeper/ruff") == 0


@pytest.mark.parametrize(
    ("step", "rule"),
    [
        (["edit_other", "fix"], "scope"),
        (["new_file", "pkg/helper.py"], "scope"),
        (["delete"], "deleted"),
        (["empty"], "emptied"),
        (["suppress"], "suppression"),
        (["run", "sh", "-c", "echo 'lint.select=[]' > pkg/ruff.toml"], "check_config"),
        (["run", "sh", "-c", "ln -sf /etc/passwd pkg/m0.py"], "link"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else str(value),
)
def test_a_cheat_is_rejected_by_name(project: Project, step: list[str], rule: str) -> None:
    steps = step if step[0] in ("new_file", "run") else list(step)
    project.configure(others(do=steps))
    ended = project.run()
    assert ended.code == 1, ended.err
    assert ended.kinds(ONE) == ["rejected"]
    assert ended.reasons(ONE) == [rule]
    assert ended.unit(ONE)["state"] == "held"
    assert project.show(ONE) == DIRTY.format(0)
    assert project.recount() == 2


@pytest.mark.parametrize(
    "steps",
    [
        ["fix", "commit"],
        ["fix", ["run", "git", "add", "-A"]],
        ["fix", ["run", "git", "checkout", "-q", "-b", "other"], "commit"],
        [
            "fix",
            ["run", "git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qam", "x", "--amend"],
        ],
        ["fix", "commit", ["run", "sh", "-c", "rm -rf .git"]],
    ],
    ids=["committed", "staged", "on-a-branch", "amended", "removed-git"],
)
def test_b05_agent_committed(project: Project, steps: list[object]) -> None:
    project.configure({"units": {ONE: [steps]}, "default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert ended.kinds(ONE) == ["fixed"]
    assert project.show(ONE) == CLEAN


def test_d11_a_claim_without_a_change_is_no_success(project: Project) -> None:
    project.configure(others(do=["claim", "All findings are fixed, tests pass!"]))
    ended = project.run()
    assert ended.code == 1
    assert ended.kinds(ONE) == ["no_change"]
    assert project.recount() == 2


def test_d12_nothing_done_with_exit_code_0_is_told_from_nothing_to_do(project: Project) -> None:
    """No change where the finding is really there climbs; a finding that is not there is nobody's to fix."""
    project.configure({"default": ["nothing"]}, {"default": ["fix"]})
    gone = "pkg/m0.py:1:8: F401 `os` imported but unused"
    there = "pkg/m1.py:1:8: F401 `ast` imported but unused"
    ended = project.run("--from", "-", "s", stdin=f"{gone}\n{there}\n")
    assert ended.code == 0, ended.err
    assert ended.kinds("pkg/m1.py") == ["no_change", "fixed"]
    assert ended.report["buckets"]["already_clean"] == 1
    assert [unit["title"] for unit in ended.report["units"]] == ["pkg/m1.py"]


def test_b25_an_empty_change_is_no_change_and_no_branch(project: Project) -> None:
    project.configure({"default": ["nothing"]})
    ended = project.run()
    assert ended.code == 1
    assert {kind for unit in ended.report["units"] for kind in [t["kind"] for t in unit["tries"]]} == {"no_change"}
    assert not project.has_branch()


def test_a_partial_fix_is_merged_and_the_rest_climbs(project: Project) -> None:
    project.configure({"default": ["fix_some"]}, {"default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert ended.kinds(ONE) == ["partial", "fixed"]
    assert ended.report["rounds"] == 2


def test_a_failure_climbs_the_ladder_and_ends_at_a_human(project: Project) -> None:
    project.configure(others(do="nothing"), others(do=["exit", "3"]))
    ended = project.run()
    assert ended.code == 1
    assert ended.kinds(ONE) == ["no_change", "no_change"]
    assert ended.unit(ONE)["state"] == "held"
    assert "ladder exhausted" in ended.unit(ONE)["why"]


def test_work_done_before_a_clock_ran_out_counts(project: Project) -> None:
    fix = "sed -i /^import/d $1; echo fixed; test $1 != pkg/m0.py || sleep 600"
    rung = f'run = ["sh", "-c", "{fix}", "sh", "{{files}}"]\nclocks = {{ first_output = "150s", idle = "1s" }}'
    project.configure(more=f"[[sweep.s.ladder]]\n{rung}")
    ended = project.run()
    assert ended.code == 0, ended.err
    assert ended.kinds(ONE) == ["fixed"]


@pytest.mark.parametrize("clock", ["wall", "idle", "first_output"])
def test_an_agent_that_hangs_is_timed_out(project: Project, clock: str) -> None:
    project.configure(others(do="hang") | {"clocks": f'clocks = {{ {clock} = "1s" }}'})
    ended = project.run()
    assert ended.kinds(ONE) == ["timed_out"]
    assert ended.reasons(ONE) == [clock]


def test_an_agent_that_crashes_goes_to_a_human(project: Project) -> None:
    project.configure(others(do="crash"), {"default": ["fix"]})
    ended = project.run()
    assert ended.kinds(ONE) == ["unclassified"]
    assert ended.unit(ONE)["state"] == "held"


def test_broken_syntax_is_not_fixed(project: Project) -> None:
    project.configure(others(do=["append", "def broken(:\n"]))
    ended = project.run()
    assert ended.kinds(ONE) == ["not_fixed"]
    assert project.show(ONE) == DIRTY.format(0)


def test_a_fix_that_brings_something_new_is_not_fixed(project: Project) -> None:
    project.configure(others(do=["fix", ["append", "import zipfile\n"]]))
    ended = project.run()
    assert ended.kinds(ONE) == ["not_fixed"]


def test_b24_hooks_of_the_repository_do_not_run(project: Project) -> None:
    hook = project.folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    ran = project.folder.parent / "hook-ran"
    hook.write_text(f"#!/bin/sh\ntouch {ran}; exit 1\n")
    hook.chmod(0o755)
    project.configure({"default": ["fix"]})
    assert project.run().code == 0
    assert not ran.exists()
    with pytest.raises(subprocess.CalledProcessError):
        project.commit()
    assert ran.exists()


def test_b28_uncommitted_work_is_neither_used_nor_touched(project: Project) -> None:
    (project.folder / ONE).write_text("import os, sys\nmine = 1\n")
    (project.folder / "notes.txt").write_text("mine\n")
    before = project.git("status", "--porcelain")
    project.configure({"default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert "not included" in ended.err
    assert project.git("status", "--porcelain").replace("?? sweeper.toml\n", "") == before
    assert project.show(ONE) == CLEAN
    assert "notes.txt" not in project.git("ls-tree", "-r", "--name-only", "sweeper/s")


def test_a_root_that_is_not_committed_is_said_and_no_sandbox_s_failure(project: Project) -> None:
    (project.folder / "new").mkdir()
    (project.folder / "new" / "m.py").write_text("import os\n")
    project.configure({"default": ["fix"]}, more='root = "new"')
    ended = project.run()
    assert ended.code == 2, ended.err
    assert "the root 'new'" in ended.err
    assert "uncommitted" in ended.err
