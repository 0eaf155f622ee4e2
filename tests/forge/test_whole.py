"""From a sweep to a pull request that was read back: real git over HTTP, real sandboxes, the fake forge."""

from __future__ import annotations

import pytest

from tests.forge.conftest import Cloned
from tests.forge.server import TOKEN

pytestmark = pytest.mark.slow

# What an agent would do that takes itself for the owner of the repository: push, open a pull request, look for a token.
BOLD = (
    "sh -c 'git add -A; git commit -qm mine; git push {url} HEAD:refs/heads/evil; git push origin HEAD:main; "
    'gh pr create --fill; grep -qs ghp_ /proc/*/environ .git/config && echo "LEAK = 1" >> "$1"; '
    'exec ruff check --fix "$@"\' sh {{files}}'
)


def test_a_drained_sweep_ends_with_one_pull_request_whose_head_is_what_was_pushed(project: Cloned) -> None:
    project.settle()
    ended = project.run_it()
    assert ended.code == 0, ended.err
    (made,) = project.pull_requests(ended)
    hub = project.forge.hub
    assert made == {
        "sweep": "s", "part": "", "number": 1, "url": f"{project.forge.url}/acme/widgets/pull/1",
        "head": hub.tip("sweeper/s"), "branch": "sweeper/s", "base": "main", "operation": "created", "draft": False,
        "notes": [],
    }  # fmt: skip
    assert project.git("rev-parse", "sweeper/s").strip() == made["head"]
    assert project.subjects() == [f"s: fix pkg/m{number}.py" for number in range(4)]
    assert "import ast" not in "".join(project.files().values())
    body = project.pull.body
    assert "**8 findings fixed** in 4 units" in body
    assert "`F401` 2 → 0" in body
    again = project.run_it()
    assert again.code == 0, again.err
    (same,) = project.pull_requests(again)
    assert same == made | {"operation": "none"}
    assert project.pull.body == body
    assert project.pull_requests(project.call("pr", "--json")) == [same]


def test_a_draft_appears_after_the_first_green_round_and_follows_the_second(project: Cloned) -> None:
    project.settle("sed -i /bisect/d {files}", "ruff check --fix {files}")
    ended = project.run_it()
    assert ended.code == 0, ended.err
    said = [line for line in ended.err.splitlines() if "/pull/1" in line or ": round " in line]
    drafted = next(number for number, line in enumerate(said) if line.endswith("/pull/1 created, draft"))
    assert "round 2" in said[drafted - 1]  # between the first round's barrier and the second's work
    assert any("round 2: 4 units merged" in line for line in said[drafted:])
    (made,) = project.pull_requests(ended)
    assert (made["operation"], made["draft"]) == ("created", False)
    assert len(project.subjects()) == 8
    posts = [request for request in project.forge.hub.requests if request.startswith("POST")]
    assert posts == ["POST /api/v3/repos/acme/widgets/pulls", "POST /api/graphql"]
    assert "- `pkg/m0.py`: `F401` 2 → 0; `rung 1: sed -i /bisect/d {files}, rung 2: ruff check" in project.pull.body


def test_b28_d22_neither_an_agents_push_nor_local_edits_get_into_the_pull_request(project: Cloned) -> None:
    project.settle(BOLD.format(url=project.forge.clone))
    edited = project.folder / "pkg/m0.py"
    edited.write_text("import json\n\nLOCAL = True\n")
    (project.folder / "notes.txt").write_text("mine")
    ended = project.run_it()
    assert ended.code == 0, ended.err
    assert "uncommitted edits are not included" in ended.err
    assert edited.read_text() == "import json\n\nLOCAL = True\n"
    assert (project.folder / "notes.txt").read_text() == "mine"
    hub = project.forge.hub
    assert sorted(hub.branches()) == ["main", "sweeper/s"]
    assert len(hub.pulls) == 1
    assert "notes.txt" not in project.files()
    everything = "".join(project.files().values())
    assert "LOCAL" not in everything
    assert "LEAK" not in everything
    assert "import ast" not in everything
    assert project.subjects() == [f"s: fix pkg/m{number}.py" for number in range(4)]
    for path in (project.folder / ".git").rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes(), path


