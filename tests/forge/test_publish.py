"""Publishing a run: real git over HTTP, a real ledger, the fake forge with its refusals. One scenario a test."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeper.config.models import PullRequestConfig
from sweeper.errors import DispatcherBusy, ForgeFailed
from sweeper.publish.paper import PaperForge, PaperRemote, render
from sweeper.publish.publisher import Publisher
from sweeper.publish.record import Records
from tests.forge.made import CLEAN, DIRTY, Made, machine
from tests.forge.scenes import TWO, Scenario, content, mark, only, subjects
from tests.forge.server import BOT_TOKEN, TOKEN, Forge


def test_a_draft_after_the_first_round_is_updated_every_round_and_ready_when_drained(
    play: Callable[[Scenario], None], forge: Forge
) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        publisher = made.publisher(labels=["lint"], reviewers=["kim", "acme/team"], assignees=["lee"], milestone="v1")
        (first,) = await publisher.publish(run, made.green)
        assert (first.operation, first.draft, first.number) == ("created", True, 1)
        pull = only(forge)
        assert (pull.labels, pull.reviewers, pull.teams, pull.assignees, pull.milestone) == (
            ["lint"], ["kim"], ["team"], ["lee"], 1,
        )  # fmt: skip
        assert mark(pull).until > 0
        run = await made.round(run, {"pkg/m2.py": CLEAN})
        (second,) = await publisher.publish(run, made.green)
        assert second.head == forge.hub.tip("sweeper/s") == run.tip != first.head
        assert mark(pull).head == run.tip
        run = await made.ended(await made.round(run, {}, held=["pkg/m3.py"]))
        (third,) = await publisher.publish(run, made.green)
        assert (third.draft, third.head, pull.draft) == (False, run.tip, False)
        assert mark(pull).until == 0
        assert "- [ ] `pkg/m3.py`, 1 finding: `ladder exhausted`" in pull.body
        assert len(forge.hub.pulls) == 1
        assert made.judged == []  # the run's own gate saw these trees
        await publisher.aclose()
        pushes = len(forge.pushes)
        (same,) = await made.publish(run)
        assert same == dataclasses.replace(third, operation="none")
        assert len(forge.pushes) == pushes

    play(scenario)


def test_an_end_without_being_drained_leaves_a_draft(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.ended(await made.run(TWO), "the limit of money was reached")
        (done,) = await made.publish(run)
        assert done.draft
        assert mark(only(forge)).until == 0
        assert (await made.publish(run, draft="never"))[0].draft is False

    play(scenario)


def test_e12_nothing_fixed_no_branch_and_no_pull_request(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.ended(await made.run({}, held=["pkg/m0.py"]))
        assert await made.publish(run) == []
        assert list(forge.hub.branches()) == ["main"]
        assert forge.hub.pulls == {}

    play(scenario)


def test_e12_a_base_that_has_the_fix_already_gets_nothing(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.ended(await made.run({"pkg/m0.py": CLEAN}))
        forge.hub.commit_on("main", "pkg/m0.py", CLEAN.decode())
        assert await made.publish(run) == []
        assert list(forge.hub.branches()) == ["main"]

    play(scenario)


def test_e01_a_refused_pull_request_keeps_the_branch_and_the_next_run_uses_it(
    play: Callable[[Scenario], None], forge: Forge
) -> None:
    async def scenario(made: Made) -> None:
        made.token = BOT_TOKEN
        forge.hub.tokens[BOT_TOKEN].may_open = False
        run = await made.run(TWO)
        with pytest.raises(ForgeFailed, match="not permitted to create or approve") as refused:
            await made.publish(run)
        assert refused.value.exit_code == 6
        assert f"{forge.url}/acme/widgets/compare/main...sweeper/s?expand=1" in refused.value.hint
        assert "Workflow permissions" in refused.value.hint
        assert forge.hub.tip("sweeper/s") == run.tip
        forge.hub.tokens[BOT_TOKEN].may_open = True
        following = await made.ended(await made.run({"pkg/m2.py": CLEAN}))
        (done,) = await made.publish(following)
        assert (done.branch, done.operation, done.head) == ("sweeper/s", "created", following.tip)

    play(scenario)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"push": False}, "may not push"),
        ({"scopes": "read:org, gist"}, "allow no push"),
        ({"scopes": "public_repo"}, ""),
    ],
)
def test_e01_rights_are_checked_before_anything_is_spent(
    play: Callable[[Scenario], None], forge: Forge, change: dict[str, Any], said: str
) -> None:
    async def scenario(made: Made) -> None:
        for name, value in change.items():
            setattr(forge.hub.tokens[TOKEN], name, value)
        publisher = made.publisher()
        if said:
            with pytest.raises(ForgeFailed, match=said):
                await publisher.preflight(["s"])
        else:
            await publisher.preflight(["s"])
        await publisher.aclose()

    play(scenario)


def test_preflight_says_what_cannot_be_read_and_refuses_what_cannot_be(
    play: Callable[[Scenario], None], forge: Forge
) -> None:
    async def scenario(made: Made) -> None:
        publisher = made.publisher()
        await publisher.preflight(["s"])
        assert "can't be read beforehand" in made.everything_said()
        await publisher.aclose()
        publisher = made.publisher(base="nowhere")
        with pytest.raises(ForgeFailed, match="no branch 'nowhere'"):
            await publisher.preflight(["s"])
        await publisher.aclose()
        forge.hub.archived = True
        publisher = made.publisher()
        with pytest.raises(ForgeFailed, match="archived"):
            await publisher.preflight(["s"])
        await publisher.aclose()
        made.token = "wrong-token-wrong"
        publisher = made.publisher()
        with pytest.raises(ForgeFailed, match="Bad credentials") as refused:
            await publisher.preflight(["s"])
        assert "wrong-token" not in str(refused.value)
        await publisher.aclose()

    play(scenario)


def test_e02_an_actions_token_is_told_in_the_body_and_to_the_person(
    play: Callable[[Scenario], None], forge: Forge
) -> None:
    async def scenario(made: Made) -> None:
        made.token = BOT_TOKEN
        await made.publish(await made.run(TWO))
        assert only(forge).author == "github-actions[bot]"
        assert "starts no other workflow" in only(forge).body
        assert "starts no other workflow" in made.everything_said()

    play(scenario)


def test_e04_a_branch_left_by_a_closed_pull_request_is_not_overwritten(
    play: Callable[[Scenario], None], forge: Forge
) -> None:
    async def scenario(made: Made) -> None:
        first = await made.run(TWO)
        await made.publish(first)
        only(forge).state = "closed"
        second = await made.run({"pkg/m3.py": CLEAN})
        (done,) = await made.publish(second)
        assert done.branch == f"sweeper/s-{second.id}"
        assert forge.hub.tip("sweeper/s") == first.tip
        assert "is closed, and the branch was left" in made.everything_said()
        (again,) = await made.publish(await made.ended(second))
        assert (again.number, again.branch) == (done.number, done.branch)

    play(scenario)


def test_a_branch_that_was_deleted_is_made_again(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        await made.publish(run)
        forge.hub.git("update-ref", "-d", "refs/heads/sweeper/s")
        (done,) = await made.publish(run)
        assert (done.number, done.operation, done.head) == (2, "created", run.tip)

    play(scenario)


def test_a_persons_commit_on_top_survives_every_later_push(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        await made.publish(run)
        theirs = forge.hub.commit_on("sweeper/s", "pkg/m0.py", "VALUE = 2\n", "A person's")
        run = await made.round(run, {"pkg/m2.py": CLEAN})
        (done,) = await made.publish(run)
        assert (done.number, done.operation) == (1, "updated")
        assert subjects(forge) == ["s: fix pkg/m0.py", "s: fix pkg/m1.py", "A person's", "s: fix pkg/m2.py"]
        assert made.judged == [theirs]  # a tree that no gate had seen
        assert "has commits that are not ours: they stay" in only(forge).body
        # The tip is ours again, but theirs lies below: a moved base must not rebuild the branch without it.
        forge.hub.commit_on("main", "README.md", "moved\n")
        run = await made.ended(await made.round(run, {"pkg/m3.py": CLEAN}))
        (last,) = await made.publish(run)
        assert "A person's" in subjects(forge)
        assert content(forge, "pkg/m0.py") == "VALUE = 2"
        assert content(forge, "pkg/m3.py") == "VALUE = 1"
        assert last.head == forge.hub.tip("sweeper/s")
        # and so must a new run
        following = await made.run({"other/z.py": CLEAN})
        await made.publish(following)
        assert content(forge, "pkg/m0.py") == "VALUE = 2"
        assert content(forge, "other/z.py") == "VALUE = 1"

    play(scenario)


def test_a_new_run_on_a_moved_base_adds_only_what_is_new_to_a_persons_branch(
    play: Callable[[Scenario], None], forge: Forge
) -> None:
    """A unit's steps are made once more; none fits what the former run has finished, and the whole is there."""
    step, late = b"import sys\n\n\nVALUE = 1\n", {"pkg/late.py": CLEAN}

    async def scenario(made: Made) -> None:
        await made.publish(await made.ended(await made.round(await made.run({"pkg/m0.py": step}), TWO)))
        theirs = forge.hub.commit_on("sweeper/s", "notes.txt", "theirs\n", "A person's")
        moved = forge.hub.commit_on("main", "pkg/late.py", DIRTY.decode(), "Moved")
        made.project.git("fetch", "--quiet", forge.clone.replace("://", f"://x:{TOKEN}@"), "main")
        run = await made.run({"pkg/m0.py": step, **late}, base=moved)
        (draft,) = await made.publish(run)
        assert re.search(r"- `pkg/m0.py`: `conflicts in pkg/m0.py; ", only(forge).body)
        run = await made.ended(await made.round(run, TWO))
        (done,) = await made.publish(run)
        assert (draft.number, done.number, len(forge.hub.pulls)) == (1, 1, 1)
        own = forge.hub.git("log", "--first-parent", "--format=%s", f"{theirs}..sweeper/s").splitlines()
        assert own == ["s: fix pkg/late.py", "Merge the base into sweeper/s"]
        for path in (*TWO, *late):
            assert content(forge, path) == "VALUE = 1"
        body = only(forge).body
        assert "not on this branch" not in body
        assert "the base was merged into the branch" in body
        assert "has commits that are not ours: they stay" in body
        state = forge.hub.state()
        (same,) = await made.publish(run)
        assert same.operation == "none"
        assert forge.hub.state() | {"requests": 0} == state | {"requests": 0}
        # what somebody takes back stays so
        forge.hub.commit_on("sweeper/s", "pkg/m1.py", DIRTY.decode(), "Not that one")
        await made.publish(await made.ended(await made.round(run, {"pkg/m2.py": CLEAN})))
        assert content(forge, "pkg/m1.py") == DIRTY.decode().strip()
        assert content(forge, "pkg/m2.py") == "VALUE = 1"

    play(scenario)


