"""System calls that namespaces do not cover: what the filter says, and what a sandbox really gets."""

from __future__ import annotations

import ctypes
import dataclasses
import errno
import platform
import signal
import struct
import threading

import pytest

from sweeper.sandbox.bubblewrap import Bubblewrap, seccomp, tools
from sweeper.sandbox.contract import Toolchain
from tests.sandbox.conftest import MB, SMALL, Box, embedded, owner
from tests.sandbox.trees import PlainTree

MACHINES = sorted(seccomp.MACHINES)
CALL = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(*arguments):
    got = libc.syscall(*(ctypes.c_long(each) if isinstance(each, int) else each for each in arguments))
    print(errno.errorcode[ctypes.get_errno()] if got < 0 else 'done')
"""
native = pytest.mark.skipif(platform.machine() not in MACHINES, reason="no filter for this machine")


def outcome(rules: bytes, number: int, *arguments: int, audit: int) -> int:
    """What the kernel would make of the filter."""
    data = struct.pack("=iIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    program = list(seccomp.INSTRUCTION.iter_unpack(rules))
    value = at = 0
    while True:
        code, then, otherwise, number = program[at]
        at += 1
        if code == seccomp.LOAD:
            (value,) = struct.unpack_from("=I", data, number)
        elif code == seccomp.RETURN:
            return int(number)
        else:
            at += then if (value == number if code == seccomp.EQUAL else value >= number) else otherwise


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("watched", [False, True])
def test_what_the_filter_says(machine: str, watched: bool) -> None:
    known = seccomp.MACHINES[machine]
    rules = seccomp.build(machine, watched=watched)

    def said(name: str, *arguments: int) -> int:
        answer = outcome(rules, known.calls[name], *arguments, audit=known.audit)
        return 0 if answer == seccomp.ALLOW else answer - seccomp.ERROR

    for name, code in seccomp.REFUSED.items():
        assert said(name) == code
    assert said("socket", 40) == said("socket", (7 << 32) | 40) == errno.EAFNOSUPPORT
    assert [said("socket", family) for family in (1, 2, 10, 16)] == [0] * 4
    assert said("memfd_create") == said("memfd_secret") == (errno.ENOSYS if watched else 0)
    assert said("shmget", 0, 56) == said("shmget", 0, 1 << 16) == 0
    assert said("shmget", 0, 1 << 20) == said("shmget", 0, 1 << 32) == (errno.ENOMEM if watched else 0)
    for number in set(range(500)) - set(known.calls.values()):
        assert outcome(rules, number, 40, audit=known.audit) == seccomp.ALLOW
    for other in {0x40000003, 0x40000028, *(each.audit for each in seccomp.MACHINES.values())} - {known.audit}:
        assert outcome(rules, known.calls["socket"], 1, audit=other) == seccomp.KILL
    if known.x32:
        for number in (0x40000000 | 41, 0x40000000, -1):
            assert outcome(rules, number, 40, audit=known.audit) == seccomp.ERROR | errno.ENOSYS


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert seccomp.build("riscv64", watched=True) == b""


def numbers() -> str:
    return f"{CALL}\nn = {dict(seccomp.MACHINES[platform.machine()].calls)!r}\n"


@embedded
@native
def test_system_calls_are_refused(box: Box) -> None:
    done = box.python(f"""{numbers()}
for name in {list(seccomp.REFUSED)!r}:
    call(n[name], 0, 0, 0, 0, 0)
call(n['keyctl'], 0, -3, 0)
call(n['socket'], 40, 1, 0)
import socket
socket.socket(), socket.socket(socket.AF_UNIX), socket.socketpair()
""")
    expected = [errno.errorcode[code] for code in seccomp.REFUSED.values()] + ["EPERM", "EAFNOSUPPORT"]
    assert (done.stdout.decode().split(), done.stderr) == (expected, b"")


@embedded
@native
def test_every_process_of_a_sandbox_is_filtered(box: Box) -> None:
    done = box.run("for pid in 1 self; do grep '^Seccomp:' /proc/$pid/status; done")
    assert done.stdout == b"Seccomp:\t2\n" * 2


@embedded
@pytest.mark.skipif(platform.machine() != "x86_64", reason="another machine's numbers")
def test_other_sets_of_numbers_are_refused(box: Box) -> None:
    done = box.python(f"{CALL}\ncall(0x40000000 | 39)\ncall(0x40000000 | 41, 40, 1, 0)")
    assert done.stdout.split() == [b"ENOSYS", b"ENOSYS"]
    # push rbx; mov eax, 20 (getpid of i386); int 0x80; pop rbx; ret
    code = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex('53b814000000cd805bc3'))
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
"""
    done = box.python(code)
    # A kernel without 32-bit programs says SIGSEGV by itself.
    assert done.facts.signal in (signal.SIGSYS, signal.SIGSEGV)
    assert done.stdout == b""


