"""A run's tip as a branch of the user's repository: theirs is never moved, ours is found again."""

from __future__ import annotations

from collections.abc import Callable

from sweeper.errors import GitFailed
from sweeper.ledger.contract import Ledger, Run
from sweeper.repo import Repo

BRANCH = "sweeper/{sweep}"


async def show(run: Run, repo: Repo, ledger: Ledger, say: Callable[[str], None]) -> None:
    """Show the run's tip as a branch. One that somebody else has moved is left alone: we take a name of our own."""
    notes = await ledger.notes(run.id)
    if run.tip == run.base or notes.get("branch_of") == run.tip:
        return
    name = notes.get("branch") or BRANCH.format(sweep=run.sweep)
    tip = await _signed(run, repo, say)
    old = await repo.branch(name)
    if old is not None and not await _ours(old, run, repo, ledger):
        say(f"{run.sweep}: {name} holds commits that are not ours; it stays as it is")
        name = f"{BRANCH.format(sweep=run.sweep)}-{run.id}"
        old = await repo.branch(name)
    await repo.update_branch(name, tip, old)
    for key, value in (("branch", name), ("branch_tip", tip), ("branch_of", run.tip)):
        await ledger.note(run.id, key, value)


async def keep(run: Run, repo: Repo) -> None:
    """Keep the run's tip from being cleaned away, under a ref of ours; no branch is made or moved."""
    if run.tip != run.base:
        await repo.create_ref(f"refs/sweeper/{run.id}/tip/{run.tip}", run.tip)


async def _ours(commit: str, run: Run, repo: Repo, ledger: Ledger) -> bool:
    """Is a branch's commit one that a run of this sweep put there, or an ancestor of this run's tip?"""
    if await repo.descends(run.tip, commit):
        return True
    runs = await ledger.runs(limit=1000, sweep=run.sweep)
    tips = {known.tip for known in runs} | {(await ledger.notes(known.id)).get("branch_tip") for known in runs}
    return commit in tips


async def _signed(run: Run, repo: Repo, say: Callable[[str], None]) -> str:
    """The tip with the user's signatures, if they have commits signed."""
    if not repo.signs:
        return run.tip
    try:
        return await repo.sign(run.base, run.tip)
    except GitFailed as error:
        say(f"{run.sweep}: the commits are NOT signed, although commit.gpgSign is set: {error}")
        return run.tip
