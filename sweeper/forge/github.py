"""GitHub, and GitHub Enterprise by its base address."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from sweeper.errors import ForgeFailed
from sweeper.forge.address import Address
from sweeper.forge.client import UNCERTAIN, Client
from sweeper.forge.contract import Extras, PullRequest, Rights, Wanted
from sweeper.forge.token import Token

ACTIONS_BOT = "github-actions[bot]"
NO_DRAFTS = "draft pull requests are not supported"
READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }"
PAGE = 100
PAGES = 10


class GitHub:
    """`sweeper.forge.contract.Forge` for one repository."""

    def __init__(
        self,
        address: Address,
        token: Token,
        *,
        say: Callable[[str], None] = lambda line: None,
        client: Client | None = None,
    ) -> None:
        self.address = address
        self._say = say
        self._client = client or Client(address.api, token.value, say=say)
        self._full = address.full

    async def aclose(self) -> None:
        await self._client.aclose()

    async def rights(self) -> Rights:
        headers: dict[str, str] = {}
        repository = await self._client.call("GET", f"/repos/{self._full}", headers=headers)
        data = _table(repository)
        self._full = str(data.get("full_name") or self._full)  # a renamed repository answers under its new name
        if data.get("archived"):
            raise ForgeFailed(f"{self._full} is archived: nothing can be pushed to it", reason="forbidden")
        login, unknown = await self._login()
        permissions = data.get("permissions")
        push = bool(permissions.get("push")) if isinstance(permissions, dict) else None
        scopes = headers.get("x-oauth-scopes")
        if push and scopes is not None:
            push = _scoped(scopes, private=bool(data.get("private")))
            if not push:
                hint = "give it the scope repo (public_repo for a public repository)"
                raise ForgeFailed(
                    f"the token's scopes ({scopes or 'none'}) allow no push", hint=hint, reason="forbidden"
                )
        if push is False:
            hint = "it needs contents: write and pull-requests: write"
            raise ForgeFailed(f"the token may not push to {self._full}", hint=hint, reason="forbidden")
        if push is None:
            unknown.append("whether the token may push can't be read beforehand")
        if scopes is None:
            unknown.append("whether the token may open pull requests can't be read beforehand")
        return Rights(login, push, str(data.get("default_branch") or "main"), tuple(unknown))

    async def _login(self) -> tuple[str, list[str]]:
        try:
            return str(_table(await self._client.call("GET", "/user")).get("login", "")), []
        except ForgeFailed as problem:
            if problem.reason != "forbidden":
                raise
        # The token of an App, an Actions job's among them, belongs to no user.
        return (ACTIONS_BOT, []) if os.environ.get("GITHUB_ACTIONS") == "true" else ("", ["whose the token is"])

    async def find(self, branch: str = "", *, state: str = "open") -> Sequence[PullRequest]:
        query = {"state": state, "per_page": str(PAGE), "sort": "created", "direction": "desc"}
        if branch:
            query["head"] = f"{self._full.split('/')[0]}:{branch}"
        found: list[PullRequest] = []
        for page in range(1, PAGES + 1):
            rows = await self._client.call("GET", f"/repos/{self._full}/pulls", query={**query, "page": str(page)})
            if not isinstance(rows, list):
                raise ForgeFailed(f"{self.address.api} answered the list of pull requests with none", reason="invalid")
            found += [self._pull(row) for row in rows]
            if len(rows) < PAGE:
                break
        return [each for each in found if each.ours and (not branch or each.branch == branch)]

    async def read(self, number: int) -> PullRequest:
        return self._pull(await self._client.call("GET", f"/repos/{self._full}/pulls/{number}"))

    async def open(self, wanted: Wanted) -> PullRequest:
        body = {"title": wanted.title, "body": wanted.body, "head": wanted.branch, "base": wanted.base}
        try:
            return self._pull(await self._post_pull(body | {"draft": wanted.draft}))
        except ForgeFailed as problem:
            if wanted.draft and NO_DRAFTS in str(problem).lower():
                self._say("forge: this repository has no drafts; the pull request is opened as ready")
                return await self.open(Wanted(wanted.branch, wanted.base, wanted.title, wanted.body, draft=False))
            if problem.reason not in ("duplicate", UNCERTAIN):
                raise
            # It is there already, or the answer to our own request was lost.
            for known in await self.find(wanted.branch):
                if known.base == wanted.base:
                    return await self.update(known, wanted)
            raise

    async def _post_pull(self, body: Mapping[str, Any]) -> Any:
        return await self._client.call("POST", f"/repos/{self._full}/pulls", body, once=True)

    async def update(self, known: PullRequest, wanted: Wanted) -> PullRequest:
        changed = {
            name: new
            for name, old, new in (
                ("title", known.title, wanted.title),
                ("body", known.body.replace("\r\n", "\n"), wanted.body),
                ("base", known.base, wanted.base),
            )
            if old != new
        }
        readied = known.draft and not wanted.draft
        if readied:  # first: the text says that it was done
            await self._ready(known)
        if changed:
            known = self._pull(await self._client.call("PATCH", f"/repos/{self._full}/pulls/{known.number}", changed))
        return await self.read(known.number) if readied else known

    async def _ready(self, known: PullRequest) -> None:
        answer = await self._client.call("POST", self.address.graphql, {"query": READY, "variables": {"id": known.id}})
        if errors := _table(answer).get("errors"):
            said = "; ".join(str(_table(row).get("message", "")) for row in errors) if isinstance(errors, list) else ""
            raise ForgeFailed(
                f"pull request {known.number} could not be marked ready: {said[:300]}", reason="forbidden"
            )

    async def adorn(self, number: int, extras: Extras) -> Sequence[str]:
        issue, pull = f"/repos/{self._full}/issues/{number}", f"/repos/{self._full}/pulls/{number}"
        people = [name for name in extras.reviewers if "/" not in name]
        teams = [name.rpartition("/")[2] for name in extras.reviewers if "/" in name]
        wishes: list[tuple[str, str, str, dict[str, Any]]] = []
        if extras.labels:
            wishes.append(("labels", "POST", f"{issue}/labels", {"labels": list(extras.labels)}))
        if people or teams:
            asked = {"reviewers": people, "team_reviewers": teams}
            wishes.append(("reviewers", "POST", f"{pull}/requested_reviewers", asked))
        if extras.assignees:
            wishes.append(("assignees", "POST", f"{issue}/assignees", {"assignees": list(extras.assignees)}))
        problems = []
        if extras.milestone:
            try:
                wishes.append(("milestone", "PATCH", issue, {"milestone": await self._milestone(extras.milestone)}))
            except ForgeFailed as problem:
                problems.append(f"milestone: {problem}")
        for what, method, path, body in wishes:
            problems += await self._wish(what, method, path, body)
        return problems

    async def _wish(self, what: str, method: str, path: str, body: Mapping[str, Any]) -> list[str]:
        """What could not be added. For one name that a forge does not take it refuses all: then each is asked alone."""
        names = [(key, name) for key, value in body.items() if isinstance(value, list) for name in value]
        try:
            await self._client.call(method, path, body)
            return []
        except ForgeFailed as problem:
            if len(names) < 2 or problem.reason not in ("invalid", "forbidden", "missing"):
                return [f"{what}: {problem}"]
        problems = []
        for key, name in names:
            try:
                await self._client.call(method, path, {key: [name]})
            except ForgeFailed as problem:
                problems.append(f"{what}: {name}: {problem}")
        return problems

    async def _milestone(self, name: str) -> int:
        if name.isdigit():
            return int(name)
        rows = await self._client.call("GET", f"/repos/{self._full}/milestones", query={"per_page": str(PAGE)})
        for row in rows if isinstance(rows, list) else []:
            if _table(row).get("title") == name:
                return int(row["number"])
        raise ForgeFailed(f"there is no open milestone {name!r}", reason="missing")

    async def close(self, number: int, comment: str) -> None:
        await self._client.call("POST", f"/repos/{self._full}/issues/{number}/comments", {"body": comment})
        await self._client.call("PATCH", f"/repos/{self._full}/pulls/{number}", {"state": "closed"})

    def compare_url(self, base: str, branch: str) -> str:
        return f"{self.address.web}/{self._full}/compare/{quote(base)}...{quote(branch)}?expand=1"

    def _pull(self, data: Any) -> PullRequest:
        row = _table(data)
        head, base = _table(row.get("head")), _table(row.get("base"))
        home, target = _table(head.get("repo")).get("full_name"), _table(base.get("repo")).get("full_name")
        try:
            return PullRequest(
                number=int(row["number"]),
                url=str(row["html_url"]),
                state=str(row["state"]),
                draft=bool(row.get("draft")),
                branch=str(head["ref"]),
                head=str(head["sha"]),
                base=str(base["ref"]),
                title=str(row.get("title") or ""),
                body=str(row.get("body") or ""),
                author=str(_table(row.get("user")).get("login", "")),
                ours=home is not None and home == target,
                merged=bool(row.get("merged_at") or row.get("merged")),
                id=str(row.get("node_id", "")),
            )
        except (KeyError, TypeError, ValueError) as problem:
            raise ForgeFailed(
                f"{self.address.api} described a pull request without {problem}", reason="invalid"
            ) from None


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _scoped(scopes: str, *, private: bool) -> bool:
    """A classic token's scopes; one without the header has permissions instead."""
    have = {scope.strip() for scope in scopes.split(",")}
    return "repo" in have or (not private and "public_repo" in have)
