"""`--dry-run=pr`: the whole pull request as it would be, with nothing of it on the forge; the real one is the same."""

from __future__ import annotations

from typing import Any

from sweeper.forge import marker
from tests.fire.test_dry_run import look
from tests.forge.conftest import Cloned

SETTINGS = 'labels = ["lint"]\nreviewers = ["ada", "acme/web"]\nmilestone = "1.0"\n'


def remote(project: Cloned) -> tuple[str, int]:
    hub = project.forge.hub
    return hub.git("for-each-ref"), len(hub.open_pulls())


def rendered(project: Cloned, *words: str, token: str | None = None, **more: str) -> tuple[int, dict[str, Any]]:
    given = {} if token is None else {"token": token}
    ended = project.call("run", "--json", "--dry-run=pr", *words, **given, **more)
    assert ended.document["pull_requests"] == [], ended.err
    (one,) = ended.document["rendered"]
    return ended.code, one


def without_marker(body: str) -> str:
    return body.split("\n", 1)[1]


def test_a_pull_request_on_paper_is_the_one_that_the_run_opens(project: Cloned) -> None:
    project.settle(settings=SETTINGS)
    before, there = look(project), remote(project)
    code, paper = rendered(project)
    assert code == 0
    assert (look(project), remote(project)) == (before, there)
    assert paper["operation"] == "created"
    assert (paper["url"], paper["draft"], paper["branch"], paper["base"]) == ("", False, "sweeper/s", "main")
    assert (paper["labels"], paper["reviewers"], paper["milestone"]) == (["lint"], ["ada", "acme/web"], "1.0")
    assert [subject for _, subject in paper["commits"]] == [f"s: fix pkg/m{number}.py" for number in range(4)]
    assert project.ledger("SELECT 1 FROM note WHERE name = 'pull_requests'") == []
    paid = project.attempts()
    ended = project.run_it()
    (made,) = project.pull_requests(ended)
    assert project.attempts() == paid
    assert (made["operation"], made["head"]) == ("created", paper["head"])
    assert project.pull.title == paper["title"]
    assert without_marker(project.pull.body) == without_marker(paper["body"])
    # and now that it is there, it is found and would be left alone
    there = remote(project)
    code, paper = rendered(project)
    assert (paper["operation"], paper["url"], paper["head"]) == ("none", made["url"], made["head"])
    assert remote(project) == there


def test_without_a_token_nothing_is_asked_and_the_text_is_still_there(project: Cloned) -> None:
    project.settle()
    ended = project.call("run", "--dry-run=pr", token="")
    assert "there is no token" in ended.err
    assert "taken to be where they were last fetched or pushed from here" in ended.err
    assert ended.code == 0
    assert "s: fix pkg/m0.py" in ended.out
    assert "8 findings fixed" in ended.out
    mark = next(line for line in ended.out.splitlines() if "<!-- sweeper" in line)
    assert marker.read(mark.removeprefix("  | ") + "\n") is not None


def test_a_moved_base_is_judged_on_paper_too(project: Cloned) -> None:
    project.settle()
    project.run("--dry-run=fix")
    (project.folder / "other.txt").write_text("theirs\n")
    project.git("add", "other.txt")
    project.git("commit", "-qm", "theirs")
    project.push()
    tip = project.git("rev-parse", "HEAD").strip()
    project.git("reset", "-q", "--hard", "HEAD~1")
    there = remote(project)
    _, paper = rendered(project)
    mark = marker.read(paper["body"])
    assert mark is not None
    assert mark.onto == tip
    assert "put on its tip" in paper["body"]
    assert remote(project) == there
    assert project.pull_requests(project.run_it())[0]["head"] == paper["head"]


def test_several_on_paper_are_several(project: Cloned) -> None:
    project.settle(settings='split = "max_files = 2"\n')
    ended = project.call("run", "--json", "--dry-run=pr")
    first, second = ended.document["rendered"]
    assert "not open yet" in first["body"]
    assert [len(each["commits"]) for each in (first, second)] == [2, 2]
    assert project.forge.hub.open_pulls() == []
    made = project.pull_requests(project.run_it())
    assert [each["head"] for each in made] == [first["head"], second["head"]]


def test_what_a_dry_fix_has_fixed_is_published_when_somebody_says_so(project: Cloned) -> None:
    project.settle()
    refused = project.call("run", "--pull-request", "--dry-run=fix")
    assert (refused.code, project.attempts()) == (2, 0)
    dry = project.call("run", "--json", "--dry-run=fix", token="")
    assert dry.code == 0, dry.err
    (made,) = project.pull_requests(project.call("pr", "--json"))
    assert (made["operation"], made["head"]) == ("created", dry.report["tip"])
    assert project.call("report", "--json").report["dry_run"] == ""
