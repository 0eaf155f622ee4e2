"""The forwarder as a sandbox runs it: one file, a plain Python."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from sweeper.gateway import forwarder
from sweeper.testing.model_script import Say
from tests.gateway.conftest import asking, door_for, gateway_before

PROGRAM = Path(forwarder.__file__)


def command(port: int, path: str, *argv: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(PROGRAM), str(port), path, "--", *argv]


@pytest.fixture
def port() -> int:
    """A free one, that the kernel gives to nobody who asks for any."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(20_000, 32_000)))
            return int(probe.getsockname()[1])


@pytest.fixture
def echo(folder: Path) -> Iterator[str]:
    """A unix socket that gives back what it gets, once its client has ended."""
    path = str(folder / "echo.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)

    def one(client: socket.socket) -> None:
        with client:
            data = b"".join(iter(lambda: client.recv(65536), b""))
            client.sendall(data[::-1])

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(client,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield path
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


CALLS = """
import socket, sys
from concurrent.futures import ThreadPoolExecutor
def call(number):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
        s.sendall(b"%d" % number + b"x" * 300_000)
        s.shutdown(socket.SHUT_WR)
        data = b"".join(iter(lambda: s.recv(65536), b""))
        assert data == (b"%d" % number + b"x" * 300_000)[::-1], data[:20]
with ThreadPoolExecutor(20) as pool:
    print(len(list(pool.map(call, range(60)))))
"""


def test_many_connections_at_once_in_both_directions(port: int, echo: str) -> None:
    done = subprocess.run(
        command(port, echo, sys.executable, "-c", CALLS, str(port)), capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"60\n", b"")


@pytest.mark.parametrize("code", [0, 1, 42, 255])
def test_the_exit_code_comes_through(code: int, port: int, echo: str) -> None:
    done = subprocess.run(command(port, echo, "sh", "-c", f"exit {code}"), timeout=60, check=False)
    assert done.returncode == code


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_death_by_signal_comes_through(number: int, port: int, echo: str) -> None:
    done = subprocess.run(command(port, echo, "sh", "-c", f"kill -{int(number)} $$"), timeout=60, check=False)
    assert done.returncode == -number


def test_signals_reach_the_agent(port: int, echo: str) -> None:
    script = "trap 'echo got; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(command(port, echo, "sh", "-c", script), stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        running.send_signal(signal.SIGTERM)
        assert running.stdout.read() == b"got\n"
    assert running.returncode == 7


def test_standard_input_is_the_agents(port: int, echo: str) -> None:
    done = subprocess.run(command(port, echo, "cat"), input=b"prompt", capture_output=True, timeout=60, check=False)
    assert done.stdout == b"prompt"


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["no-such-program"], 127, b"sweeper forwarder: no such program: no-such-program"),
        (["/"], 126, b"sweeper forwarder: can't start /: "),
    ],
)
def test_what_can_not_start(argv: list[str], code: int, words: bytes, port: int, echo: str) -> None:
    path = {"PATH": "/usr/bin:/bin"}  # a folder in it that can't be read would be another error
    done = subprocess.run(command(port, echo, *argv), capture_output=True, timeout=60, check=False, env=path)
    assert done.returncode == code
    assert done.stderr.startswith(words)


def test_a_taken_port_and_wrong_usage_are_the_forwarders_own_failures(echo: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        done = subprocess.run(
            command(taken.getsockname()[1], echo, "true"), capture_output=True, timeout=60, check=False
        )
    assert done.returncode == 125
    assert b"can't listen on 127.0.0.1" in done.stderr
    usage = subprocess.run([sys.executable, str(PROGRAM), "x"], capture_output=True, timeout=60, check=False)
    assert usage.returncode == 125
    assert b"usage: " in usage.stderr


def test_a_socket_that_is_not_there_is_a_closed_connection(port: int) -> None:
    script = f"import socket; s = socket.create_connection(('127.0.0.1', {port})); print(s.recv(1))"
    done = subprocess.run(
        command(port, "/nonexistent.sock", sys.executable, "-c", script), capture_output=True, timeout=60, check=False
    )
    assert done.stdout == b"b''\n"


CLIENT = """
import json, sys, urllib.request
url, token = sys.argv[1:]
body = json.load(sys.stdin)
asked = urllib.request.Request(url, json.dumps(body).encode(), {"x-api-key": token, "content-type": "application/json"})
print(len(urllib.request.urlopen(asked).read()))
"""


@pytest.mark.anyio
async def test_from_a_loopback_address_to_the_model_and_back(port: int, folder: Path) -> None:
    async with gateway_before(lambda asked: Say(tokens=1000, chunks=50), folder) as (gateway, server, _):
        door = await door_for(gateway, "messages")
        path, body = asking("messages", stream=True)
        url = f"http://127.0.0.1:{port}{path}"
        argv = command(port, str(door.socket), sys.executable, "-c", CLIENT, url, door.token)
        done = await anyio.run_process(argv, input=json.dumps(body).encode())
        assert int(done.stdout) > 4000
        assert gateway.meter("a").tokens.output == 1000
        assert len(server.seen) == 1
