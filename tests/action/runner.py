"""A GitHub Actions runner on this machine: `act` without images, offline, beside the fake forge."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.forge.conftest import Cloned
from tests.forge.server import TOKEN
from tests.waiting import PATIENCE

TREE = Path(__file__).resolve().parents[2]
EXAMPLES = TREE / "examples" / "workflows"
CACHE = TREE / "tests" / "action" / "cache"
ACT = Path(sys.executable).parent / "act"
USED = re.compile(r"uses: ([\w-]+/[\w-]+)\S*@(\S+)")
SHIPPED = (
    "action.yml",
    "action",
    "clean-up",
    "requirements.lock",
    "sweeper",
    "prompts",
    "sandboxes",
)  # of the tree, what it needs


@dataclass(frozen=True)
class Job:
    """What came of a job. `log`: everything that was printed. `outputs`: of the step with sweeper."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str
    report: dict[str, Any]


class Runner:
    """Starts workflows for a project that was cloned from the forge; every job gets a new clone.

    `folder` is what a runner machine keeps: its tool cache, and what the cache action saved.
    """

    def __init__(self, folder: Path, project: Cloned) -> None:
        self.folder, self.project = folder, project
        self.kept = folder / "cache"
        (folder / "home").mkdir(parents=True)
        self._equip()
        self._actions = {"OWNER/sweeper": folder / "sweeper", "actions/cache": CACHE}
        for name in SHIPPED:  # without this tree's own environment, which act would copy for every job
            copy = shutil.copytree if (TREE / name).is_dir() else shutil.copy
            (folder / "sweeper").mkdir(exist_ok=True)
            copy(TREE / name, folder / "sweeper" / name)

    def _equip(self) -> None:
        """The environment that action/install.sh would make, out of this one: same packages, no download."""
        said = subprocess.run(
            [TREE / "action" / "install.sh", "--where"],
            env=self.environment() | {"RUNNER_TOOL_CACHE": str(self.folder / "act" / "tool_cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        place = Path(said.stdout.strip())
        place.mkdir(parents=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "env"], check=True)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        site = place / "env" / "lib" / version / "site-packages"
        (site / "packages.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        (place / ".ready").touch()

    def example(self, name: str) -> str:
        return (EXAMPLES / name).read_text()

    def clone(self) -> Path:
        """A new clone of the forge's repository, as a checkout leaves it: no credentials in it."""
        into = self.folder / "checkout"
        shutil.rmtree(into, ignore_errors=True)
        forge = self.project.forge
        url = forge.clone.replace("://", f"://x:{TOKEN}@")
        subprocess.run(["git", "clone", "-q", url, into], check=True)
        subprocess.run(["git", "remote", "set-url", "origin", forge.clone], cwd=into, check=True)
        return into

    def words(self, workflow: str, event: str, payload: dict[str, Any] | None = None, **env: str) -> list[str]:
        """The command line of one run; the step with sweeper gets an id, and a step after it that keeps its outputs."""
        (self.folder / "workflow.yml").write_text(_observed(workflow))
        (self.folder / "event.json").write_text(json.dumps(payload or {}))
        for name in ("outputs.json", "report.json"):
            (self.folder / name).unlink(missing_ok=True)
        forge = self.project.forge
        given = {
            "CACHE_FOLDER": str(self.kept),
            "OBSERVED": str(self.folder),
            "GITHUB_SERVER_URL": forge.url,
            "GITHUB_API_URL": forge.api,
            "GITHUB_REPOSITORY": forge.hub.full,
            "GITHUB_SHA": forge.hub.tip("main") or "",
            "SWEEPER_SANDBOX": "bubblewrap",
        } | env
        replaced = [
            f"--local-repository={name}@{ref}={self._actions[name]}"
            for name, ref in sorted(set(USED.findall(workflow)))
            if name in self._actions
        ]
        return [
            str(ACT), event, "-W", str(self.folder / "workflow.yml"), "-e", str(self.folder / "event.json"),
            "-C", str(self.clone()), "-P", "ubuntu-latest=-self-hosted", "--no-cache-server", "--action-offline-mode",
            "--pull=false", "-s", f"GITHUB_TOKEN={TOKEN}", "--action-cache-path", str(self.folder / "act"), *replaced,
            *(f"--env={name}={value}" for name, value in given.items()),
        ]  # fmt: skip

    def environment(self) -> dict[str, str]:
        hidden = ("GITHUB_", "GH_", "SWEEPER_", "RUNNER_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return kept | {"PATH": path, "HOME": str(self.folder / "home"), "XDG_CACHE_HOME": str(self.folder / "home")}

    def run(self, workflow: str, event: str, payload: dict[str, Any] | None = None, *more: str, **env: str) -> Job:
        done = subprocess.run(
            [*self.words(workflow, event, payload, **env), *more],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return self.ended(done.returncode, done.stdout)

    def start(self, workflow: str, event: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.words(workflow, event),
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def ended(self, code: int, log: str) -> Job:
        summary = re.search(r"Summary - (.*?)\n\[", log, re.DOTALL)
        return Job(code, log, self._kept("outputs.json"), summary[1] if summary else "", self._kept("report.json"))

    def _kept(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        value: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return value


def _observed(workflow: str) -> str:
    """The workflow with its step of sweeper named, and its outputs kept for the test right after it."""
    lines: list[str] = []
    for line in workflow.splitlines():
        if "uses: OWNER/sweeper@" in line:
            indent = line[: len(line) - len(line.lstrip())]
            named = "id: sweep" in (lines[-1] if lines else "")
            lines.append(line if named else f"{indent}- id: sweep\n{indent}  {line.strip().removeprefix('- ')}")
        else:
            lines.append(line)
    keep = [
        "      - if: always()",
        "        env:",
        "          OUTPUTS: ${{ toJSON(steps.sweep.outputs) }}",
        "          REPORT: ${{ steps.sweep.outputs.report-path }}",
        "        run: |",
        '          echo "$OUTPUTS" > "$OBSERVED/outputs.json"',
        '          test -z "$REPORT" || cp "$REPORT" "$OBSERVED/report.json"',
    ]
    return "\n".join([*lines, *keep, ""])
