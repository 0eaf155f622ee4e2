"""Inside a sandbox: `python3 forwarder.py PORT SOCKET [FILE SIZE] -- ARGV...`

Runs ARGV with a loopback address, 127.0.0.1:PORT, that leads to the unix socket SOCKET, and ends as it ends: with its
exit code, or by its signal. With FILE, the first SIZE bytes of the input become that file, for its owner to read alone.
Signals are passed on. 125: the forwarder itself failed; 126 and 127 as of a shell.

One file, standard library only, Python 3.8 or newer: it is handed in, nothing is installed.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from types import FrameType
from typing import List, NoReturn, Optional  # noqa: UP035

CHUNK = 65536
FAILED = 125
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def main(argv: List[str]) -> int:  # noqa: UP006
    at = argv.index("--") if "--" in argv else 0
    if at not in (2, 4) or not argv[at + 1 :] or not argv[0].isdigit():
        fail("usage: forwarder.py PORT SOCKET [FILE SIZE] -- ARGV...")
    port, path, command = int(argv[0]), argv[1], argv[at + 1 :]
    if at == 4:
        keep(argv[2], int(argv[3]))
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        fail("can't listen on 127.0.0.1:%d: %s" % (port, error))  # noqa: UP031
    early: List[int] = []  # noqa: UP006
    for each in PASSED_ON:
        signal.signal(each, lambda number, frame: early.append(number))
    # before any thread: a fork of a threaded process is not a safe one
    child = start(command)
    threading.Thread(target=serve, args=(listener, path), daemon=True).start()
    return wait(child, early)


def keep(path: str, size: int) -> None:
    data = b""
    while len(data) < size:
        more = os.read(0, size - len(data))
        if not more:
            fail("the input has ended too early")
        data += more
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    os.write(descriptor, data)
    os.close(descriptor)


def start(command: List[str]) -> subprocess.Popen[bytes]:  # noqa: UP006
    try:
        return subprocess.Popen(command)
    except FileNotFoundError:
        fail("no such program: " + command[0], 127)
    except OSError as error:
        fail("can't start %s: %s" % (command[0], error), 126)  # noqa: UP031


def wait(child: subprocess.Popen[bytes], early: List[int]) -> int:  # noqa: UP006
    """`early`: signals that came while there was no child yet."""

    def pass_on(number: int, frame: Optional[FrameType]) -> None:  # noqa: UP045
        child.send_signal(number)

    for each in PASSED_ON:
        signal.signal(each, pass_on)
    for number in early:
        child.send_signal(number)
    code = child.wait()
    if code < 0:
        die_by(-code)
    return code


def die_by(number: int) -> None:
    """End as the agent ended; where that signal can't end us (the first process of a namespace), by 128 + it."""
    if number in PASSED_ON:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    time.sleep(0.1)
    sys.exit(128 + number)


def serve(listener: socket.socket, path: str) -> None:
    while True:
        try:
            near, _address = listener.accept()
        except OSError:
            time.sleep(0.05)  # out of descriptors for a moment
            continue
        threading.Thread(target=connect, args=(near, path), daemon=True).start()


def connect(near: socket.socket, path: str) -> None:
    far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        far.connect(path)
    except OSError:
        near.close()
        far.close()
        return
    near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    back = threading.Thread(target=pump, args=(far, near), daemon=True)
    back.start()
    pump(near, far)
    back.join()
    near.close()
    far.close()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Bytes as they come, then the end, which may come from either side first."""
    try:
        while True:
            data = source.recv(CHUNK)
            if not data:
                break
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def fail(message: str, code: int = FAILED) -> NoReturn:
    sys.stderr.write("sweeper forwarder: " + message + "\n")
    sys.exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
