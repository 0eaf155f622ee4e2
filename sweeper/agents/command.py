"""Any program as an agent: a linter's own fixer, a codemod, a script. No model, no credential, no cost.

With a `provider` on its rung it is an agent of one's own: it gets the gateway's address and a placeholder token under
the names that the providers' own libraries read.
"""

from __future__ import annotations

from sweeper.agents.contract import PROMPT, Left, Needs, Printed, Start, Task
from sweeper.commands import argv, with_files
from sweeper.config.models import RungConfig
from sweeper.errors import ConfigError
from sweeper.sandbox.contract import INPUTS

NEEDS: Needs | None = None


def tools(rung: RungConfig) -> tuple[str, ...]:
    command = argv(rung.run)
    if not command:
        raise ConfigError('a rung with agent = "command" has no `run`', hint='run = "ruff check --fix {files}"')
    return (command[0],)


def start(task: Task) -> Start:
    return Start(
        argv=expand(argv(task.rung.run), task.files),
        env=_model(task),
        inputs={PROMPT: task.prompt},
    )


def _model(task: Task) -> dict[str, str]:
    if task.model is None:
        return {}
    model, env = task.model, {"SWEEPER_MODEL": task.model.name}
    match model.protocol:
        case "anthropic":
            env |= {"ANTHROPIC_BASE_URL": model.base_url, "ANTHROPIC_API_KEY": model.token}
        case "openai":
            env |= {"OPENAI_BASE_URL": f"{model.base_url}/v1", "OPENAI_API_KEY": model.token}
        case "gemini":
            env |= {"GOOGLE_GEMINI_BASE_URL": model.base_url, "GEMINI_API_KEY": model.token}
    return env


def read(printed: Printed) -> Left:
    """Nothing is known of what any program says."""
    return Left()


def expand(template: tuple[str, ...], files: tuple[str, ...]) -> tuple[str, ...]:
    """`{files}` becomes the files, `{prompt}` within a word the prompt's path."""
    return with_files([word.replace("{prompt}", f"{INPUTS}/{PROMPT}") for word in template], files)
