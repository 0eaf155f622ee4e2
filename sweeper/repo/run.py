"""Git children: one environment, fixed options, no configuration but ours, and an error for every unexpected code.

Every child gets an explicit git directory: nothing is discovered from the working directory, nothing is inherited
from a hook that started us, and no setting of the user, the machine or the repository changes an answer.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, TypeVar

from sweeper.errors import GitFailed

T = TypeVar("T")

TIMEOUT = 600.0  # seconds; no command here talks to a network or a terminal
STDERR_HEAD = 2000
PIPE = 4096  # bytes of a request that are surely taken while nobody reads the answer

MODELS = ("_API_KEY", "_AUTH_TOKEN")  # a key of a model is nothing to git, at the very start of a run either
# Whatever the user configured, these hold. Command scope outranks every file.
FIXED: tuple[tuple[str, str], ...] = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.quotePath", "false"),
    ("core.autocrlf", "false"),
    ("core.safecrlf", "false"),
    ("core.symlinks", "true"),
    ("core.fileMode", "true"),
    ("core.precomposeUnicode", "false"),
    ("core.untrackedCache", "false"),
    ("core.protectHFS", "false"),
    ("core.protectNTFS", "false"),
    ("color.ui", "false"),
    ("commit.gpgSign", "false"),
    ("diff.noprefix", "false"),
    ("diff.mnemonicPrefix", "false"),
    ("diff.renames", "false"),
    ("merge.renames", "false"),
    ("merge.directoryRenames", "false"),
    ("merge.renormalize", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("i18n.commitEncoding", "utf-8"),
    ("advice.detachedHead", "false"),
)
# Only where the user's own files are not read: their place is then empty, not the default below the home folder.
NEUTRAL: tuple[tuple[str, str], ...] = (("core.excludesFile", "/dev/null"), ("core.attributesFile", "/dev/null"))
# What a question about the user's own work tree may not be bent by; the rest is theirs to say.
FOR_THE_USER: tuple[tuple[str, str], ...] = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.quotePath", "false"),
    ("color.ui", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
)


@dataclass(frozen=True, slots=True)
class Git:
    """How to start git for one git directory. `objects`: an object store other than the directory's own.

    `user_config` leaves the user's and the machine's configuration in force, for questions about the user's own
    work tree, identity and signing. `safe`: exact paths whose owner may be somebody else. `options`: further
    settings.
    """

    git_dir: Path | None
    work_tree: Path | None = None
    objects: Path | None = None
    user_config: bool = False
    safe: tuple[Path, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    def environment(self) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env = {name: value for name, value in env.items() if not name.endswith(MODELS)}
        env |= {
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            # nothing is ever fetched: a partial clone's configuration could name a program to do it
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
        }
        settings = FOR_THE_USER if self.user_config else FIXED + NEUTRAL
        if not self.user_config:
            env |= {
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_SYSTEM": "/dev/null",
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "GIT_ATTR_NOSYSTEM": "1",
            }
        pairs = (*settings, *self.options, *(("safe.directory", os.fspath(path)) for path in self.safe))
        env["GIT_CONFIG_COUNT"] = str(len(pairs))
        for i, (name, value) in enumerate(pairs):
            env[f"GIT_CONFIG_KEY_{i}"], env[f"GIT_CONFIG_VALUE_{i}"] = name, value
        places = {"GIT_DIR": self.git_dir, "GIT_WORK_TREE": self.work_tree, "GIT_OBJECT_DIRECTORY": self.objects}
        return env | {name: os.fspath(path) for name, path in places.items() if path is not None}

    def answer(
        self,
        *args: str,
        stdin: bytes = b"",
        codes: Sequence[int] = (0,),
        cwd: Path | None = None,
        timeout: float = TIMEOUT,
        extra: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Run to the end: (code, stdout). Raises GitFailed on any code that is not in `codes`."""
        try:
            done = subprocess.run(
                ["git", *args],
                input=stdin,
                capture_output=True,
                env=self.environment() | dict(extra or {}),
                cwd=cwd or self.git_dir or "/",
                timeout=timeout,
                start_new_session=True,  # an interrupt at the terminal is the coordinator's to handle, not git's
                umask=0o022,
                check=False,
            )
        except FileNotFoundError as problem:
            raise GitFailed(f"git could not be started: {problem}", hint="install git 2.38 or newer") from problem
        except subprocess.TimeoutExpired as problem:
            raise GitFailed(f"`git {shown(args)}` did not end within {timeout:g} s") from problem
        if done.returncode not in codes:
            raise failed(args, done.returncode, done.stderr, self.git_dir)
        return done.returncode, done.stdout

    def run(self, *args: str, stdin: bytes = b"", cwd: Path | None = None) -> bytes:
        """Run to the end: stdout. Raises GitFailed on any code but 0."""
        return self.answer(*args, stdin=stdin, cwd=cwd)[1]


