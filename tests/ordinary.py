"""A part of the suite once more as an ordinary user, while root runs the tests: the main case of a developer."""

from __future__ import annotations

import grp
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests import leftovers
from tests.conftest import User

ROOT = Path(__file__).parents[1]
NOTHING: Mapping[str, str] = {}


@contextmanager
def home_of(user: User) -> Iterator[Path]:
    """A home folder of this user's own, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="sweeper-user-") as home:
        os.chown(home, user.uid, user.gid)
        yield Path(home)


def passes(user: User, home: Path, *words: str, group: str = "", env: Mapping[str, str] = NOTHING) -> None:
    """pytest with `words` as this user, who is in `group`; fails unless tests ran and all of them passed."""
    argv = user.runs(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--basetemp={home}/pytest")
    if group:
        argv[argv.index("--clear-groups")] = f"--groups={grp.getgrnam(group).gr_gid}"
    usual = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "USER": "sweeper-test",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SWEEPER_REQUIRE_SANDBOXES": "1",
        leftovers.WITHIN: "1",
    }
    with subprocess.Popen(
        [*argv, *words], cwd=ROOT, env={**usual, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        leftovers.sign_in(running.pid)
        out, err = running.communicate()
    assert running.returncode == 0, out[-6000:] + err[-2000:]
    assert " passed" in out
