"""Who there is inside a sandbox: its one user has a name and a home, which programs ask for (Node's os.userInfo)."""

from __future__ import annotations

from sweeper.sandbox.contract import HOME

NAME = "sweeper"  # of the user inside
# The allow-list: nothing of the coordinator's environment, and PATH is the toolchain's.
ENVIRONMENT = {
    "HOME": HOME,
    "USER": NAME,
    "LOGNAME": NAME,
    "SHELL": "/bin/sh",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}


def accounts(uid: int, gid: int) -> dict[str, str]:
    """Path -> content of the files of users and groups."""
    return {
        "/etc/passwd": f"root:x:0:0:root:/:/bin/sh\n{NAME}:x:{uid}:{gid}::{HOME}:/bin/sh\n"
        "nobody:x:65534:65534::/:/bin/false\n",
        "/etc/group": f"root:x:0:\n{NAME}:x:{gid}:\nnogroup:x:65534:\n",
    }
