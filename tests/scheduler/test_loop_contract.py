"""The contract of a Loop is frozen: six members; claiming is its own interface of two."""

from __future__ import annotations

import inspect

from sweeper import loop


def members(protocol: type) -> set[str]:
    named = {name for name, value in vars(protocol).items() if inspect.isfunction(value) or isinstance(value, property)}
    return {name for name in named | set(inspect.get_annotations(protocol)) if not name.startswith("_")}


def test_a_loop_has_six_methods_and_no_seventh() -> None:
    assert members(loop.Loop) == {"name", "select_queue", "tier_policy", "dispatch", "land", "on_idle"}


def test_claims_have_two_methods() -> None:
    assert members(loop.Claims) == {"claim", "release"}


def test_a_slot_is_freed_and_weighed() -> None:
    assert members(loop.Slot) == {"free", "weight"}


def test_the_engine_reads_nothing_but_the_key_of_a_unit() -> None:
    assert members(loop.Keyed) == {"key"}


def test_parameters_of_the_loop() -> None:
    found = {
        name: (list(inspect.signature(method).parameters), inspect.iscoroutinefunction(method))
        for name, method in vars(loop.Loop).items()
        if inspect.isfunction(method) and not name.startswith("_")
    }
    assert found == {
        "select_queue": (["self", "cursor"], True),
        "tier_policy": (["self", "unit"], False),
        "dispatch": (["self", "unit", "rung", "slot"], True),
        "land": (["self", "unit", "result"], True),
        "on_idle": (["self"], True),
    }
