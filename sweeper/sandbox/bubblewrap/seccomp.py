"""The system calls that a bubblewrap sandbox is refused, as a seccomp filter for `bwrap --seccomp`. No IO.

Namespaces do not cover these: keyrings and virtual sockets reach the host, and the others are only risk to a check.
Everything else is allowed. What is refused gets an error that programs know how to go on from.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping
from dataclasses import dataclass

INSTRUCTION = struct.Struct("=HBBI")  # struct sock_filter: code, jump if true, jump if false, value
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JGE|K, BPF_RET|K
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # where struct seccomp_data has them; both machines are little-endian
ALLOW, ERROR, KILL = 0x7FFF0000, 0x00050000, 0x80000000
X32 = 0x40000000  # x86_64's second set of numbers
AF_VSOCK = 40
SMALL_SEGMENT = 1 << 16  # what PostgreSQL asks for is smaller; a namespace has at most 4096 segments

REFUSED = {
    "keyctl": errno.EPERM,
    "add_key": errno.EPERM,
    "request_key": errno.EPERM,
    "bpf": errno.EPERM,
    "perf_event_open": errno.EPERM,
    "userfaultfd": errno.EPERM,
    "io_uring_setup": errno.ENOSYS,
}
# Memory that belongs to no process while nobody maps it: the watchdog would not see it.
UNSEEN = {"memfd_create": errno.ENOSYS, "memfd_secret": errno.ENOSYS}


@dataclass(frozen=True, slots=True)
class Machine:
    """`audit`: the kernel's name for its native system calls; `calls`: their numbers."""

    audit: int
    calls: Mapping[str, int]
    x32: bool = False


MACHINES = {
    "x86_64": Machine(
        0xC000003E,
        {
            "keyctl": 250,
            "add_key": 248,
            "request_key": 249,
            "bpf": 321,
            "perf_event_open": 298,
            "userfaultfd": 323,
            "io_uring_setup": 425,
            "socket": 41,
            "memfd_create": 319,
            "memfd_secret": 447,
            "shmget": 29,
        },
        x32=True,
    ),
    "aarch64": Machine(
        0xC00000B7,
        {
            "keyctl": 219,
            "add_key": 217,
            "request_key": 218,
            "bpf": 280,
            "perf_event_open": 241,
            "userfaultfd": 282,
            "io_uring_setup": 425,
            "socket": 198,
            "memfd_create": 279,
            "memfd_secret": 447,
            "shmget": 194,
        },
    ),
}


def build(machine: str, *, watched: bool) -> bytes:
    """The filter for a machine as `uname -m` names it; b"" for one that is not known here.

    `watched`: a watchdog holds the memory limit. Programs of a foreign architecture are killed: they would not
    understand an error either, and a 32-bit one could say everything in other numbers.
    """
    known = MACHINES.get(machine)
    if known is None:
        return b""
    calls = known.calls
    parts = [_load(ARCHITECTURE), _if(EQUAL, known.audit, 1, 0), _return(KILL), _load(NUMBER)]
    if known.x32:
        parts += [_if(AT_LEAST, X32, 0, 1), _error(errno.ENOSYS)]
    for name, code in (REFUSED | UNSEEN if watched else REFUSED).items():
        parts += [_if(EQUAL, calls[name], 0, 1), _error(code)]
    parts += [
        _if(EQUAL, calls["socket"], 0, 4),
        _load(ARGUMENTS),
        _if(EQUAL, AF_VSOCK, 0, 1),
        _error(errno.EAFNOSUPPORT),
        _return(ALLOW),
    ]
    if watched:
        size = ARGUMENTS + 8
        parts += [
            _if(EQUAL, calls["shmget"], 0, 6),
            _load(size + 4),
            _if(EQUAL, 0, 0, 2),
            _load(size),
            _if(AT_LEAST, SMALL_SEGMENT + 1, 0, 1),
            _error(errno.ENOMEM),
            _return(ALLOW),
        ]
    return b"".join([*parts, _return(ALLOW)])


def _load(offset: int) -> bytes:
    return INSTRUCTION.pack(LOAD, 0, 0, offset)


def _if(test: int, value: int, then: int, otherwise: int) -> bytes:
    """How many of the next instructions are skipped, either way."""
    return INSTRUCTION.pack(test, then, otherwise, value)


def _return(action: int) -> bytes:
    return INSTRUCTION.pack(RETURN, 0, 0, action)


def _error(code: int) -> bytes:
    return _return(ERROR | code)