class Child:
    """A git that stays and answers requests, one at a time, from any thread. Started at the first request.

    It ends by itself when our end of its stdin is gone, however that happens.
    """

    def __init__(self, git: Git, *args: str, cwd: Path) -> None:
        self._git, self._args, self._cwd = git, args, cwd
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None

    def ask(self, request: bytes, answer: Callable[[BufferedReader], T]) -> T:
        """Send a request and read its whole answer; a child whose answer broke off is never asked again.

        Nothing is read before the whole request was written, so a request that is answered bit by bit must not be
        longer than PIPE.
        """
        with self._lock:
            process = self._running()
            if process.stdin is None or not isinstance(process.stdout, BufferedReader):
                raise GitFailed(f"`git {shown(self._args)}` has no pipes")
            try:
                process.stdin.write(request)
                process.stdin.flush()
                return answer(process.stdout)
            except (BrokenPipeError, EOFError) as problem:
                raise self._died() from problem
            except BaseException:
                self._stop(kill=True)
                raise

    def close(self) -> None:
        with self._lock:
            self._stop()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the child)
            try:
                self._process = subprocess.Popen(
                    ["git", *self._args],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                    env=self._git.environment(),
                    cwd=self._cwd,
                    start_new_session=True,
                )
            except OSError as problem:
                self._stop(kill=True)
                raise GitFailed(f"git could not be started: {problem}", hint="install git 2.38 or newer") from problem
        return self._process

    def _died(self) -> GitFailed:
        said, code = b"", -1
        if self._process is not None:
            self._process.kill()
            code = self._process.wait()
        if self._stderr is not None:
            self._stderr.seek(0)
            said = self._stderr.read(STDERR_HEAD)
        self._stop(kill=True)
        return failed(self._args, code, said, self._git.git_dir)

    def _stop(self, *, kill: bool = False) -> None:
        process, self._process = self._process, None
        stderr, self._stderr = self._stderr, None
        if process is not None:
            if kill:
                process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except BrokenPipeError:
                        pass
            process.wait()
        if stderr is not None:
            stderr.close()


def line(stream: BufferedReader) -> bytes:
    """One line without its end; EOFError if the stream ended in it."""
    got = stream.readline()
    if not got.endswith(b"\n"):
        raise EOFError
    return got[:-1]


def word(stream: BufferedReader) -> bytes:
    """One NUL-terminated word, without its end; EOFError if the stream ended in it."""
    got = b""
    while ready := stream.peek():
        end = ready.find(b"\0")
        got += stream.read(end + 1 if end >= 0 else len(ready))
        if end >= 0:
            return got[:-1]
    raise EOFError


def exactly(stream: BufferedReader, size: int) -> bytes:
    got = stream.read(size)
    if len(got) != size:
        raise EOFError
    return got


def failed(args: Sequence[str], code: int, stderr: bytes, place: Path | None) -> GitFailed:
    """The error for a git that ended badly: command, place, code, head of what it said; a lock file's age."""
    said = stderr[:STDERR_HEAD].decode("utf-8", "backslashreplace").strip()
    where = f" in {place}" if place else ""
    what = f"`git {shown(args)}`{where} ended with code {code}: {said or '(silent)'}"
    error = GitFailed(what, hint=lock_hint(said))
    error.said = said
    return error


def lock_hint(said: str) -> str:
    """A lock file that git names: how old it is. It is reported, never deleted by us."""
    if not (found := re.search(r"'([^'\n]+\.lock)'", said)):
        return ""
    path = Path(found[1])
    try:
        age = time.time() - path.stat().st_mtime
    except OSError:
        return f"{path} was held by another git process and is gone now: try again"
    return (
        f"{path} is {age:.0f} s old: another git process may be at work. If none is, it was left behind by one that "
        "died; remove it yourself"
    )


def shown(args: Sequence[str]) -> str:
    return " ".join(args)[:200]
