"""Parsing hostile output outside the coordinator, in a resource-limited child whose crash is an outcome."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from sweeper.backlog.classify import classify
from sweeper.backlog.formats import FORMATS
from sweeper.backlog.pause import collection_paused
from sweeper.backlog.reading import Reading, from_wire, read
from sweeper.backlog.tools import Tool
from sweeper.backlog.workers import Asked, Workers
from sweeper.errors import ConfigError, SweeperError
from sweeper.records import CheckResult, Listing
from sweeper.sandbox.contract import WORK

T = TypeVar("T")


class ChildFailed(SweeperError):
    """The limited child could not finish what it was asked; about the data, not about this machine."""


class Parser:
    """Parses outputs, several at once. `memory` in bytes, `cpu` and `wall` in seconds, all per output."""

    def __init__(
        self, *, memory: int = 1 << 30, cpu: int = 60, wall: float = 120.0, at_once: int = os.cpu_count() or 2
    ) -> None:
        self._limits = {"memory": memory, "cpu": cpu}
        self._slots = at_once
        self._limiter: anyio.CapacityLimiter | None = None
        self._workers = Workers(at_once, wall)

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
            await anyio.to_thread.run_sync(self._workers.close)

    async def _ask(self, request: dict[str, Any], then: Callable[[dict[str, Any]], T], data: bytes = b"") -> T:
        """Ask the child and give its answer to `then`, both in a thread: a large answer takes seconds."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._slots)
        line = json.dumps({**request, **self._limits}).encode("ascii") + b"\n" + data
        asked = Asked()
        try:
            return await anyio.to_thread.run_sync(
                partial(self._answered, asked, line, then), limiter=self._limiter, abandon_on_cancel=True
            )
        except anyio.get_cancelled_exc_class():
            asked.cancel()  # ends the worker, and with it the abandoned thread
            raise

    def _answered(self, asked: Asked, line: bytes, then: Callable[[dict[str, Any]], T]) -> T:
        data = self._workers.ask(asked, line)
        with collection_paused():
            return then({"error": data} if isinstance(data, str) else json.loads(data))


def _is_empty(path: Path) -> bool:
    """Whether there is nothing to read; of what is no file, only reading tells."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def _reading(answer: dict[str, Any]) -> Reading:
    return Reading(failed=answer["error"]) if "error" in answer else from_wire(answer)