@embedded
@native
def test_the_keyring_of_the_coordinator_is_not_inherited(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the filter, which hides it: the holder has a session keyring of its own."""
    monkeypatch.setattr(seccomp, "build", lambda machine, *, watched: b"")
    calls = seccomp.MACHINES[platform.machine()].calls
    backend = another(box)
    kept: list[int] = []

    def start() -> None:
        """In a thread of its own, which alone gets the keyring."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall(calls["keyctl"], 1, None)
        kept.append(libc.syscall(calls["add_key"], b"user", b"sweeper-test", b"secret", 6, -3))
        backend._confinement.start()

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    try:
        if kept[0] < 0:
            pytest.skip("this machine keeps no keys")
        snapshot = box.portal.call(backend.prepare, PlainTree({"a": b""}), box.factory.toolchain)
        code = f"{numbers()}\ncall(n['keyctl'], 10, -3, b'user', b'sweeper-test', 0)"
        code += f"\ncall(n['keyctl'], 11, {kept[0]}, 0, 0)"
        spec = box.spec("python3", "-c", code, snapshot=snapshot)
        done = box.done(spec, box.portal.call(backend.run, spec))
    finally:
        box.portal.call(backend.aclose)
    assert done.stdout.split() == [b"ENOKEY", b"EACCES"]


def another(box: Box, *, groups: bool = True) -> Bubblewrap:
    assert isinstance(box.backend, Bubblewrap)
    return Bubblewrap(box.backend._store.root, owner("another"), slots=1, groups=groups)


SCRIPT = """set -e
cd /tmp
python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'
if command -v git >/dev/null; then
  git init -q r && cd r && echo a > a && git add a
  git -c user.name=a -c user.email=a@example.org commit -q -m x && git clone -q . ../s && git log --format=%s
fi
if command -v node >/dev/null; then node -e 'require("fs").promises.readFile("/etc/hosts")'; fi
if command -v ruff >/dev/null; then ruff --version >/dev/null; fi
echo end
"""


@embedded
@pytest.mark.parametrize("groups", [True, False])
def test_usual_programs_work(box: Box, groups: bool) -> None:
    names = ("sh", "python3", *(name for name in ("git", "node", "ruff") if tools.which(name)))
    backend = another(box, groups=groups)
    try:
        snapshot = box.portal.call(backend.prepare, PlainTree({"a": b""}), Toolchain(tools=names))
        limits = dataclasses.replace(SMALL, memory=1024 * MB)
        spec = box.spec("sh", "-c", SCRIPT, snapshot=snapshot, limits=limits)
        done = box.done(spec, box.portal.call(backend.run, spec))
    finally:
        box.portal.call(backend.aclose)
    assert (done.facts.exit_code, done.stderr) == (0, b"")
    assert done.stdout.endswith(b"end\n")


@embedded
@native
def test_memory_that_no_process_maps_is_refused_where_a_watchdog_counts(box: Box) -> None:
    backend = another(box, groups=False)
    code = f"{numbers()}\ncall(n['memfd_create'], b'x', 0)"
    code += "\ncall(n['shmget'], 0, 1 << 30, 0o1600)\ncall(n['shmget'], 0, 56, 0o1600)"
    try:
        snapshot = box.portal.call(backend.prepare, PlainTree({"a": b""}), box.factory.toolchain)
        spec = box.spec("python3", "-c", code, snapshot=snapshot)
        done = box.done(spec, box.portal.call(backend.run, spec))
    finally:
        box.portal.call(backend.aclose)
    assert done.stdout.split() == [b"ENOSYS", b"ENOMEM", b"done"]
