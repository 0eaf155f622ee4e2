"""The parsing child: real processes, real limits."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from sweeper.backlog.child import ChildFailed, Parser
from sweeper.backlog.parse_server import ANSWERED, ENDED, HEADER, TRAILER
from sweeper.backlog.tools import GENERIC, RUFF
from sweeper.backlog.workers import Workers
from sweeper.errors import ConfigError
from sweeper.records import CheckResult, CheckState
from tests.backlog.samples import FOLDER, said, tree
from tests.waiting import until, until_true

IN_TREE = tree("bad.py", "a.py")


def with_parser(work: Callable[[Parser], Awaitable[None]], **limits: float) -> None:
    async def main() -> None:
        parser = Parser(**limits)  # type: ignore[arg-type]
        try:
            await work(parser)
        finally:
            await parser.aclose()

    anyio.run(main)


async def findings(parser: Parser, stdout: Path = FOLDER / "findings.json") -> CheckResult:
    return await parser.parse(
        stdout, Path("/nonexistent"), exit_code=1, tool=RUFF, listing=IN_TREE, checkouts=("/repo",)
    )


def test_a_document_in_xml_and_a_pattern_are_parsed_in_the_child_too(tmp_path: Path) -> None:
    report, lines = tmp_path / "report", tmp_path / "lines"
    report.write_text('<checkstyle><file name="a.py"><error line="3" message="m" source="R"/></file></checkstyle>')
    lines.write_text("a.py at 4\n")

    async def work(parser: Parser) -> None:
        result = await parser.parse(report, tmp_path / "no", exit_code=1, tool=GENERIC, listing=IN_TREE)
        assert [(f.path, f.line, f.rule) for f in result.findings] == [("a.py", 3, "R")]
        pattern = r"(?P<path>\S+) at (?P<line>\d+)"
        result = await parser.parse(lines, lines, exit_code=1, pattern=pattern, tool=GENERIC, listing=IN_TREE)
        assert [(f.path, f.line) for f in result.findings] == [("a.py", 4)]
        slow = tmp_path / "slow"
        slow.write_text("a" * 5000 + "!\n")
        endless = r"(?P<path>(a+)+)b(?P<line>\d)"
        result = await parser.parse(slow, slow, exit_code=1, pattern=endless, tool=GENERIC, listing=IN_TREE)
        assert (result.state, "processor time" in result.why) == (CheckState.BROKEN, True)

    with_parser(work, cpu=1)


def names_of(data: bytes) -> list[str] | None:
    return data.decode().split() if data else None


def test_the_child_says_what_the_parser_says(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_bytes(b"a\xff.py:1:2: F401 caf\xc3\xa9 \xff\n")

    async def work(parser: Parser) -> None:
        assert await findings(parser) == said((FOLDER / "findings.json").read_bytes(), listing=IN_TREE)
        listing = {b"a\xff.py": next(iter(IN_TREE.values()))}
        result = await parser.parse(odd, odd, exit_code=1, tool=GENERIC, listing=listing)
        assert [f.path for f in result.findings] == [os.fsdecode(b"a\xff.py")]
        missing = await parser.parse(tmp_path / "no", tmp_path / "no", exit_code=0, tool=RUFF)
        assert missing.state is CheckState.CLEAN

    with_parser(work)


def test_many_at_once_share_one_server() -> None:
    async def work(parser: Parser) -> None:
        results: list[CheckResult] = []

        async def one() -> None:
            results.append(await findings(parser))

        async with anyio.create_task_group() as group:
            for _ in range(30):
                group.start_soon(one)
        assert [len(result.findings) for result in results] == [11] * 30

    with_parser(work)


def test_a_killed_server_is_started_again() -> None:
    async def work(parser: Parser) -> None:
        await findings(parser)
        assert parser._workers.server is not None
        first = parser._workers.server
        first.kill()
        first.wait()
        assert len((await findings(parser)).findings) == 11
        assert parser._workers.server is not first

    with_parser(work)


def test_too_much_memory_is_a_broken_check(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb"
    bomb.write_text('{"version":"2.1.0","runs":[' + "[]," * 3_000_000 + "[]]}")

    async def work(parser: Parser) -> None:
        result = await findings(parser, bomb)
        assert (result.state, "memory" in result.why) == (CheckState.BROKEN, True)
        assert len((await findings(parser)).findings) == 11

    with_parser(work, memory=128 << 20)


def test_too_much_processor_time_is_a_broken_check(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text("a.py:1:1: x\n" * 3_000_000)

    async def work(parser: Parser) -> None:
        result = await findings(parser, slow)
        assert (result.state, "processor time" in result.why) == (CheckState.BROKEN, True)

    with_parser(work, cpu=1)


def test_too_slow_is_a_broken_check(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # opening it waits for a writer that never comes

    async def work(parser: Parser) -> None:
        result = await findings(parser, pipe)
        assert (result.state, "took longer" in result.why) == (CheckState.BROKEN, True)

    with_parser(work, wall=0.3)


def test_nesting_without_end_is_a_broken_check(tmp_path: Path) -> None:
    deep = tmp_path / "deep"
    deep.write_text('{"version": "2.1.0", "runs": ' + "[" * 300_000)

    async def work(parser: Parser) -> None:
        assert "nested too deeply" in (await findings(parser, deep)).why

    with_parser(work)


def test_a21_large_output_with_source_text(tmp_path: Path) -> None:
    items = json.loads((FOLDER / "findings.json").read_text())
    big = tmp_path / "big"
    with big.open("w") as file:
        file.write("[")
        for number in range(20_000):
            item = {**items[number % 11], "location": {"row": number, "column": 1}, "source": "x" * 1500}
            file.write(("," if number else "") + json.dumps(item))
        file.write("]")

    async def work(parser: Parser) -> None:
        result = await findings(parser, big)
        assert (result.state, len(result.findings)) == (CheckState.FINDINGS, 20_000)
        cut = await parser.parse(big, big, exit_code=1, truncated=True, tool=RUFF, listing=IN_TREE)
        assert (cut.state, cut.findings) == (CheckState.BROKEN, ())

    with_parser(work, memory=256 << 20)


def test_a_signal_is_a_broken_check() -> None:
    async def work(parser: Parser) -> None:
        result = await parser.parse(
            FOLDER / "clean.json", Path("/nonexistent"), exit_code=None, signal=9, tool=RUFF, listing=IN_TREE
        )
        assert (result.state, "signal 9" in result.why) == (CheckState.BROKEN, True)

    with_parser(work)


def test_an_unknown_format_is_a_configuration_error() -> None:
    async def work(parser: Parser) -> None:
        with pytest.raises(ConfigError, match="xml"):
            await parser.parse(FOLDER / "clean.json", FOLDER, exit_code=0, tool=RUFF, format="xml")

    with_parser(work)


def test_cancellation_ends_the_worker(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def work(parser: Parser) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(findings, parser, pipe)
            await until_true(lambda: parser._workers.server and children(parser._workers.server.pid), "a worker")
            group.cancel_scope.cancel()
        assert parser._workers.server is not None
        server = parser._workers.server.pid
        await until_true(lambda: not children(server), "the worker's end")

    with_parser(work, at_once=1)


def children(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()


def test_the_server_ends_with_its_owner(tmp_path: Path) -> None:
    script = (
        "import anyio, pathlib, time\n"
        "from sweeper.backlog.child import Parser\n"
        "from sweeper.backlog.tools import RUFF\n"
        "async def main():\n"
        "    parser = Parser()\n"
        f"    clean = pathlib.Path({str(FOLDER / 'clean.json')!r})\n"
        "    await parser.parse(clean, pathlib.Path('/x'), exit_code=0, tool=RUFF)\n"
        "    print(parser._workers.server.pid, flush=True)\n"
        "    time.sleep(60)\n"
        "anyio.run(main)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        server = int(owner.stdout.readline())
        owner.send_signal(signal.SIGKILL)

    def ended() -> bool:
        try:
            state = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        return state == "Z"  # nobody in this container reaps orphans

    until(ended, "the server's end")


def test_call_runs_a_function_of_a_module_in_the_child() -> None:
    async def work(parser: Parser) -> None:
        assert await parser.call(names_of, b"a b") == ["a", "b"]
        assert await parser.call(names_of, b"") is None
        with pytest.raises(ChildFailed):
            await parser.call(names_of, b"\xff")

    with_parser(work)


def number_of_the_worker(keep: int = 0) -> int:
    _kept.append(bytearray(keep))
    return os.getpid()


def die(how: int) -> None:
    os.kill(os.getpid(), how)


_kept: list[bytearray] = []


def test_a_worker_that_stayed_as_it_was_takes_the_next_request() -> None:
    async def work(parser: Parser) -> None:
        first = await parser.call(number_of_the_worker)
        assert await parser.call(number_of_the_worker, 1 << 10) == first
        assert await parser.call(number_of_the_worker, 80 << 20) == first  # its last: it has grown
        other = await parser.call(number_of_the_worker)
        assert other != first
        with pytest.raises(ChildFailed, match="ValueError"):
            await parser.call(int, "x")
        assert await parser.call(number_of_the_worker) != other  # there may be a rest of what it could not answer

    with_parser(work, at_once=1)


@pytest.mark.parametrize("stays", [False, True])
def test_an_answer_is_one_also_where_its_worker_s_end_comes_along(stays: bool) -> None:
    """A worker that leaves after its answer: both may be there at the first look. One that ended stays in no case."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(HEADER.pack(ANSWERED, 2, stays) + b"{}" + TRAILER.pack(ENDED, 0))
        assert Workers(1, 5.0)._exchange(ours, b"", time.monotonic() + 5) == (bytearray(b"{}"), False)


