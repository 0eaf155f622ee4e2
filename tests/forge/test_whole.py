"""From a sweep to a pull request that was read back: real git over HTTP, real sandboxes, the fake forge."""

from __future__ import annotations

from tests.forge.conftest import Cloned


def test_a_drained_sweep_ends_with_one_pull_request_whose_head_is_what_was_pushed(project: Cloned) -> None:
    project.settle()
    ended = project.run_it()
    assert ended.code == 0, ended.err
    (made,) = project.pull_requests(ended)
    hub = project.forge.hub
    assert made == {
        "sweep": "s", "part": "", "number": 1, "url": f"{project.forge.url}/acme/widgets/pull/1",
        "head": hub.tip("sweeper/s"), "branch": "sweeper/s", "base": "main", "operation": "created", "draft": False,
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
    assert project.pull.body == body
    assert same == made | {"operation": "none"}
    assert project.pull.body == body
    assert project.pull_requests(project.call("pr", "--json")) == [same]
