"""Configuration files for agents that look for them in HOME, which is empty in a sandbox."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence

from sweeper.sandbox.contract import HOME, INPUTS


def with_file(argv: Sequence[str], name: str, place: str) -> tuple[str, ...]:
    """A command that copies the input `name` to `place` (relative to HOME) and then is `argv`."""
    target = shlex.quote(f"{HOME}/{place}")
    folder = shlex.quote(posixpath.dirname(f"{HOME}/{place}"))
    script = f'mkdir -p {folder} && cp {shlex.quote(f"{INPUTS}/{name}")} {target} && exec "$@"'
    return ("sh", "-c", script, "sh", *argv)
