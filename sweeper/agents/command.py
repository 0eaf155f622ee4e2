"""Any program as an agent: a linter's own fixer, a codemod, a script. No model, no credential, no cost."""

from __future__ import annotations

from sweeper.agents.contract import Start, Task
from sweeper.config import RungConfig, argv
from sweeper.errors import ConfigError
from sweeper.sandbox.contract import INPUTS

PROMPT = "prompt.md"


def tools(rung: RungConfig) -> tuple[str, ...]:
    command = argv(rung.run)
    if not command:
        raise ConfigError('a rung with agent = "command" has no `run`', hint='run = "ruff check --fix {files}"')
    return (command[0],)


def start(task: Task) -> Start:
    return Start(
        argv=expand(argv(task.rung.run), task.files),
        env=dict(task.rung.env),
        inputs={PROMPT: task.prompt},
    )


def expand(template: tuple[str, ...], files: tuple[str, ...]) -> tuple[str, ...]:
    """`{files}` as a word of its own becomes the files, `{prompt}` the prompt's path; anything else is literal.

    A name that starts with "-" gets "./" in front, so that no file can pose as an option.
    """
    words: list[str] = []
    for word in template:
        if word == "{files}":
            words.extend("./" + name if name.startswith("-") else name for name in files)
        else:
            words.append(word.replace("{prompt}", f"{INPUTS}/{PROMPT}"))
    return tuple(words)
