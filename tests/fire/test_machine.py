"""What the coordinator's machine refuses is no unit's failure."""

from __future__ import annotations

import errno
import os
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from sweeper.attempt import attempt
from sweeper.records import Kind


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EMFILE, Kind.TRANSIENT),
        (errno.ENFILE, Kind.TRANSIENT),
        (errno.ENOMEM, Kind.TRANSIENT),
        (errno.EAGAIN, Kind.TRANSIENT),
        (errno.ENOSPC, Kind.REFUSED),
        (errno.EROFS, Kind.REFUSED),
    ],
)
def test_c24_what_a_machine_lacks_is_tried_again_or_ends_the_run(
    number: int, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit that is held for it would wait for a human who has nothing to decide."""

    async def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(attempt, "run_agent", fails)
    job: Any = SimpleNamespace(unit=SimpleNamespace(key="u"), number=1, rung=0, captured={})
    ground: Any = SimpleNamespace(commit="c")
    nothing: Any = None
    outcome = anyio.run(attempt._tried, nothing, ground, job, nothing, lambda: None)
    assert outcome.kind is kind
    assert os.strerror(number) in outcome.evidence.lines[0]