def test_another_machine_knows_ours_by_the_marker_and_a_persons_by_the_tip(
    play: Callable[[Scenario], None], forge: Forge, tmp_path: Path
) -> None:
    async def scenario(made: Made) -> None:
        await made.publish(await made.ended(await made.run(TWO)))
        async with machine(tmp_path / "two", forge) as other:
            run = await other.run({"pkg/m0.py": CLEAN, "pkg/m3.py": CLEAN})
            (done,) = await other.publish(run)
            assert (done.number, done.operation, done.head) == (1, "updated", run.tip)
            forge.hub.commit_on("sweeper/s", "notes.txt", "theirs\n", "A person's")
            async with machine(tmp_path / "three", forge) as third:
                (last,) = await third.publish(await third.run({"pkg/m2.py": CLEAN}))
                assert last.number == 1
                assert content(forge, "notes.txt") == "theirs"
                assert content(forge, "pkg/m2.py") == content(forge, "pkg/m3.py") == "VALUE = 1"

    play(scenario)


def test_a_rewritten_branch_is_left_and_a_new_one_taken(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        await made.publish(run)
        forge.hub.git("update-ref", "refs/heads/sweeper/s", "refs/heads/main")
        theirs = forge.hub.commit_on("sweeper/s", "pkg/m0.py", "VALUE = 3\n", "Done differently")
        run = await made.round(run, {"pkg/m2.py": CLEAN})
        (done,) = await made.publish(run)
        assert done.branch == f"sweeper/s-{run.id}"
        assert forge.hub.tip("sweeper/s") == theirs
        assert "it stays as it is, and a new branch is taken" in made.everything_said()

    play(scenario)


def test_a_push_between_our_look_and_ours_is_seen_and_kept(
    play: Callable[[Scenario], None], forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        publisher = made.publisher()
        await publisher.publish(run, made.green)
        remote = publisher._remote
        real = remote.push
        raced: list[str] = []

        async def late(commit: str, branch: str, expected: str | None) -> None:
            if not raced:
                raced.append(forge.hub.commit_on("sweeper/s", "late.txt", "late\n", "In between"))
            await real(commit, branch, expected)

        monkeypatch.setattr(remote, "push", late)
        run = await made.round(run, {"pkg/m2.py": CLEAN})
        (done,) = await publisher.publish(run, made.green)
        await publisher.aclose()
        assert content(forge, "late.txt") == "late"
        assert content(forge, "pkg/m2.py") == "VALUE = 1"
        assert done.head == forge.hub.tip("sweeper/s")
        assert "looking again" in made.everything_said()

    play(scenario)


@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_whoever_dies_around_a_push_goes_on_without_a_second_branch(
    play: Callable[[Scenario], None], forge: Forge, monkeypatch: pytest.MonkeyPatch, after: bool, shared: bool
) -> None:
    class Died(Exception):
        pass

    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        if shared:
            await made.publish(run)
            forge.hub.commit_on("sweeper/s", "notes.txt", "theirs\n", "A person's")
            run = await made.round(run, {"pkg/m2.py": CLEAN})
        publisher = made.publisher()
        remote = publisher._remote
        real = remote.push

        async def die(commit: str, branch: str, expected: str | None) -> None:
            if after:
                await real(commit, branch, expected)
            raise Died

        monkeypatch.setattr(remote, "push", die)
        with pytest.raises(Died):
            await publisher.publish(run, made.green)
        await publisher.aclose()
        forge.hub.commit_on("main", "README.md", "moved\n")  # invites to build the branch anew
        (done,) = await made.publish(run)
        assert (done.branch, done.number, list(forge.hub.branches())) == ("sweeper/s", 1, ["main", "sweeper/s"])
        assert content(forge, "pkg/m1.py") == "VALUE = 1"
        if shared:
            assert content(forge, "notes.txt") == "theirs"
            assert content(forge, "pkg/m2.py") == "VALUE = 1"

    play(scenario)


def test_e13_a_moved_base_takes_each_commit_by_itself_and_lists_what_conflicts(
    play: Callable[[Scenario], None], forge: Forge
) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run({**TWO, "pkg/m2.py": CLEAN, "pkg/m3.py": CLEAN})
        forge.hub.commit_on("main", "pkg/m0.py", "import sys\n\n\nVALUE = 9\n")
        moved = forge.hub.commit_on("main", "README.md", "moved\n")
        made.red = {"pkg/m3.py"}
        (done,) = await made.publish(await made.ended(run))
        assert subjects(forge) == ["s: fix pkg/m1.py", "s: fix pkg/m2.py"]
        assert forge.hub.git("merge-base", "main", "sweeper/s") == moved
        assert made.judged == [moved]
        body = only(forge).body
        assert "has moved on the remote" in body
        assert re.search(r"- `pkg/m0.py`: `conflicts in pkg/m0.py", body)
        assert re.search(r"- `pkg/m3.py`: `breaks the gate there: tests`", body)
        assert done.head == forge.hub.tip("sweeper/s")

    play(scenario)


def test_e13_the_base_moves_between_two_rounds(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        await made.publish(run)
        moved = forge.hub.commit_on("main", "README.md", "moved\n")
        run = await made.round(run, {"pkg/m2.py": CLEAN})
        await made.publish(run)
        assert forge.hub.git("merge-base", "main", "sweeper/s") == moved
        assert len(subjects(forge)) == 3
        run = await made.round(run, {"pkg/m3.py": CLEAN})
        await made.publish(run)
        assert len(subjects(forge)) == 4
        assert len(forge.hub.pulls) == 1

    play(scenario)


def test_commits_that_are_not_on_the_remote_are_nobodys_pull_request(
    play: Callable[[Scenario], None], forge: Forge
) -> None:
    async def scenario(made: Made) -> None:
        made.project.commit({"secret-plan.txt": b"not pushed\n"}, "Local only")
        await made.publish(await made.run(TWO))
        assert subjects(forge) == ["s: fix pkg/m0.py", "s: fix pkg/m1.py"]
        assert "lacks commits that the run stood on" in only(forge).body

    play(scenario)


def test_e13_an_unfinished_run_of_another_machine_stops_the_start(
    play: Callable[[Scenario], None], forge: Forge, tmp_path: Path
) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        await made.publish(run)
        async with machine(tmp_path / "two", forge) as other:
            publisher = other.publisher()
            with pytest.raises(DispatcherBusy, match=run.id) as busy:
                await publisher.preflight(["s"])
            assert busy.value.exit_code == 7
            await publisher.preflight(["another"])
            # both had started before either published: nothing is lost
            (done,) = await other.publish(await other.run({"pkg/m2.py": CLEAN}))
            assert done.number == 1
            assert len(subjects(forge)) == 3
            await publisher.aclose()

    play(scenario)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"commits": "squash"}, ["s: fix E501, F401 in 3 units"]),
        ({"commits": "rule"}, ["s: fix F401 in 2 units", "s: fix pkg/m2.py"]),
        ({"message": "chore({sweep}): {title} [{rules}]"}, [
            "chore(s): pkg/m0.py [F401]", "chore(s): pkg/m1.py [F401]", "chore(s): pkg/m2.py [E501]",
        ]),
    ],
)  # fmt: skip
def test_commits_in_every_shape_have_the_same_tree(
    play: Callable[[Scenario], None], forge: Forge, settings: dict[str, Any], expected: list[str]
) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        run = await made.ended(await made.round(run, {"pkg/m2.py": CLEAN}, rules=("E501",)))
        (done,) = await made.publish(run, sign_off=True, **settings)
        assert subjects(forge) == expected
        trees = {forge.hub.git("rev-parse", f"{commit}^{{tree}}") for commit in (done.head, "sweeper/s")}
        assert trees == {made.project.text("rev-parse", f"{run.tip}^{{tree}}")}
        text = forge.hub.git("log", "--format=%B", "main..sweeper/s")
        who = made.repo.identity
        assert text.count(f"Signed-off-by: {who.name} <{who.email}>") == len(expected)
        assert text.count("Sweeper-Unit: ") == 3
        (same,) = await made.publish(run, sign_off=True, **settings)
        assert (same.operation, same.head) == ("none", done.head)

    play(scenario)


