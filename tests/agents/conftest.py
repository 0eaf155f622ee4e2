"""A repository whose sweep asks a scripted model server, through real agent programs in real sandboxes."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sweeper.testing.model_script import Script
from sweeper.testing.model_server import ModelServer, serving
from tests.agents.programs import installed
from tests.agents.scripts import fixing_units
from tests.fire.project import CHECK, Ended, Project

KEY = f"sk-real-{secrets.token_hex(20)}-ZYX"  # of this process: other tests that run beside it have others


class Sweeping:
    """A project, a server and the command, with the agents' programs on PATH."""

    def __init__(self, project: Project, server: ModelServer) -> None:
        self.project, self.server = project, server

    def configure(self, *rungs: dict[str, Any] | str, top: str = "", more: str = "") -> None:
        parts = [top, f"[sweep.s]\ncheck = {json.dumps(CHECK)}\n{more}"]
        for rung in rungs:
            given = {"run": rung} if isinstance(rung, str) else rung
            lines = "\n".join(f"{key} = {_toml(value)}" for key, value in given.items())
            parts.append(f"[[sweep.s.ladder]]\n{lines}")
        (self.project.folder / "sweeper.toml").write_text("\n\n".join(parts) + "\n")

    def environment(self, *agents: str, key: str = KEY) -> dict[str, str]:
        import os

        folders = [str(installed(agent)) for agent in agents]
        env = {"PATH": ":".join([*folders, os.environ["PATH"]])}
        for name in ("ANTHROPIC", "OPENAI"):
            env |= {f"{name}_API_KEY": key, f"{name}_BASE_URL": self.server.url}
        return env | {"GEMINI_API_KEY": key, "GOOGLE_GEMINI_BASE_URL": self.server.url}

    def run(
        self,
        *agents: str,
        sandbox: str = "bubblewrap",
        words: Sequence[str] = (),
        key: str = KEY,
        before: Sequence[str] = (),
    ) -> Ended:
        env = self.environment(*agents, key=key)
        return self.project.sweeper("run", "--json", "--sandbox", sandbox, *words, env=env, before=before)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


@pytest.fixture
def sweeping(tmp_path: Path, bwrap: object) -> Iterator[Callable[..., Sweeping]]:
    """`sweeping(script, files=2)` starts a server with that script and makes a project."""
    with ExitStack() as stack:

        def make(script: Script = fixing_units, files: int = 2) -> Sweeping:
            server = stack.enter_context(serving(script, keys=frozenset({KEY})))
            return Sweeping(Project(tmp_path / "project", files), server)

        yield make
