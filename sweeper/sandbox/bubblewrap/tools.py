"""Tools of the host that a sandbox gets: a program by name, and the folders it needs, mounted read-only path by path.

A tool's environment (a virtual environment and its interpreter, a version of pyenv or uv, a node prefix, a conda
environment) comes as a whole; any other program below a home folder comes alone. A home folder never does.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sweeper.errors import CheckBroken

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
PATH_INSIDE = ("/usr/local/bin", "/usr/bin", "/bin")
HOPS = 16
SHEBANG_BYTES = 512
NODE_MODULES = "/node_modules/"


@dataclass(slots=True)
class Tools:
    """`mounts`: host paths to mount at the same place; `folders`: those of PATH that the tools need.

    `links`: symbolic links to make again, place -> target.
    """

    mounts: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def path(self) -> list[str]:
        return [*self.folders, *PATH_INSIDE]

    def add(self, names: Sequence[str], *, optional: bool = False) -> None:
        """Resolve more names; what is not there is `missing`, with `optional` also a shim that starts nothing.

        A name with a slash is a path inside the repository unless it is absolute. Raises CheckBroken for such a shim.
        """
        for name in dict.fromkeys(names):
            if "/" in name and not os.path.isabs(name):
                continue
            where = which(name)
            if where is None:
                self.missing.append(name)
                continue
            try:
                _add(self, where, name)
            except CheckBroken:
                if not optional:
                    raise
                self.missing.append(name)

    def require(self) -> None:
        """Raises CheckBroken for the first missing tool."""
        for name in self.missing:
            raise missing(name)

    def mount(self, place: str) -> None:
        if _within(place, SYSTEM) or _within(place, self.mounts):
            return
        self.mounts = [m for m in self.mounts if not _within(m, [place])] + [place]

    def reach(self, folder: str) -> None:
        if folder not in self.path:
            self.folders.append(folder)


def find(names: Sequence[str], *, optional: bool = False) -> Tools:
    """Every name on the host's PATH, or beside the interpreter that runs this. See `Tools.add`."""
    tools = Tools()
    tools.add(names, optional=optional)
    return tools


def which(name: str) -> str | None:
    beside = [os.path.dirname(sys.executable), os.path.join(sys.prefix, "bin")]
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *beside]))
    return os.path.abspath(found) if found else None


def missing(name: str) -> CheckBroken:
    install = f'setup = ["pip install {name}"]'
    return CheckBroken(
        f"the tool {name!r} was not found on PATH",
        hint=f"install it, or add this line to the sweep in sweeper.toml if pip provides it:  {install}\n"
        f'without one:  --setup "pip install {name}"',
    )


def _add(tools: Tools, where: str, name: str) -> None:
    """Mount what the program at `where` needs; follow its links and its interpreter to their ends."""
    called = where
    for _ in range(HOPS):
        if os.path.basename(os.path.dirname(where)) == "shims":
            where = _behind_shim(where, name)
        elif name != "rustup" and (rustup := _rustup(where)):
            where = _behind_rustup(rustup, name)
        folder = os.path.dirname(where)
        prefix = environment(folder)
        if prefix is not None:
            tools.mount(prefix)
            tools.reach(folder)
            _interpreter(tools, prefix)
            return
        if not os.path.islink(where):
            break
        where = os.path.normpath(os.path.join(folder, os.readlink(where)))
    if _within(where, SYSTEM):
        return
    if NODE_MODULES in where:
        _node_package(tools, called, where)
        return
    # A link of another name than its target is mounted as a file of its own name.
    _alone(tools, where if os.path.basename(where) == name else called)


def _node_package(tools: Tools, called: str, where: str) -> None:
    """A program that npm installed: its packages lie beside it, and it finds them by its own real place."""
    packages = where[: where.index(NODE_MODULES) + len(NODE_MODULES) - 1]
    tools.mount(packages)
    tools.reach(os.path.dirname(called))
    if not _within(called, [packages]):
        tools.links[called] = where
    _interpreted(tools, where)


def _alone(tools: Tools, where: str) -> None:
    """A program that is in no environment: its package folder outside a home, else the file and its interpreter."""
    folder = os.path.dirname(where)
    package = os.path.dirname(folder)
    if os.path.basename(folder) == "bin" and package != "/" and not _homely(package):
        tools.mount(package)
    else:
        tools.mount(where)
    tools.reach(folder)
    _interpreted(tools, where)


