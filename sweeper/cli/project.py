"""The demo's project: a copy of the quickstart in a repository of its own."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from sweeper.data import data_folder
from sweeper.errors import ConfigError
from sweeper.repo.run import Git

LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*_cache", "*.pyc")
AUTHOR = ("-c", "user.name=Sweeper demo", "-c", "user.email=demo@example.invalid")


def make(into: Path | None) -> Path:
    """A new repository with one commit, in `into` or a temporary folder that stays. Raises ConfigError."""
    if into is not None and into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise ConfigError(f"{into} is not an empty folder", hint="name one that does not exist yet")
    folder = (into or Path(tempfile.mkdtemp(prefix="sweeper-demo-"))).absolute()
    shutil.copytree(data_folder("examples/quickstart"), folder, dirs_exist_ok=True, ignore=LEFT_OUT)
    Git(None).run("init", "--quiet", "--initial-branch=main", cwd=folder)
    git = Git(folder / ".git", folder)
    git.run("add", "--all", cwd=folder)
    git.run(*AUTHOR, "commit", "--quiet", "--message", "Stock, orders and invoices", cwd=folder)
    return folder


def difference(folder: Path, branch: str) -> tuple[str, str]:
    """(what changed per file, the whole diff) from HEAD to the branch."""
    git = Git(folder / ".git", folder)
    stat, diff = (git.run("diff", *how, f"HEAD..{branch}", cwd=folder) for how in (["--stat=100"], ["--unified=1"]))
    return stat.decode("utf-8", "backslashreplace"), diff.decode("utf-8", "backslashreplace")
