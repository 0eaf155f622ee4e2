"""A run as a fire leaves it, in a real ledger and a real repository whose origin is the forge: without sandboxes.

What a sandbox would judge is put together here (`green`), so that a test of publishing takes milliseconds.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sweeper.backlog.child import Parser
from sweeper.config.models import PullRequestConfig
from sweeper.forge import address
from sweeper.forge.client import Client
from sweeper.forge.contract import Published
from sweeper.forge.github import GitHub
from sweeper.forge.token import Token
from sweeper.gate.gate import TOGETHER, TreeVerdict
from sweeper.gate.green import Green
from sweeper.gate.merge import Verified, merge
from sweeper.ledger import make_owner, open_ledger
from sweeper.ledger.contract import Ledger, Queued, Run
from sweeper.publish.publisher import Publisher
from sweeper.records import Change, Evidence, Finding, Kind, Outcome, Unit, UnitState
from sweeper.repo import Repo
from sweeper.report.escape import inert
from tests.forge.server import TOKEN, Forge
from tests.repo.builders import Project

DIRTY = b"import os\n\n\nVALUE = 1\n"
CLEAN = b"VALUE = 1\n"
NOTES = {"config": {"ladder": [{"run": "ruff check --fix {files}"}]}, "check": ["ruff"]}


@dataclass
class Made:
    """One machine: a clone with its own ledger. `red`: titles of units that break the gate elsewhere; `bonded`: those
    of which none is fixed without all."""

    project: Project
    forge: Forge
    repo: Repo
    ledger: Ledger
    parser: Parser
    settings: dict[str, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    red: set[str] = field(default_factory=set)
    bonded: set[str] = field(default_factory=set)
    judged: list[str] = field(default_factory=list)
    token: str = TOKEN
    now: float = 0.0
    runs: int = 0

    async def run(self, fixes: dict[str, bytes], *, sweep: str = "s", base: str = "HEAD", **unit: Any) -> Run:
        """A new run with one round that fixed these files; not ended."""
        commit = await self.repo.resolve(base)
        self.runs += 1
        id = f"2026010100000{self.runs}{os.urandom(3).hex()}"
        run = Run(id, sweep, commit, "digest", tip=commit, created=time.time() + self.runs)
        await self.ledger.create_run(run, NOTES)
        await self.ledger.take_dispatcher(sweep)
        return await self.round(run, fixes, **unit)

    async def round(
        self, run: Run, fixes: dict[str, bytes], *, rules: Sequence[str] = ("F401",), reviews: tuple[str, ...] = (),
        held: Sequence[str] = (), title: str = "", batch: str = "",
    ) -> Run:  # fmt: skip
        """One more round of a run; its tip moved. `batch`: the check that judged its units together."""
        number = run.round + 1
        paths = [*fixes, *held]
        units = [
            Unit(
                key=f"{abs(hash((run.sweep, path))):032x}"[:32],
                sweep=run.sweep,
                title=title or path,
                paths=(path,),
                findings=tuple(Finding(path, 1, 1, rule, "message") for rule in rules),
            )
            for path in paths
        ]
        first = {path: dict.fromkeys(rules, 1) for path in paths}
        notes = await self.ledger.notes(run.id)
        await self.ledger.note(run.id, "first", notes.get("first", {}) | first)
        await self.ledger.note(run.id, "last", {path: dict.fromkeys(rules, 1) for path in held})
        await self.ledger.open_round(run.id, number, [Queued(unit, number) for unit in units], (), fresh=number == 1)
        pieces = []
        for unit in units:
            path = unit.paths[0]
            if path in held:
                await self.ledger.hold(unit.key, "ladder exhausted")
                continue
            claim = await self.ledger.claim(unit.key, run.id)
            assert claim is not None
            row = await self.ledger.start(claim, 0, number)
            change = Change(path, fixes[path])
            ref = f"refs/sweeper/{run.id}/{unit.key}/{row.number}"
            commit = await self.repo.write_change(run.tip, [change], "captured", ref, 1000.0)
            evidence = Evidence(("ruff", "check"), 0, "", (), len(rules), 0)
            if batch:
                evidence = dataclasses.replace(evidence, checks=(batch,), together=len(fixes))
            outcome = Outcome(unit.key, row.number, 0, Kind.FIXED, run.tip, commit, evidence, reviews=reviews)
            await self.ledger.land(claim, outcome, UnitState.VERIFIED, number)
            trailers = [f"Sweeper-Unit: {unit.key}", f"Sweeper-Attempt: {row.number}", "Sweeper-Rung: 1"]
            message = "\n".join([f"{run.sweep}: fix {inert(path)}", "", *trailers, ""])
            pieces.append(Verified(unit.key, commit, message))
        merged = await merge(self.repo, run.tip, pieces)
        await self.ledger.close_round(run.id, number, merged.tip, merged.merged, [])
        return dataclasses.replace(run, round=number, tip=merged.tip)

    async def ended(self, run: Run, why: str = "drained") -> Run:
        await self.ledger.end_run(run.id, why)
        return dataclasses.replace(run, ended=why)

    def publisher(self, **settings: Any) -> Publisher:
        config = PullRequestConfig.model_validate(self.settings | settings)

        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        place = address.find(self.forge.clone)
        client = Client(place.api, self.token, say=self.said.append, sleep=sleep)
        hub = GitHub(place, Token(self.token, "test"), say=self.said.append, client=client)
        return Publisher(
            self.repo, self.ledger, hub, self.repo.remotes.at(self.forge.clone, self.token), config,
            parser=self.parser, say=self.said.append, clock=lambda: self.now or time.time(), sleep=sleep,
        )  # fmt: skip

    async def publish(self, run: Run, **settings: Any) -> list[Published]:
        publisher = self.publisher(**settings)
        try:
            return await publisher.publish(run, self.green)
        finally:
            await publisher.aclose()

    async def green(self, onto: str, pieces: Sequence[Verified]) -> Green:
        """The gate elsewhere: everything that merges is green, but for the red."""
        self.judged.append(onto)

        def titled(titles: set[str]) -> list[Verified]:
            return [piece for piece in pieces if any(f"fix {title}\n" in piece.message for title in titles)]

        out = {piece.key: TreeVerdict(True, "tests") for piece in titled(self.red)}
        alone = [piece for piece in titled(self.bonded) if piece.held]
        if len(alone) < len(self.bonded):
            out |= {piece.key: TreeVerdict(True, TOGETHER) for piece in alone}
        kept = [piece for piece in pieces if piece.key not in out]
        return Green(await merge(self.repo, onto, kept), TreeVerdict(False), out)

    def everything_said(self) -> str:
        return "\n".join(self.said)


@asynccontextmanager
async def machine(folder: Path, forge: Forge, files: dict[str, bytes] | None = None) -> AsyncIterator[Made]:
    """A clone of the forge's repository; with `files`, those are its base and are pushed first."""
    os.makedirs(folder)
    project = Project(folder)
    project.git("init", "--quiet")
    secret = forge.clone.replace("://", f"://x:{TOKEN}@")
    if files is None:
        project.git("fetch", "--quiet", secret, "main")
        project.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    else:
        project.commit(files, "base")
        project.git("push", "--quiet", secret, "HEAD:refs/heads/main")
    project.git("remote", "add", "origin", forge.clone)
    async with await Repo.open(folder) as repo:
        ledger, parser = open_ledger("", repo.state), Parser()
        try:
            await ledger.enter(make_owner(), 60.0)
            yield Made(project, forge, repo, ledger, parser)
        finally:
            await parser.aclose()
            await ledger.aclose()
