"""A created container from its start to its end: streams, clocks, limits that we watch, and the facts.

Every deadline is ours, kept from outside and enforced by killing the container: no timeout of the engine's API bounds
what runs in it.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from typing import Any

import anyio
import docker.errors
import docker.utils.socket
import requests.exceptions

from sweeper.errors import SandboxFailed
from sweeper.sandbox.contract import Clock, Facts
from sweeper.sandbox.docker.engine import BROKEN, Conflict, Engine, EngineRestarted, Missing, timed_out
from sweeper.sandbox.output import Output

TICK = 0.5
WATCH_SHARE = 0.1  # at most this share of the time goes into looking at the disk
SIGNALLED = 128
SIGNALS = frozenset(int(number) for number in signal.Signals)

Disk = Callable[[], tuple[bool, bool]]


class Lost(Exception):
    """The connection to the engine broke while the command ran."""


class Running:
    """One container's run. `disk`: (over its limit, full), a blocking look at what it wrote."""

    def __init__(self, engine: Engine, container: str, stdin: bytes, output: Output, disk: Disk) -> None:
        self._engine = engine
        self._container = container
        self._stdin = stdin
        self._output = output
        self._disk = disk
        self._disk_full = False
        self._clock: Clock | None = None
        self._ended_by_us = False
        self._gap = False

    async def to_end(self) -> Facts:
        """Start it and follow it until it is over. Raises SandboxFailed if the engine lost it."""
        began = await self._start()
        while True:
            outages = self._engine.outages
            try:
                await self._follow()
                break
            except Lost as problem:
                await self._engine.recover(outages, problem)
                await self._still_there()
                self._gap = True
                self._socket = await self._attach()
        seconds = time.monotonic() - began
        state = await self._state()
        with contextlib.suppress(OSError):
            self._disk_full = (await self._engine.stream(self._disk))[1] or self._disk_full
        return self._facts(state, seconds)

    async def _attach(self) -> Any:
        wanted = {"stdin": int(bool(self._stdin)), "stdout": 1, "stderr": 1, "stream": 1}
        streams = self._engine.streams
        sock = await self._engine.call(
            "attach to the sandbox", lambda: streams.attach_socket(self._container, params=wanted)
        )
        set_timeout = getattr(getattr(sock, "_sock", sock), "settimeout", None)
        if set_timeout is not None:
            set_timeout(None)
        return sock

    async def _start(self) -> float:
        """Attach first, so that nothing it prints is missed; begin the clocks when it starts."""
        for _ in range(3):
            self._socket = await self._attach()
            began = time.monotonic()
            self._output.start(began)
            try:
                await self._engine.once("start the sandbox", self._engine.control.start, self._container)
                return began
            except EngineRestarted:
                if (await self._state())["Status"] != "created":
                    break
        await self._still_there()
        return began

    async def _follow(self) -> None:
        """Read its output to the end and wait for it, while the clocks run."""
        over = anyio.Event()
        problems: list[BaseException] = []

        async def follow() -> None:
            try:
                await self._engine.stream(self._read_and_wait)
            except (docker.errors.APIError, *BROKEN) as problem:
                problems.append(problem)
            finally:
                over.set()

        failed: SandboxFailed | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(follow)
            if self._stdin and not self._gap:
                group.start_soon(self._engine.stream, self._write_stdin)
            try:
                await self._watch(over)
            except SandboxFailed as problem:
                failed = problem  # raised behind the task group, which would wrap it
            # A command that closes its input early leaves the writer waiting for room that never comes.
            group.cancel_scope.cancel()
        close(self._socket)
        if failed is not None:
            raise failed
        if not problems:
            return
        if isinstance(problems[0], docker.errors.NotFound):
            raise Missing(str(problems[0]), retryable=True, may_have_run=True) from problems[0]
        raise Lost(str(problems[0])) from problems[0]

    def _read_and_wait(self) -> None:
        frames = docker.utils.socket.frames_iter(self._socket, tty=False)  # type: ignore[no-untyped-call]
        for stream, data in frames:
            if stream in (1, 2):
                self._output.write(stream, data, time.monotonic())
            if self._output.overflowing:
                break
        # Not over yet: a command may close its output and go on.
        while not self._output.overflowing:
            try:
                self._engine.streams.wait(self._container)
                return
            except requests.exceptions.RequestException as problem:
                if not timed_out(problem):
                    raise

    def _write_stdin(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # it ended, or closed its input, without reading all
            sock = getattr(self._socket, "_sock", self._socket)
            sock.sendall(self._stdin)
            sock.shutdown(1)

    async def _watch(self, over: anyio.Event) -> None:
        next_look = time.monotonic() + TICK
        while not over.is_set():
            now = time.monotonic()
            if clock := self._output.expired(now):
                self._clock = clock
                await self._end(over)
                return
            if now >= next_look:
                too_much, full = await self._engine.stream(self._disk)
                self._disk_full = self._disk_full or full
                if too_much:
                    await self._end(over)
                    return
                spent = time.monotonic() - now
                next_look = time.monotonic() + max(TICK, spent / WATCH_SHARE)
            with anyio.move_on_after(min(self._output.left(time.monotonic()), TICK) or 0.001):
                await over.wait()
        if self._output.overflowing:
            close(self._socket)  # the engine does not let a sandbox end while somebody might read what it printed
            await self._end(over)

    async def _end(self, over: anyio.Event) -> None:
        """Kill it and wait until the engine says that it is over. A clock that came too late ended nothing."""
        self._ended_by_us = await kill(self._engine, self._container)
        if not self._ended_by_us:
            self._clock = None
        await wait(self._engine, self._container)
        with anyio.move_on_after(5):  # what it printed last is still on its way
            await over.wait()

    async def _state(self) -> dict[str, Any]:
        found = await self._engine.call("look at the sandbox", self._engine.control.inspect_container, self._container)
        return dict(found["State"])

    async def _still_there(self) -> None:
        if not (await self._state())["Running"]:
            raise SandboxFailed(
                "the engine went away and took the sandbox's command with it", retryable=True, may_have_run=True
            )

    def _facts(self, state: dict[str, Any], seconds: float) -> Facts:
        code = int(state["ExitCode"])
        number = None
        if self._ended_by_us:
            number = int(signal.SIGKILL)
        elif code - SIGNALLED in SIGNALS:  # an engine reports signal n as exit code 128 + n
            number = code - SIGNALLED
        return Facts(
            exit_code=code if number is None else None,
            signal=number,
            oom=bool(state.get("OOMKilled")),
            clock=self._clock,
            output_truncated=self._output.truncated or self._gap,
            disk_full=self._disk_full,
            seconds=seconds,
        )


def close(sock: Any) -> None:
    """End the connection, so that a thread which still reads or writes it comes back."""
    inner = getattr(sock, "_sock", sock)
    with contextlib.suppress(OSError, AttributeError, ValueError):
        inner.shutdown(2)
    with contextlib.suppress(OSError, AttributeError, ValueError):
        sock.close()
    response = getattr(sock, "_response", None)
    if response is not None:
        with contextlib.suppress(Exception):
            response.close()


async def kill(engine: Engine, container: str) -> bool:
    """At once, without a grace period. False if it was not running."""
    try:
        await engine.call("kill the sandbox", engine.control.kill, container)
    except (Missing, Conflict):
        return False
    return True


async def wait(engine: Engine, container: str) -> None:
    """Until the engine has torn down what the command ran in."""
    with contextlib.suppress(Missing):
        await engine.call("wait for the sandbox", engine.control.wait, container)
