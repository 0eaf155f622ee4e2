"""GitHub Copilot CLI with a model of one's own, headless: the prompt on stdin, JSON events on stdout."""

from __future__ import annotations

from sweeper.agents import words
from sweeper.agents.contract import Left, Needs, Printed, Start, Task
from sweeper.config.models import RungConfig
from sweeper.ladder.classify import Trouble
from sweeper.records import Usage

NEEDS = Needs("openai", "gpt-5.5", frozenset({"openai", "anthropic"}))


def tools(rung: RungConfig) -> tuple[str, ...]:
    return ("copilot",)


def start(task: Task) -> Start:
    model = task.needed
    env = {
        "COPILOT_PROVIDER_BASE_URL": model.base_url + ("/v1" if model.protocol == "openai" else ""),
        "COPILOT_PROVIDER_TYPE": model.protocol,
        "COPILOT_PROVIDER_API_KEY": model.token,
        "COPILOT_MODEL": model.name,
        "COPILOT_OFFLINE": "true",
    }
    argv = (
        "copilot", "--allow-all-tools", "--no-ask-user", "--output-format", "json", "--no-auto-update",
        "--disable-builtin-mcps", "--no-color",
    )  # fmt: skip
    return Start(argv, stdin=task.prompt, env=env, masked=True)


def read(printed: Printed) -> Left:
    claimed = wrong = ""
    status, turns, usage = 0, 0, Usage()
    ended = False
    for event in words.events(printed.stdout):
        data = words.part(event, "data")
        match event.get("type"):
            case "assistant.message":
                claimed, wrong = words.text(data.get("content")) or claimed, ""
            case "assistant.turn_end":
                turns += 1
            case "assistant.usage":
                usage += Usage(words.count(data, "inputTokens"), words.count(data, "outputTokens"))
            case "session.error":
                wrong, status = words.text(data.get("message")), words.count(data, "statusCode")
            case "result":
                ended = True
    if not ended and not claimed and not wrong:
        said = words.tail(printed.stderr)
        return Left(claimed=said, trouble=words.error(said), words=said)
    trouble = (words.error(f"{status or ''} {wrong}") or Trouble.UNKNOWN) if wrong else words.prose(claimed)
    return Left(claimed[: words.CLAIM], usage if usage != Usage() else None, turns, trouble=trouble, words=wrong)
