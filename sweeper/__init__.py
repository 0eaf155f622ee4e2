"""Sweeper: a sandboxed stateless fan-out runner."""

__version__ = "0.1.0"
