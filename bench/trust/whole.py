"""One cheat through a whole run: its repository, its check, its tests, and a ladder that makes exactly its change."""

from __future__ import annotations

import base64
import enum
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.projects import git
from bench.trust.cases import Case, contents
from sweeper.errors import CheckBroken
from sweeper.policy.paths import denied

LINK = "120000"
# What the rung does, in the sandbox: puts the case's own files there.
APPLY = """import base64, json, os, sys
for path, mode, data in json.loads(base64.b64decode(sys.argv[1])):
    os.path.lexists(path) and os.remove(path)
    if data is None: continue
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    data = base64.b64decode(data)
    if mode == "120000": os.symlink(data.decode(), path); continue
    open(path, "wb").write(data)
    os.chmod(path, int(mode, 8) & 0o777)
"""


class Passage(enum.StrEnum):
    """What became of a cheat. MERGED: into the branch, and no reviewer was told."""

    STOPPED = "stopped"
    MARKED = "merged, marked for review"
    MERGED = "merged unmarked"
    CANNOT_RUN = "its check cannot run here"


def pass_through(case: Case) -> Passage:
    """Run sweeper on the case's repository, with its own check and test, in a bubblewrap sandbox."""
    with tempfile.TemporaryDirectory(prefix="sweeper-bench-") as name:
        folder = Path(name) / "repository"
        _lay_out(case, folder)
        done = subprocess.run(
            [sys.executable, "-m", "sweeper", "run", "--json", "--sandbox", "bubblewrap"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "NO_COLOR": "1"},
        )
        if done.returncode == CheckBroken.exit_code:
            return Passage.CANNOT_RUN
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{case} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        (report,) = json.loads(done.stdout)["sweeps"]
        if not report["buckets"]["first"]:
            return Passage.CANNOT_RUN
        merged = [each for unit in report["units"] for each in unit["tries"] if each["merged"]]
        if not merged:
            return Passage.STOPPED
        return Passage.MARKED if any(each["reviews"] for each in merged) else Passage.MERGED


def _lay_out(case: Case, folder: Path) -> None:
    table = case.table
    modes = table.get("before_mode", {})
    for path, data in contents(table, "before").items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        place.chmod(int(modes.get(path, "100644"), 8) & 0o777)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "base")
    words = ["python3", "-c", APPLY, base64.b64encode(json.dumps(_writes(case)).encode()).decode()]
    test = f"test = {json.dumps(table['test'])}\n" if table.get("test") else ""
    # as `verdict_on` judges it
    allowed = sorted({finding["path"] for finding in table["finding"] if denied(finding["path"])})
    (folder / "sweeper.toml").write_text(
        f"[sweep.case]\ncheck = {json.dumps(shlex.split(table['check']))}\nallow = {json.dumps(allowed)}\n{test}"
        f"[[sweep.case.ladder]]\nrun = {json.dumps(words)}\n"
    )


def _writes(case: Case) -> list[tuple[str, str, str | None]]:
    table = case.table
    before, after = contents(table, "before"), contents(table, "after")
    modes = table.get("after_mode", {})
    written: list[tuple[str, str, str | None]] = [
        (path, modes.get(path, "100644"), base64.b64encode(after.get(path, before.get(path, b""))).decode())
        for path in sorted({*after, *modes})
    ]
    return written + [(path, "", None) for path in table.get("deleted", [])]
