"""The conformance suite again as an ordinary user, while root runs the tests: the main case of a developer."""

from __future__ import annotations

import grp
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.conftest import User, cannot_run
from tests.sandbox.backends import FACTORIES

ROOT = Path(__file__).parents[2]
SUITE = (
    "test_commands",
    "test_limits",
    "test_isolation",
    "test_layers",
    "test_teardown",
    "test_probing",
    "test_tools",
    "test_door",
    "test_installing",
    "test_seccomp",
)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=getattr(pytest.mark, each.marker)) for name, each in FACTORIES.items()]
)
def test_conformance_as_an_ordinary_user(name: str, ordinary_user: User) -> None:
    factory = FACTORIES[name]
    if why := factory.missing():
        cannot_run(why)
    argv = ordinary_user.runs(
        sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", name, "-m", "not slow"
    )
    if factory.group:
        argv[argv.index("--clear-groups")] = f"--groups={grp.getgrnam(factory.group).gr_gid}"
    with tempfile.TemporaryDirectory(prefix="sweeper-user-") as home:
        os.chown(home, ordinary_user.uid, ordinary_user.gid)
        files = [f"tests/sandbox/{each}.py" for each in SUITE]
        env = {
            "HOME": home,
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "USER": "sweeper-test",
            "PYTHONDONTWRITEBYTECODE": "1",
            "SWEEPER_REQUIRE_SANDBOXES": "1",
        }
        done = subprocess.run(
            [*argv, f"--basetemp={home}/pytest", *files], cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
