"""A commit's tree as a folder: raw blobs, modes, links, and a small repository of its own around them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from anyio import to_thread

from sweeper.errors import ConfigError, GitFailed, SweeperError
from sweeper.records import Listing
from sweeper.repo.objects import GITLINK, MISSING
from sweeper.repo.run import Git

# Files older than the index need no second look by `git status`, and an edit of the same size within the same
# second is still seen. Zip archives cannot hold a time before 1980.
WRITTEN = 946_684_800
NAME, EMAIL = "sweeper", "sweeper@localhost"

# The index stays fresh when the folder changes owner or is copied: only size and time of a file are compared.
CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
\tcheckStat = minimal
\ttrustctime = false
\tautocrlf = false
\tprotectHFS = false
\tprotectNTFS = false
[extensions]{extensions}
[user]
\tname = {name}
\temail = {email}
[commit]
\tgpgsign = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
RAW = "* -text -eol -ident -filter -working-tree-encoding\n"


@dataclass(frozen=True, slots=True)
class CommitTree:
    """One commit for a sandbox; satisfies `sandbox.contract.Tree`."""

    commit: str
    listing: Listing = field(repr=False)
    tree: str
    git: Git = field(repr=False)
    object_format: str = "sha1"

    async def write_to(self, directory: Path) -> None:
        """Write the tree into an empty (or absent) directory.

        Files are 0644 or 0755, submodules empty directories, modification times one fixed past second. `.git` has
        one commit on branch `main`, all its objects in one pack, no remote, no hooks, and a fresh index.
        Raises ConfigError if this clone has not all of it, GitFailed.
        """
        await to_thread.run_sync(self._write, directory)

    def _write(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise GitFailed(f"{directory} is not empty: a tree is written into a folder of its own")
        git_dir = directory / ".git"
        self._skeleton(git_dir)
        self._pack(git_dir)
        self._check_out(git_dir, directory)

    def _pack(self, git_dir: Path) -> None:
        # Deltas and compressed data are reused as they are, what is loose is stored plain: the cheapest to write, and
        # then to read once more for the files.
        pack = ("pack-objects", "--revs", "--quiet", "--window=0", "--delta-base-offset", "--compression=0")
        try:
            self.git.run(*pack, os.fspath(git_dir / "objects" / "pack" / "pack"), stdin=self.tree.encode() + b"\n")
        except GitFailed as problem:
            raise self._explained(problem) from problem
        head = (
            f"tree {self.tree}\nauthor {NAME} <{EMAIL}> {WRITTEN} +0000\n"
            f"committer {NAME} <{EMAIL}> {WRITTEN} +0000\n\nbase\n"
        )
        made = Git(git_dir).run("hash-object", "-w", "-t", "commit", "--stdin", stdin=head.encode())
        (git_dir / "refs" / "heads" / "main").write_bytes(made)

    def _explained(self, problem: GitFailed) -> SweeperError:
        """Why the tree could not be packed: a clone without all of it, a damaged one, or what git said."""
        files = [(path, entry.oid) for path, entry in self.listing.items() if entry.mode != GITLINK]
        asked = "".join(f"{oid}\n" for _, oid in files).encode()
        rows = self.git.run("cat-file", "--batch-check", stdin=asked).splitlines()
        gone = [path for (path, _), row in zip(files, rows, strict=True) if row.endswith(b" missing")]
        if not gone:
            problem.hint = problem.hint or MISSING
            return problem
        example = gone[0].decode("utf-8", "backslashreplace")
        return ConfigError(
            f"{len(gone)} files of {self.commit} are missing or damaged in this clone, such as {example}", hint=MISSING
        )

    def _check_out(self, git_dir: Path, directory: Path) -> None:
        git = Git(git_dir, directory)
        git.run("read-tree", "--reset", "-u", self.tree, cwd=directory)
        root = os.fsencode(directory)
        for path, entry in self.listing.items():
            if entry.mode != GITLINK:
                os.utime(os.path.join(root, path), (WRITTEN, WRITTEN), follow_symlinks=False)
        git.run("update-index", "-q", "--refresh", cwd=directory)

    def _skeleton(self, git_dir: Path) -> None:
        for folder in ("objects/pack", "objects/info", "refs/heads", "refs/tags", "info"):
            (git_dir / folder).mkdir(parents=True)
        sha1 = self.object_format == "sha1"
        extensions = "" if sha1 else f"\n\tobjectFormat = {self.object_format}"
        settings = CONFIG.format(version=0 if sha1 else 1, extensions=extensions, name=NAME, email=EMAIL)
        (git_dir / "config").write_text(settings)
        (git_dir / "HEAD").write_text("ref: refs/heads/main\n")
        (git_dir / "info" / "attributes").write_text(RAW)
