"""The command line: one module per command, and the wiring that names concrete backends."""

from sweeper.cli.entry import main

__all__ = ["main"]
