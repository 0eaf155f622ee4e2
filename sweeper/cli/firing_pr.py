"""`sweeper pr` at work: the newest runs published, without a fire."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from sweeper.backlog.child import Parser
from sweeper.cli import event, publishing, reading, signals, wiring
from sweeper.cli.console import Console
from sweeper.config import file as configfile
from sweeper.config.models import Config, SweepConfig
from sweeper.errors import ConfigError
from sweeper.fire import DRY_RUN
from sweeper.forge.contract import Published
from sweeper.gate.green import Green, Judge
from sweeper.gate.merge import Verified
from sweeper.ledger.contract import Ledger, Run
from sweeper.order import Order, workshop
from sweeper.progress import Progress
from sweeper.repo import Repo
from sweeper.report.document import document


async def publish(
    names: Sequence[str], given: Path | None, console: Console, *, trusted: bool = False, as_json: bool
) -> int:
    """Publish the newest run of each sweep. Raises SweeperError."""
    done: list[Published] = []
    with signals.caught(console.warn) as caught, caught.stopping():
        async with wiring.repository() as repo:
            config = configfile.load(repo.top, explicit=given, environ=console.environ, overrides={}).config
            wiring.forget_keys(config)
            await event.guard(event.event_of(console.environ), repo, "HEAD", trusted=trusted)
            async with wiring.entered(repo, config) as ledger, AsyncExitStack() as stack:
                runs = await _runs(ledger, names, repo)
                for run in runs:
                    await _expect(run, ledger, repo)
                parser = Parser()
                stack.push_async_callback(parser.aclose)
                way = publishing.publisher(repo, ledger, config, console, parser=parser)
                publisher = (await stack.enter_async_context(way)).publisher
                for run in runs:
                    await ledger.take_dispatcher(run.sweep)
                    stack.push_async_callback(ledger.drop_dispatcher, run.sweep)
                await publisher.preflight([run.sweep for run in runs])
                for run in runs:
                    judge = _Late(run, repo, ledger, config, console, stack)
                    if run.tip in ("", run.base):
                        console.say(f"{run.sweep}: run {run.id} has fixed nothing: no pull request")
                    done += await publisher.publish(run, judge)
                    await ledger.note(run.id, DRY_RUN, "")
    if caught.first is not None:
        return caught.exit_code
    console.result(document("pull_requests", pull_requests=done) if as_json else publishing.lines(done))
    return 0


async def _runs(ledger: Ledger, names: Sequence[str], repo: Repo) -> list[Run]:
    newest = await reading.newest(ledger, names)
    if not newest:
        raise ConfigError(f"no sweep was run in {repo.top} yet", hint="`sweeper run --pull-request` starts one")
    return [*newest.values()]


async def _expect(run: Run, ledger: Ledger, repo: Repo) -> None:
    """Raises ConfigError where a run's commits are missing: the ledger came from another clone, they did not."""
    missing = [commit for commit in dict.fromkeys((run.base, run.tip)) if commit and not await repo.remotes.has(commit)]
    if not missing:
        return
    branch = (await ledger.notes(run.id)).get("branch", "")
    bring = f"bring them here (git fetch THAT_CLONE {branch}), or " if branch else ""
    raise ConfigError(
        f"run {run.id} of sweep {run.sweep!r} has commits that are not in this clone, such as {missing[-1][:12]}",
        hint=f"say `sweeper pr` in the clone where it ran; {bring}begin a new run here: sweeper run --pull-request",
    )


class _Late:
    """A judge whose sandboxes are set up only where something has to be judged."""

    def __init__(
        self, run: Run, repo: Repo, ledger: Ledger, config: Config, console: Console, stack: AsyncExitStack
    ) -> None:
        self._run, self._repo, self._ledger = run, repo, ledger
        self._config, self._console, self._stack = config, console, stack
        self._judge: Judge | None = None

    async def __call__(self, onto: str, pieces: Sequence[Verified]) -> Green:
        if self._judge is None:
            kept = SweepConfig.model_validate((await self._ledger.notes(self._run.id))["config"])
            bench = wiring.workbench(self._repo, self._ledger, self._config, [kept], self._console)
            tools = await self._stack.enter_async_context(bench)
            order = Order(
                sweeps={self._run.sweep: kept},
                digest=lambda name: self._run.digest,
                base=self._run.base,
                limits=self._config.limits,
                sandbox=self._config.sandbox,
                lease=self._config.dispatcher.lease,
            )
            name = self._run.sweep
            progress = Progress(lambda line: self._console.say(f"{name}: {line}"))
            self._judge = Judge(replace(workshop(name, kept, order, tools, self._run.id), progress=progress))
        return await self._judge(onto, pieces)
