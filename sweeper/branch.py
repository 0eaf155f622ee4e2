"""A run's tip as a branch of the user's repository: theirs is never moved, ours is found again."""

from __future__ import annotations

from collections.abc import Callable

from sweeper.errors import GitFailed, LedgerFailed, SweeperError
from sweeper.ledger.contract import Ledger, Run
from sweeper.repo import Repo

BRANCH = "sweeper/{sweep}"


async def set_down(
    run: Run, repo: Repo, ledger: Ledger, say: Callable[[str], None], *, dry_run: bool
) -> SweeperError | None:
    """Show the run's tip as a branch (a dry run: keep it); why that was not possible. Raises LedgerFailed."""
    try:
        await (keep(run, repo) if dry_run else show(run, repo, ledger, say))
    except LedgerFailed:
        raise
    except SweeperError as problem:  # of this run alone: the others' branches can still be set
        return problem
    return None


async def show(run: Run, repo: Repo, ledger: Ledger, say: Callable[[str], None]) -> None:
    """Show the run's tip as a branch. One that somebody else has moved, works on, or whose name cannot be, is left
    alone: we take a name of our own. Raises SweeperError if no branch can be set; a later call may.
    """
    notes = await ledger.notes(run.id)
    usual = BRANCH.format(sweep=run.sweep)
    first = notes.get("branch") or usual
    if run.tip == run.base or (notes.get("branch_of") == run.tip and await _still(first, notes["branch_tip"], repo)):
        return
    tip, unsigned = await signed(repo, run.base, run.tip)
    if unsigned:
        say(f"{run.sweep}: {unsigned}")
    for name in (first, f"{usual}-{run.id}", f"{usual.replace('/', '-')}-{run.id}"):
        old = await repo.branch(name)
        if why := await _closed(name, old, run, repo, ledger):
            if name == first:
                say(f"{run.sweep}: {why}; it stays as it is, and what was fixed gets a branch of its own")
            continue
        await repo.update_branch(name, tip, old)
        if old is not None and not await repo.descends(tip, old) and await _differ(old, tip, repo):
            say(f"{run.sweep}: {name} showed an earlier run until now; `git branch NAME {old[:12]}` brings that back")
        for key, value in (("branch", name), ("branch_tip", tip), ("branch_of", run.tip)):
            await ledger.note(run.id, key, value)
        return
    raise SweeperError(
        f"no branch can show what run {run.id} has fixed: each name is taken",
        hint="rename the branches that are in the way, then `sweeper resume`",
    )


async def keep(run: Run, repo: Repo) -> None:
    """Keep the run's tip from being cleaned away, under a ref of ours; no branch is made or moved."""
    if run.tip != run.base:
        await repo.create_ref(f"refs/sweeper/{run.id}/tip/{run.tip}", run.tip)


async def _still(name: str, tip: str, repo: Repo) -> bool:
    """Whether a branch that was shown is where we left it, or somebody went on from there."""
    now = await repo.branch(name)
    return now == tip or (now is not None and await repo.remotes.has(tip) and await repo.descends(now, tip))


async def _closed(name: str, old: str | None, run: Run, repo: Repo, ledger: Ledger) -> str:
    """Why a branch, now at `old`, is not ours to set; "" if it is."""
    if old is not None and not await _ours(old, run, repo, ledger):
        return f"{name} holds commits that are not ours"
    return await repo.branch_in_use(name)


async def _ours(commit: str, run: Run, repo: Repo, ledger: Ledger) -> bool:
    """Is a branch's commit one that a run of this sweep put there, or an ancestor of this run's tip?"""
    if await repo.descends(run.tip, commit):
        return True
    runs = await ledger.runs(limit=1000, sweep=run.sweep)
    tips = {known.tip for known in runs} | {(await ledger.notes(known.id)).get("branch_tip") for known in runs}
    return commit in tips


async def _differ(one: str, other: str, repo: Repo) -> bool:
    return (await repo.commit_of(one)).tree != (await repo.commit_of(other)).tree


async def signed(repo: Repo, base: str, tip: str) -> tuple[str, str]:
    """The tip with the user's signatures from `base` on, if they have commits signed; why it has none, "" otherwise."""
    if not repo.signs:
        return tip, ""
    try:
        return await repo.sign(base, tip), ""
    except GitFailed as error:
        return tip, f"the commits are NOT signed, although commit.gpgSign is set: {error}"
