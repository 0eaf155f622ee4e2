"""The fake forge's dozen API calls, with GitHub's words where it refuses."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.forge.hub import BODY_LIMIT, Hub, Person, Pull

PREFIX = "/api/v3"
DOCS = {"documentation_url": "https://docs.github.com/rest"}


class Refused(Exception):
    def __init__(self, status: int, message: str, errors: list[Any] | None = None, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message, self.errors, self.headers = status, message, errors, headers


def refuse(
    status: int, message: str, errors: list[Any] | None = None, headers: dict[str, str] | None = None
) -> web.Response:
    body: dict[str, Any] = {"message": message, "status": str(status), **DOCS}
    if errors:
        body["errors"] = errors
    return web.json_response(body, status=status, headers=headers)


class Api:
    """Handlers over one hub. `base`: the server's own address, known once it listens."""

    def __init__(self, hub: Hub, base: str) -> None:
        self.hub, self.base = hub, base

    def routes(self) -> list[web.AbstractRouteDef]:
        repo = PREFIX + "/repos/{owner}/{name}"
        return [
            web.get(PREFIX + "/user", self.wrap(self.user)),
            web.get(repo, self.wrap(self.repository)),
            web.get(repo + "/pulls", self.wrap(self.list)),
            web.post(repo + "/pulls", self.wrap(self.open)),
            web.get(repo + "/pulls/{number}", self.wrap(self.read)),
            web.patch(repo + "/pulls/{number}", self.wrap(self.edit)),
            web.post(repo + "/pulls/{number}/requested_reviewers", self.wrap(self.reviewers)),
            web.post(repo + "/issues/{number}/labels", self.wrap(self.labels)),
            web.post(repo + "/issues/{number}/assignees", self.wrap(self.assignees)),
            web.post(repo + "/issues/{number}/comments", self.wrap(self.comment)),
            web.patch(repo + "/issues/{number}", self.wrap(self.issue)),
            web.get(repo + "/milestones", self.wrap(self.list_milestones)),
            web.post("/api/graphql", self.wrap(self.graphql)),
        ]

    def wrap(self, handler: Any) -> Any:
        async def answer(request: web.Request) -> web.StreamResponse:
            self.hub.requests.append(f"{request.method} {request.path}")
            planned = self.hub.failure(request.method, request.path)
            try:
                if planned and not planned.after:
                    return web.json_response(planned.body, status=planned.status, headers=planned.headers)
                person = self.person(request)
                if "owner" in request.match_info and (
                    f"{request.match_info['owner']}/{request.match_info['name']}".lower() != self.hub.full.lower()
                ):
                    raise Refused(404, "Not Found")
                value, status = await handler(request, person)
            except Refused as no:
                return refuse(no.status, no.message, no.errors, no.headers)
            if planned:
                return web.json_response(planned.body, status=planned.status, headers=planned.headers)
            headers = {"X-OAuth-Scopes": person.scopes} if person.scopes is not None else {}
            return web.json_response(value, status=status, headers=headers)

        return answer

    def person(self, request: web.Request) -> Person:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() not in ("bearer", "token") or token not in self.hub.tokens:
            raise Refused(401, "Bad credentials")
        return self.hub.tokens[token]

    def pull(self, request: web.Request) -> Pull:
        pull = self.hub.pulls.get(int(request.match_info["number"]))
        if pull is None:
            raise Refused(404, "Not Found")
        return pull

    # --- what is said ---

    def repo_json(self, person: Person | None = None) -> dict[str, Any]:
        hub = self.hub
        return {
            "id": 1,
            "node_id": "R_1",
            "name": hub.name,
            "full_name": hub.full,
            "owner": {"login": hub.owner, "id": 1, "type": "Organization"},
            "private": hub.private,
            "archived": hub.archived,
            "default_branch": hub.default_branch,
            "html_url": f"{self.base}/{hub.full}",
            "url": f"{self.base}{PREFIX}/repos/{hub.full}",
            "clone_url": f"{self.base}/{hub.full}.git",
        } | ({"permissions": {"admin": False, "push": person.push, "pull": True}} if person else {})

    def pull_json(self, pull: Pull) -> dict[str, Any]:
        hub = self.hub
        head = hub.head_of(pull)
        login = pull.author
        return {
            "id": pull.number,
            "node_id": f"PR_{pull.number}",
            "number": pull.number,
            "url": f"{self.base}{PREFIX}/repos/{hub.full}/pulls/{pull.number}",
            "html_url": f"{self.base}/{hub.full}/pull/{pull.number}",
            "issue_url": f"{self.base}{PREFIX}/repos/{hub.full}/issues/{pull.number}",
            "state": pull.state,
            "draft": pull.draft,
            "merged": pull.merged,
            "merged_at": "2026-01-01T00:00:00Z" if pull.merged else None,
            "title": pull.title,
            "body": pull.body,
            "user": {"login": login, "id": 7, "type": "Bot" if pull.bot else "User"},
            "labels": [{"name": name} for name in pull.labels],
            "assignees": [{"login": name} for name in pull.assignees],
            "requested_reviewers": [{"login": name} for name in pull.reviewers],
            "milestone": {"number": pull.milestone, "title": hub.milestones[pull.milestone]}
            if pull.milestone
            else None,
            "head": {"ref": pull.head, "sha": head, "label": f"{hub.owner}:{pull.head}", "repo": self.repo_json()},
            "base": {"ref": pull.base, "sha": hub.tip(pull.base), "repo": self.repo_json()},
        }

    # --- calls ---

    async def user(self, request: web.Request, person: Person) -> tuple[Any, int]:
        if person.bot:
            raise Refused(403, "Resource not accessible by integration")
        return {"login": person.login, "id": 7, "type": "User"}, 200

    async def repository(self, request: web.Request, person: Person) -> tuple[Any, int]:
        return self.repo_json(person), 200

    async def list(self, request: web.Request, person: Person) -> tuple[Any, int]:
        query = request.query
        found = [self.pull_json(pull) for pull in sorted(self.hub, key=lambda pull: -pull.number)]
        if (state := query.get("state", "open")) != "all":
            found = [row for row in found if row["state"] == state]
        if head := query.get("head"):
            found = [row for row in found if row["head"]["label"] == head]
        if base := query.get("base"):
            found = [row for row in found if row["base"]["ref"] == base]
        size, page = int(query.get("per_page", "30")), int(query.get("page", "1"))
        return found[size * (page - 1) : size * page], 200

    async def open(self, request: web.Request, person: Person) -> tuple[Any, int]:
        data = await request.json()
        if not person.may_open:
            if person.bot:
                raise Refused(403, "GitHub Actions is not permitted to create or approve pull requests.")
            raise Refused(403, "Resource not accessible by personal access token")
        self.check(data)
        hub, head, base = self.hub, data["head"], data["base"]
        if data.get("draft") and not hub.drafts:
            raise Refused(422, "Validation Failed", ["Draft pull requests are not supported in this repository."])
        for name, field in ((head, "head"), (base, "base")):
            if hub.tip(name) is None:
                raise Refused(
                    422, "Validation Failed", [{"resource": "PullRequest", "field": field, "code": "invalid"}]
                )
        if any(
            self.hub.head_of(pull) and pull.state == "open" and (pull.head, pull.base) == (head, base) for pull in hub
        ):
            said = f"A pull request already exists for {hub.owner}:{head}."
            raise Refused(422, "Validation Failed", [{"resource": "PullRequest", "code": "custom", "message": said}])
        if not hub.git("rev-list", "-n", "1", f"{base}..{head}"):
            said = f"No commits between {base} and {head}"
            raise Refused(422, "Validation Failed", [{"resource": "PullRequest", "code": "custom", "message": said}])
        number = len(hub.pulls) + 1
        author = f"{person.login}[bot]" if person.bot else person.login
        pull = Pull(
            number,
            data["title"],
            data.get("body") or "",
            head,
            base,
            author,
            bool(data.get("draft")),
            bot=person.bot,
            last_head=hub.tip(head) or "",
        )
        hub.pulls[number] = pull
        return self.pull_json(pull), 201

    def check(self, data: dict[str, Any]) -> None:
        if len(data.get("body") or "") > BODY_LIMIT:
            said = f"body is too long (maximum is {BODY_LIMIT} characters)"
            raise Refused(
                422,
                "Validation Failed",
                [{"resource": "Issue", "code": "custom", "field": "body", "message": said}],
            )
        if len(data.get("title") or "x") > 256:
            raise Refused(422, "Validation Failed", [{"resource": "Issue", "code": "custom", "field": "title"}])

    async def read(self, request: web.Request, person: Person) -> tuple[Any, int]:
        return self.pull_json(self.pull(request)), 200

    async def edit(self, request: web.Request, person: Person) -> tuple[Any, int]:
        pull, data = self.pull(request), await request.json()
        self.check(data)
        for name in ("title", "body", "base", "state"):
            if name in data:
                setattr(pull, name, data[name])
        return self.pull_json(pull), 200

    async def reviewers(self, request: web.Request, person: Person) -> tuple[Any, int]:
        pull, data = self.pull(request), await request.json()
        people = data.get("reviewers", [])
        if any(name == pull.author for name in people):
            raise Refused(422, "Review cannot be requested from pull request author.")
        if any(name.startswith("nobody") for name in people):
            raise Refused(422, "Reviews may only be requested from collaborators.")
        pull.reviewers += people
        pull.teams += data.get("team_reviewers", [])
        return self.pull_json(pull), 201

    async def labels(self, request: web.Request, person: Person) -> tuple[Any, int]:
        pull = self.pull(request)
        data = await request.json()  # GitHub takes the bare list, too
        pull.labels += [
            name for name in (data["labels"] if isinstance(data, dict) else data) if name not in pull.labels
        ]
        return [{"name": name} for name in pull.labels], 200

    async def assignees(self, request: web.Request, person: Person) -> tuple[Any, int]:
        pull = self.pull(request)
        pull.assignees += (await request.json())["assignees"]
        return self.pull_json(pull), 201

    async def comment(self, request: web.Request, person: Person) -> tuple[Any, int]:
        pull = self.pull(request)
        pull.comments.append((await request.json())["body"])
        return {"id": len(pull.comments), "body": pull.comments[-1]}, 201

    async def issue(self, request: web.Request, person: Person) -> tuple[Any, int]:
        pull, data = self.pull(request), await request.json()
        if "milestone" in data:
            if data["milestone"] not in self.hub.milestones:
                raise Refused(422, "Validation Failed", [{"field": "milestone", "code": "invalid"}])
            pull.milestone = data["milestone"]
        return self.pull_json(pull), 200

    async def list_milestones(self, request: web.Request, person: Person) -> tuple[Any, int]:
        return [{"number": number, "title": title} for number, title in self.hub.milestones.items()], 200

    async def graphql(self, request: web.Request, person: Person) -> tuple[Any, int]:
        data = await request.json()
        variables = data["variables"]
        name = variables.get("id") or variables.get("input", {}).get("pullRequestId", "")
        number = int(str(name).removeprefix("PR_") or 0)
        if "markPullRequestReadyForReview" not in data["query"] or number not in self.hub.pulls:
            return {"errors": [{"message": f"Could not resolve to a node with the global id of '{number}'"}]}, 200
        self.hub.pulls[number].draft = False
        return {"data": {"markPullRequestReadyForReview": {"pullRequest": {"isDraft": False}}}}, 200
