"""A journal replays to the same commands; a changed one is found out at the row that was changed."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from sweeper.ledger.contract import JournalRow
from sweeper.loop import RetryAt, Settled
from sweeper.replay import replay
from sweeper.scheduler import EngineLimits, Scheduler
from sweeper.scheduler import messages as m
from sweeper.scheduler.journal import decode_event, encode_commands, encode_event


@pytest.fixture
def rows() -> list[JournalRow]:
    """One unit that is retried and then settled, another that is settled, in times that are no round numbers."""
    start = 1_790_000_000.123456789
    events: list[m.Event] = [
        m.Started(("a",), EngineLimits(2, 1, {"a": 2}, 100, start + 1e6)),
        m.Paged("a", (m.Entry("k\udc80", 1, "gold"), m.Entry("l", 2)), None),
        m.Claimed("a", "k\udc80"),
        m.Claimed("a", "l"),
        m.Finished("a", "k\udc80", failed=True),
        m.Landed("a", "k\udc80", RetryAt(start + 0.65), m.Entry("k\udc80", 1, "gold")),
        m.Released("a", "k\udc80"),
        m.Time(),
        m.SlotFreed("a", "l"),
        m.Finished("a", "l", failed=False),
        m.Landed("a", "l", Settled(), None),
        m.Released("a", "l"),
        m.Claimed("a", "k\udc80"),
        m.Finished("a", "k\udc80", failed=False),
        m.Landed("a", "k\udc80", Settled(), None),
        m.Released("a", "k\udc80"),
        m.IdleAnswered("a", again=False),
    ]
    scheduler = Scheduler()
    made = []
    for seq, event in enumerate(events):
        now = start + seq * 0.1
        made.append(JournalRow(seq, encode_event(now, event), encode_commands(scheduler.handle(now, event))))
    return made


def test_the_same_commands_follow(rows: list[JournalRow]) -> None:
    report = replay(rows)
    assert report.difference is None
    assert report.complete
    assert (report.rows, report.drains) == (17, 1)
    assert (report.tally.dispatched, report.tally.settled, report.tally.retried) == (3, 2, 1)


def test_events_survive_json_exactly(rows: list[JournalRow]) -> None:
    for row in rows:
        now, event = decode_event(json.loads(json.dumps(row.event)))
        assert encode_event(now, event) == row.event


@pytest.mark.parametrize("at", [0.1 + 0.2, float("inf"), float("-inf"), 5e-324, 3])
def test_times_survive_json_exactly(at: float) -> None:
    row = encode_event(at, m.Landed("a", "k", RetryAt(at), None))
    now, event = decode_event(json.loads(json.dumps(row, allow_nan=False)))
    assert now == at
    assert event == m.Landed("a", "k", RetryAt(at), None)


def test_several_drains_of_one_fire_follow_each_other(rows: list[JournalRow]) -> None:
    again = [JournalRow(row.seq + len(rows), row.event, row.commands) for row in rows]
    report = replay(rows + again)
    assert (report.difference, report.drains, report.complete) == (None, 2, True)


def test_f10_any_prefix_of_a_journal_replays(rows: list[JournalRow]) -> None:
    for length in range(len(rows)):
        report = replay(rows[:length])
        assert report.difference is None
        assert not report.complete
        assert report.rows == length


CHANGES: list[tuple[int, str, Any]] = [
    (1, "commands", []),
    (2, "commands", [["DISPATCH", "a", "k\udc80", 2]]),
    (4, "event", ["finished", 1_790_000_000.5, "a", "l", False]),
    (7, "event", ["cancelled", 1_790_000_000.8]),
    (9, "event", ["no such event", 1.0]),
    (9, "event", "torn"),
    (9, "event", ["finished", "soon", "a", "l", False]),
    (9, "event", ["unit", 1.0, "a", 1, "", False]),
    (11, "seq", 12),
    (12, "event", ["claimed", 1_790_000_001.2, "z", "l"]),
]


@pytest.mark.parametrize(("seq", "field", "value"), CHANGES)
def test_a_changed_row_is_found(rows: list[JournalRow], seq: int, field: str, value: Any) -> None:
    changed = copy.copy(rows)
    row = {"seq": seq, "event": rows[seq].event, "commands": rows[seq].commands} | {field: value}
    changed[seq] = JournalRow(**row)
    report = replay(changed)
    assert report.difference is not None
    assert report.difference.seq == row["seq"]
    assert report.rows == seq + 1
    assert report.difference.why


def test_a_missing_row_is_found(rows: list[JournalRow]) -> None:
    report = replay(rows[:5] + rows[6:])
    assert report.difference is not None
    assert report.difference.seq == 6
    assert "row 5 is missing" in report.difference.why


def test_a_time_that_was_changed_by_one_bit_is_found(rows: list[JournalRow]) -> None:
    event = copy.deepcopy(rows[5].event)
    event[4][1] += 2.4e-7  # the retry's time: one bit at this magnitude
    report = replay([*rows[:5], JournalRow(5, event, rows[5].commands), *rows[6:]])
    assert report.difference is not None
    assert report.difference.seq == 6
