"""An agent that cheats in every third attempt, and changes that break the tests among many that don't."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import pytest

from tests.fire.project import Project

pytestmark = pytest.mark.slow

# What the tests of the project ask: that every module still means what it meant.
KEEPS = """import importlib, pathlib, sys, unittest
sys.path.insert(0, ".")
class T(unittest.TestCase):
    def test_values(self):
        for path in sorted(pathlib.Path("pkg").glob("m*.py")):
            module = importlib.import_module(f"pkg.{path.stem}")
            self.assertEqual(module.VALUE, int(path.stem[1:]))
"""
CHEATS = (
    "suppress",
    "empty",
    "delete",
    ["run", "sh", "-c", "echo '# ruff: noqa' | cat - $0 > x && cat x > $0 && rm x"],
    ["run", "sh", "-c", "echo 'lint.select = []' > pkg/ruff.toml"],
    ["run", "sh", "-c", "printf '[lint]\\nselect = []\\n' > ruff.toml"],
    ["fix", ["run", "sh", "-c", "echo >> pkg/m2.py"]],
    ["run", "sh", "-c", 'printf \'"""\\n\' >> $0 && sed -i \'1i"""\' $0'],
    ["fix", ["run", "sh", "-c", "sed -i 's/^VALUE/# VALUE/' $0"]],
    ["fix", ["run", "sh", "-c", "printf '\\0' >> $0"]],
    ["run", "sh", "-c", "mkdir -p json && echo 'raise SystemExit' > json/__init__.py"],
    "nothing",
    ["run", "sh", "-c", "ln -sf /dev/null $0"],
)


def test_no_cheat_reaches_the_branch_and_the_report_names_each(projects: Callable[..., Project]) -> None:
    project = projects(40)
    (project.folder / "test_all.py").write_text(KEEPS)
    project.commit()
    cheats = dict(zip([f"pkg/m{number}.py" for number in range(0, 40, 3)], cycle(CHEATS), strict=False))
    twice = {"pkg/m3.py", "pkg/m6.py"}
    project.configure(
        {"units": {unit: [cheat] for unit, cheat in cheats.items()}, "default": ["fix"]},
        {"units": {unit: [cheats[unit]] * 2 for unit in twice}, "default": ["fix"]},
        more='test = "python3 -m unittest -q"',
    )
    ended = project.run()
    assert ended.code == 1, ended.err
    for unit in cheats:
        first = ended.unit(unit)["tries"][0]
        assert first["kind"] in ("rejected", "not_fixed", "no_change", "ejected"), (unit, first)
        assert first["reason"] or first["kind"] in ("not_fixed", "no_change"), (unit, first)
        assert ended.unit(unit)["state"] == ("held" if unit in twice else "settled"), unit
    changed = project.git("diff", "--name-only", "main", "sweeper/s").split()
    assert sorted(changed) == sorted({f"pkg/m{number}.py" for number in range(40)} - twice)
    for number in range(40):
        dirty = f"pkg/m{number}.py" in twice
        assert project.show(f"pkg/m{number}.py") == ("import ast\nimport bisect\n" if dirty else "") + (
            f"\nVALUE = {number}\n"
        )
    assert project.recount() == 2 * len(twice)


def test_three_of_128_that_break_the_tests_are_found_and_ejected(projects: Callable[..., Project]) -> None:
    """One of them only together with another: at most 40 runs of the gate, and the other 125 are merged, green."""
    project = projects(128)
    (project.folder / "test_all.py").write_text(
        "import pathlib, unittest\n"
        "class T(unittest.TestCase):\n"
        "    def test_whole(self):\n"
        "        broken = {p.stem for p in pathlib.Path('pkg').glob('*.py') if 'BROKEN' in p.read_text()}\n"
        "        self.assertFalse(broken & {'m7', 'm101'} or broken >= {'m40', 'm77'})\n"
    )
    project.commit()
    breaks = [["fix", ["append", "\nBROKEN = 1\n"]]]
    project.configure(
        {"units": {f"pkg/m{number}.py": breaks for number in (7, 40, 77, 101)}, "default": ["fix"]},
        more='test = "python3 -m unittest -q"\nmax_rounds = 1',
    )
    ended = project.run()
    gate = ended.report["gates"][0]
    assert gate["red"]
    assert len(gate["ejected"]) == 3
    assert {"pkg/m7.py", "pkg/m101.py"} < set(gate["ejected"])
    assert gate["runs"] <= 40
    assert ended.report["buckets"]["fixed"] == 2 * 125
    assert project.recount() == 2 * 3
