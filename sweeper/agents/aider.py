"""aider, headless: the prompt as a message file, plain text on stdout."""

from __future__ import annotations

import re

from sweeper.agents import litellm, words
from sweeper.agents.contract import PROMPT, Left, Needs, Printed, Start, Task
from sweeper.config.models import RungConfig
from sweeper.ladder.classify import Trouble
from sweeper.records import Usage
from sweeper.sandbox.contract import INPUTS

NEEDS = Needs("openai", "gpt-5.5", frozenset({"openai", "anthropic"}))
TOKENS = re.compile(
    r"^Tokens: (\d{1,12}(?:\.\d{1,3})?)(k|M)? sent,.{0,100}? (\d{1,12}(?:\.\d{1,3})?)(k|M)? received", re.MULTILINE
)
SCALE = {"": 1, "k": 1000, "M": 1_000_000}
FAILED = re.compile(r"^litellm\.\w+|^The API provider|^Retrying in|^Model .* hit a token limit", re.MULTILINE)
EMPTY = "Empty response received from LLM"
CONFIG = "auto-commits: false\n"  # one of ours, so that none of the repository's is read


def tools(rung: RungConfig) -> tuple[str, ...]:
    return ("aider",)


def start(task: Task) -> Start:
    model = task.needed
    argv = [
        "aider", "--config", f"{INPUTS}/aider.yml", "--env-file", "/dev/null",
        "--model", f"{model.protocol}/{model.name}",
        "--edit-format", "diff", "--yes-always", "--no-auto-commits", "--no-dirty-commits", "--no-gitignore",
        "--no-check-update", "--analytics-disable", "--no-show-model-warnings", "--no-show-release-notes",
        "--no-pretty", "--no-stream", "--no-detect-urls", "--no-suggest-shell-commands", "--no-fancy-input",
        "--no-auto-lint", "--no-auto-test", "--map-tokens", "0", "--disable-playwright",
        "--input-history-file", "/tmp/aider.input", "--chat-history-file", "/tmp/aider.chat",
        "--llm-history-file", "/tmp/aider.llm", "--message-file", f"{INPUTS}/{PROMPT}",
    ]  # fmt: skip
    return Start(
        (*argv, "--", *task.files),
        env=litellm.environment(model),
        inputs={"aider.yml": CONFIG.encode(), PROMPT: task.prompt},
        masked=True,
    )


def read(printed: Printed) -> Left:
    said = words.tail(printed.stdout)
    usage, turns = Usage(), 0
    for sent, big, received, large in TOKENS.findall(printed.stdout.decode("utf-8", "replace")):
        usage += Usage(round(float(sent) * SCALE[big]), round(float(received) * SCALE[large]))
        turns += 1
    found = FAILED.search(said)
    wrong = said[found.start() :] if found else ""
    if not turns and not wrong:
        wrong = words.tail(printed.stderr)
    # a good end says how many tokens went by, after whatever went wrong on the way
    failed = bool(wrong) and said.rfind("Tokens: ") < said.find(wrong)
    trouble = (words.error(wrong) or Trouble.UNKNOWN) if failed else _prose(said)
    return Left(said, usage if turns else None, turns, trouble=trouble, words=wrong if failed else "")


def _prose(said: str) -> Trouble | None:
    """Of the answer alone: aider's own closing lines come after it."""
    answer = said.rpartition("\nTokens: ")[0] or said
    return None if EMPTY in answer else words.prose(answer)
