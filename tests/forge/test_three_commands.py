"""From the wheel and one exported key to a pull request that was read back, in three commands: timed in the README."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sweeper.testing.model_server import serving as answering
from tests.agents.conftest import KEY
from tests.agents.programs import installed
from tests.agents.scripts import fixing_units
from tests.forge.conftest import Cloned

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(900)]


def test_from_the_wheel_to_a_pull_request(project: Cloned, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    # nothing that ruff's own fixers mend: the model's work
    (project.folder / "ruff.toml").write_text('lint.select = ["F401"]\nlint.unfixable = ["F401"]\n')
    project.commit()
    project.push()
    with answering(fixing_units, keys=frozenset({KEY})) as server:
        environment = project.environment(
            PATH=f"{tmp_path / 'venv/bin'}:{installed('claude')}:{os.environ['PATH']}",
            ANTHROPIC_BASE_URL=server.url,
            ANTHROPIC_API_KEY=KEY,
        )
        began = time.monotonic()
        # here, ruff is a part of the project's own environment
        for words in (
            ["pip", "install", "-q", str(wheel), "ruff"],
            ["sweeper", "run", "--yes", "--pull-request", "--", "ruff", "check", "."],
        ):
            done = subprocess.run(
                words, cwd=project.folder, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            print(f"{words[0]}: {time.monotonic() - began:.0f} s")
        assert server.seen, "the model was never asked"
    assert project.pull.body
    assert len(project.subjects("sweeper/ruff")) == 4
    assert KEY not in project.pull.body + "".join(project.files("sweeper/ruff").values())
