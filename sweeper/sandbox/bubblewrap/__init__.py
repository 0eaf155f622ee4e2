"""Sandboxes on bubblewrap, on Linux alone: no daemon and no root, one process each in a namespace that we hold."""

from __future__ import annotations

from sweeper.sandbox.bubblewrap.backend import Bubblewrap

__all__ = ["Bubblewrap"]
