"""Sandboxes on a docker engine: one container each, over an overlay of our own or an image with the tree in it."""

from __future__ import annotations

from sweeper.sandbox.docker.backend import Docker, answers

__all__ = ["Docker", "answers"]
