"""What a sandbox cannot do."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

from tests.sandbox.conftest import Box
from tests.sandbox.sleeping import sleepers, unique_seconds, wake
from tests.waiting import until


def test_no_network(box: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
import os, socket
print(sorted(name for _, name in socket.if_nameindex()))
for place in (('127.0.0.1', {port}), ('192.0.2.1', 80)):
    try:
        socket.create_connection(place, timeout=2)
        print('connected')
    except OSError:
        print('refused')
"""
        done = box.python(code)
    assert done.stdout.splitlines() == [b"['lo']", b"refused", b"refused"]


def test_no_abstract_sockets_of_the_host(box: Box) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        name = f"\0sweeper-test-{os.getpid()}"
        server.bind(name)
        server.listen()
        done = box.python(f"import socket\nsocket.socket(socket.AF_UNIX).connect({name!r})")
    assert b"Refused" in done.stderr


def test_no_capabilities_and_no_new_privileges(box: Box) -> None:
    done = box.run("grep -E '^(Cap|NoNewPrivs)' /proc/self/status")
    values = dict(line.split(":\t") for line in done.stdout.decode().splitlines())
    assert values.pop("NoNewPrivs") == "1"
    assert {int(value, 16) for value in values.values()} == {0}


def test_no_user_namespace_inside(box: Box) -> None:
    """Without capabilities of its own a command must not make some."""
    code = "import ctypes, os\nprint(ctypes.CDLL(None, use_errno=True).unshare(0x10000000))"
    assert box.python(code).stdout == b"-1\n"


def test_root_is_read_only(box: Box) -> None:
    folders = "/tmp / /usr /etc /dev /var /usr/bin /proc /run /home /sweeper"
    script = f"for d in {folders}; do touch $d/x 2>/dev/null && echo $d; done; exit 0"
    assert box.run(script).stdout in (b"/tmp\n", b"/tmp\n/run\n")


def test_nothing_of_the_host_to_read(box: Box, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("do-not-read")
    secret.chmod(0o644)
    looked_at = f"cat {secret} /etc/shadow /root/.ssh/id_rsa /var/run/docker.sock; ls -A /root /home /mnt /srv /run"
    done = box.run(f"({looked_at}) 2>/dev/null; echo looked")
    assert done.stdout.endswith(b"looked\n")
    assert b"do-not-read" not in done.stdout
    assert b"root:*" not in done.stdout
    assert b":0:99999:" not in done.stdout
    assert b"docker.sock" not in done.stdout


def test_host_processes_are_out_of_sight(box: Box) -> None:
    done = box.run(f"ls /proc | grep -c '^[0-9]'; kill -0 {os.getpid()}")
    assert int(done.stdout) < 8
    assert done.facts.exit_code != 0


def test_descriptors_of_the_coordinator_do_not_leak(box: Box) -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        done = box.python(
            "import os\nprint(sorted(map(int, os.listdir('/proc/self/fd')))[:3], len(os.listdir('/proc/self/fd')))"
        )
    finally:
        os.close(read)
        os.close(write)
    assert done.stdout == b"[0, 1, 2] 4\n"


def test_sandboxes_do_not_see_each_other(box: Box) -> None:
    marker = f"marker-{os.getpid()}"
    seconds = unique_seconds()
    spec = box.spec(f"touch /tmp/{marker} {marker}; sleep {seconds}; exit 0")
    first = box.portal.start_task_soon(box.backend.run, spec)
    until(lambda: sleepers(seconds), "the other sandbox")
    code = """
import os
print(os.listdir('/tmp'), [name for name in os.listdir('.') if name.startswith('marker')])
for pid in filter(str.isdigit, os.listdir('/proc')):
    if open(f'/proc/{pid}/cmdline', 'rb').read().startswith(b'sleep'):
        print('seen')
"""
    assert box.python(code).stdout == b"[] []\n"
    wake(seconds)
    assert marker in {os.fsdecode(entry.path) for entry in first.result().layer.entries}


def test_the_lower_tree_is_never_written_to(box: Box) -> None:
    box.run("echo spoiled > edit.py; rm gone.py; chmod 000 folder; rm -rf folder/a.txt")
    assert box.run("cat edit.py; ls").stdout == b"import os\nedit.py\nfolder\ngone.py\n"


def test_threads_of_the_coordinator_may_come_and_go(box: Box) -> None:
    """A sandbox dies with its coordinator, not with whichever thread of it started it."""
    results = []
    thread = threading.Thread(target=lambda: results.append(box.run("sleep 0.5; echo alive").stdout))
    thread.start()
    thread.join()
    assert results == [b"alive\n"]
