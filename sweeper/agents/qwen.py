"""Qwen Code, headless: the prompt on stdin, one JSON event a line on stdout."""

from __future__ import annotations

import json
from typing import Any

from sweeper.agents import words
from sweeper.agents.contract import Left, Needs, Printed, Start, Task
from sweeper.config.models import RungConfig
from sweeper.ladder.classify import Trouble
from sweeper.records import Usage
from sweeper.sandbox.contract import INPUTS

NEEDS = Needs("openai", "gpt-5.5", frozenset({"openai"}))
SETTINGS = "settings.json"


def tools(rung: RungConfig) -> tuple[str, ...]:
    return ("qwen",)


def start(task: Task) -> Start:
    model = task.needed
    settings = {
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
        "security": {"folderTrust": {"enabled": False}},
    }
    env = {
        "OPENAI_API_KEY": model.token,
        "OPENAI_BASE_URL": f"{model.base_url}/v1",
        "OPENAI_MODEL": model.name,
        "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
        "QWEN_CODE_SYSTEM_SETTINGS_PATH": f"{INPUTS}/{SETTINGS}",
    }
    argv = (
        "qwen", "-y", "-o", "stream-json", "--auth-type", "openai", "-m", model.name,
        "--max-session-turns", str(task.rung.max_turns), "--bare",
    )  # fmt: skip
    return Start(
        argv,
        stdin=task.prompt,
        env=env,
        inputs={SETTINGS: json.dumps(settings).encode()},
        masked=True,
    )


def read(printed: Printed) -> Left:
    last: dict[str, Any] = {}
    said = ""
    for event in words.events(printed.stdout):
        if event.get("type") == "result":
            last = event
        elif event.get("type") == "assistant":
            said = words.text(words.part(event, "message").get("content")) or said
    if not last:
        said = words.tail(printed.stderr) or said
        turns = Trouble.TURNS if "max session turns" in said.lower() else None
        return Left(claimed=said, trouble=turns or words.error(said), words=said)
    usage = words.part(last, "usage")
    spent = Usage(words.count(usage, "input_tokens"), words.count(usage, "output_tokens"))
    claimed = words.text(last.get("result")) or said
    return Left(
        claimed=claimed[: words.CLAIM],
        usage=spent,
        turns=words.count(last, "num_turns"),
        denied=words.denied(last.get("permission_denials")),
        trouble=_trouble(last, claimed),
        words=words.text(words.part(last, "error").get("message")),
    )


def _trouble(last: dict[str, Any], claimed: str) -> Trouble | None:
    wrong = words.text(words.part(last, "error").get("message"))
    if "max_turns" in str(last.get("subtype")) or "max session turns" in wrong.lower():
        return Trouble.TURNS
    if last.get("is_error"):
        return words.error(wrong or claimed) or Trouble.UNKNOWN
    _, broken, why = claimed.rpartition("[API Error")  # also in the middle of an answer
    if broken and why.rstrip().endswith("]"):
        return words.error(why) or Trouble.UNKNOWN
    return words.prose(claimed)
