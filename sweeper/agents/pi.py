"""pi (pi-coding-agent), headless: the prompt as an attached file, one JSON event a line on stdout."""

from __future__ import annotations

import json
from typing import Any

from sweeper.agents import words
from sweeper.agents.contract import PROMPT, Left, Needs, Printed, Start, Task
from sweeper.agents.home import with_file
from sweeper.config.models import RungConfig
from sweeper.ladder.classify import Trouble
from sweeper.records import Usage
from sweeper.sandbox.contract import INPUTS

NEEDS = Needs("openai", "gpt-5.5", frozenset({"openai", "anthropic"}))
TOKEN = "SWEEPER_TOKEN"
CONFIG = "models.json"
APIS = {"openai": "openai-completions", "anthropic": "anthropic-messages"}


def tools(rung: RungConfig) -> tuple[str, ...]:
    return ("pi", "sh")


def start(task: Task) -> Start:
    model = task.needed
    known = {
        "id": model.name,
        "name": model.name,
        "reasoning": False,
        "input": ["text"],
        "contextWindow": 200_000,
        "maxTokens": 16_000,
        # the gateway counts the money
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    }
    provider = {
        "baseUrl": model.base_url + ("/v1" if model.protocol == "openai" else ""),
        "api": APIS[model.protocol],
        "apiKey": TOKEN,
        "models": [known],
    }
    argv = (
        "pi", "-p", "--mode", "json", "--no-session", "--offline", "-ne", "-ns", "-np", "-nc",
        "--tools", "read,edit,write,bash,grep,find,ls", "--provider", "sweeper", "--model", model.name,
        f"@{INPUTS}/{PROMPT}",
    )  # fmt: skip
    return Start(
        with_file(argv, CONFIG, f".pi/agent/{CONFIG}"),
        env={TOKEN: model.token, "PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
        inputs={CONFIG: json.dumps({"providers": {"sweeper": provider}}).encode(), PROMPT: task.prompt},
        masked=True,
    )


def read(printed: Printed) -> Left:
    last: dict[str, Any] = {}
    usage, turns = Usage(), 0
    for event in words.events(printed.stdout):
        if event.get("type") != "turn_end":
            continue
        last = words.part(event, "message")
        counts = words.part(last, "usage")
        usage += Usage(words.count(counts, "input", "cacheRead", "cacheWrite"), words.count(counts, "output"))
        turns += 1
    if not last:
        said = words.tail(printed.stderr)
        return Left(claimed=said, trouble=words.error(said), words=said)
    claimed, wrong = words.text(last.get("content")), words.text(last.get("errorMessage"))
    failed = last.get("stopReason") in ("error", "aborted")
    trouble = (words.error(wrong) or Trouble.UNKNOWN) if failed else words.prose(claimed)
    return Left((claimed or wrong)[: words.CLAIM], usage, turns, trouble=trouble, words=wrong)
