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
from collections.abc import Callable
from importlib import import_module
from typing import Any, BinaryIO

from sweeper.backlog.reading import How, read, to_wire

TRAILER = struct.Struct(">4sii")  # magic, the worker's wait status, 1 if the wall clock ended it
MAGIC = b"done"
WARM = ("sweeper.policy.wire",)  # what workers are asked to call, imported once instead of in each of them


def serve(control: socket.socket) -> None:
    """Serve until the other end of `control` is closed, which is also what its owner's death looks like."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # handlers are reaped by the kernel
    gc.freeze()  # no collection in a worker touches, and so copies, the server's pages
    while True:
        byte, sockets, _, _ = socket.recv_fds(control, 1, 1)
        if not byte:
            return
        if os.fork() == 0:
            control.close()
            with contextlib.suppress(OSError, ValueError):
                _handle(socket.socket(fileno=sockets[0]))
            os._exit(0)
        for number in sockets:
            os.close(number)


def _handle(connection: socket.socket) -> None:
    """Let a worker answer one request, then say how the worker ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    stream = connection.makefile("rb")
    request = json.loads(stream.readline())
    ended, alive = os.pipe()
    worker = os.fork()
    if worker == 0:
        os.close(ended)
        _work(connection, request, stream)
    os.close(alive)
    poller = select.poll()
    poller.register(ended, select.POLLIN | select.POLLHUP)
    poller.register(connection, 0)  # only its end is of interest
    seconds = float(request["wall"])
    events = poller.poll(seconds * 1000)
    if not any(number == ended for number, _ in events):
        os.kill(worker, signal.SIGKILL)
    _, status = os.waitpid(worker, 0)
    connection.sendall(TRAILER.pack(MAGIC, status, int(not events)))


def _work(connection: socket.socket, request: dict[str, Any], stream: BinaryIO) -> None:
    """Never returns."""
    code = 1
    try:
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
    return to_wire(
        read(_content(request["stdout"], limit), _content(request["stderr"], limit), How(**request["how"]))
    )


def _call(request: dict[str, Any], stream: BinaryIO) -> dict[str, Any]:
    # the pickle comes from the coordinator, which is trusted; what goes back to it is JSON
    arguments = pickle.loads(stream.read(int(request["size"])))
    function: Callable[..., Any] = getattr(import_module(request["module"]), request["function"])
    return {"value": function(*arguments)}


_ANSWERS = {"reading": _reading, "call": _call}


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in WARM:
        import_module(module)
    serve(socket.socket(fileno=0))
