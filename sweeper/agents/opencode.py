"""opencode, headless: the prompt on stdin, one JSON event a line on stdout."""

from __future__ import annotations

import json

from sweeper.agents import words
from sweeper.agents.contract import Left, Needs, Printed, Start, Task
from sweeper.config.models import RungConfig
from sweeper.ladder.classify import Trouble
from sweeper.records import Usage

NEEDS = Needs("anthropic", "claude-sonnet-4-5", frozenset({"anthropic", "openai"}))
PACKAGES = {"anthropic": "@ai-sdk/anthropic", "openai": "@ai-sdk/openai-compatible"}


def tools(rung: RungConfig) -> tuple[str, ...]:
    return ("opencode",)


def start(task: Task) -> Start:
    model = task.needed
    name = f"sweeper/{model.name}"
    provider = {
        "npm": PACKAGES[model.protocol],
        "name": "sweeper",
        "options": {"baseURL": f"{model.base_url}/v1", "apiKey": model.token},
        "models": {model.name: {"name": model.name, "limit": {"context": 200_000, "output": 16_000}}},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "model": name,
        "small_model": name,
        "provider": {"sweeper": provider},
        "agent": {"build": {"steps": task.rung.max_turns}},
    }
    env = {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    }
    # a title of our own saves the model call that would make one
    argv = ("opencode", "run", "--format", "json", "--auto", "--pure", "--title", "unit")
    return Start(argv, stdin=task.prompt, env=env, masked=True)


def read(printed: Printed) -> Left:
    claimed = wrong = ""
    usage, turns = Usage(), 0
    for event in words.events(printed.stdout):
        part = words.part(event, "part")
        match event.get("type"):
            case "text":
                claimed = words.text(part.get("text"))
            case "step_finish":
                tokens, cache = words.part(part, "tokens"), words.part(part, "tokens", "cache")
                read_in = words.count(tokens, "input") + words.count(cache, "read", "write")
                usage += Usage(read_in, words.count(tokens, "output", "reasoning"), words.dollars(part, "cost"))
                turns, wrong = turns + 1, ""
            case "error":
                error = words.part(event, "error")
                data = words.part(error, "data")
                status = data.get("statusCode") or ""
                wrong = f"{status} {words.text(data.get('message')) or error.get('name') or ''}".strip()
    if not turns and not claimed and not wrong:
        said = words.tail(printed.stderr)
        return Left(claimed=said, trouble=words.error(said), words=said)
    trouble = (words.error(wrong) or Trouble.UNKNOWN) if wrong else words.prose(claimed)
    return Left((claimed or wrong)[: words.CLAIM], usage if turns else None, turns, trouble=trouble, words=wrong)
