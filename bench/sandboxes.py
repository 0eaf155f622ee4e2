"""One hardened sandbox and one whole attempt against bare `docker run --rm --network none IMAGE true`, 4 at once."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import anyio

from bench.projects import commit
from bench.rows import Row
from sweeper.attempt.attempt import attempt
from sweeper.attempt.job import Job
from sweeper.backlog.check import Check
from sweeper.backlog.child import Parser
from sweeper.backlog.tools import recognise
from sweeper.config.models import RungConfig, SweepConfig
from sweeper.ground import Ground, stand_on
from sweeper.ledger import make_owner
from sweeper.policy import Scope
from sweeper.records import Finding, Kind, Unit
from sweeper.repo import Repo
from sweeper.sandbox.bubblewrap import Bubblewrap
from sweeper.sandbox.contract import Backend, Name, Role, Snapshot, Toolchain
from sweeper.sandbox.docker import Docker
from sweeper.sandbox.sandboxing import Sandboxing
from sweeper.verify.verifiers import Verifiers
from sweeper.workshop import Workshop

FILES, FOLDERS, AT_ONCE, TIMES = 2000, 40, 4, 80
IMAGE = "debian:bookworm-slim"
TARGETS = {"docker": 1.2, "bubblewrap": 5.0}
# Of a file of 16 kB: what a fix does, and the most that a policy can be given to read.
EDITS = {
    "a line": "sed -i '2s/some/all of the/' pkg0/m0.py",
    "a file": "head -c 1000 /dev/zero | tr '\\0' x > pkg0/m0.py",
}
NO_CHECK = ("sh", "-c", "true")


def backends() -> list[str]:
    """The kinds of sandbox that can be measured here."""
    return ["bubblewrap", "docker"] if _engine_answers() else ["bubblewrap"]


def _engine_answers() -> bool:
    docker = shutil.which("docker")
    return docker is not None and subprocess.run([docker, "info"], check=False, capture_output=True).returncode == 0


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="sweeper-bench-") as name:
        project, store = Path(name) / "project", Path(name) / "store"
        Path(name).chmod(0o755)
        _repository(project)
        bare = _bare_docker() if _engine_answers() else None
        return [row for kind in backends() for row in anyio.run(_measure, kind, project, store / kind, bare)]


def _repository(folder: Path) -> None:
    for number in range(FILES):
        package = folder / f"pkg{number % FOLDERS}"
        package.mkdir(parents=True, exist_ok=True)
        (package / f"m{number}.py").write_text(f"# {number}\n" + "value = 'some sixteen kB of text'\n" * 500)
    commit(folder)


def _bare_docker() -> float:
    """Sandboxes a second of the command line, for comparison."""
    command = ["docker", "run", "--rm", "--network", "none", IMAGE, "true"]
    began = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in pool.map(lambda _: subprocess.run(command, check=True), range(TIMES // 2)):
            assert done.returncode == 0
    return TIMES // 2 / (time.perf_counter() - began)


def _backend(kind: str, store: Path) -> Backend:
    owner = make_owner()
    if kind == "docker":
        return Docker(store, owner, slots=2 * AT_ONCE, ca_certificates=None)
    return Bubblewrap(store, owner, slots=2 * AT_ONCE, ca_certificates=None)


async def _measure(kind: str, project: Path, store: Path, bare: float | None) -> list[Row]:
    backend = _backend(kind, store)
    parser = Parser()
    try:
        async with await Repo.open(project) as repo:
            probe = await backend.probe()
            assert probe.ok, probe.why
            workshop = _workshop(kind, backend, repo, parser, store)
            ground = await stand_on(workshop, await repo.resolve("HEAD"), 0)
            sandboxes, attempts = {}, {}
            for rung, (what, edit) in enumerate(EDITS.items()):
                sandboxes[what] = await _throughput(partial(_sandbox, workshop, ground.snapshot, edit))
                attempts[what] = await _throughput(partial(_attempt, workshop, ground, rung))
            disk = await _disk(workshop, ground.snapshot, store)
    finally:
        await parser.aclose()
        await backend.aclose()
    rows = [
        Row(
            f"one {kind} sandbox against bare docker run",
            sandboxes["a line"] / bare,
            TARGETS[kind],
            detail=f"{sandboxes['a line']:.1f}/s against {bare:.1f}/s",
        )
        for bare in (bare,)
        if bare
    ]
    return [
        *rows,
        Row(f"disk of one {kind} sandbox beyond the changed bytes, KB", disk / 1024, 64, at_least=False),
        *(
            Row(
                f"a whole attempt that changes {what} against one sandbox, {kind}",
                attempts[what] / sandboxes[what],
                0.4,
                detail=f"{attempts[what]:.1f}/s against {sandboxes[what]:.1f}/s",
            )
            for what in EDITS
        ),
    ]


def _workshop(kind: str, backend: Backend, repo: Repo, parser: Parser, store: Path) -> Workshop:
    sandboxing = Sandboxing(backend, logs=store / "logs")
    check = Check(sandboxing, parser, recognise(NO_CHECK), NO_CHECK, ())
    config = SweepConfig(check=list(NO_CHECK), ladder=[RungConfig(run=["sh", "-c", edit]) for edit in EDITS.values()])
    return Workshop("bench", kind, config, sandboxing, Toolchain(tools=("sh",)), repo, check, Scope(), Verifiers(repo))


async def _throughput(one: Callable[[int], Awaitable[Any]]) -> float:
    """Calls a second, AT_ONCE at once, after a warm-up."""
    waiting = iter(range(TIMES + AT_ONCE))

    async def worker(count: int) -> None:
        for number in islice(waiting, count):
            await one(number)

    async def all_of(count: int) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                group.start_soon(worker, count)

    await all_of(1)
    began = time.perf_counter()
    await all_of(TIMES)
    return TIMES / (time.perf_counter() - began)


async def _sandbox(workshop: Workshop, snapshot: Snapshot, edit: str, number: int) -> None:
    name = Name("bench", f"{number:016}{0:016}", 1, Role.AGENT)
    spec = workshop.sandboxing.spec(name, snapshot, ("sh", "-c", edit), wanted=lambda path: True)
    ran = await workshop.sandboxing.backend.run(spec)
    assert [entry.path for entry in ran.layer.entries] == [b"pkg0/m0.py"], ran


async def _disk(workshop: Workshop, snapshot: Snapshot, store: Path) -> float:
    """Bytes in use below the store while a sandbox with one edit is there, beyond those before and its edit."""
    before = _used(store)
    name = Name("bench", "disk", 1, Role.AGENT)
    spec = workshop.sandboxing.spec(name, snapshot, ("sh", "-c", EDITS["a file"] + "; sleep 1"))
    most = before
    async with anyio.create_task_group() as group:
        group.start_soon(workshop.sandboxing.backend.run, spec)
        for _ in range(8):
            await anyio.sleep(0.1)
            most = max(most, _used(store))
    return max(0.0, most - before - 1000)


def _used(folder: Path) -> int:
    done = subprocess.run(["du", "-s", "-B1", str(folder)], check=False, capture_output=True, text=True)
    return int(done.stdout.split()[0])


class _NoSlot:
    weight = 1

    def free(self) -> None:
        pass


async def _attempt(workshop: Workshop, ground: Ground, rung: int, number: int) -> None:
    finding = Finding("pkg0/m0.py", 1, 1, "X", "message", fingerprint="f")
    unit = Unit(f"{number:016}{rung:016}", "bench", "pkg0/m0.py", ("pkg0/m0.py",), (finding,))
    outcome = await attempt(workshop, ground, Job(unit, rung, number + 1), _NoSlot())
    assert outcome.kind is Kind.FIXED, outcome
