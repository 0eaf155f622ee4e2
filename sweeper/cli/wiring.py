"""The only place that names concrete backends: repository, ledger, sandboxes, parser and owner of one command."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

import anyio

from sweeper import agents
from sweeper.cli.console import Console
from sweeper.config.models import KEYS, Config, SandboxConfig, SweepConfig
from sweeper.errors import CheckBroken, ConfigError, NoSandbox, SandboxFailed
from sweeper.forge.token import NAMES
from sweeper.ledger import make_owner, open_ledger
from sweeper.ledger.contract import Ledger
from sweeper.records import Owner
from sweeper.repo import Repo
from sweeper.sandbox.contract import Backend, Probe, Toolchain

if TYPE_CHECKING:
    from sweeper.gateway import Provider
    from sweeper.order import Tools
    from sweeper.sandbox.docker import Docker
    from sweeper.sandbox.docker.engine import Engine
    from sweeper.sandbox.store import Store

# Backends and the fire itself are imported where they are used: `status` and `why` start without them.

REASON = 90  # characters of why it is not docker; `doctor` has all of them
PROMPTS = Path(".sweeper/prompts")  # a project's own templates, below its top


@asynccontextmanager
async def repository() -> AsyncIterator[Repo]:
    """The repository of the working folder. Raises ConfigError if there is none."""
    async with await Repo.open(here()) as repo:
        yield repo


def _clear(state: Path, logs_stay: bool) -> None:
    for path in [entry for entry in state.iterdir() if entry.name != "logs"] if logs_stay else [state]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@asynccontextmanager
async def untouched_repository() -> AsyncIterator[Repo]:
    """The repository of the working folder, to look at without leaving a trace in it. Raises ConfigError."""
    state = Path(tempfile.mkdtemp(prefix="sweeper-plan-"))
    kept = False
    try:
        async with await Repo.open(here(), state) as repo:
            yield repo
    except CheckBroken as problem:
        kept = str(state) in str(problem)  # it names the logs, for a person to read
        raise
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_clear, state, kept)


@asynccontextmanager
async def reading(repo: Repo, config: Config) -> AsyncIterator[Ledger | None]:
    """The ledger to read from, None where nothing was ever written; no owner enters it."""
    if not config.ledger.url and not (repo.usual_state / "ledger.sqlite3").exists():
        yield None
        return
    async with aclosing(open_ledger(config.ledger.url, repo.usual_state)) as ledger:
        yield ledger


@asynccontextmanager
async def writing(repo: Repo, config: Config) -> AsyncIterator[Ledger]:
    """The ledger of this repository, made if there is none."""
    async with aclosing(open_ledger(config.ledger.url, repo.state)) as ledger:
        yield ledger


@asynccontextmanager
async def empty() -> AsyncIterator[Ledger]:
    """A ledger of nothing, for a plan where there is none yet: a plan leaves none behind."""
    with tempfile.TemporaryDirectory(prefix="sweeper-") as folder:
        async with aclosing(open_ledger("", Path(folder))) as ledger:
            yield ledger


@asynccontextmanager
async def workbench(
    repo: Repo, ledger: Ledger, config: Config, sweeps: Sequence[SweepConfig], console: Console
) -> AsyncIterator[Tools]:
    """Everything a fire needs; what is opened here is closed again in the end.

    Raises NoSandbox with every backend's reasons if none works here.
    """
    from sweeper.backlog.child import Parser
    from sweeper.order import Tools

    async with AsyncExitStack() as stack:
        owner = make_owner()
        backend = await choose(owner, config, sweeps, console)
        stack.push_async_callback(backend.aclose)
        parser = Parser()
        stack.push_async_callback(parser.aclose)
        prompts = repo.top / PROMPTS
        yield Tools(repo, ledger, backend, parser, owner, repo.state, prompts if prompts.is_dir() else None)


def providers(config: Config, sweeps: Iterable[SweepConfig], console: Console) -> tuple[Provider, ...]:
    """Whom these ladders ask for models, with their keys. Raises ConfigError.

    Called before anything is started: no child of this process inherits a key.
    """
    forget_keys(config)
    sweeps = list(sweeps)
    if not any(agents.needs(rung) for sweep in sweeps for rung in sweep.ladder):
        return ()
    from sweeper import providers

    return providers.settle(sweeps, config.provider, console.environ)


def forget_keys(config: Config) -> None:
    """Take keys and tokens out of this process's environment; the console keeps what it was started with."""
    for name in {*KEYS, *NAMES, config.pull_request.token, *(each.key for each in config.provider.values())}:
        os.environ.pop(name, None)


def here() -> Path:
    """The folder that we were started in. Raises ConfigError if it is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError as problem:
        raise ConfigError("the current folder is no more", hint="go to your repository: `cd /the/path`") from problem


def store() -> Path:
    """Where snapshots are kept, shared by all repositories of this user; a sandbox's user must be able to enter it."""
    if chosen := os.environ.get("SWEEPER_CACHE"):
        return Path(chosen)
    from sweeper.sandbox.store import default_root

    return default_root()


def bubblewrap(owner: Owner, config: SandboxConfig, slots: int) -> Backend:
    from sweeper.sandbox.bubblewrap import Bubblewrap

    return Bubblewrap(store(), owner, slots=slots, ca_certificates=_certificates(config))


