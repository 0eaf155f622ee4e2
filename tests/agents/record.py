"""Records what real agent programs print on every scripted failure: `python -m tests.agents.record AGENT [FAILURE]...`.

The transcripts and how each run ended go to tests/data/agents, where `test_reading` holds adapters and classes against
them. The class that is written down is the right one of `scripts.FAILURES`; where today's differs it is printed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
from filelock import FileLock

from sweeper import agents
from sweeper.attempt.rehearsal import Exercise, Performed, perform
from sweeper.attempt.trial import traffic_of
from sweeper.cli import wiring
from sweeper.config.models import Config, RungConfig, SandboxConfig, SweepConfig
from sweeper.ladder.classify import Signs, before_verify
from sweeper.prompt import Briefing, render
from sweeper.providers import settle
from sweeper.records import Finding
from sweeper.sandbox.contract import Clocks
from sweeper.testing.model_server import ModelServer
from tests.agents.programs import CACHE, installed
from tests.agents.scripts import FAILURES, FINE, ONE, OTHER, answered, most_turns
from tests.fire.project import CHECK, DIRTY

CORPUS = Path(__file__).parent.parent / "data" / "agents"
LONGEST = 24_000  # bytes that are kept of a transcript's end
CLOCKS = Clocks(wall=150.0, idle=60.0)
TOLD = {ONE.encode(), OTHER.encode(), b"notes.txt"}  # what a model may be told to write; programs leave more
LOOP = Clocks(wall=60.0, idle=59.0)
TWO = ((1, "ast"), (2, "bisect"))


def exercise(failure: str) -> Exercise:
    findings = tuple(Finding(ONE, line, 8, "F401", f"`{name}` imported but unused") for line, name in TWO)
    briefing = Briefing(title=ONE, number=1, files=(ONE,), findings=findings, check=tuple(CHECK.split()))
    files = {ONE.encode(): DIRTY.format(0).encode(), OTHER.encode(): FINE.encode()}
    clocks = LOOP if failure == "loop" else CLOCKS
    return Exercise(files, ONE.encode(), render("standard", briefing), clocks, usd=100)


async def performed(agent: str, failure: str) -> Performed:
    sweep = SweepConfig(check=CHECK, ladder=[RungConfig(agent=agent, max_turns=most_turns(agent))])
    config = Config(sandbox=SandboxConfig(backend="bubblewrap"), sweep={"s": sweep})
    async with ModelServer(lambda asked: answered(FAILURES[failure].reply, asked)) as server:
        environ = {f"{name}_API_KEY": "sk-of-nobody" for name in ("ANTHROPIC", "OPENAI", "GEMINI")}
        environ |= {f"{name}_BASE_URL": server.url for name in ("ANTHROPIC", "OPENAI", "GOOGLE_GEMINI")}
        (provider,) = settle([sweep], config.provider, environ)
        async with wiring.first_backend(config, [sweep]) as backend:
            return await perform(backend, sweep, sweep.ladder[0], provider, exercise(failure))


def keep(agent: str, failure: str, done: Performed) -> dict[str, Any]:
    """Write the transcript; the corpus' entry."""
    entry: dict[str, Any] = {"agent": agent, "name": f"run-{failure}"}
    for stream, printed in (("stdout", done.printed.stdout), ("stderr", done.printed.stderr)):
        path = CORPUS / f"{agent}_run_{failure}.{stream}.txt"
        path.unlink(missing_ok=True)
        entry[stream] = ""
        if text := nameless(agent, printed):
            path.write_bytes(text)
            entry[stream] = path.name
    facts, traffic = done.ran.facts, traffic_of(done.meter)
    left = agents.find(agent).read(done.printed)
    right = FAILURES[failure]
    written = sorted(entry.path for entry in done.ran.layer.entries)
    changed = not TOLD.isdisjoint(written)
    silent = not done.printed.stdout.strip() and not done.printed.stderr.strip()
    found = before_verify(facts, changed=changed, signs=Signs(left.trouble, traffic, left.denied, silent))
    kind, reason = right.ends(agent)
    if (None if right.verified else (kind, reason)) != (found and tuple(found)):
        print(f"{agent} {failure}: {found}, and {kind} {reason!r} is right; {facts}; {traffic}; {left}; {written}")
    return entry | {
        "exit": facts.exit_code,
        "signal": facts.signal,
        "clock": str(facts.clock) if facts.clock else "",
        "changed": changed,
        "requests": traffic.requests,
        "error": str(traffic.error or ""),
        "failing": traffic.failing,
        "declined": traffic.declined,
        "account": str(traffic.account or ""),
        "parked": traffic.parked,
        "exhausted": traffic.exhausted,
        "trouble": str(left.trouble) if left.trouble else None,
        "kind": None if right.verified else kind,
        "reason": None if right.verified else reason,
    }


def nameless(agent: str, printed: bytes) -> bytes:
    """The transcript's end, without this machine's folders and kernel."""
    for folder in (CACHE, CACHE.resolve()):
        printed = printed.replace(os.fsencode(folder), b"/opt/agents")
    printed = printed.replace(os.uname().release.encode(), b"6.1.0")
    if len(printed) > LONGEST:
        printed = printed[-LONGEST:].partition(b"\n")[2]
    return printed


def main(agent: str, *failures: str) -> None:
    os.environ["PATH"] = f"{installed(agent)}:{os.environ['PATH']}"
    for failure in failures or FAILURES:
        entry = keep(agent, failure, anyio.run(performed, agent, failure))
        with FileLock(CACHE / "corpus.lock"):  # agents may be recorded side by side
            corpus = CORPUS / "corpus.json"
            entries = json.loads(corpus.read_text())
            others = [each for each in entries if (each["agent"], each["name"]) != (agent, entry["name"])]
            corpus.write_text(json.dumps([*others, entry], indent=1, ensure_ascii=False) + "\n")
        print(f"{agent} {failure}: {entry['kind']} {entry['reason']!r}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
