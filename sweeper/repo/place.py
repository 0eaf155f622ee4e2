"""Finding a repository and the folders that belong to it; nothing of it is read but where things are."""

from __future__ import annotations

import dataclasses
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeper.errors import ConfigError, GitFailed, SweeperError
from sweeper.repo.run import Git

OLDEST = (2, 38)  # merge-tree --write-tree
# Settings of the user's that the result must respect.
ASKED = r"^(user\.(name|email)|commit\.gpgsign|core\.sharedrepository)$"
OFF = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))


def replace_options(git: Git, more: Sequence[tuple[str, str]]) -> Git:
    return dataclasses.replace(git, options=(*git.options, *more))


@dataclass(frozen=True, slots=True)
class Place:
    """Absolute paths.

    `top`: the work tree, or the bare repository itself. `git_dir` is a linked worktree's own, `common` what all
    worktrees share. `usual_state`: where `state` is unless another one was asked for. `settings`: the user's
    values of a few keys, in lower case.
    """

    top: Path
    git_dir: Path
    common: Path
    bare: bool
    object_format: str
    state: Path
    usual_state: Path
    settings: dict[str, str]

    @property
    def real(self) -> Git:
        """Git on the user's repository with our settings: for refs and names."""
        return Git(self.git_dir, None if self.bare else self.top)

    @property
    def users(self) -> Git:
        """Git on the user's repository as the user sees it: to look at the work tree, to sign."""
        return Git(self.git_dir, None if self.bare else self.top, user_config=True)

    def without_filters(self) -> Git:
        """`users`, but no content filter of the repository's configuration is run: they are programs of whoever
        wrote it. What a filter would change may then count as changed, which is only said, never acted on."""
        users = self.users
        _, out = users.answer("config", "-z", "--name-only", "--get-regexp", r"^filter\.", codes=(0, 1))
        names = {key.rpartition(".")[0] for key in os.fsdecode(out).split("\0") if key}
        off = [(f"{name}.{key}", value) for name in sorted(names) for key, value in OFF]
        return replace_options(users, off)

    def private(self) -> Git:
        """A bare directory of our own over the repository's objects, made at the first use: no setting, attribute,
        hook, filter, replacement or merge driver of anybody reaches what is read and written there."""
        home = self.state / "git"
        if not (home / "HEAD").exists():
            for folder in ("objects", "refs", "info"):
                (home / folder).mkdir(parents=True, exist_ok=True)
            version, extension = 0, ""
            if self.object_format != "sha1":
                version, extension = 1, f"[extensions]\n\tobjectFormat = {self.object_format}\n"
            config = f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extension}"
            put(home / "config", lambda part: part.write_text(config))
            if not os.path.lexists(home / "shallow"):
                # Where the user's history ends, ours does; the link may point nowhere.
                put(home / "shallow", lambda part: part.symlink_to(self.common / "shallow"))
            put(home / "HEAD", lambda part: part.write_text("ref: refs/heads/none\n"))
        shared = self.settings.get("core.sharedrepository")
        options = (("core.sharedRepository", shared),) if shared else ()
        return Git(home, objects=self.common / "objects", options=options)

    def scratch(self) -> Path:
        """A new private folder for this process; those that dead processes of this host left are removed."""
        parent = self.state / "scratch"
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        host = socket.gethostname().replace("-", "_") or "host"
        for old in parent.glob(f"{host}-*"):
            pid = old.name.split("-")[1]
            if pid.isdigit() and not alive(int(pid)):
                shutil.rmtree(old, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix=f"{host}-{os.getpid()}-", dir=parent))


def find(start: Path, state: Path | None = None) -> Place:
    """Raises ConfigError if `start` is in no repository, the repository has no commit, or git is too old."""
    check_version()
    home = root_above(start.resolve())
    if home is None:
        raise ConfigError(f"{start} is not in a git repository", hint="go to your repository, or `git init` and commit")
    # The owner may be another user (a container's checkout): these exact paths are what the user named.
    safe = tuple(dict.fromkeys((home, home / ".git")))
    asker = Git(None, safe=safe)
    words = ("--is-bare-repository", "--absolute-git-dir", "--path-format=absolute", "--git-common-dir")
    try:
        out = asker.run("rev-parse", *words, "--show-object-format", cwd=home).decode("utf-8", "surrogateescape")
        bare_word, git_dir, common, object_format = out.splitlines()
        bare = bare_word == "true"
        top = (
            home if bare else Path(os.fsdecode(asker.run("rev-parse", "--show-toplevel", cwd=home).removesuffix(b"\n")))
        )
    except (GitFailed, ValueError) as problem:
        raise ConfigError(
            f"{home} is not a usable git repository: {problem}", hint="`git status` there says more"
        ) from problem
    usual = Path(os.environ.get("SWEEPER_STATE") or Path(common) / "sweeper").absolute()
    state = (state or usual).absolute()
    chosen = settings(Path(git_dir), bare, top)
    place = Place(top, Path(git_dir), Path(common), bare, object_format, state, usual, chosen)
    if place.real.answer("rev-parse", "--verify", "--quiet", "HEAD^{commit}", codes=(0, 1, 128))[0] and not (
        place.real.run("for-each-ref", "--count=1")
    ):
        raise ConfigError(f"{top} has no commits yet", hint="commit what the sweep is to start from")
    if state == usual and state.is_symlink():
        raise SweeperError(
            f"the state folder {state} is a symbolic link, and what it points to could be anybody's",
            hint="remove the link, or name the folder with SWEEPER_STATE",
        )
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        hint = "make it writable, or set SWEEPER_STATE to a folder of yours"
        raise SweeperError(f"the state folder {state} cannot be made: {problem}", hint=hint) from problem
    return place


def settings(git_dir: Path, bare: bool, top: Path) -> dict[str, str]:
    git = Git(git_dir, None if bare else top, user_config=True)
    _, out = git.answer("config", "-z", "--get-regexp", ASKED, codes=(0, 1))
    rows = (row.decode("utf-8", "replace").partition("\n") for row in out.split(b"\0") if row)
    return {name: value if newline else "true" for name, newline, value in rows}


def check_version() -> None:
    words = Git(None).run("--version", cwd=Path("/")).decode("utf-8", "replace").split()
    numbers = tuple(int(part) for part in words[2].split(".")[:2] if part.isdigit()) if len(words) > 2 else ()
    if numbers < OLDEST:
        raise ConfigError(f"{' '.join(words)} is too old", hint=f"install git {OLDEST[0]}.{OLDEST[1]} or newer")


def root_above(start: Path) -> Path | None:
    """The nearest folder upward that holds a repository, or is a bare one."""
    for folder in (start, *start.parents):
        if (folder / ".git").exists() or all((folder / name).exists() for name in ("HEAD", "objects", "refs")):
            return folder
    return None


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def put(path: Path, make: Callable[[Path], object]) -> None:
    """What `make` makes of a path stands there in one go: nobody ever sees half of it."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    make(part)
    part.replace(path)
