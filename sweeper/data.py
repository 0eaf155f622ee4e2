"""Where the data folders are that ship beside the code: prompts, image definitions, the quickstart."""

from __future__ import annotations

from pathlib import Path

from sweeper.errors import SweeperError


def data_folder(name: str) -> Path:
    """The folder `name` ("prompts", "sandboxes", "examples/quickstart"): of the installed wheel, or of a checkout."""
    package = Path(__file__).resolve().parent
    for folder in (package / "_data" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise SweeperError(
        f"the data folder {name!r} is missing beside {package}",
        hint="install sweeper-runner again; its wheel carries the folder",
    )
