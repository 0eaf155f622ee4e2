"""Gemini CLI, headless: the prompt on stdin, one JSON event a line on stdout."""

from __future__ import annotations

import json
from typing import Any

from sweeper.agents import words
from sweeper.agents.contract import Left, Needs, Printed, Start, Task
from sweeper.agents.home import with_file
from sweeper.config.models import RungConfig
from sweeper.ladder.classify import Trouble
from sweeper.records import Usage

NEEDS = Needs("gemini", "gemini-2.5-pro", frozenset({"gemini"}))
SETTINGS = "settings.json"
TURN_LIMIT = "max session turns"


def tools(rung: RungConfig) -> tuple[str, ...]:
    return ("gemini", "sh")


def start(task: Task) -> Start:
    model = task.needed
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        # it would look for repetitions by asking another model, which no attempt has
        "model": {"name": model.name, "maxSessionTurns": task.rung.max_turns, "disableLoopDetection": True},
    }
    env = {
        "GEMINI_API_KEY": model.token,
        "GOOGLE_GEMINI_BASE_URL": model.base_url,
    }
    argv = ("gemini", "--yolo", "--skip-trust", "-o", "stream-json", "-m", model.name)
    return Start(
        with_file(argv, SETTINGS, f".gemini/{SETTINGS}"),
        stdin=task.prompt,
        env=env,
        inputs={SETTINGS: json.dumps(settings).encode()},
        masked=True,
    )


def read(printed: Printed) -> Left:
    result: dict[str, Any] = {}
    said: list[str] = []
    turns, answering = 0, False
    for event in words.events(printed.stdout):
        match event.get("type"):
            case "message" if event.get("role") == "assistant":
                if not answering:
                    turns, said, answering = turns + 1, [], True
                said.append(words.text(event.get("content")))  # in pieces
            case "tool_use":
                turns += not answering
                answering = True
            case "tool_result":
                answering = False
            case "result":
                result = event
    stats, wrong = words.part(result, "stats"), words.text(words.part(result, "error").get("message"))
    usage = Usage(words.count(stats, "input_tokens"), words.count(stats, "output_tokens")) if stats else None
    if result.get("status") == "error" or not (result or turns):
        wrong = wrong or words.tail(printed.stderr)
        if TURN_LIMIT in wrong.lower():
            return Left(wrong[: words.CLAIM], usage, turns, trouble=Trouble.TURNS, words=wrong)
        trouble = words.error(wrong) or (Trouble.UNKNOWN if result else None)
        return Left(wrong[: words.CLAIM], usage, turns, trouble=trouble, words=wrong)
    claimed = "".join(said)
    return Left(claimed[: words.CLAIM], usage, turns, trouble=words.prose(claimed))