def test_a_worker_s_end_is_the_outcome_of_its_request_alone() -> None:
    async def work(parser: Parser) -> None:
        first = await parser.call(number_of_the_worker)
        with pytest.raises(ChildFailed, match="signal 11"):
            await parser.call(die, signal.SIGSEGV)
        second = await parser.call(number_of_the_worker)
        assert second != first
        os.kill(second, signal.SIGKILL)  # while it waits, as the kernel does when memory is short
        server = parser._workers.server
        assert server is not None
        await until_true(lambda: not children(server.pid), "its end")
        assert await parser.call(number_of_the_worker) not in (first, second)

    with_parser(work, at_once=1)


def die_after(worker: int) -> int:
    """As one does in which an earlier request has left something bad."""
    if os.getpid() == worker:
        os._exit(0)
    return os.getpid()


def test_what_a_used_worker_can_t_answer_is_asked_of_a_new_one() -> None:
    async def work(parser: Parser) -> None:
        used = await parser.call(number_of_the_worker)
        assert await parser.call(die_after, used) != used

    with_parser(work, at_once=1)


def test_the_limit_on_processor_time_is_each_request_s_own() -> None:
    async def work(parser: Parser) -> None:
        workers = {await parser.call(busy, 0.4) for _ in range(5)}
        assert len(workers) == 1
        with pytest.raises(ChildFailed, match="processor time"):
            await parser.call(busy, 30.0)

    with_parser(work, cpu=1, at_once=1)


def busy(seconds: float) -> int:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return os.getpid()


def test_a_cancelled_request_ends_no_other_s_worker() -> None:
    async def work(parser: Parser) -> None:
        async def short(milliseconds: int) -> None:
            with anyio.move_on_after(milliseconds / 1000):
                await parser.call(number_of_the_worker)

        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(short, number)
                assert await parser.call(names_of, b"a b") == ["a", "b"]

    with_parser(work, at_once=2)