def docker(owner: Owner, config: SandboxConfig, slots: int) -> Docker:
    from sweeper.sandbox.docker import Docker

    return Docker(
        store(),
        owner,
        slots=slots,
        ca_certificates=_certificates(config),
        runtime=config.runtime,
    )


async def choose(owner: Owner, config: Config, sweeps: Sequence[SweepConfig], console: Console) -> Backend:
    """The configured kind of sandbox, or with "auto" the first that works here: docker if it has the images, then
    bubblewrap, then docker all the same.
    """
    # Every agent and every verifier at once, and the check or the gate beside them.
    slots = config.limits.slots + (config.limits.verifiers or config.limits.slots) + 1
    kind = config.sandbox.backend
    refusals: list[Probe] = []
    spare: Docker | None = None  # it works, but would first have to make an image
    if kind in ("auto", "docker"):
        engine = docker(owner, config.sandbox, slots)
        probe = await _probe(engine)
        if probe.ok and kind == "auto":
            probe, spare = await _with_images(engine, probe, sweeps), engine
        if probe.ok:
            console.say(f"sandboxes: docker {probe.version}".rstrip())
            return engine
        refusals.append(probe)
        if spare is None:
            await engine.aclose()
    if kind in ("auto", "bubblewrap"):
        backend = bubblewrap(owner, config.sandbox, slots)
        probe = await _probe(backend)
        if probe.ok:
            if spare is not None:
                await spare.aclose()
            because = f" (not docker: {_short(refusals[0].why)})" if refusals else ""
            console.say(f"sandboxes: bubblewrap {probe.version}{because}")
            return backend
        await backend.aclose()
        refusals.append(probe)
    if spare is not None:
        console.say(f"sandboxes: docker, and its image is made first (not bubblewrap: {_short(refusals[-1].why)})")
        return spare
    why = "; ".join(f"{probe.backend}: {probe.why}" for probe in refusals)
    hints = [f"{probe.backend}: {probe.hint}" for probe in refusals if probe.hint]
    raise NoSandbox(f"no sandbox works here, and nothing runs without one: {why}", hint="\n".join(hints))


def _short(why: str) -> str:
    return shorten(why, REASON, placeholder=" ...")


@asynccontextmanager
async def first_backend(config: Config, sweeps: Sequence[SweepConfig]) -> AsyncIterator[Backend]:
    """The sandboxes that a run would choose. Raises NoSandbox."""
    backend = await choose(make_owner(), config, sweeps, Console(quiet=True))
    try:
        yield backend
    finally:
        await backend.aclose()


async def _probe(backend: Backend) -> Probe:
    try:
        return await backend.probe()
    except SandboxFailed as problem:
        return Probe(backend.name, ok=False, why=str(problem), hint=problem.hint)


async def _with_images(engine: Docker, probe: Probe, sweeps: Sequence[SweepConfig]) -> Probe:
    """A refusal if an image would first have to be built or pulled: nobody asked for docker."""
    for sweep in sweeps:
        ladder = agents.imaged(sweep.ladder)
        if not await engine.has_image(Toolchain(name=sweep.toolchain, image=sweep.image, agents=ladder)):
            image = " with ".join([sweep.image or f"of the toolchain {sweep.toolchain}", *ladder])
            return replace(probe, ok=False, why=f"it has no image {image}; `--sandbox docker` gets it")
    return probe


@asynccontextmanager
async def warehouse() -> AsyncIterator[tuple[Store, Engine | None]]:
    """Where trees and toolchains are kept: the store, and the docker engine if one answers."""
    from sweeper.sandbox.docker import answers
    from sweeper.sandbox.docker.opening import connected
    from sweeper.sandbox.store import Store

    engine = await connected(1) if await answers() else None
    try:
        yield Store(store()), engine
    finally:
        if engine is not None:
            engine.close()


def _certificates(config: SandboxConfig) -> Path | None:
    return Path(config.ca_certificates).expanduser() if config.ca_certificates else None


@asynccontextmanager
async def entered(repo: Repo, config: Config) -> AsyncIterator[Ledger]:
    """The ledger, with this process as an owner in it."""
    async with writing(repo, config) as ledger:
        await ledger.enter(make_owner(), config.dispatcher.lease)
        yield ledger


@asynccontextmanager
async def every_backend(config: Config) -> AsyncIterator[list[Backend]]:
    """All kinds of sandboxes that answer here, for what looks at all of them."""
    async with AsyncExitStack() as stack:
        owner, found = make_owner(), []
        for make in (docker, bubblewrap):
            backend = make(owner, config.sandbox, 1)
            stack.push_async_callback(backend.aclose)
            if (await _probe(backend)).ok:
                found.append(backend)
        yield found


async def probes(config: Config) -> list[Probe]:
    """What every kind of sandbox says of itself, for `doctor`."""
    owner = make_owner()
    engine = docker(owner, config.sandbox, 1)
    embedded = bubblewrap(owner, config.sandbox, 1)
    try:
        answers = [await _probe(engine), await _probe(embedded)]
        if answers[0].ok and await engine.has_image(Toolchain()):
            answers[0] = replace(answers[0], notes=(*answers[0].notes, "the toolchain image is there"))
        return answers
    finally:
        await engine.aclose()
        await embedded.aclose()
