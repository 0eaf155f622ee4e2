"""The parsing process: forks limited workers.

Started by `sweeper.backlog.workers` with a control socket as stdin. Each byte on it carries one connected
socket, which is a worker's: on it come requests, one at a time, each a line of JSON and perhaps data, and back goes
for each a header and the answer's JSON. When a worker ends, the server sends a trailer that says how.
A worker lives under limits on memory and, for each request, processor time, and dies with its socket. It goes of
itself before what earlier requests left in it could count against a later one. The server itself never looks at
the data.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import pickle
import resource
import select
import signal
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, BinaryIO

from sweeper.backlog.parsed import How
from sweeper.backlog.reading import read, to_wire

HEADER = struct.Struct(">4sQ?")  # magic, the answer's bytes, whether the worker takes another request
ANSWERED = b"answ"
TRAILER = struct.Struct(">4si")  # magic, the worker's wait status
ENDED = b"done"
WARM = ("sweeper.policy.wire",)  # what workers are asked to call, imported once instead of in each of them
MOST_REQUESTS = 200  # of one worker
MOST_SECONDS = 10  # of processor time that a worker may have used and take another request
MOST_GROWN = 16  # it may have grown by this part of its memory


@dataclass(slots=True)
class _Run:
    """One worker. `ended`: its pidfd."""

    worker: int
    ended: int
    connection: socket.socket


def serve(control: socket.socket) -> None:
    """Serve until the other end of `control` is closed, which is also what its owner's death looks like."""
    gc.freeze()  # no collection in a worker touches, and so copies, the server's pages
    poller = select.poll()
    poller.register(control, select.POLLIN)
    runs: dict[int, _Run] = {}  # by the pidfd of the worker and by the number of its connection
    while True:
        for number, _ in poller.poll():
            if number == control.fileno():
                run = _start(control, runs)
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


def _start(control: socket.socket, runs: dict[int, _Run]) -> _Run | None:
    """Fork a worker for the next connection; None if there is no next one."""
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
    return _Run(worker, os.pidfd_open(worker), connection)


def _finish(run: _Run) -> None:
    """Say how the worker ended."""
    _, status = os.waitpid(run.worker, 0)
    os.close(run.ended)
    with run.connection, contextlib.suppress(OSError):
        run.connection.sendall(TRAILER.pack(ENDED, status))


def _work(connection: socket.socket) -> None:
    """Answer requests. Never returns."""
    code = 1
    try:
        stream = connection.makefile("rb")
        at_first, stays, served = _pages(), True, 0
        while stays and (line := stream.readline()):
            request = json.loads(line)
            memory, cpu = int(request["memory"]), int(request["cpu"])
            if not served:
                _limit(resource.RLIMIT_AS, memory, memory)
                _limit(resource.RLIMIT_CORE, 0, 0)
                _limit(resource.RLIMIT_FSIZE, 0, 0)
            # What the server used came before the fork and counts for nothing, what earlier requests used neither.
            _limit(resource.RLIMIT_CPU, math.ceil(_seconds() + cpu), MOST_SECONDS + cpu + 1)
            answer = _answer(request, stream, memory)
            data = json.dumps(answer).encode("ascii")
            served += 1
            grown = (_pages() - at_first) * resource.getpagesize()
            stays = served < MOST_REQUESTS and _seconds() < MOST_SECONDS and grown < memory // MOST_GROWN
            stays = stays and "error" not in answer  # some of its request may not be read yet
            connection.sendall(HEADER.pack(ANSWERED, len(data), stays) + data)
        code = 0
    finally:
        os._exit(code)


def _answer(request: dict[str, Any], stream: BinaryIO, memory: int) -> dict[str, Any]:
    try:
        return _ANSWERS[request["what"]](request, stream)
    except MemoryError:
        return {"error": f"parsing needed more than {memory >> 20} MB of memory"}
    except RecursionError:
        return {"error": "the document is nested too deeply"}
    except Exception as error:
        return {"error": f"the parser failed: {type(error).__name__}: {error}"[:500]}


def _seconds() -> float:
    """Of processor time that this process used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _pages() -> int:
    """The size of this process's address space."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0])


def _limit(what: int, soft: int, hard: int) -> None:
    with contextlib.suppress(ValueError, OSError):  # a lower hard limit is in force, or the platform has none
        resource.setrlimit(what, (soft, hard))


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


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in WARM:
        import_module(module).warm()
    serve(socket.socket(fileno=0))
