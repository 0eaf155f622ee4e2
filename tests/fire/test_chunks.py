"""A file with too many findings for one unit, and units by code owner, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeper.report.escape import inert
from tests.fire.project import Project

pytestmark = pytest.mark.slow

BIG = "pkg/big.py"
FIX = [["== None", "is None"]]
CHUNKS = ["pkg/big.py #1", "pkg/big.py #2", "pkg/big.py #3"]
MORE = "max_findings_per_unit = 20"


@pytest.fixture
def big(tmp_path: Path, bwrap: Path) -> Project:
    """One file with 60 findings of one rule and message: on lines of their own, and on equal lines."""
    project = Project(tmp_path / "project", files=0)
    (project.folder / "ruff.toml").write_text('lint.select = ["E711"]\n')
    lines = [f"a{number} = sys == None\n" if number % 3 else "print(sys == None)\n" for number in range(60)]
    (project.folder / BIG).write_text("import sys\n\n" + "".join(lines))
    project.commit()
    return project


def commits(project: Project) -> list[str]:
    """Subjects on the branch, the oldest first."""
    return project.git("log", "--reverse", "--format=%s", "main..sweeper/s").splitlines()


def test_the_plan_shows_the_ranges_and_who_goes_first(big: Project) -> None:
    big.configure({"default": ["fix_lines"], "fix": FIX}, more=MORE)
    ended = big.run("--dry-run")
    assert ended.code == 1, ended.err
    units = [(unit["title"], unit["lines"], unit["waits_for"]) for unit in ended.report["units"]]
    assert units == [(CHUNKS[0], [3, 22], ""), (CHUNKS[1], [23, 42], CHUNKS[0]), (CHUNKS[2], [43, 62], CHUNKS[0])]
    said = big.sweeper("plan", "--sandbox", "bubblewrap").out
    assert "pkg/big.py #1 (lines 3-22)  rung 1  E711" in said
    assert "pkg/big.py #3 (lines 43-62)  rung 1 after pkg/big.py #1  E711" in said


def test_a_big_file_is_drained_chunk_by_chunk_in_order(big: Project) -> None:
    # one round is enough for each of the three, for each has its own
    big.configure({"default": ["fix_lines"], "fix": FIX}, more=f"{MORE}\nmax_rounds = 1")
    ended = big.run()
    assert ended.code == 0, ended.err
    assert commits(big) == [f"s: fix {inert(title)}" for title in CHUNKS]
    assert [ended.kinds(title) for title in CHUNKS] == [["fixed"]] * 3
    assert ended.report["buckets"]["fixed"] == 60
    assert big.recount() == 0
    assert big.show(BIG) == (big.folder / BIG).read_text().replace("== None", "is None")
    changed = big.git("log", "--reverse", "--format=%x00", "--numstat", "main..sweeper/s").split("\0")[1:]
    assert [row.split()[:2] for row in changed] == [["20", "20"]] * 3


def test_a_chunk_that_mends_the_whole_file_leaves_the_others_nothing_to_do(big: Project) -> None:
    big.configure({"default": [["run", "sed", "-i", "s/== None/is None/", BIG]]}, more=MORE)
    ended = big.run()
    assert ended.code == 0, ended.err
    assert commits(big) == [f"s: fix {inert(CHUNKS[0])}"]
    assert ended.report["ended"] == "drained"
    assert (ended.report["rounds"], ended.report["buckets"]["fixed"]) == (1, 60)


@pytest.mark.parametrize("failing", [0, 1])
def test_a_chunk_that_fails_its_ladder_keeps_no_other_from_landing(big: Project, failing: int) -> None:
    script = {"units": {CHUNKS[failing]: ["nothing"]}, "default": ["fix_lines"], "fix": FIX}
    big.configure(dict(script), {**script, "default": ["nothing"]}, more=MORE)
    ended = big.run()
    assert ended.code == 1, ended.err
    landed = [title for title in CHUNKS if title != CHUNKS[failing]]
    assert commits(big) == [f"s: fix {inert(title)}" for title in landed]
    assert [ended.kinds(title) for title in landed] == [["fixed"]] * 2
    assert ended.kinds(CHUNKS[failing]) == ["no_change"] * 2
    assert ended.unit(CHUNKS[failing])["state"] == "held"
    assert ended.report["buckets"]["fixed"] == 40
    assert sum(ended.report["buckets"]["held"].values()) == 20 == big.recount()
    # nothing is paid twice: it is still that chunk that waits for a human, also when the others are in the base
    for _ in range(2):
        again = big.run()
        assert again.code == 1, again.err
        assert len(big.ledger("SELECT unit FROM attempt")) == 4
        big.git("merge", "-q", "--ff-only", "sweeper/s")
    text = big.show(BIG).splitlines()
    first = 2 + 20 * failing
    assert all("== None" in line for line in text[first : first + 20])


def test_a_file_goes_on_with_its_next_chunk_where_a_limit_ended_the_run(big: Project) -> None:
    big.configure({"default": ["fix_lines"], "fix": FIX}, more=MORE)
    ended = big.run("--units-per-fire", "1")
    assert ended.code == 5, ended.err
    assert commits(big) == [f"s: fix {inert(CHUNKS[0])}"]
    assert ended.report["buckets"]["open"] == {"not settled when the run ended": 40}
    ended = big.run()
    assert ended.code == 0, ended.err
    assert commits(big) == [f"s: fix {inert(title)}" for title in CHUNKS]
    assert [ended.kinds(title) for title in CHUNKS] == [["fixed"]] * 3


def test_a_chunk_in_half_goes_on_where_it_stands(big: Project) -> None:
    script = {"units": {CHUNKS[1]: [["run", "sed", "-i", "30,39s/== None/is None/"]]}, "default": ["fix_lines"]}
    big.configure({**script, "fix": FIX}, {"default": ["fix_lines"], "fix": FIX}, more=MORE)
    ended = big.run()
    assert ended.code == 0, ended.err
    assert ended.kinds(CHUNKS[1]) == ["partial", "fixed"]
    assert commits(big) == [f"s: fix {inert(title)}" for title in (CHUNKS[0], CHUNKS[1], CHUNKS[1], CHUNKS[2])]
    assert big.recount() == 0


def test_a_chunk_that_mends_only_another_one_is_not_fixed(big: Project) -> None:
    wrong = [["run", "sed", "-i", "43,62s/^\\(a.*\\)== None/\\1is None/"]]
    big.configure({"units": {CHUNKS[0]: wrong}, "default": ["nothing"], "fix": FIX}, more=MORE)
    ended = big.run()
    assert ended.code == 1, ended.err
    assert ended.kinds(CHUNKS[0]) == ["not_fixed"]
    assert not big.has_branch()


def test_a_fixer_that_has_nothing_for_one_chunk_is_not_asked_for_the_others(big: Project) -> None:
    """It is told the file alone, so it would do the same again, also where a later rung has changed another chunk."""
    big.configure("true {files}", {"default": ["fix_lines"], "fix": FIX}, more=MORE)
    ended = big.run()
    assert ended.code == 0, ended.err
    assert [ended.kinds(title) for title in CHUNKS] == [["no_change", "fixed"], ["fixed"], ["fixed"]]
    assert commits(big) == [f"s: fix {inert(title)}" for title in CHUNKS]


def test_a_fixer_that_breaks_a_file_does_so_once(big: Project) -> None:
    big.configure("sed -i '$a y = sys == None' {files}", more=MORE)
    ended = big.run()
    assert ended.code == 1, ended.err
    assert [ended.kinds(title) for title in CHUNKS] == [["not_fixed"], [], []]
    assert [ended.unit(title)["state"] for title in CHUNKS] == ["held"] * 3
    assert ended.unit(CHUNKS[2])["why"].endswith("new findings: E711), for another chunk of its file")
    # whoever wants it asked again says so
    big.sweeper("release", CHUNKS[2])
    assert big.run().kinds(CHUNKS[2]) == ["not_fixed"]


def test_a_fixer_that_mends_another_chunk_only_is_asked_for_each(big: Project) -> None:
    big.configure(r"sed -i '43,62s/^\(a.*\)== None/\1is None/' {files}", more=MORE)
    ended = big.run()
    assert ended.code == 1, ended.err
    assert [ended.kinds(title) for title in CHUNKS] == [["not_fixed"], ["not_fixed"], ["partial"]]
    assert commits(big) == [f"s: fix {inert(CHUNKS[2])}"]


def test_units_by_owner_as_the_base_commit_has_them(tmp_path: Path, bwrap: Path) -> None:
    project = Project(tmp_path / "project", files=4)
    (project.folder / ".github").mkdir()
    owners = project.folder / ".github" / "CODEOWNERS"
    owners.write_text("*.py @all\n/pkg/m1.py @one @all\n/pkg/m2.py\n[bad @x\n/pkg/m3.py @all @one\n")
    project.commit()
    owners.write_text("* @nobody-asked\n")
    project.configure({"default": ["fix"]}, more='partition = "owner"')
    ended = project.run("--dry-run")
    assert ended.code == 1, ended.err
    plan = ended.report
    assert [(unit["title"], unit["findings"]) for unit in plan["units"]] == [
        ("@all @one", 4),
        ("(no owner)", 2),
        ("@all", 2),
    ]
    assert plan["owners"] == ".github/CODEOWNERS; 2 findings in 1 file without an owner"
    assert ".github/CODEOWNERS:4: '[ ]' is no range of characters here; the line is skipped" in ended.err
    ended = project.run()
    assert ended.code == 0, ended.err
    assert sorted(commits(project)) == sorted(
        f"s: fix {inert(owners)}" for owners in ("(no owner)", "@all", "@all @one")
    )
    assert project.recount() == 0
    assert json.loads(project.sweeper("report", "--json").out)["sweeps"][0]["buckets"]["fixed"] == 8


def test_without_a_codeowners_file_nobody_owns_anything(tmp_path: Path, bwrap: Path) -> None:
    project = Project(tmp_path / "project", files=2)
    project.configure({"default": ["fix"]}, more='partition = "owner"')
    ended = project.sweeper("plan", "--sandbox", "bubblewrap")
    assert ended.code == 1, ended.err
    assert "owners    the base has no CODEOWNERS" in ended.out
    assert "4  (no owner)  rung 1" in ended.out