@pytest.mark.parametrize(
    ("how", "branches"),
    [
        ("directory", ["sweeper/s-other", "sweeper/s-pkg"]),
        ("rule", ["sweeper/s-e501-", "sweeper/s-f401-"]),
        ("owners", ["sweeper/s-acme-pkg-", "sweeper/s-nobody-s-"]),
        ("max_files = 1", ["sweeper/s-part-1-", "sweeper/s-part-2-", "sweeper/s-part-3-"]),
    ],
)
def test_a_split_run_is_several_green_pull_requests_with_an_index_in_the_first(
    play: Callable[[Scenario], None], forge: Forge, how: str, branches: list[str]
) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO, held=["pkg/m3.py"])
        run = await made.ended(await made.round(run, {"other/z.py": CLEAN}, rules=("E501",)))
        done = await made.publish(run, split=how)
        found = sorted(each.branch for each in done)
        assert [branch.startswith(start) for branch, start in zip(found, branches, strict=True)] == [True] * len(
            branches
        )
        assert [each.operation for each in done] == ["created"] * len(branches)
        first, *rest = (forge.hub.pulls[each.number] for each in done)
        assert "### All pull requests of this sweep" in first.body
        assert all(f"- #{each.number}: " in first.body for each in done)
        assert all("All pull requests" not in pull.body for pull in rest)
        assert len(made.judged) == len(branches)  # each part by itself
        changed = [set(forge.hub.git("diff", "--name-only", f"main..{each.branch}").split()) for each in done]
        assert set().union(*changed) == {*TWO, "other/z.py"}
        assert sum(map(len, changed)) == 3
        again = await made.publish(run, split=how)
        assert [each.operation for each in again] == ["none"] * len(branches)
        assert len(forge.hub.pulls) == len(branches)

    play(scenario)


