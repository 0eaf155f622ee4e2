"""`sweeper completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from sweeper.cli.console import Console

VARIABLE = "_SWEEPER_COMPLETE"  # click's own name for it
SHELLS = ("bash", "fish", "zsh")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_obj
def command(console: Console, shell: str) -> int:
    """Print what completes this program's words in a shell.

    \b
        bash: eval "$(sweeper completion bash)" in ~/.bashrc
        zsh:  eval "$(sweeper completion zsh)" in ~/.zshrc
        fish: sweeper completion fish > ~/.config/fish/completions/sweeper.fish
    """
    from sweeper.cli.group import sweeper

    made = get_completion_class(shell)
    assert made is not None
    console.result(made(sweeper, {}, "sweeper", VARIABLE).source())
    return 0
