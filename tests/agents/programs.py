"""Real agent programs at pinned versions, from npm and PyPI, installed once into the user's cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from sweeper.data import data_folder
from tests.conftest import cannot_run

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sweeper-tests" / "agents"


def installed(name: str) -> Path:
    """The folder that holds the program of the agent `name`, for PATH."""
    definition = data_folder("sandboxes") / name
    if (definition / "package.json").is_file():
        return _from_npm(name, definition)
    return _from_pypi(name, definition / "requirements.lock")


def _from_npm(name: str, definition: Path) -> Path:
    pins = (definition / "package.json").read_text()
    folder = CACHE / name
    with FileLock(_lock(name)):
        if not _current(folder, pins):
            if shutil.which("npm") is None:
                cannot_run("there is no npm to install the agents with")
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for file in ("package.json", "package-lock.json"):
                shutil.copy(definition / file, folder / file)
            _run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], folder)
            (folder / "installed").write_text(pins)
    return folder / "node_modules" / ".bin"


def _from_pypi(name: str, requirements: Path) -> Path:
    pins = requirements.read_text()
    folder = CACHE / name
    with FileLock(_lock(name)):
        if not _current(folder, pins):
            shutil.rmtree(folder, ignore_errors=True)
            _run([sys.executable, "-m", "venv", str(folder / "venv")], CACHE)
            _run([str(folder / "venv/bin/pip"), "install", "-q", "-r", str(requirements)], CACHE)
            (folder / "installed").write_text(pins)
    return folder / "venv" / "bin"


def _lock(name: str) -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    return CACHE / f"{name}.lock"


def _current(folder: Path, pins: str) -> bool:
    mark = folder / "installed"
    return mark.is_file() and mark.read_text() == pins


def _run(argv: list[str], folder: Path) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        cannot_run(f"{' '.join(argv[:3])} failed: {done.stderr[-500:]}")


def version(name: str) -> str:
    """The pinned version of a program from npm."""
    pins = json.loads((data_folder("sandboxes") / name / "package.json").read_text())
    (pin,) = pins["dependencies"].values()
    return str(pin)
