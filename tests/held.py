"""A command that ends when the test lets it, and no sooner: nothing has to take so and so long.

Bubblewrap's sandbox gets a tool of the host with the folder that it lies in, and sees there what the test does.
"""

from __future__ import annotations

from pathlib import Path


class Held:
    """Programs in `folder`, which is made: outside of any project, for a sandbox to mount."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)

    @property
    def waiting(self) -> str:
        """Shell: waits here until `let_go`."""
        return f"while ! test -e {self.folder}/go; do sleep 0.1; done"

    def let_go(self) -> None:
        (self.folder / "go").touch()

    def program(self, name: str, script: str) -> str:
        """The path of a program of this shell script."""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)
