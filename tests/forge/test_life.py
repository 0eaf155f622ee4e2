"""What people do to a pull request between two runs: close, merge, rewrite, retarget, and forbid things."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeper.errors import ForgeFailed
from sweeper.forge import body as bodies
from sweeper.forge import marker
from tests.forge.made import CLEAN, Made, machine
from tests.forge.scenes import TWO, Scenario, content, mark, only, subjects
from tests.forge.server import TOKEN, Forge


def fetch(made: Made, forge: Forge, branch: str = "main") -> None:
    made.project.git("fetch", "--quiet", forge.clone.replace("://", f"://x:{TOKEN}@"), branch)


def test_what_a_person_closed_is_not_opened_again_until_there_is_more(
    play: Callable[[Scenario], None], forge: Forge
) -> None:
    async def scenario(made: Made) -> None:
        run = await made.ended(await made.run(TWO))
        await made.publish(run)
        only(forge).state = "closed"
        before = forge.hub.branches()
        for _ in range(3):
            assert await made.publish(run) == []
        assert (forge.hub.branches(), len(forge.hub.pulls)) == (before, 1)
        assert "pull/1 was closed, and nothing has been fixed since" in made.everything_said()
        forge.hub.pulls[1].state = "open"
        (same,) = await made.publish(run)
        assert (same.number, same.operation) == (1, "none")
        forge.hub.pulls[1].state = "closed"
        more = await made.ended(await made.round(run, {"pkg/m3.py": CLEAN}))
        (done,) = await made.publish(more)
        assert (done.number, done.branch, done.operation) == (2, f"sweeper/s-{run.id}", "created")

    play(scenario)


@pytest.mark.parametrize("known", [True, False])
def test_a_merged_branch_that_lives_on_is_used_again(
    play: Callable[[Scenario], None], forge: Forge, tmp_path: Path, known: bool
) -> None:
    """Squashed into the base; nobody deleted the branch. Also from a machine that has no ledger."""

    async def scenario(made: Made) -> None:
        await made.publish(await made.ended(await made.run(TWO)))
        who = ("-c", "user.name=h", "-c", "user.email=h@example.invalid")
        squashed = forge.hub.git(*who, "commit-tree", "sweeper/s^{tree}", "-p", "main", "-m", "Squashed (#1)")
        forge.hub.git("update-ref", "refs/heads/main", squashed)
        pull = only(forge)
        pull.state, pull.merged = "closed", True

        async def again(machine: Made) -> None:
            fetch(machine, forge)
            run = await machine.ended(await machine.run({"pkg/m2.py": CLEAN}, base=squashed))
            (done,) = await machine.publish(run)
            assert (done.number, done.branch, done.operation) == (2, "sweeper/s", "created")
            assert subjects(forge) == ["s: fix pkg/m2.py"]

        if known:
            await again(made)
        else:
            async with machine(tmp_path / "two", forge) as other:
                await again(other)

    play(scenario)


def test_a_merged_branch_with_a_persons_new_commit_is_left(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        await made.publish(await made.ended(await made.run(TWO)))
        pull = only(forge)
        forge.hub.git("update-ref", "refs/heads/main", "sweeper/s")
        pull.state, pull.merged = "closed", True
        theirs = forge.hub.commit_on("sweeper/s", "notes.txt", "theirs\n", "Later")
        fetch(made, forge)
        run = await made.run({"pkg/m2.py": CLEAN}, base=forge.hub.tip("main") or "")
        (done,) = await made.publish(run)
        assert (done.branch, forge.hub.tip("sweeper/s")) == (f"sweeper/s-{run.id}", theirs)

    play(scenario)


def test_what_a_person_wrote_around_our_text_stays(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        made.now = 1e9  # an unfinished run tells how long it is to be taken for one
        run = await made.run(TWO)
        await made.publish(run)
        pull = only(forge)
        pull.body = f"For the release.\n\n{pull.body}\nCloses ABC-12\n".replace("\n", "\r\n")
        run = await made.round(run, {"pkg/m2.py": CLEAN})
        (done,) = await made.publish(run)
        assert (done.number, done.operation) == (1, "updated")
        assert pull.body.startswith("For the release.\n\n<!-- sweeper ")
        assert pull.body.endswith(f"{marker.END}\n\nCloses ABC-12\n")
        assert "**3 findings fixed**" in pull.body
        assert mark(pull).head == run.tip
        (same,) = await made.publish(run)
        assert same.operation == "none"
        pull.body = "All of it anew."
        run = await made.ended(await made.round(run, {"pkg/m3.py": CLEAN}))
        await made.publish(run)
        assert pull.body.startswith("All of it anew.\n\n<!-- sweeper ")
        assert pull.body.count("findings fixed**") == 1
        assert len(forge.hub.pulls) == 1

    play(scenario)


def test_a_persons_words_and_ours_are_within_the_limit_together() -> None:
    theirs = "é" * 9_000
    old = f"{theirs}\n<!-- sweeper {{}} -->\nold\n{marker.END}\nbelow\n"
    text = bodies.within(old, lambda most: "x" * most)
    assert len(text.encode()) <= bodies.LIMIT
    assert text.startswith(f"{theirs}\n\nxxx")
    assert text.endswith(f"x\n{marker.END}\n\nbelow\n")


def test_what_is_said_of_the_mark_within_a_line_ends_nothing() -> None:
    stamp = marker.write(marker.Marker("ruff", "r", "", "a" * 40, "b" * 40))
    ours = f"{stamp}\n\n- `{marker.END}`"
    old = f"See {marker.END}.\n\n{bodies.within('', lambda most: ours)}\nKeep `{marker.END}`, please.\n"
    assert bodies.within(old, lambda most: ours) == (
        f"See {marker.END}.\n\n{ours}\n{marker.END}\n\nKeep `{marker.END}`, please.\n"
    )


def test_a_base_and_a_draft_that_a_person_chose_stay(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        forge.hub.git("branch", "develop", "main")
        run = await made.ended(await made.run(TWO))
        (first,) = await made.publish(run)
        assert (first.draft, first.base) == (False, "main")
        pull = only(forge)
        pull.base, pull.draft = "develop", True
        (same,) = await made.publish(run)
        assert (same.operation, pull.base, pull.draft) == ("none", "develop", True)
        assert "it goes to develop, as a person has it" in made.everything_said()
        run = await made.ended(await made.round(run, {"pkg/m2.py": CLEAN}))
        (more,) = await made.publish(run)
        assert (more.operation, pull.base, pull.draft) == ("updated", "develop", True)
        pull.base = "main"
        (back,) = await made.publish(run, base="develop")
        assert (back.base, pull.base) == ("develop", "develop"), "another one in the settings is followed"

    play(scenario)


def test_one_name_that_is_refused_takes_no_other_with_it(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        await made.publish(await made.run(TWO), reviewers=["kim", "nobody-here", "dev", "acme/team"])
        pull = only(forge)
        assert (pull.reviewers, pull.teams) == (["kim"], ["team"])
        said = made.everything_said()
        assert "reviewers: nobody-here: " in said
        assert "reviewers: dev: " in said, "whoever opened it cannot review it"

    play(scenario)


def test_a_forced_push_that_is_forbidden_is_named_and_no_race(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        await made.publish(run)
        forge.hub.git("config", "receive.denyNonFastForwards", "true")
        forge.hub.commit_on("main", "README.md", "moved\n")
        pushes = len(forge.pushes)
        with pytest.raises(ForgeFailed, match="was refused") as refused:
            await made.publish(await made.round(run, {"pkg/m2.py": CLEAN}))
        assert "forbids forced pushes" in refused.value.hint
        assert "looking again" not in made.everything_said()
        assert len(forge.pushes) - pushes <= 2  # git asks, then sends
        assert forge.hub.tip("sweeper/s") == run.tip

    play(scenario)


def test_a_branch_that_was_rebased_by_hand_is_not_called_useless(
    play: Callable[[Scenario], None], forge: Forge
) -> None:
    async def scenario(made: Made) -> None:
        await made.publish(await made.run(TWO))
        forge.hub.git("update-ref", "refs/heads/sweeper/s", "refs/heads/main")
        theirs = forge.hub.commit_on("sweeper/s", "pkg/m0.py", "VALUE = 1\n", "Rebased")
        run = await made.ended(await made.run({"pkg/m2.py": CLEAN}))
        (done,) = await made.publish(run, auto_close=True)
        assert (done.number, forge.hub.tip("sweeper/s")) == (2, theirs)
        assert forge.hub.pulls[1].state == "open"
        assert "which has a person's commits: it stays open" in made.everything_said()
        assert dataclasses.replace(done, operation="none") in await made.publish(run)

    play(scenario)


def test_a_base_that_was_renamed_is_found_by_its_new_name(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        await made.publish(run)
        forge.hub.git("branch", "-m", "main", "trunk")
        forge.hub.default_branch = "trunk"
        only(forge).base = "trunk"  # as a forge does it
        (done,) = await made.publish(await made.ended(run))
        assert (done.number, done.base) == (1, "trunk")
        assert "the remote has no branch main: it goes to trunk" in made.everything_said()
        assert content(forge, "pkg/m0.py") == "VALUE = 1"

    play(scenario)