def _interpreted(tools: Tools, where: str) -> None:
    words = _shebang(where)
    if not words:
        return
    program = words[0]
    if os.path.basename(program) == "env":
        rest = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        program = which(rest[0]) or "" if rest else ""
    if program and os.path.exists(program) and not _within(os.path.realpath(program), [where]):
        _add(tools, program, os.path.basename(program))


def environment(folder: str) -> str | None:
    """The environment's prefix if `folder` is the bin folder of one."""
    prefix = os.path.dirname(folder)
    if os.path.basename(folder) != "bin" or _within(folder, SYSTEM) or _too_wide(prefix):
        return None
    marks = ("pyvenv.cfg", "conda-meta", "bin/node", "lib/rustlib")
    if any(os.path.exists(os.path.join(prefix, mark)) for mark in marks):
        return prefix
    if os.path.exists(os.path.join(folder, "python3")) and list(Path(prefix, "lib").glob("python3*")):
        return prefix
    return None


def _interpreter(tools: Tools, prefix: str) -> None:
    """The real interpreter behind a virtual environment, with its own prefix."""
    python = os.path.join(prefix, "bin", "python3")
    for _ in range(HOPS):
        if not os.path.islink(python):
            break
        python = os.path.normpath(os.path.join(os.path.dirname(python), os.readlink(python)))
        folder = os.path.dirname(python)
        if _within(python, [prefix]) or _within(python, SYSTEM):
            continue
        home = environment(folder)
        tools.mount(home if home is not None else python)


def _behind_shim(where: str, name: str) -> str:
    """The program that a version manager's shim would start."""
    manager = os.path.join(os.path.dirname(os.path.dirname(where)), "bin", "pyenv")
    program = manager if os.path.exists(manager) else shutil.which("pyenv")
    said = ""
    if program and b"pyenv" in Path(where).read_bytes()[:2000]:
        done = subprocess.run(
            [program, "which", name], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        found = done.stdout.strip()
        if done.returncode == 0 and os.path.isabs(found):
            return found
        said = f": {done.stderr.strip()}"
    raise CheckBroken(
        f"{where} is a version manager's shim, and what it starts could not be found{said}",
        hint=f"write the path of the real program, or put its folder on PATH before the shims of {name}",
    )


def _rustup(where: str) -> str:
    """rustup itself if the program at `where` is another name, by either kind of link, of the one beside it."""
    beside = os.path.join(os.path.dirname(where), "rustup")
    return beside if os.path.exists(beside) and os.path.samefile(where, beside) else ""


def _behind_rustup(rustup: str, name: str) -> str:
    """The program of the default toolchain: a repository's own choice of another one can't be known here."""
    done = subprocess.run(
        [rustup, "which", name], cwd="/", capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    found = done.stdout.strip()
    if done.returncode == 0 and os.path.isabs(found) and os.path.isfile(found) and not _rustup(found):
        return found
    raise CheckBroken(
        f"{name} is rustup's proxy, and what it starts could not be found: {done.stderr.strip()}",
        hint="install a toolchain: rustup default stable",
    )


def _shebang(where: str) -> list[str]:
    with open(where, "rb") as file:
        head = file.read(SHEBANG_BYTES)
    if not head.startswith(b"#!"):
        return []
    try:
        return shlex.split(os.fsdecode(head[2:].split(b"\n", 1)[0]))
    except ValueError:
        return []


def _homes() -> list[str]:
    return [str(Path.home()), "/root", "/home"]


def _homely(place: str) -> bool:
    """Whether a place is a home folder, inside one, or contains one."""
    return _within(place, _homes()) or any(_within(home, [place]) for home in _homes())


def _too_wide(place: str) -> bool:
    """Whether a place is or contains a home folder, or is the one in it where programs keep their secrets too."""
    contains = any(_within(home, [place]) for home in _homes())
    return contains or os.path.dirname(place) == "/home" or os.path.basename(place) == ".local"


def _within(place: str, folders: Sequence[str]) -> bool:
    return any(place == folder or place.startswith(folder + "/") for folder in folders)