def test_a_part_that_is_red_by_itself_loses_its_culprit(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run({**TWO, "other/z.py": CLEAN})
        made.red = {"other/z.py"}
        (done,) = await made.publish(run, split="directory")
        assert done.branch == "sweeper/s-pkg"
        assert "breaks the gate there" in made.everything_said()

    play(scenario)


@pytest.mark.parametrize("bonded", [True, False])
def test_what_is_fixed_only_together_stays_in_one_part(
    play: Callable[[Scenario], None], forge: Forge, bonded: bool
) -> None:
    async def scenario(made: Made) -> None:
        made.bonded = {"pkg/m0.py", "other/z.py"} if bonded else set()
        run = await made.run({"pkg/m0.py": CLEAN, "other/z.py": CLEAN}, batch="c1")
        run = await made.ended(await made.round(run, {"pkg/m1.py": CLEAN, "pkg/m2.py": CLEAN}, batch="c2"))
        done = await made.publish(run, split="directory")
        changed = [set(forge.hub.git("diff", "--name-only", f"main..{each.branch}").split()) for each in done]
        rest = {"pkg/m1.py", "pkg/m2.py"}
        if bonded:
            assert changed == [{"pkg/m0.py", "other/z.py"}, rest]
            assert "hold only together" in made.everything_said()
        else:
            assert changed == [{"pkg/m0.py", *rest}, {"other/z.py"}]
        assert "not on this branch" not in "".join(pull.body for pull in forge.hub)
        assert [each.operation for each in await made.publish(run, split="directory")] == ["none", "none"]

    play(scenario)


def test_auto_close_where_nothing_is_left_and_nobody_else_worked_on_it(
    play: Callable[[Scenario], None], forge: Forge
) -> None:
    async def scenario(made: Made) -> None:
        await made.publish(await made.ended(await made.run(TWO)))
        nothing = await made.ended(await made.run({}))
        assert await made.publish(nothing) == []
        assert "auto_close closes such" in made.everything_said()
        theirs = forge.hub.tip("sweeper/s")
        forge.hub.commit_on("sweeper/s", "notes.txt", "theirs\n")
        assert await made.publish(nothing, auto_close=True) == []
        assert only(forge).state == "open"
        forge.hub.git("update-ref", "refs/heads/sweeper/s", str(theirs))
        (closed,) = await made.publish(nothing, auto_close=True)
        assert (closed.operation, closed.number) == ("closed", 1)
        assert forge.hub.pulls[1].state == "closed"
        assert "Nothing is left to change" in forge.hub.pulls[1].comments[0]
        held = await made.ended(await made.run({}, held=["pkg/m0.py"]))
        assert await made.publish(held, auto_close=True) == []

    play(scenario)


def test_a_title_and_ticks_that_a_person_gave_stay(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO, held=["pkg/m3.py"])
        await made.publish(run, title="[{sweep}] {fixed} fixed")
        pull = only(forge)
        assert pull.title == "[s] 2 fixed"
        pull.title = "Mine"
        pull.body = pull.body.replace("- [ ] `pkg/m3.py`", "- [x] `pkg/m3.py`")
        for path in ("pkg/m2.py", "other/z.py"):
            run = await made.round(run, {path: CLEAN})
            await made.publish(run, title="[{sweep}] {fixed} fixed")
            assert pull.title == "Mine"
            assert mark(pull).head == run.tip

    play(scenario)


def test_done_only_when_the_head_was_read_back(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run(TWO)
        await made.publish(run)
        run = await made.round(run, {"pkg/m2.py": CLEAN})
        forge.hub.lag = 3
        assert (await made.publish(run))[0].head == run.tip
        run = await made.round(run, {"pkg/m3.py": CLEAN})
        forge.hub.lag = 100
        with pytest.raises(ForgeFailed, match="of pull request 1 is"):
            await made.publish(run)

    play(scenario)


def test_a_workflow_file_without_the_scope_is_named(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        run = await made.run({".github/workflows/ci.yml": b"on: push\n"})
        with pytest.raises(ForgeFailed, match="refusing to allow") as refused:
            await made.publish(run)
        assert ".github/workflows/ci.yml" in refused.value.hint
        assert forge.hub.tip("sweeper/s") is None
        forge.hub.tokens[TOKEN].workflows = True
        assert len(await made.publish(run)) == 1

    play(scenario)


@pytest.mark.parametrize("drafts", [True, False])
def test_wishes_that_the_forge_refuses_are_said_and_are_no_failure(
    play: Callable[[Scenario], None], forge: Forge, drafts: bool
) -> None:
    async def scenario(made: Made) -> None:
        forge.hub.drafts = drafts
        (done,) = await made.publish(await made.run(TWO), reviewers=["nobody-here"], labels=["a"], milestone="v9")
        assert done.draft is drafts
        assert only(forge).labels == ["a"]
        said = made.everything_said()
        assert "reviewers: " in said
        assert "no open milestone 'v9'" in said

    play(scenario)


def test_d20_a_hostile_file_name_acts_nowhere(play: Callable[[Scenario], None], forge: Forge) -> None:
    name = "fixes #1 @team a$(touch x) [skip ci] `b` <img> ::add-mask::y.py"

    async def scenario(made: Made) -> None:
        made.project.commit({name: DIRTY}, "hostile")
        made.project.git("push", "--quiet", forge.clone.replace("://", f"://x:{TOKEN}@"), "HEAD:main")
        run = await made.run({name: CLEAN}, rules=("@team",), reviews=("<b>look</b> @team",))
        await made.publish(run)
        await made.publish(run, commits="squash", message="{title} {rules}")
        pull = only(forge)
        text = forge.hub.git("log", "--format=%B", "main..sweeper/s")
        for said in (text, pull.title):
            assert not re.search(r"@team|#1\b|\[skip ci", said)
        assert f"``{name}``" in pull.body
        assert not re.search(r"(?m)^(::|\s*[-*>] ::)", pull.body)
        assert not (made.project.top / "x").exists()

    play(scenario)


def test_b23_a_signing_program_that_fails_is_said_and_bounded(
    play: Callable[[Scenario], None], forge: Forge, tmp_path: Path
) -> None:
    async def scenario(made: Made) -> None:
        made.project.git("config", "commit.gpgsign", "true")
        made.project.git("config", "gpg.program", "/bin/false")
        from sweeper.repo import Repo

        async with await Repo.open(made.project.top) as repo:
            made.repo = repo
            await made.publish(await made.run(TWO))
        assert "NOT signed" in made.everything_said()
        assert "NOT signed" in only(forge).body

    play(scenario)


@pytest.mark.parametrize("fetched", [False, True])
def test_on_paper_a_remote_that_cannot_be_asked_is_as_it_was_last_seen(
    play: Callable[[Scenario], None], forge: Forge, fetched: bool
) -> None:
    async def scenario(made: Made) -> None:
        run = await made.ended(await made.run(TWO))
        await made.publish(run, commits="squash")
        made.project.git("update-ref", "refs/heads/sweeper/s", run.tip)  # the branch here is not the one there
        if fetched:
            forge.hub.commit_on("sweeper/s", "notes.txt", "theirs\n", "A person's")
            secret = forge.clone.replace("://", f"://x:{TOKEN}@")
            made.project.git("fetch", "--quiet", secret, "refs/heads/*:refs/remotes/origin/*")
        made.said.clear()
        sheets, records = PaperForge(None, made.said.append), Records(made.ledger, kept=False)
        nobody = made.repo.remotes.at("http://127.0.0.1:9/acme/widgets.git")
        remote = PaperRemote(nobody, sheets, made.repo, records, made.said.append, remote="origin", base="main")
        config = PullRequestConfig(commits="squash")
        publisher = Publisher(
            made.repo, made.ledger, sheets, remote, config, say=made.said.append, parser=made.parser, records=records
        )
        following = await made.ended(await made.run({**TWO, "pkg/m2.py": CLEAN}))
        (paper,) = await publisher.publish(following, made.green)
        assert paper.branch == "sweeper/s"
        assert "last fetched or pushed from here" in made.everything_said()
        assert ("commits that are not ours: they stay" in made.everything_said()) is fetched
        (one,) = await render([paper], sheets, made.repo)
        assert [subject for _, subject in one.commits] == (
            ["s: fix F401 in 2 units", "A person's", "s: fix pkg/m2.py"] if fetched else ["s: fix F401 in 3 units"]
        )

    play(scenario)


def test_a_ledger_without_its_commits_is_no_internal_error_and_names_the_way_out(
    play: Callable[[Scenario], None], forge: Forge, tmp_path: Path
) -> None:
    async def scenario(made: Made) -> None:
        run = await made.ended(await made.run(TWO))
        await made.ledger.note(run.id, "branch", "sweeper/s")
        made.project.git("update-ref", "refs/heads/sweeper/s", run.tip)
        other = tmp_path / "other"
        secret = forge.clone.replace("://", f"://x:{TOKEN}@")
        made.project.git("clone", "--quiet", secret, str(other))
        shutil.copytree(made.repo.state, other / ".git" / "sweeper", symlinks=True)
        program = Path(sys.executable).parent / "sweeper"
        env = {**os.environ, "GITHUB_SERVER_URL": forge.url, "GITHUB_TOKEN": TOKEN}

        def call(*given: str | Path) -> subprocess.CompletedProcess[str]:
            return subprocess.run(given, cwd=other, env=env, capture_output=True, text=True, check=False)

        refused = call(program, "pr")
        assert refused.returncode == 2, refused.stderr
        assert f"has commits that are not in this clone, such as {run.tip[:12]}" in refused.stderr
        assert "git fetch THAT_CLONE sweeper/s" in refused.stderr
        assert list(forge.hub.branches()) == ["main"]
        call("git", "fetch", "-q", made.project.top, "sweeper/s")
        done = call(program, "pr")
        assert (done.returncode, only(forge).last_head) == (0, run.tip), done.stderr

    play(scenario)


def test_the_users_own_git_state_is_untouched(play: Callable[[Scenario], None], forge: Forge) -> None:
    async def scenario(made: Made) -> None:
        (made.project.top / "pkg/m0.py").write_bytes(b"my own edit\n")
        (made.project.top / "notes.txt").write_text("untracked")
        hook = made.project.top / ".git/hooks/pre-push"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ntouch ran\nexit 1\n")
        hook.chmod(0o755)
        before = (
            made.project.text("status", "--porcelain"),
            (made.project.top / ".git/config").read_bytes(),
            made.project.text("for-each-ref", "refs/heads", "refs/remotes", "refs/tags"),
            made.project.head,
        )
        run = await made.run({"pkg/m1.py": CLEAN})
        forge.hub.commit_on("main", "README.md", "moved\n")
        await made.publish(run)
        after = (
            made.project.text("status", "--porcelain"),
            (made.project.top / ".git/config").read_bytes(),
            made.project.text("for-each-ref", "refs/heads", "refs/remotes", "refs/tags"),
            made.project.head,
        )
        assert after == before
        assert not (made.project.top / "ran").exists()
        assert forge.hub.git("diff", "--name-only", "main..sweeper/s") == "pkg/m1.py"

    play(scenario)
