"""Capped output and its clocks: pure but for the files."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeper.sandbox.contract import Clock, Clocks
from sweeper.sandbox.output import Output

CAP = 4096


def output(folder: Path, clocks: Clocks | None = None, cap: int = CAP) -> Output:
    return Output(folder / "out", folder / "err", cap, clocks or Clocks(wall=100), 0.0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(sizes=st.lists(st.integers(0, 3000), max_size=12))
def test_head_tail_and_cap(tmp_path: Path, sizes: list[int]) -> None:
    whole = b"".join(bytes([65 + i % 26]) * size for i, size in enumerate(sizes))
    out = output(tmp_path)
    start = 0
    for size in sizes:
        out.write(1, whole[start : start + size], 1.0)
        start += size
    out.close()
    out.close()
    data = (tmp_path / "out").read_bytes()
    assert len(data) <= CAP
    assert out.truncated == (len(whole) > CAP)
    if len(whole) <= CAP:
        assert data == whole
    else:
        head, line, tail = data.partition(b"\n[... ")
        assert line
        number, _, tail = tail.partition(b" bytes left out ...]\n")
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + int(number) + len(tail) == len(whole)
        assert len(head) >= CAP // 2
        assert len(tail) >= CAP // 2 - 64


def test_memory_for_an_endless_stream_is_bounded(tmp_path: Path) -> None:
    out = output(tmp_path, cap=1 << 20)
    for _ in range(3000):
        out.write(2, b"x" * 65536, 1.0)
    assert len(out._streams[2]._rest) < 1 << 20
    assert out.overflowing
    out.close()


def test_overflow_is_far_beyond_the_cap(tmp_path: Path) -> None:
    out = output(tmp_path)
    out.write(1, b"x" * 2 * CAP, 1.0)
    assert (out.truncated, out.overflowing) == (True, False)
    out.write(1, b"x" * 3 * CAP, 1.0)
    assert out.overflowing
    out.close()


def test_before_its_first_output_a_command_is_not_idle(tmp_path: Path) -> None:
    out = output(tmp_path, Clocks(wall=100, first_output=50, idle=5))
    out.start(1000.0)
    assert (out.left(1000.0), out.expired(1049.0)) == (50, None)
    out.write(1, b"x", 1049.0)
    assert (out.left(1049.0), out.expired(1054.0)) == (5, Clock.IDLE)
    out.close()
    silent = output(tmp_path, Clocks(wall=100, idle=5))
    silent.start(1000.0)
    assert silent.expired(1005.0) is Clock.IDLE
    silent.close()


def test_clocks(tmp_path: Path) -> None:
    out = output(tmp_path, Clocks(wall=100, first_output=10, idle=30))
    out.start(1000.0)
    assert out.left(1000.0) == 10
    assert out.expired(1009.9) is None
    assert out.expired(1010.0) is Clock.FIRST_OUTPUT
    out.write(1, b"", 1009.0)
    assert out.expired(1010.0) is Clock.FIRST_OUTPUT
    out.write(2, b"x", 1009.0)
    assert out.left(1009.0) == 30
    assert out.expired(1039.0) is Clock.IDLE
    for now in range(1010, 1100, 20):
        out.write(1, b"x", float(now))
    assert out.expired(1099.9) is None
    assert out.expired(1100.0) is Clock.WALL
    assert out.left(2000.0) == 0
    out.close()
