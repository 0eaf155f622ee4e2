"""Claude Code, headless: the prompt on stdin, one JSON event a line on stdout."""

from __future__ import annotations

from typing import Any

from sweeper.agents import words
from sweeper.agents.contract import Left, Needs, Printed, Start, Task
from sweeper.config.models import RungConfig
from sweeper.ladder.classify import Trouble
from sweeper.records import Usage

NEEDS = Needs("anthropic", "claude-sonnet-4-5", frozenset({"anthropic"}))
TOOLS = "Read,Edit,Write,Grep,Glob,Bash"


def tools(rung: RungConfig) -> tuple[str, ...]:
    return ("claude",)


def start(task: Task) -> Start:
    model = task.needed
    argv = (
        "claude", "-p", "--output-format", "stream-json", "--verbose", "--model", model.name,
        "--max-turns", str(task.rung.max_turns), *(("--max-budget-usd", f"{task.usd:.2f}") if task.usd else ()),
        "--tools", TOOLS, "--permission-mode", "bypassPermissions", "--permission-prompts", "none",
        # a repository's own settings could start hooks and send the traffic elsewhere
        "--setting-sources", "user", "--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence",
    )  # fmt: skip
    env = {
        "ANTHROPIC_BASE_URL": model.base_url,
        "ANTHROPIC_AUTH_TOKEN": model.token,
        # what it does beside the task, with the one model that the gateway lets pass
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": model.name,
        "ANTHROPIC_SMALL_FAST_MODEL": model.name,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "API_TIMEOUT_MS": str(int(task.rung.clocks.wall * 1000)),
        # we are no root in there, but some hosts map the user so; the sandbox is the boundary either way
        "IS_SANDBOX": "1",
    }
    return Start(argv, stdin=task.prompt, env=env, masked=True)


def read(printed: Printed) -> Left:
    last: dict[str, Any] = {}
    for event in words.events(printed.stdout):
        if event.get("type") == "result":
            last = event
    if not last:
        said = words.tail(printed.stderr) or words.tail(printed.stdout)
        root = words.root(printed.stderr)
        return Left(claimed=said, trouble=Trouble.ROOT if root else words.error(said), words=said)
    usage = words.part(last, "usage")
    claimed = words.text(last.get("result"))
    spent = Usage(
        words.count(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        words.count(usage, "output_tokens"),
        words.dollars(last, "total_cost_usd"),
    )
    return Left(
        claimed=claimed[: words.CLAIM],
        usage=spent,
        turns=words.count(last, "num_turns"),
        denied=words.denied(last.get("permission_denials")),
        trouble=_trouble(last, claimed),
        words=claimed[: words.CLAIM] if last.get("is_error") else "",
    )


def _trouble(last: dict[str, Any], claimed: str) -> Trouble | None:
    subtype, reason = str(last.get("subtype")), last.get("stop_reason")
    if subtype == "error_max_turns" or last.get("terminal_reason") == "max_turns":
        return Trouble.TURNS
    if subtype == "error_max_budget_usd":
        return Trouble.BUDGET
    if reason == "refusal":
        return Trouble.DECLINED
    if last.get("is_error"):
        # "success" here only says that the program itself did not break
        status = last.get("api_error_status")
        return words.error(f"{last.get('api_error_type') or ''} {status or ''} {claimed}") or Trouble.UNKNOWN
    return words.prose(claimed)
