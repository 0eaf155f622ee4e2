"""Parsing hostile output outside the coordinator, in a resource-limited child whose crash is an outcome.

One warm process forks a worker for each output, so that a parse costs a fork and not an interpreter's start.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from sweeper.backlog.classify import classify
from sweeper.backlog.formats import FORMATS
from sweeper.backlog.parse_server import MAGIC, TRAILER
from sweeper.backlog.pause import collection_paused
from sweeper.backlog.reading import Reading, from_wire, read
from sweeper.backlog.tools import Tool
from sweeper.errors import ConfigError, SweeperError
from sweeper.records import CheckResult, Listing
from sweeper.sandbox.contract import WORK

T = TypeVar("T")
_START = "import sys; sys.path.extend(sys.argv[1:]); from sweeper.backlog.parse_server import main; main({wall!r})"
_MAX_ANSWER = 256 << 20  # bytes; MAX_FINDINGS of ordinary length take a fifth of it


class ChildFailed(SweeperError):
    """The limited child could not finish what it was asked; about the data, not about this machine."""


class Parser:
    """Parses outputs, several at once. `memory` in bytes, `cpu` and `wall` in seconds, all per output."""

    def __init__(
        self, *, memory: int = 1 << 30, cpu: int = 60, wall: float = 120.0, at_once: int = os.cpu_count() or 2
    ) -> None:
        self._limits = {"memory": memory, "cpu": cpu}
        self._wall = wall
        self._slots = at_once
        self._limiter: anyio.CapacityLimiter | None = None
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    async def parse(
        self,
        stdout: Path,
        stderr: Path,
        *,
        exit_code: int | None,
        signal: int | None = None,
        truncated: bool = False,
        format: str = "auto",
        pattern: str = "",
        tool: Tool,
        root: str = ".",
        listing: Listing | None = None,
        checkouts: Sequence[str] = (WORK,),
        foreign: bool = False,
    ) -> CheckResult:
        """What a check said whose output lies in two files (a missing file is an empty one).

        `listing` is the tree that was checked, with its changes: paths are resolved against it; without it
        only by name. `pattern`: a user's expression for lines of text; `format` is not asked then.
        `checkouts`: the absolute directories where the repository's root was. `foreign`: the check ran in some
        other checkout. Raises ConfigError for an unknown format; everything else is a state.
        """
        if format != "auto" and format not in FORMATS and not pattern:
            raise ConfigError(f"unknown format {format!r}", hint=f"Known formats: auto, {', '.join(sorted(FORMATS))}.")
        result = partial(
            classify,
            exit_code=exit_code,
            signal=signal,
            truncated=truncated,
            tool=tool,
            root=root,
            listing=listing,
            checkouts=checkouts,
            foreign=foreign,
        )
        if truncated or signal is not None:
            return result(Reading())
        how = tool.how(format, pattern)
        if _is_empty(stdout) and _is_empty(stderr):
            return result(read(b"", b"", how))  # nothing was printed, so there is nothing to be careful with
        request = {
            "what": "reading",
            "stdout": os.fspath(stdout),
            "stderr": os.fspath(stderr),
            "how": asdict(how),
        }
        return await self._ask(request, lambda answer: result(_reading(answer)))

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """`function(*arguments)`, a module-level function of this package, in the child; its value comes as JSON.

        Raises ChildFailed if the child crashed or ran into a limit.
        """
        data = pickle.dumps(arguments)
        request = {"what": "call", "module": function.__module__, "function": function.__name__, "size": len(data)}

        def value(answer: dict[str, Any]) -> Any:
            if "error" in answer:
                raise ChildFailed(f"{function.__name__}: {answer['error']}")
            return answer["value"]

        return await self._ask(request, value, data)

    async def aclose(self) -> None:
        """Stop the server; outputs in work are given up."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._stop)

    async def _ask(self, request: dict[str, Any], then: Callable[[dict[str, Any]], T], data: bytes = b"") -> T:
        """Ask the child and give its answer to `then`, both in a thread: a large answer takes seconds."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._slots)
        ours, theirs = socket.socketpair()
        try:
            line = json.dumps({**request, **self._limits}).encode("ascii") + b"\n" + data
            return await anyio.to_thread.run_sync(
                lambda: self._answered(ours, theirs, line, then), limiter=self._limiter, abandon_on_cancel=True
            )
        except anyio.get_cancelled_exc_class():
            # Ends the worker, and with it the abandoned thread.
            with contextlib.suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)
            raise

    def _answered(
        self, ours: socket.socket, theirs: socket.socket, line: bytes, then: Callable[[dict[str, Any]], T]
    ) -> T:
        data = self._exchange(ours, theirs, line)
        with collection_paused():
            return then({"error": data} if isinstance(data, str) else _answer(data, self._wall))

    def _exchange(self, ours: socket.socket, theirs: socket.socket, line: bytes) -> bytearray | str:
        """The answer with its trailer, or why there is none."""
        with ours:
            with theirs:
                self._hand_over(theirs)
            ours.settimeout(self._wall + 30)
            data = bytearray()
            try:
                ours.sendall(line)
                while chunk := ours.recv(1 << 20):
                    data += chunk
                    if len(data) > _MAX_ANSWER:
                        return "there are too many findings to hold: narrow the check"
            except OSError as error:
                return f"the parsing process did not answer: {error}"
        return data

    def _hand_over(self, theirs: socket.socket) -> None:
        """Give one end to the server, starting it anew if it is not there."""
        with self._lock:
            for again in (True, False):
                if self._control is None:
                    self._start()
                assert self._control is not None
                try:
                    socket.send_fds(self._control, [b"r"], [theirs.fileno()])
                    return
                except OSError:
                    if not again:
                        raise
                    self._discard()

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        # The interpreter runs without site and environment: only the paths that this process has imported from.
        paths = [path for path in dict.fromkeys([_package_parent(), *sys.path]) if os.path.isabs(path)]
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START.format(wall=self._wall), *paths],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,  # Ctrl-C in the terminal is the coordinator's alone
            )

    def _stop(self) -> None:
        with self._lock:
            self._discard()

    def _discard(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._server is not None:
            try:
                self._server.wait(timeout=2)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
        self._control = self._server = None


def _is_empty(path: Path) -> bool:
    """Whether there is nothing to read; of what is no file, only reading tells."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def _package_parent() -> str:
    return str(Path(__file__).resolve().parent.parent.parent)


def _reading(answer: dict[str, Any]) -> Reading:
    return Reading(failed=answer["error"]) if "error" in answer else from_wire(answer)


def _answer(data: bytearray, wall: float) -> dict[str, Any]:
    """The worker's answer, or an "error" that says how the worker ended without one."""
    tail = data[-TRAILER.size :]
    magic, status, timed_out = TRAILER.unpack(tail) if len(tail) == TRAILER.size else (b"", 0, 0)
    if magic != MAGIC:
        return {"error": "the parsing process died"}
    if timed_out:
        return {"error": f"parsing took longer than {wall:g} s"}
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        del data[-TRAILER.size :]
        answer: dict[str, Any] = json.loads(data)
        return answer
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"error": "parsing used too much processor time or memory and was stopped"}
    return {"error": f"the parser crashed ({f'signal {-code}' if code < 0 else f'exit code {code}'})"}
