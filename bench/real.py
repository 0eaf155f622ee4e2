"""A real backlog: a pinned source distribution, three command rungs, five slots; recounted by ruff itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from bench.projects import commit, configuration, git, sdist, sweeper
from bench.rows import Row
from bench.sandboxes import backends

PROJECT = ("celery", "5.4.0")
SELECT = "E,F,W,I,UP,C4,SIM,PIE,RET"
CHECK = f"ruff check --isolated --select {SELECT} --output-format json ."
RUNGS = (
    f"ruff check --isolated --select {SELECT} --fix {{files}}",
    f"ruff check --isolated --select {SELECT} --fix --unsafe-fixes {{files}}",
    "ruff format --isolated --line-length 88 {files}",
)


def measure() -> list[Row]:
    return [row for backend in backends() for row in _measure(backend)]


def _measure(backend: str) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="sweeper-bench-") as name:
        folder = Path(name) / "project"
        shutil.copytree(sdist(*PROJECT), folder, symlinks=True)
        commit(folder)
        before = recount(folder, "main")
        ladder = "\n".join(f'[[sweep.bench.ladder]]\nrun = "{rung}"\n' for rung in RUNGS)
        configuration(folder, slots=5, ladder=ladder, check=CHECK, more="max_rounds = 3")
        report = json.loads(sweeper(folder, "run", "--sandbox", backend, "--json").stdout)
        after = recount(folder, "sweeper/bench")
        buckets = report["sweeps"][0]["buckets"]
        remaining = sum(sum(buckets[kind].values()) for kind in ("held", "open", "skipped"))
        unexplained = buckets["first"] - buckets["fixed"] - remaining
        detail = f"{buckets['fixed']} fixed, held {dict(buckets['held'])}, open {dict(buckets['open'])}"
        return [
            Row(f"real, {backend}: findings", sum(before.values()), 842, detail=" ".join(PROJECT)),
            Row(f"real, {backend}: files with findings", len({path for path, _ in before}), 99),
            Row(f"real, {backend}: findings in no bucket", unexplained, 0, at_least=False, detail=detail),
            Row(
                f"real, {backend}: report against ruff's own count",
                abs(remaining + buckets["appeared"] - sum(after.values()))
                + abs(buckets["first"] - sum(before.values())),
                0,
                at_least=False,
                detail=f"ruff counts {sum(before.values())} before and {sum(after.values())} after",
            ),
        ]


def recount(folder: Path, branch: str) -> Counter[tuple[str, str]]:
    """(path, rule) -> findings, by ruff alone on a checkout of the branch."""
    with tempfile.TemporaryDirectory(prefix="sweeper-recount-") as name:
        git(folder, "worktree", "add", "-q", "--detach", name + "/tree", branch)
        try:
            command = [str(Path(sys.executable).parent / "ruff"), *CHECK.split()[1:]]
            done = subprocess.run(command, check=False, cwd=name + "/tree", capture_output=True, text=True)
            found = json.loads(done.stdout)
            return Counter((row["filename"].removeprefix(name + "/tree/"), row["code"] or "") for row in found)
        finally:
            git(folder, "worktree", "remove", "--force", name + "/tree")
