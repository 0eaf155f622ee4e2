"""The sandbox suite's way to a backend, for toolchains: every test that takes `box` runs on each kind."""

from __future__ import annotations

from tests.sandbox.conftest import _box_of_backend, backend, box, factory, portal, store

__all__ = ["_box_of_backend", "backend", "box", "factory", "portal", "store"]
