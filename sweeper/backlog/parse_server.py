"""The parsing process: forks one limited worker a request.

Started by `sweeper.backlog.child.Parser` with a control socket as stdin. Each byte on it carries one connected
socket; on that socket comes one line of JSON (the request), perhaps data, and back goes the answer's JSON, then a
trailer.
A worker lives under hard limits on memory and processor time and dies with its request's socket. The server
itself never looks at the data.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import resource
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, BinaryIO

from sweeper.backlog.parsed import How
from sweeper.backlog.reading import read, to_wire

TRAILER = struct.Struct(">4sii")  # magic, the worker's wait status, 1 if the wall clock ended it
MAGIC = b"done"
WARM = ("sweeper.policy.wire",)  # what workers are asked to call, imported once instead of in each of them


@dataclass(slots=True)
class _Run:
    """One worker at work. `ended`: its pidfd. `until`: on the monotonic clock. `late`: the clock ended it."""

    worker: int
    ended: int
    connection: socket.socket
    until: float
    late: bool = False


def serve(control: socket.socket, wall: float) -> None:
    """Serve until the other end of `control` is closed, which is also what its owner's death looks like.

    `wall`: seconds that a worker may take.
    """
    gc.freeze()  # no collection in a worker touches, and so copies, the server's pages
    poller = select.poll()
    poller.register(control, select.POLLIN)
    runs: dict[int, _Run] = {}  # by the pidfd of the worker and by the number of its connection
    while True:
        now = time.monotonic()
        waits = [run.until - now for run in runs.values() if not run.late]
        for number, _ in poller.poll(max(0.0, min(waits)) * 1000 if waits else None):
            if number == control.fileno():
                run = _start(control, runs, wall)
                if run is None:
                    for left in runs.values():
                        os.kill(left.worker, signal.SIGKILL)
                    return
                runs[run.ended] = runs[run.connection.fileno()] = run
                poller.register(run.ended, select.POLLIN)
                poller.register(run.connection, 0)  # only its end is of interest: nobody waits for the answer
            elif (known := runs.get(number)) is not None and number == known.ended:
                poller.unregister(number)
                if known.connection.fileno() in runs:
                    poller.unregister(known.connection)
                    del runs[known.connection.fileno()]
                del runs[number]
                _finish(known)
            elif known is not None:
                poller.unregister(number)
                del runs[number]
                os.kill(known.worker, signal.SIGKILL)
        for run in runs.values():
            if not run.late and run.until <= time.monotonic():
                run.late = True
                os.kill(run.worker, signal.SIGKILL)


def _start(control: socket.socket, runs: dict[int, _Run], wall: float) -> _Run | None:
    """Fork a worker for the next request; None if there is no next one."""
    byte, sockets, _, _ = socket.recv_fds(control, 1, 1)
    if not byte:
        return None
    connection = socket.socket(fileno=sockets[0])
    worker = os.fork()
    if worker == 0:
        control.close()
        for number in runs:  # a copy of another's connection would keep it from ending
            os.close(number)
        _work(connection)
    return _Run(worker, os.pidfd_open(worker), connection, time.monotonic() + wall)


def _finish(run: _Run) -> None:
    """Say how the worker ended."""
    _, status = os.waitpid(run.worker, 0)
    os.close(run.ended)
    with run.connection, contextlib.suppress(OSError):
        run.connection.sendall(TRAILER.pack(MAGIC, status, int(run.late)))


def _work(connection: socket.socket) -> None:
    """Answer one request. Never returns."""
    code = 1
    try:
        stream = connection.makefile("rb")
        request = json.loads(stream.readline())
        _limit(resource.RLIMIT_AS, int(request["memory"]))
        # The server's own use of the processor came before the fork and counts for nothing here.
        _limit(resource.RLIMIT_CPU, int(request["cpu"]))
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, 0)
        try:
            answer = _ANSWERS[request["what"]](request, stream)
        except MemoryError:
            answer = {"error": f"parsing needed more than {int(request['memory']) >> 20} MB of memory"}
        except RecursionError:
            answer = {"error": "the document is nested too deeply"}
        except Exception as error:
            answer = {"error": f"the parser failed: {type(error).__name__}: {error}"[:500]}
        connection.sendall(json.dumps(answer).encode("ascii"))
        code = 0
    finally:
        os._exit(code)


def _limit(what: int, value: int) -> None:
    with contextlib.suppress(ValueError, OSError):  # a lower hard limit is in force, or the platform has none
        resource.setrlimit(what, (value, value))


def _content(path: str, limit: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(min(limit, os.fstat(file.fileno()).st_size))
    except FileNotFoundError:
        return b""


def _reading(request: dict[str, Any], stream: BinaryIO) -> dict[str, Any]:
    limit = int(request["memory"])
    return to_wire(read(_content(request["stdout"], limit), _content(request["stderr"], limit), How(**request["how"])))


def _call(request: dict[str, Any], stream: BinaryIO) -> dict[str, Any]:
    # the pickle comes from the coordinator, which is trusted; what goes back to it is JSON
    arguments = pickle.loads(stream.read(int(request["size"])))
    function: Callable[..., Any] = getattr(import_module(request["module"]), request["function"])
    return {"value": function(*arguments)}


_ANSWERS = {"reading": _reading, "call": _call}


def main(wall: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in WARM:
        import_module(module).warm()
    serve(socket.socket(fileno=0), wall)
