"""One check of the whole project judges what waits together, and nobody is fixed by another one's change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fire.project import Ended, Project
from tests.held import Held
from tests.waiting import until

pytestmark = pytest.mark.slow

CHECKER = """import os, pathlib, re, time
files = {{path.stem: path.read_text() for path in sorted(pathlib.Path("pkg").glob("*.py"))}}
everything = "".join(files.values())
while ({holds}) and not os.path.exists({go!r}):
    time.sleep(0.1)
time.sleep({seconds})
for name, text in files.items():
    for number, line in enumerate(text.splitlines(), 1):
        needs = re.match("from (.*) import", line)
        grey = line == "GREY = 1" and "RED" not in everything
        if line == "BAD = 1" or grey or (needs and needs[1] not in files):
            print(f"pkg/{{name}}.py:{{number}}:1: X1 bad {{line.split()[0]}}")
        if needs and needs[1] in files and "GOOD" not in files[needs[1]]:
            print(f"pkg/{{name}}.py:{{number}}:1: X2 {{needs[1]}} is not good")
"""
FIX = [[r"(?m)^BAD = 1\n", ""]]
NO_OP = [["append", "# looked at\n"]]
# More agents than a batch has room for: what waits while a check runs is a batch, however slow the machine is.
RUN = "limits.verifiers = 1\nlimits.slots = 16"


def whole(
    project: Project, files: int, seconds: float = 0.0, holds: str = "False", held: Held | None = None, **texts: str
) -> Project:
    """`files` modules with one bad line each, or the given texts, and a check that only looks at all of them.

    It takes `seconds`, after it was let go by `held` where `holds`, an expression over `files` and the text of
    `everything`, is true.
    """
    go = str(held.folder / "go") if held else ""
    (project.folder / "check.py").write_text(CHECKER.format(seconds=seconds, holds=holds, go=go))
    for number in range(files):
        text = texts.get(f"m{number:02}", f"BAD = 1\nVALUE = {number}\n")
        (project.folder / "pkg" / f"m{number:02}.py").write_text(text)
    project.commit()
    return project


def configure(project: Project, *rungs: dict[str, Any], check: str = "python3 check.py", more: str = "") -> None:
    project.configure(
        *({"fix": FIX, **rung} for rung in rungs), check=check, more=f"project_wide = true\n{more}", top=RUN
    )


def verdicts(ended: Ended) -> dict[str, list[tuple[str, str, int, int]]]:
    return {
        unit["title"]: [(each["kind"], each["reason"], each["before"], each["after"]) for each in unit["tries"]]
        for unit in ended.report["units"]
    }


def evidence(project: Project) -> list[dict[str, Any]]:
    return [json.loads(text)["evidence"] for (text,) in project.ledger("SELECT outcome FROM attempt")]


def whole_checks(project: Project) -> int:
    """How many checks of the whole project verified, as the evidence in the ledger has it."""
    return len({check for each in evidence(project) for check in each["checks"]})


def logs_of(project: Project) -> Path:
    return project.folder / ".git" / "sweeper" / "logs"


def captured_of(project: Project) -> set[str]:
    """Keys of the units with a change that waits for its verdict, or has it."""
    refs = project.git("for-each-ref", "--format=%(refname)").split()
    return {ref.split("/")[-2] for ref in refs if ref.startswith("refs/sweeper/")}


def test_a_third_of_the_checks_at_most(projects: Callable[..., Project]) -> None:
    project = whole(projects(0), 30, seconds=2)
    configure(project, {"default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert {kind for each in verdicts(ended).values() for kind, *_ in each} == {"fixed"}
    assert len(verdicts(ended)) == 30
    assert whole_checks(project) <= 10
    assert {each["together"] > 1 for each in evidence(project)} >= {True}
    title = next(unit["title"] for unit in ended.report["units"] if unit["tries"][0]["together"] > 1)
    assert "together with" in project.sweeper("why", title).out


BAD_ONES = {
    "pkg/m02.py": [["nothing"]],
    "pkg/m03.py": [NO_OP],
    "pkg/m04.py": [["fix", ["append", "BAD = 1\n"]]],
    "pkg/m05.py": [["fix", ["append", "from gone import GOOD\n"]]],
    "pkg/m06.py": [["run", "sed", "-i", "/BAD/d;/GOOD/d"]],
}


def test_the_verdicts_are_those_of_one_by_one(projects: Callable[..., Project]) -> None:
    """With those that do nothing, pretend, move their finding, break their own file, and break another one."""
    texts: dict[str, Any] = {"m06": "BAD = 1\nGOOD = 1\n"}
    together, alone = whole(projects(0), 10, seconds=1, **texts), whole(projects(0), 10, **texts)
    for project in together, alone:
        (project.folder / "pkg" / "user.py").write_text("from m06 import GOOD\n")
        project.commit()
    for project, more in (together, ""), (alone, "verify_batch = 1"):
        configure(project, {"units": BAD_ONES, "default": ["fix"]}, {"default": ["fix"]}, more=more)
    batched, one_by_one = together.run(), alone.run()
    assert batched.code == one_by_one.code, batched.err + one_by_one.err
    assert verdicts(batched) == verdicts(one_by_one)
    assert {title for title, tries in verdicts(batched).items() if len(tries) > 1} == BAD_ONES.keys()
    assert max(each["together"] for each in evidence(together)) > 1
    assert {each["together"] for each in evidence(alone)} == {1}
    assert together.git("rev-parse", "sweeper/s:pkg") == alone.git("rev-parse", "sweeper/s:pkg")


def test_one_s_change_does_not_fix_another_one_s_finding(projects: Callable[..., Project]) -> None:
    pair: dict[str, Any] = {"m01": "from m02 import GOOD\n", "m02": "BAD = 1\nVALUE = 2\n"}
    project = whole(projects(0), 6, seconds=1, **pair)
    good = [["fix", ["append", "GOOD = 1\n"]]]
    configure(project, {"units": {"pkg/m01.py": [NO_OP], "pkg/m02.py": good}, "default": ["fix"]})
    ended = project.run()
    assert ended.kinds("pkg/m02.py") == ["fixed"], ended.err
    assert ended.kinds("pkg/m01.py") == ["not_fixed"]
    assert "# looked at" not in project.show("pkg/m01.py")


def test_who_was_fixed_only_together_does_not_stay_alone(projects: Callable[..., Project], tmp_path: Path) -> None:
    """m01's change does nothing; m02's mends its finding without a trace in either, and breaks the tests."""
    only_m00 = '"BAD" not in files["m00"] and everything.count("BAD") == 4 and "looked" not in everything'
    agents, checks = Held(tmp_path / "agents"), Held(tmp_path / "checks")
    project = whole(projects(0), 6, 3, only_m00, checks, m01="GREY = 1\n", m02="BAD = 1\nVALUE = 2\n")
    (project.folder / "test_it.py").write_text(
        'import pathlib\nassert "RED" not in pathlib.Path("pkg/m02.py").read_text()\n'
    )
    project.commit()
    # All others end while the check of m00 runs, so that they wait together.
    fix = f"case $1 in *m00*) ;; *) {agents.waiting};; esac; sed -i /^BAD/d $1"
    deeds = 'case $1 in *m01*) echo "# looked at" >> $1;; *m02*) echo "RED = 1" >> $1;; esac'
    project.configure(
        agents.program("agent", f"{fix}; {deeds}") + " {files}",
        check=checks.program("check", "exec python3 check.py"),
        more='project_wide = true\ntest = "python3 test_it.py"',
        top=RUN,
    )
    child = project.start()
    until(lambda: any(logs_of(project).glob("*/*-verifier-*/stdout")), "the check of m00")
    assert len(captured_of(project)) == 1
    agents.let_go()
    until(lambda: len(captured_of(project)) == 6, "all that is captured")
    checks.let_go()
    out, err = child.communicate()
    ended = Ended(child.returncode, out, err)
    assert ended.code == 1, ended.err
    assert ended.kinds("pkg/m02.py") == ["ejected"]
    assert (ended.kinds("pkg/m01.py"), ended.reasons("pkg/m01.py")) == (
        ["ejected"],
        ["fixed only together with others"],
    )
    assert project.show("pkg/m01.py") == "GREY = 1\n"
    assert ended.report["buckets"]["fixed"] == 4


def test_a_coordinator_killed_in_the_middle_of_a_batch(projects: Callable[..., Project], tmp_path: Path) -> None:
    held = Held(tmp_path / "checks")
    several = 'sum("BAD" not in text for text in files.values()) > 1'
    project = whole(projects(0), 12, 2, several, held)
    configure(project, {"default": ["fix"]}, check=held.program("check", "exec python3 check.py"))
    child = project.start()
    until(lambda: any(logs_of(project).glob("*/*-verifier-10[1-9]/stdout")), "a check of several together")
    assert child.poll() is None
    child.kill()
    child.communicate()
    held.let_go()
    captured = captured_of(project)
    landed = project.ledger("SELECT count(*) FROM attempt WHERE state = 'landed'")[0][0]
    assert len(captured) > landed
    ended = project.run()
    assert ended.code == 0, ended.err
    again = {unit for (unit,) in project.ledger("SELECT unit FROM attempt WHERE number > 1")}
    assert not again & captured
    assert {kind for each in verdicts(ended).values() for kind, *_ in each if kind} == {"fixed"}
    assert project.ledger("SELECT count(*) FROM unit WHERE state != 'settled'") == [(0,)]


def test_d15_mypy_on_thirty_files(projects: Callable[..., Project], tmp_path: Path) -> None:
    """Really checked; one is mended by nobody, and one exchanges its finding for another."""
    project = projects(0)
    for number in range(30):
        text = f"def f{number}(x: int) -> int:\n    return str(x)\n"
        (project.folder / "pkg" / f"m{number:02}.py").write_text(text)
    (project.folder / "pkg" / "__init__.py").write_text("")
    project.commit()
    fix = [["return str", "return int"]]
    other = [["run", "sed", "-i", "s/str(x)/y/"]]
    project.configure(
        {"fix": fix, "units": {"pkg/m03.py": [NO_OP], "pkg/m04.py": [other]}, "default": ["fix"]},
        {"fix": fix, "default": ["fix"]},
        check="mypy pkg",
        top=RUN,
    )
    ended = project.run()
    assert ended.code == 0, ended.err
    assert {title: kinds for title in verdicts(ended) if (kinds := ended.kinds(title)) != ["fixed"]} == {
        "pkg/m03.py": ["not_fixed", "fixed"],
        "pkg/m04.py": ["not_fixed", "fixed"],
    }
    assert ended.report["buckets"]["fixed"] == 30
    assert whole_checks(project) <= 10
