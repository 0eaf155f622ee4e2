"""The scripted agent: does to each unit what its script says. For tests, demos and benchmarks.

The program is `sweeper/testing/scripted_agent.py`, handed in as an input file, so that it runs in any sandbox
that has a Python. A rung's `run` is the script itself (JSON text) or the path of a file that holds it.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from sweeper.agents import words
from sweeper.agents.contract import PROMPT, Left, Needs, Printed, Start, Task
from sweeper.config.models import RungConfig
from sweeper.errors import ConfigError
from sweeper.sandbox.contract import INPUTS

PROGRAM = "agent.py"
SCRIPT = "script.json"
NEEDS: Needs | None = None


def tools(rung: RungConfig) -> tuple[str, ...]:
    _script(rung)
    return ("python3", *rung.env.get("SWEEPER_SCRIPTED_TOOLS", "").split())


def start(task: Task) -> Start:
    program = resources.files("sweeper.testing").joinpath("scripted_agent.py").read_bytes()
    return Start(
        argv=("python3", "-I", f"{INPUTS}/{PROGRAM}", f"{INPUTS}/{PROMPT}", f"{INPUTS}/{SCRIPT}"),
        inputs={PROGRAM: program, SCRIPT: _script(task.rung), PROMPT: task.prompt},
    )


def _script(rung: RungConfig) -> bytes:
    if not isinstance(rung.run, str) or not rung.run:
        raise ConfigError('a rung with agent = "scripted" needs `run`', hint="run = a JSON script, or the path of one")
    try:
        text = rung.run if rung.run.lstrip().startswith("{") else Path(rung.run).read_text()
        json.loads(text)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the script of a scripted agent can't be read: {error}", hint="JSON, see sweeper.testing"
        ) from error
    return text.encode()


def read(printed: Printed) -> Left:
    return Left(claimed=words.tail(printed.stdout))
