"""Codex, headless: the prompt on stdin, one JSON event a line on stdout. The sandbox around it is ours."""

from __future__ import annotations

from sweeper.agents import words
from sweeper.agents.contract import Left, Needs, Printed, Start, Task
from sweeper.config.models import RungConfig
from sweeper.ladder.classify import Trouble
from sweeper.records import Usage

NEEDS = Needs("openai", "gpt-5.5", frozenset({"openai"}))
TOKEN = "SWEEPER_TOKEN"


def tools(rung: RungConfig) -> tuple[str, ...]:
    return ("codex",)


def start(task: Task) -> Start:
    model = task.needed
    provider = (
        f'{{name="sweeper",base_url="{model.base_url}/v1",env_key="{TOKEN}",wire_api="responses",'
        f"request_max_retries=1,stream_max_retries=1,stream_idle_timeout_ms={int(task.rung.clocks.wall * 1000)},"
        "supports_websockets=false}"
    )
    settings = (
        'model_provider="sweeper"', f"model_providers.sweeper={provider}", "analytics.enabled=false",
        "check_for_update_on_startup=false", "features.plugins=false", "features.hooks=false", "features.apps=false",
        "features.multi_agent=false", "features.image_generation=false", 'web_search="disabled"',
        'shell_environment_policy.inherit="core"',
    )  # fmt: skip
    argv = ["codex", "exec", "--json", "--ephemeral", "--skip-git-repo-check"]
    # its own sandbox cannot start inside ours, and then every edit fails with exit code 0
    argv += ["--dangerously-bypass-approvals-and-sandbox", "-m", model.name]
    for setting in settings:
        argv += ["-c", setting]
    return Start((*argv, "-"), stdin=task.prompt, env={TOKEN: model.token}, masked=True)


def read(printed: Printed) -> Left:
    claimed = wrong = ""
    usage = None
    turns = 0
    failed = False
    for event in words.events(printed.stdout):
        kind = event.get("type")
        if kind == "item.completed" and words.part(event, "item").get("type") == "agent_message":
            claimed = words.text(event["item"].get("text"))
        elif kind == "turn.completed":
            counts = words.part(event, "usage")
            usage = Usage(words.count(counts, "input_tokens"), words.count(counts, "output_tokens"))
            turns, failed, wrong = turns + 1, False, ""
        elif kind == "turn.failed":
            failed, wrong = True, words.text(words.part(event, "error").get("message"))
        elif kind == "error":
            wrong = words.text(event.get("message"))
    said = words.tail(printed.stderr)
    if not claimed and not wrong and not usage:
        return Left(claimed=said, trouble=words.error(said), words=said)
    trouble = (words.error(wrong) or Trouble.UNKNOWN) if failed or wrong else words.prose(claimed)
    return Left(claimed[: words.CLAIM], usage, turns, trouble=trouble, words=wrong)
