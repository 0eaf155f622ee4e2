"""The client against the fake forge's refusals: what is waited out, what is named, and that no token is shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from sweeper.errors import ForgeFailed
from sweeper.forge import address, github
from sweeper.forge.client import SECONDARY, Client
from sweeper.forge.contract import Extras, Wanted
from sweeper.forge.github import GitHub
from sweeper.forge.token import Token
from tests.forge.server import TOKEN, Forge

PULLS = "/repos/acme/widgets/pulls"
WANTED = Wanted("topic", "main", "A title", "A body")


class Caller:
    """A client whose waits are written down instead of waited."""

    def __init__(self, forge: Forge, token: str = TOKEN, api: str = "") -> None:
        self.waits: list[float] = []
        self.said: list[str] = []
        self.forge = forge
        self.place = address.find(forge.clone, api=api)
        client = Client(self.place.api, token, say=self.said.append, sleep=self.sleep, clock=lambda: 1000.0)
        self.hub = GitHub(self.place, Token(token, "test"), say=self.said.append, client=client)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def do(self, what: Callable[[GitHub], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            try:
                return await what(self.hub)
            finally:
                await self.hub.aclose()

        return anyio.run(main)


@pytest.fixture
def caller(forge: Forge) -> Caller:
    forge.hub.commit_on("main", "README.md", "hello\n")
    forge.hub.git("update-ref", "refs/heads/topic", "refs/heads/main")
    forge.hub.commit_on("topic", "new.txt", "new\n")
    return Caller(forge)


def refused(caller: Caller, what: Callable[[GitHub], Awaitable[Any]]) -> ForgeFailed:
    with pytest.raises(ForgeFailed) as problem:
        caller.do(what)
    assert TOKEN not in str(problem.value) + problem.value.hint + "".join(caller.said)
    return problem.value


def test_a_wrong_token_is_named_as_one(forge: Forge) -> None:
    problem = refused(Caller(forge, "wrong-token"), lambda hub: hub.rights())
    assert (problem.reason, problem.exit_code) == ("unauthorised", 6)
    assert "wrong-token" not in str(problem)


def test_a_forge_that_echoes_the_token_shows_it_to_nobody(caller: Caller) -> None:
    caller.forge.hub.fail("GET", "/user", 401, f"Bad credentials {TOKEN}")
    assert "[redacted]" in str(refused(caller, lambda hub: hub.rights()))


@pytest.mark.parametrize(
    ("status", "message", "headers", "waits"),
    [
        (403, "You have exceeded a secondary rate limit", {"retry-after": "7"}, [7.0]),
        (403, "You have exceeded a secondary rate limit. Please wait", {}, [SECONDARY]),
        (429, "Too many requests", {}, [SECONDARY]),
        (403, "API rate limit exceeded", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1030"}, [31.0]),
        (502, "Bad gateway", {}, [1.0]),
        (503, "Unavailable", {}, [1.0]),
    ],
)
def test_what_passes_is_waited_out(
    caller: Caller, status: int, message: str, headers: dict[str, str], waits: list[float]
) -> None:
    caller.forge.hub.fail("GET", PULLS, status, message, headers=headers)
    assert caller.do(lambda hub: hub.find()) == []
    assert caller.waits == waits
    assert "again in" in caller.said[0]


def test_a_limit_that_lasts_is_not_waited_for(caller: Caller) -> None:
    caller.forge.hub.fail("GET", PULLS, 403, "secondary rate limit", headers={"retry-after": "3600"})
    problem = refused(caller, lambda hub: hub.find())
    assert caller.waits == []
    assert "3600 s" in str(problem)


def test_a_forge_that_stays_broken_is_given_up(caller: Caller) -> None:
    caller.forge.hub.fail("GET", PULLS, 500, "Oops", times=99)
    assert "Oops" in str(refused(caller, lambda hub: hub.find()))
    assert caller.waits == [1.0, 2.0, 4.0, 8.0]


def test_nobody_answers(forge: Forge) -> None:
    caller = Caller(forge, api="http://127.0.0.1:1/api/v3")
    problem = refused(caller, lambda hub: hub.rights())
    assert problem.reason == "unreachable"
    assert len(caller.waits) == 4


def test_an_answer_that_is_no_json(forge: Forge) -> None:
    caller = Caller(forge, api=f"{forge.url}/acme")  # git's part of the server
    assert "404" in str(refused(caller, lambda hub: hub.rights()))


def test_e01_actions_may_not_open_pull_requests(caller: Caller) -> None:
    said = "GitHub Actions is not permitted to create or approve pull requests."
    caller.forge.hub.fail("POST", PULLS, 403, said)
    problem = refused(caller, lambda hub: hub.open(WANTED))
    assert problem.reason == "forbidden"
    assert "Workflow permissions" in problem.hint
    assert caller.waits == []


def test_one_that_exists_already_is_taken(caller: Caller) -> None:
    first = caller.do(lambda hub: hub.open(WANTED))
    again = Caller(caller.forge)
    wanted = Wanted("topic", "main", "Another title", "Another body")
    second = again.do(lambda hub: hub.open(wanted))
    assert (second.number, second.title, second.body) == (first.number, "Another title", "Another body")
    assert len(caller.forge.hub.pulls) == 1


@pytest.mark.parametrize("status", [500, 502, 504])
def test_an_answer_that_was_lost_opens_no_second_one(caller: Caller, status: int) -> None:
    caller.forge.hub.fail("POST", PULLS, status, "lost", after=True)
    assert caller.do(lambda hub: hub.open(WANTED)).number == 1
    assert len(caller.forge.hub.pulls) == 1
    assert caller.forge.hub.requests.count(f"POST /api/v3{PULLS}") == 1


def test_a_body_that_is_too_long_is_the_forges_own_word(caller: Caller) -> None:
    problem = refused(caller, lambda hub: hub.open(Wanted("topic", "main", "T", "x" * 65_537)))
    assert problem.reason == "invalid"
    assert "too long" in str(problem)


def test_no_drafts_means_ready(caller: Caller) -> None:
    caller.forge.hub.drafts = False
    assert caller.do(lambda hub: hub.open(WANTED)).draft is False
    assert "no drafts" in "".join(caller.said)


def test_ready_is_asked_for_and_read_back(caller: Caller) -> None:
    async def scenario(hub: GitHub) -> tuple[bool, bool]:
        opened = await hub.open(WANTED)
        ready = await hub.update(opened, Wanted("topic", "main", "A title", "A body", draft=False))
        return opened.draft, ready.draft

    assert caller.do(scenario) == (True, False)


def test_extras_one_by_one(caller: Caller) -> None:
    async def scenario(hub: GitHub) -> list[str]:
        opened = await hub.open(WANTED)
        wishes = Extras(["a", "b"], ["kim", "acme/team"], ["lee"], "v1")
        return list(await hub.adorn(opened.number, wishes))

    assert caller.do(scenario) == []
    pull = caller.forge.hub.pulls[1]
    assert (pull.labels, pull.reviewers, pull.teams, pull.assignees, pull.milestone) == (
        ["a", "b"], ["kim"], ["team"], ["lee"], 1,
    )  # fmt: skip


def test_closing_says_why(caller: Caller) -> None:
    async def scenario(hub: GitHub) -> None:
        await hub.close((await hub.open(WANTED)).number, "done")

    caller.do(scenario)
    assert (caller.forge.hub.pulls[1].state, caller.forge.hub.pulls[1].comments) == ("closed", ["done"])


def test_many_pages_are_read(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github, "PAGE", 3)

    async def scenario(hub: GitHub) -> int:
        first = await hub.open(WANTED)
        for number in range(2, 9):
            copy = type(caller.forge.hub.pulls[1])(**vars(caller.forge.hub.pulls[1]))
            copy.number = number
            caller.forge.hub.pulls[number] = copy
        assert first.number == 1
        return len(await hub.find())

    assert caller.do(scenario) == 8


def test_the_rights_of_people_and_of_apps(caller: Caller) -> None:
    rights = caller.do(lambda hub: hub.rights())
    assert (rights.login, rights.push, rights.default_branch) == ("dev", True, "main")
    caller.forge.hub.tokens[TOKEN].bot = True
    assert "whose the token is" in Caller(caller.forge).do(lambda hub: hub.rights()).unknown[0]
