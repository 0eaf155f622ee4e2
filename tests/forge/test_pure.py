"""Addresses, tokens, markers, splitting and the choice of a branch: no network, no git."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.errors import ConfigError, ForgeFailed
from sweeper.forge import address, marker, token
from sweeper.forge.contract import PullRequest
from sweeper.forge.split import MOST, Item, split
from sweeper.publish.where import How, Seen, choose

GITHUB = ("github.com", "https://github.com", "https://api.github.com", "https://api.github.com/graphql")


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://github.com/acme/widgets.git", GITHUB),
        ("https://x-access-token:secret@github.com/acme/widgets", GITHUB),
        ("git@github.com:acme/widgets.git", GITHUB),
        ("ssh://git@ssh.github.com:443/acme/widgets.git", GITHUB),
        ("github.com:acme/widgets", GITHUB),
        (
            "https://ghe.example.com:8443/acme/widgets.git",
            ("ghe.example.com:8443", "https://ghe.example.com:8443", "https://ghe.example.com:8443/api/v3",
             "https://ghe.example.com:8443/api/graphql"),
        ),
        (
            "git@octo.ghe.com:acme/widgets.git",
            ("octo.ghe.com", "https://octo.ghe.com", "https://api.octo.ghe.com", "https://api.octo.ghe.com/graphql"),
        ),
    ],
)  # fmt: skip
def test_a_remote_says_which_forge_and_repository(url: str, found: tuple[str, ...]) -> None:
    place = address.find(url)
    assert (place.host, place.web, place.api, place.graphql) == found
    assert place.full == "acme/widgets"
    assert "secret" not in address.shown(url)


@pytest.mark.parametrize(
    "url",
    ["../elsewhere", "https://github.com/acme", "https://gitlab.com/a/b.git", "git@bitbucket.org:a/b", "file:///x"],
)
def test_a_remote_without_a_forge_is_refused_with_the_way_out(url: str) -> None:
    with pytest.raises(ConfigError) as error:
        address.find(url)
    assert error.value.hint


def test_a_token_is_for_the_host_that_the_api_is_on() -> None:
    place = address.find("git@github.com:acme/widgets.git", api="https://api.elsewhere.example/api/v3/")
    assert (place.host, place.api) == ("api.elsewhere.example", "https://api.elsewhere.example/api/v3")
    both = {"GITHUB_TOKEN": "public", "GH_ENTERPRISE_TOKEN": "enterprise"}
    assert token.find(place, both, gh=lambda host: "").value == "enterprise"
    assert token.find(address.find("git@github.com:a/b"), both).value == "public"
    runner = {"GITHUB_TOKEN": "job", "GITHUB_SERVER_URL": "https://api.elsewhere.example"}
    assert token.find(place, runner).value == "job"
    with pytest.raises(ForgeFailed, match="no token for"):
        token.find(place, {"GITHUB_TOKEN": "public"}, gh=lambda host: "")


def test_an_empty_token_is_none_and_gh_is_asked_last() -> None:
    place = address.find("git@github.com:a/b")
    assert token.find(place, {"GH_TOKEN": " ", "GITHUB_TOKEN": ""}, gh=lambda host: f"of {host}") == token.Token(
        "of github.com", "gh auth token"
    )
    with pytest.raises(ForgeFailed, match="MINE is not set"):
        token.find(place, {"GH_TOKEN": "x"}, name="MINE")
    assert "secret" not in repr(token.find(place, {"MINE": "secret"}, name="MINE"))


TEXT = st.text(st.characters(exclude_categories=()), max_size=30)


@given(st.text("abcXYZ019._/-", max_size=20), st.integers(0, 1 << 40), st.booleans(), TEXT)
def test_a_marker_is_read_as_it_was_written_and_only_from_a_line_of_its_own(
    word: str, until: int, shared: bool, rest: str
) -> None:
    mark = marker.Marker("ruff", word, word, word, word, until, word, shared)
    assert marker.read(marker.write(mark) + "\r\n" + rest) == mark
    assert marker.read("Theirs.\r\n\r\n" + marker.write(mark) + "\r\n" + rest) == mark
    assert marker.read("> " + marker.write(mark) + "\n") is None
    assert marker.read(rest) is None


@pytest.mark.parametrize(
    "line",
    [
        "<!-- sweeper {} -->\n",
        "<!-- sweeper [1] -->\n",
        '<!-- sweeper {"sweep":"a","run":"r","part":"","head":"h","onto":"o","until":"soon"} -->\n',
        '<!-- sweeper {"sweep":"a","run":1,"part":"","head":"h","onto":"o"} -->\n',
        '<!-- sweeper {"sweep":"a","run":"r","part":"","head":"h","onto":"o","more":1} -->\n',
    ],
)
def test_a_broken_marker_is_none(line: str) -> None:
    assert marker.read(line) is None


PATHS = st.lists(st.sampled_from(["a/1", "a/2", "b/1", "b/2", "c", "d/e/f"]), min_size=1, max_size=3, unique=True)
RULES = st.lists(st.sampled_from(["F401", "E501"]), max_size=2)
ITEMS = st.lists(st.tuples(PATHS, RULES, st.sampled_from(["", "", "one", "two"])), max_size=12)
HOW = st.sampled_from(["none", "owners", "directory", "rule", "max_files = 1", "max_files = 3"])


@given(ITEMS, HOW)
def test_parts_share_no_path_and_no_bond_and_together_are_everything(
    rows: list[tuple[list[str], list[str], str]], how: str
) -> None:
    items = [Item(str(number), tuple(paths), tuple(rules), bond) for number, (paths, rules, bond) in enumerate(rows)]
    shares = split(items, how, lambda path: (f"@{path[0]}",))
    assert sorted(id for share in shares for id in share.ids) == sorted(item.id for item in items)
    paths = [{path for id in share.ids for path in items[int(id)].paths} for share in shares]
    assert sum(map(len, paths)) == len(set().union(*paths)) if paths else True
    bonds = [{items[int(id)].bond for id in share.ids} - {""} for share in shares]
    assert sum(map(len, bonds)) == len(set().union(*bonds)) if bonds else True
    assert len({share.slug for share in shares}) == len(shares)
    for share in shares:
        assert [int(id) for id in share.ids] == sorted(int(id) for id in share.ids)


def test_split_by_each_kind() -> None:
    items = [Item("1", ("a/x.py",), ("F401",)), Item("2", ("b/y.py",), ("E501",)), Item("3", ("c.py",), ("F401",))]
    owners = {"a/x.py": ("@org/a",), "b/y.py": ("@b",), "c.py": ()}
    labels = [share.label for share in split(items, "owners", owners.__getitem__)]
    assert labels == ["@org/a", "@b", "nobody's"]
    assert [share.label for share in split(items, "directory")] == ["a", "b", "."]
    assert [share.ids for share in split(items, "rule")] == [("1", "3"), ("2",)]
    assert [share.ids for share in split(items, "max_files = 2")] == [("1", "2"), ("3",)]
    assert [share.slug for share in split(items, "directory")] == ["a", "b", split(items, "directory")[2].slug]


def test_too_many_parts_share_the_last_one() -> None:
    items = [Item(str(number), (f"d{number}/x.py",)) for number in range(3 * MOST)]
    shares = split(items, "directory")
    assert len(shares) == MOST
    assert shares[-1].label == "everything else"


def pull(number: int, branch: str, head: str, *, state: str = "open", mark: marker.Marker | None = None) -> PullRequest:
    body = marker.write(mark) + "\n" if mark else "by hand"
    return PullRequest(number, f"url{number}", state, True, branch, head, "main", "t", body, "dev", True)


MARK = marker.Marker("s", "r0", "", "h1", "base")
SEEN = Seen(heads={}, pulls=(), known={}, runs=frozenset({"r1"}), now=1000.0)
NOT_RELATED: Callable[[str, str], bool] = lambda tip, head: False  # noqa: E731


def where(seen: Seen, follows: Callable[[str, str], bool] = NOT_RELATED) -> tuple[str, str, str, str] | None:
    place = choose(seen, "s", "", "sweeper/s", "r1", follows)
    return None if place is None else (place.branch, str(place.how), place.tip, place.said[:60])


def test_a_new_branch_where_there_is_none() -> None:
    assert where(SEEN) == ("sweeper/s", "new", "", "")


def test_ours_by_the_ledger_without_a_pull_request_is_used_again() -> None:
    """E01: the branch was pushed, and the pull request was refused; the next run goes on with it."""
    assert where(replace(SEEN, heads={"sweeper/s": "h1"}, known={"sweeper/s": {"h1"}})) == (
        "sweeper/s",
        "ours",
        "h1",
        "",
    )


def test_ours_by_the_marker_on_another_machine() -> None:
    seen = replace(SEEN, heads={"sweeper/s": "h1"}, pulls=(pull(1, "sweeper/s", "h1", mark=MARK),))
    assert where(seen) == ("sweeper/s", "ours", "h1", "")


def test_somebodys_commits_on_top_are_only_added_to() -> None:
    seen = replace(SEEN, heads={"sweeper/s": "h2"}, pulls=(pull(1, "sweeper/s", "h2", mark=MARK),))
    place = where(seen, lambda tip, head: (tip, head) == ("h2", "h1"))
    assert place is not None
    assert place[:3] == ("sweeper/s", "on top", "h2")
    assert "not ours" in place[3]


@pytest.mark.parametrize("by", ["ledger", "marker"])
def test_a_tip_of_ours_above_somebodys_commits_is_never_replaced(by: str) -> None:
    mark = replace(MARK, shared=by == "marker")
    seen = replace(
        SEEN,
        heads={"sweeper/s": "h1"},
        pulls=(pull(1, "sweeper/s", "h1", mark=mark),),
        shared=frozenset({"h1"} if by == "ledger" else ()),
    )
    place = where(seen)
    assert place is not None
    assert place[1] == How.ON_TOP


def test_a_rewritten_branch_is_somebodys() -> None:
    seen = replace(SEEN, heads={"sweeper/s": "h9"}, pulls=(pull(1, "sweeper/s", "h9", mark=MARK),))
    place = where(seen)
    assert place is not None
    assert place[:3] == ("sweeper/s-r1", "new", "")


def test_a_closed_pull_requests_branch_is_left_alone() -> None:
    """E04: a closed pull request left its branch."""
    seen = replace(
        SEEN,
        heads={"sweeper/s": "h1"},
        known={"sweeper/s": {"h1"}},
        pulls=(pull(1, "sweeper/s", "h1", state="closed", mark=MARK),),
    )
    place = where(seen)
    assert place is not None
    assert place[:3] == ("sweeper/s-r1", "new", "")
    assert "closed" in place[3]
    both = replace(seen, heads={"sweeper/s": "h1", "sweeper/s-r1": "x"})
    assert where(both) is None


def test_an_unfinished_run_of_another_machine_is_added_to() -> None:
    """E13: two runs at once on two machines."""
    mark = replace(MARK, until=2000)
    seen = replace(SEEN, heads={"sweeper/s": "h1"}, pulls=(pull(1, "sweeper/s", "h1", mark=mark),))
    place = where(seen)
    assert place is not None
    assert place[:3] == ("sweeper/s", "on top", "h1")
    assert where(replace(seen, now=3000.0)) == ("sweeper/s", "ours", "h1", "")
    assert where(replace(seen, runs=frozenset({"r0"}))) == ("sweeper/s", "ours", "h1", "")


def test_a_branch_of_somebodys_pull_request_is_not_taken() -> None:
    seen = replace(SEEN, heads={"sweeper/s": "h7"}, pulls=(pull(1, "sweeper/s", "h7"),))
    place = where(seen)
    assert place is not None
    assert place[:2] == ("sweeper/s-r1", "new")