def test_e13_a_base_that_moved_is_checked_again_by_the_real_gate(project: Cloned) -> None:
    (project.folder / "ruff.toml").write_text('lint.select = ["F401", "F821"]\n')
    project.commit()
    project.push()
    project.settle()
    assert project.call("run").code == 0
    hub = project.forge.hub
    hub.commit_on("main", "pkg/m0.py", "import ast\nimport json\n\nprint(ast)\n")
    moved = hub.commit_on("main", "pkg/m1.py", "import ast\nimport bisect\n\nVALUE = bisect\n")
    ended = project.call("pr", "--json")
    assert ended.code == 0, ended.err
    assert f"s: on {moved[:12]}: setting up and checking ..." in ended.err
    (made,) = project.pull_requests(ended)
    assert (made["operation"], made["draft"], made["head"]) == ("created", False, hub.tip("sweeper/s"))
    assert hub.git("merge-base", "main", "sweeper/s") == moved
    assert project.subjects() == ["s: fix pkg/m2.py", "s: fix pkg/m3.py"]
    assert project.files()["pkg/m1.py"].endswith("VALUE = bisect")
    left = project.pull.body.split("### Verified, but not on this branch (2)")[1]
    assert "- `pkg/m0.py`: `conflicts in pkg/m0.py; " in left
    assert "- `pkg/m1.py`: `breaks the gate there: new findings" in left  # an import that the base uses by now


def test_e01_the_token_is_looked_at_before_anything_is_spent(project: Cloned) -> None:
    project.settle()
    refused = project.run_it(token="")
    assert (refused.code, refused.out) == (6, "")
    assert "no token for 127.0.0.1" in refused.err
    project.forge.hub.tokens[TOKEN].push = False
    refused = project.run_it()
    assert (refused.code, refused.out) == (6, "")
    assert "may not push to acme/widgets" in refused.err
    assert project.ledger("SELECT count(*) FROM attempt") == [(0,)]
    assert project.forge.pushes == []


def test_e01_what_was_paid_for_is_kept_where_the_forge_refuses_in_the_end(project: Cloned) -> None:
    project.settle()
    project.forge.hub.tokens[TOKEN].may_open = False
    ended = project.run_it()
    assert ended.code == 6
    assert ended.report["buckets"]["fixed"] == 8
    assert project.pull_requests(ended) == []
    assert f"{project.forge.url}/acme/widgets/compare/main...sweeper/s?expand=1" in ended.err
    assert project.recount() == 0
    project.forge.hub.tokens[TOKEN].may_open = True
    again = project.call("pr")
    assert (again.code, again.out) == (0, f"pull request: {project.forge.url}/acme/widgets/pull/1 created\n")


def test_a_run_that_a_limit_ended_leaves_a_draft_and_resume_goes_on_with_it(project: Cloned) -> None:
    project.settle()
    ended = project.run_it("--units-per-fire", "2")
    assert ended.code == 5, ended.err
    (draft,) = project.pull_requests(ended)
    assert (draft["operation"], draft["draft"]) == ("created", True)
    ended = project.call("resume", "--json")
    assert ended.code == 0, ended.err
    (ready,) = project.pull_requests(ended)
    assert (ready["operation"], ready["draft"], ready["number"]) == ("updated", False, draft["number"])
    assert len(project.subjects()) == 4


def test_e11_a_run_for_a_pull_request_from_a_fork_writes_nothing(project: Cloned) -> None:
    project.settle()
    ended = project.run_it(GITHUB_EVENT_NAME="pull_request")
    assert ended.code == 0, ended.err
    assert project.forge.pushes == []
