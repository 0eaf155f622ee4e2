"""What in a repository speaks for a linter: the form of a row, and patterns that rows share."""

from __future__ import annotations

from dataclasses import dataclass

PYTHON = (".py", ".pyi")


@dataclass(frozen=True, slots=True)
class Sign:
    """`sources`: endings of the paths that it would check ("" for any), `under`: the folder that they are in.
    `config`: names of its own configuration files, `packages`: npm packages that a package.json depends on,
    `tables`: (file name, pattern of its part of that file). `alone`: suggested without any configuration,
    unless another linter of its `kind` is configured. `variants`: (file name, (pattern, another check)) where a
    file's content asks for another check. `must_be_configured`: without a configuration file it does not work.
    `anchors`: it runs in the folders that have one of these files, and nowhere else.
    `install`: the package manager and the package that bring it, "" if its toolchain has it. `toolchain`: an image
    that has it, or where it can be installed. `dependencies`: what it finds depends on the project's own being
    installed. `tested`: its fixes may break the project's tests, whatever language those are in."""

    tool: str
    check: str
    sources: tuple[str, ...]
    config: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    tables: tuple[tuple[str, str], ...] = ()
    kind: str = ""
    alone: bool = False
    under: str = ""
    variants: tuple[tuple[str, tuple[str, str]], ...] = ()
    must_be_configured: bool = False
    anchors: tuple[str, ...] = ()
    install: str = ""
    toolchain: str = "python"
    dependencies: bool = False
    tested: bool = False


def toml(table: str) -> str:
    """A pattern for the header of a table or of one below it."""
    return r"(?m)^[ \t]*\[[ \t]*" + r"[ \t]*\.[ \t]*".join(table.split(".")) + r"[ \t]*[.\]]"


def ini(section: str) -> str:
    return rf"(?m)^\[{section}[\]:.-]"


def tracked(tool: str, *patterns: str) -> str:
    """A check of the tracked files, new ones too, for a tool that has to be given files."""
    quoted = " ".join(f"'{pattern}'" for pattern in patterns)
    return f'sh -c "git ls-files -co --exclude-standard -z -- {quoted} | xargs -0 {tool}"'
