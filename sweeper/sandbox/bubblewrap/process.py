"""One bwrap with a command in it: started blocked, limited, released, watched, and provably over at the end.

Over means: the first process of the sandbox's process namespace is dead, and the kernel has ended every other one
before it. The outer bwrap proves nothing: writes went on after it was reaped.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sweeper.errors import SandboxFailed
from sweeper.sandbox.bubblewrap.cgroup import Group
from sweeper.sandbox.bubblewrap.namespace import Namespace
from sweeper.sandbox.bubblewrap.watchdog import INTERVAL, Watchdog
from sweeper.sandbox.contract import Clock, Limits
from sweeper.sandbox.output import Output

STATUS_FD, BLOCK_FD, FILTER_FD = 3, 4, 5  # where bwrap finds them
LOOK = 0.5  # seconds between two looks at the disk
PATIENCE = 30.0  # seconds for the kernel to end what was killed
CHUNK = 1 << 16
NOT_FOUND = 127


@dataclass(slots=True)
class End:
    """How it ended. `code` as bwrap reports it (128 + n for a signal n), None if it was not reported."""

    code: int | None = None
    clock: Clock | None = None
    cancelled: bool = False
    overflow: bool = False
    oom: bool = False
    disk_full: bool = False
    seconds: float = 0.0

    @property
    def stopped(self) -> bool:
        """Whether it was ended from outside."""
        return self.cancelled or self.overflow or self.oom or self.clock is not None


class Process:
    """`pid` is the sandbox's first process, as this machine counts."""

    def __init__(self, namespace: Namespace, argv: list[str], stdin: bytes, rules: bytes = b"") -> None:
        """Start bwrap and wait until it stands at the gate. Raises SandboxFailed with what bwrap said.

        `rules`: the seccomp filter that `argv` tells bwrap to read.
        """
        self._namespace = namespace
        self._fds: list[int] = []
        self._status = b""
        self.said = b""  # the head of stderr
        self.pidfd = -1
        try:
            given = self._spawn(argv, stdin, rules)
            self.pid = self._child(given)
            self.pidfd = self._own(os.pidfd_open(self.pid))
        except BaseException:
            self.close()
            raise

    def _own(self, fd: int) -> int:
        self._fds.append(fd)
        return fd

    def _pipe(self) -> tuple[int, int]:
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(ours, False)
        return self._own(ours), theirs

    def _spawn(self, argv: list[str], stdin: bytes, rules: bytes) -> int:
        theirs = [_stdin(stdin)]
        try:
            self._out, their_out = self._pipe()
            theirs.append(their_out)
            self._err, their_err = self._pipe()
            theirs.append(their_err)
            self._status_fd, their_status = self._pipe()
            theirs.append(their_status)
            their_gate, gate = os.pipe2(os.O_CLOEXEC)
            theirs.append(their_gate)
            self._gate = self._own(gate)
            if rules:
                read, write = os.pipe2(os.O_CLOEXEC)
                theirs.append(read)
                os.write(write, rules)  # far less than a pipe holds
                os.close(write)
            answer, _ = self._namespace.ask({"do": "spawn", "argv": argv}, fds=theirs)
        finally:
            for fd in theirs:
                os.close(fd)
        return int(answer["pid"])

    def _child(self, outer: int) -> int:
        """The pid from bwrap's first status line."""
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._status:
            if not self._read_status(max(0.0, deadline - time.monotonic())):
                raise self.failure(f"bwrap (process {outer}) did not start a sandbox", may_have_run=False)
        return int(json.loads(self._status.split(b"\n", 1)[0])["child-pid"])

    def _read_status(self, timeout: float) -> bool:
        """Take what bwrap reported; False at the end or when nothing came in time."""
        readable, _, _ = select.select([self._status_fd], [], [], timeout)
        data = os.read(self._status_fd, CHUNK) if readable else b""
        self._status += data
        return bool(data)

    def release(self, limits: Limits, group: Group | None, cpus: set[int]) -> None:
        """Put the limits on the blocked process and open the gate."""
        try:
            if group is not None:
                group.add(self.pid)
            if cpus:
                os.sched_setaffinity(self.pid, cpus)
            # The holder is of the sandbox's uid, which needs no right for this; root without CAP_SYS_RESOURCE may not.
            self._namespace.ask({"do": "limit", "pid": self.pid, "pids": limits.pids})
            os.write(self._gate, b"x")
        except (ProcessLookupError, BrokenPipeError):
            pass  # it died in its set-up, and `watch` sees that
        except OSError as problem:
            raise SandboxFailed(f"the limits of a sandbox could not be set: {problem}") from problem

    def watch(self, output: Output, stop: int, full: Callable[[], bool], watchdog: Watchdog | None) -> End:
        """Until the command is over, or a clock, `stop` (readable), the output or the watchdog ends it.

        Everything that was printed is in `output` afterwards, and nothing of the sandbox runs any more.
        """
        started = time.monotonic()
        output.start(started)
        end = End()
        poll = select.poll()
        for fd in (self._out, self._err, self._status_fd, self.pidfd, stop):
            poll.register(fd, select.POLLIN)
        interval = INTERVAL if watchdog is not None else LOOK
        over = False
        while not over:
            now = time.monotonic()
            ready = {fd for fd, _ in poll.poll(1000 * min(output.left(now), interval) + 1)}
            for fd in self._drain(ready, output):
                poll.unregister(fd)
            now = time.monotonic()
            end.disk_full = end.disk_full or full()
            over = self._ended(ready, poll) or self._stopped(end, output, now, stop in ready, watchdog)
        self._finish(output)
        end.seconds = time.monotonic() - started
        end.disk_full = end.disk_full or full()
        end.code = self._code()
        return end

    def _drain(self, ready: set[int], output: Output) -> list[int]:
        """Take what is there; the pipes that have come to their end."""
        done = []
        for fd, stream in ((self._out, 1), (self._err, 2)):
            if fd not in ready:
                continue
            with contextlib.suppress(BlockingIOError):
                data = os.read(fd, CHUNK)
                output.write(stream, data, time.monotonic())
                if stream == 2 and len(self.said) < CHUNK:
                    self.said += data
                if not data:
                    done.append(fd)
        return done

    def _ended(self, ready: set[int], poll: Any) -> bool:
        if self._status_fd in ready and not self._read_status(0):
            poll.unregister(self._status_fd)
        return self.pidfd in ready or b"exit-code" in self._status

    def _stopped(self, end: End, output: Output, now: float, stop: bool, watchdog: Watchdog | None) -> bool:
        end.cancelled = stop
        end.clock = None if stop else output.expired(now)
        end.overflow = output.overflowing
        end.oom = watchdog is not None and watchdog.over()
        return stop or end.clock is not None or end.overflow or end.oom

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def _finish(self, output: Output) -> None:
        """Kill, wait for the kernel, and read the pipes to their ends."""
        self.kill()
        if not select.select([self.pidfd], [], [], PATIENCE)[0]:
            raise SandboxFailed("a killed sandbox did not end: the kernel holds on to one of its processes")
        pipes = {self._out, self._err, self._status_fd}
        deadline = time.monotonic() + PATIENCE
        while pipes and (left := deadline - time.monotonic()) > 0:
            ready = set(select.select(list(pipes), [], [], left)[0])
            pipes -= set(self._drain(ready, output))
            if self._status_fd in ready and not self._read_status(0):
                pipes.discard(self._status_fd)

    def _code(self) -> int | None:
        for line in self._status.splitlines():
            with contextlib.suppress(ValueError):
                report = json.loads(line)
                if "exit-code" in report:
                    return int(report["exit-code"])
        # bwrap reports no code for what it could not even execute; nothing inside can keep it from reporting one.
        return NOT_FOUND if self.said.startswith(b"bwrap: execvp ") else None

    def failure(self, what: str, *, may_have_run: bool) -> SandboxFailed:
        """The sandbox's own failure, with what bwrap printed."""
        if not self.said:
            with contextlib.suppress(OSError):
                self.said = os.read(self._err, CHUNK)
        said = self.said.decode(errors="replace").strip()[:2000]
        return SandboxFailed(f"{what}: {said or 'it said nothing'}", retryable=may_have_run, may_have_run=may_have_run)

    def close(self) -> None:
        """Kill what is left and give the descriptors back (idempotent)."""
        if self.pidfd >= 0:
            self.kill()
            self.pidfd = -1
        for fd in self._fds:
            os.close(fd)
        self._fds.clear()


def _stdin(data: bytes) -> int:
    if not data:
        return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
