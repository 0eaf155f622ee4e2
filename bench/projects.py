"""Repositories to measure on, and the sweeper command as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sweeper-bench"
IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *IDENTITY, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "base")


def unused_imports(folder: Path, files: int) -> None:
    """`files` modules with four unused imports each, and a ruff configuration that reports just those."""
    (folder / "pkg").mkdir(parents=True)
    (folder / "ruff.toml").write_text('lint.select = ["F401"]\n')
    for number in range(files):
        text = "import ast\nimport bisect\nimport calendar\nimport difflib\n\nVALUE = {}\n"
        (folder / "pkg" / f"module_{number:03}.py").write_text(text.format(number))
    commit(folder)


def scripted(*steps: Sequence[Any], units: Mapping[str, Any] | None = None, mark: str = "") -> str:
    """A ladder of scripted rungs, one a list of steps, as TOML. `units`: the first rung's exceptions.

    `mark` is told to every agent, to find it by.
    """
    rungs = []
    for number, sequence in enumerate(steps):
        script = {"fix": [[r"(?m)^import \w+\n", ""]], "default": [sequence], "units": {} if number else units or {}}
        head = '[[sweep.bench.ladder]]\nagent = "scripted"\n'
        rungs.append(f"{head}run = '''{json.dumps(script)}'''\nenv = {{ SWEEPER_BENCH = '{mark}' }}\n")
    return "\n".join(rungs)


def configuration(folder: Path, *, slots: int, ladder: str, check: str, more: str = "") -> None:
    """A sweeper.toml beside the code, not committed: it is the operator's."""
    (folder / "sweeper.toml").write_text(
        f'[sweep.bench]\ncheck = "{check}"\n{more}\n{ladder}\n[limits]\nslots = {slots}\n'
    )


def sdist(name: str, version: str) -> Path:
    """The unpacked source distribution, downloaded once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    archive = CACHE / f"{name}-{version}.tar.gz"
    if not archive.exists():
        words = ["download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(CACHE), f"{name}=={version}"]
        subprocess.run([sys.executable, "-m", "pip", *words], check=True, stdout=subprocess.DEVNULL)
    folder = CACHE / f"{name}-{version}"
    if not folder.exists():
        with tarfile.open(archive) as tar:
            safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # from Python 3.11.4 on
            tar.extractall(CACHE, **safely)  # type: ignore[arg-type]
    return folder


def sweeper(folder: Path, *words: str, codes: tuple[int, ...] = (0, 1)) -> subprocess.CompletedProcess[str]:
    """Run sweeper in `folder`; fails on an exit code that is not among `codes`."""
    command = [sys.executable, "-m", "sweeper", *words]
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    if done.returncode not in codes:
        raise RuntimeError(f"sweeper {' '.join(words)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done
