"""Gemini CLI, headless: the prompt on stdin, one JSON document on stdout, or on stderr for an error."""

from __future__ import annotations

import json

from sweeper.agents import words
from sweeper.agents.claude import needed
from sweeper.agents.contract import Left, Needs, Printed, Start, Task
from sweeper.agents.home import with_file
from sweeper.classify import Trouble
from sweeper.config import RungConfig
from sweeper.records import Usage

NEEDS = Needs("gemini", "gemini-2.5-pro", frozenset({"gemini"}))
SETTINGS = "settings.json"
TURN_LIMIT_EXIT = "max session turns"


def tools(rung: RungConfig) -> tuple[str, ...]:
    return ("gemini", "sh")


def start(task: Task) -> Start:
    model = needed(task)
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "model": {"name": model.name, "maxSessionTurns": task.rung.max_turns},
    }
    env = {
        "GEMINI_API_KEY": model.token,
        "GOOGLE_GEMINI_BASE_URL": model.base_url,
    }
    argv = ("gemini", "--yolo", "--skip-trust", "-o", "json", "-m", model.name)
    return Start(
        with_file(argv, SETTINGS, f".gemini/{SETTINGS}"),
        stdin=task.prompt,
        env={**env, **task.rung.env},
        inputs={SETTINGS: json.dumps(settings).encode()},
        masked=True,
    )


def read(printed: Printed) -> Left:
    left = words.document(printed.stdout) or words.document(printed.stderr)
    wrong = words.part(left, "error")
    usage, turns = Usage(), 0
    for model in words.part(left, "stats", "models").values():
        counts = words.part(model, "tokens")
        usage += Usage(words.count(counts, "prompt"), words.count(counts, "candidates", "thoughts"))
        turns += words.count(words.part(model, "api"), "totalRequests")
    if not left or wrong:
        said = words.text(wrong.get("message")) or words.tail(printed.stderr)
        if TURN_LIMIT_EXIT in said.lower():
            return Left(said[: words.CLAIM], usage, turns, trouble=Trouble.TURNS, words=said)
        trouble = words.error(f"{wrong.get('code', '')} {said}") or (Trouble.UNKNOWN if wrong else None)
        return Left(said[: words.CLAIM], usage if turns else None, turns, trouble=trouble, words=said)
    claimed = words.text(left.get("response"))[: words.CLAIM]
    return Left(claimed, usage, turns, trouble=words.prose(claimed))
