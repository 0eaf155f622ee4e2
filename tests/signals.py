"""Two signals that reach a process at the same moment, the second not after what the first one began is over."""

from __future__ import annotations

import ctypes
import os
import signal


def at_once(pid: int, *numbers: int) -> None:
    """The main thread of a process handles all of them, the lowest number first, before it does anything else.

    Two signals to the process would go to any of its threads, in any order; two of one number would be one.
    """
    library = ctypes.CDLL(None, use_errno=True)
    os.kill(pid, signal.SIGSTOP)
    for number in numbers:
        if library.tgkill(pid, pid, number):
            raise OSError(ctypes.get_errno(), "tgkill")
    os.kill(pid, signal.SIGCONT)
