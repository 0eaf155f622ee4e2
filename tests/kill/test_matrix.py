"""SIGKILL of the coordinator before and after every kind of ledger write, sandbox call and write to the repository."""

from __future__ import annotations

import signal

import pytest

from tests.kill.conftest import Killed

pytestmark = [pytest.mark.slow, pytest.mark.kill, pytest.mark.timeout(900)]


def kill_everywhere(killed: Killed, most: int) -> list[str]:
    """Run until nothing kills it any more: each start dies at the next point that none died at before."""
    for _ in range(2000):
        done = killed.run(KILL_POINTS_MOST=str(most))
        if done.returncode != -signal.SIGKILL:
            assert done.returncode == 0, done.stderr
            return killed.met()
    raise AssertionError(f"it never ended; met {killed.met()}")


def test_a_coordinator_that_dies_at_every_point_loses_nothing_and_does_nothing_twice(killed: Killed) -> None:
    met = kill_everywhere(killed, 1)
    kinds = {point.split("#")[0] for point in met}
    assert {"ledger:claim", "ledger:start", "ledger:land", "sandbox:run", "repo:write_change"} <= kinds
    assert {point.rpartition(":")[2] for point in met} == {"before", "after"}
    killed.check_promises()


@pytest.mark.long
def test_and_at_every_occurrence_of_every_point(killed: Killed) -> None:
    assert len(kill_everywhere(killed, 1000)) > 100
    killed.check_promises()
