"""`sweeper completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from sweeper.cli.console import Console

VARIABLE = "_SWEEPER_COMPLETE"  # click's own name for it
ASKED = 'COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD'
# Bash cuts a word at "=": --option=value comes as three.
JOINED = """local words=() i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        if [[ $i -gt 0 && ${COMP_WORDS[i]} == "=" ]] || [[ $i -gt 1 && ${COMP_WORDS[i-1]} == "=" ]]; then
            words[${#words[@]}-1]+="${COMP_WORDS[i]}"
        else
            words+=("${COMP_WORDS[i]}")
        fi
    done
"""
# Click's own way splits a name at its blanks, and lets the shell expand what looks like a pattern. Within an open quote
# nothing is to be escaped.
WHOLE = {
    "for completion in $response; do": "local type value completion\n    while IFS= read -r completion; do",
    "read type value <<<": "read -r type value <<<",
    "COMPREPLY+=($value)": """[[ ${words[${#words[@]}-1]} == [\\"\\']* ]] || printf -v value '%q' "$value"
            COMPREPLY+=("$value")""",
    "    done\n\n    return 0": """    done <<< "$response"\n\n    return 0""",
}
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
    source = made(sweeper, {}, "sweeper", VARIABLE).source()
    if shell == "bash" and ASKED in source:
        whole = source.replace(ASKED, 'COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1))')
        source = whole.replace("local response\n", f"local response\n    {JOINED}", 1)
        for split, kept in WHOLE.items():
            source = source.replace(split, kept)
    console.result(source)
    return 0
