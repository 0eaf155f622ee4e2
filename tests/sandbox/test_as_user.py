"""The conformance suite again as an ordinary user, while root runs the tests."""

from __future__ import annotations

import pytest

from tests.conftest import User, cannot_run
from tests.ordinary import home_of, passes
from tests.sandbox.backends import FACTORIES

SUITE = (
    "test_commands",
    "test_limits",
    "test_isolation",
    "test_layers",
    "test_teardown",
    "test_probing",
    "test_tools",
    "test_door",
    "test_installing",
    "test_seccomp",
)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=getattr(pytest.mark, each.marker)) for name, each in FACTORIES.items()]
)
def test_conformance_as_an_ordinary_user(name: str, ordinary_user: User) -> None:
    factory = FACTORIES[name]
    if why := factory.missing():
        cannot_run(why)
    with home_of(ordinary_user) as home:
        files = [f"tests/sandbox/{each}.py" for each in SUITE]
        passes(ordinary_user, home, "-k", name, "-m", "not slow", *files, group=factory.group)
