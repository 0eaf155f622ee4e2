"""The policy on one changed file against a bare parse of both its versions, and the limited child's part of it."""

from __future__ import annotations

import re
import textwrap
import time
from collections.abc import Awaitable, Callable
from keyword import iskeyword
from pathlib import Path

import anyio

from bench.rows import Row
from sweeper.backlog.child import Parser
from sweeper.policy import Scope
from sweeper.policy.trees import parse
from sweeper.policy.wire import judge_rows
from sweeper.records import Change, Finding, Unit

PATH = "src/wrap.py"
_NAME = re.compile(rb"(?<![\w\"'])[A-Za-z_]{3,}\b(?![\"'])")
REPEATS = 40
EDITED, REWRITTEN, CHILD = 6.0, 25.0, 1.5


def measure() -> list[Row]:
    """The best of many short runs, which take turns: the others say what else the machine was doing."""
    before = Path(textwrap.__file__).read_bytes()
    edited = _edited(before)
    rewritten = _NAME.sub(lambda word: word[0] if iskeyword(word[0].decode()) else word[0] + b"_", before)
    judged, parsed = _best(lambda: _judge(before, edited)), _best(lambda: _parse(before, edited))
    anew, both = _best(lambda: _judge(before, rewritten)), _best(lambda: _parse(before, rewritten))
    called, direct = anyio.run(_calls, before, edited)
    size = f"{len(before.splitlines())} lines"
    return [
        Row(
            "policy: one changed line / a parse of both versions",
            judged / parsed,
            EDITED,
            at_least=False,
            detail=f"{size}; {judged * 1e3:.1f} ms against {parsed * 1e3:.1f} ms",
        ),
        Row(
            "policy: every line changed / a parse of both versions",
            anew / both,
            REWRITTEN,
            at_least=False,
            detail=f"{size}; {anew * 1e3:.1f} ms against {both * 1e3:.1f} ms",
        ),
        Row(
            "policy: in the limited child / in this process",
            called / direct,
            CHILD,
            at_least=False,
            detail=f"{called * 1e3:.1f} ms against {direct * 1e3:.1f} ms",
        ),
    ]


def _edited(before: bytes) -> bytes:
    lines = before.split(b"\n")
    number = next(n for n, line in enumerate(lines) if n > len(lines) // 2 and b" = " in line)
    lines[number] = lines[number].replace(b" = ", b" = not ", 1)
    return b"\n".join(lines)


def _arguments(before: bytes, after: bytes) -> tuple[object, ...]:
    finding = Finding(PATH, 1, 1, "X", "message", fingerprint="f")
    return [Change(PATH, after)], {PATH: before}, Unit("u", "bench", PATH, (PATH,), (finding,)), Scope(), {}


def _judge(before: bytes, after: bytes) -> None:
    assert judge_rows(*_arguments(before, after))  # type: ignore[arg-type]


def _parse(before: bytes, after: bytes) -> None:
    assert parse("python", before) is not None
    assert parse("python", after) is not None


def _best(work: Callable[[], None]) -> float:
    """Seconds of processor time."""
    work()  # what is compiled and loaded once
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


async def _calls(before: bytes, after: bytes) -> tuple[float, float]:
    """Seconds of a judgement in the child, and here."""
    parser = Parser()
    arguments = _arguments(before, after)

    async def there() -> None:
        assert await parser.call(judge_rows, *arguments)

    async def here() -> None:
        _judge(before, after)

    try:
        called, direct = [], []
        await there()
        for _ in range(REPEATS):
            called.append(await _seconds(there))
            direct.append(await _seconds(here))
    finally:
        await parser.aclose()
    return min(called), min(direct)


async def _seconds(work: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began
