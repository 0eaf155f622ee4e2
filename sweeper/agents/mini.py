"""mini-swe-agent, headless: the task in a configuration file, plain text on stdout."""

from __future__ import annotations

import json

from sweeper.agents import litellm, words
from sweeper.agents.contract import Left, Needs, Printed, Start, Task
from sweeper.config.models import RungConfig
from sweeper.ladder.classify import Trouble
from sweeper.sandbox.contract import INPUTS

NEEDS = Needs("openai", "gpt-5.5", frozenset({"openai", "anthropic"}))
TASK = "task.yaml"
LIMITS = ("LimitsExceeded", "step limit", "TimeExceeded")


def tools(rung: RungConfig) -> tuple[str, ...]:
    return ("mini",)


def start(task: Task) -> Start:
    model = task.needed
    config = {"run": {"task": task.prompt.decode("utf-8", "replace")}, "agent": {"step_limit": task.rung.max_turns}}
    argv = (
        "mini", "-m", f"{model.protocol}/{model.name}", "-y", "--exit-immediately", "-c", "mini.yaml",
        "-c", f"{INPUTS}/{TASK}", "-o", "/tmp/trajectory.json",
    )  # fmt: skip
    env = {
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "3",  # of ten, for minutes, even of a request that is refused for good
        **litellm.environment(model),
    }
    # JSON is YAML
    inputs = {TASK: json.dumps(config).encode()}
    return Start(argv, env=env, inputs=inputs, masked=True)


def read(printed: Printed) -> Left:
    said = words.tail(printed.stdout)
    wrong = words.tail(printed.stderr)
    if any(mark in said + wrong for mark in LIMITS):
        return Left(said, trouble=Trouble.TURNS, words=wrong)
    failed = "Traceback" in said + wrong or "litellm." in wrong
    # after the frames of its traceback: their source lines name every error that there is
    trouble = words.error(wrong.rpartition("╯")[2]) or words.error(wrong + said) if failed else None
    return Left(said, trouble=trouble, words=wrong if failed else "")
