"""CODEOWNERS as GitHub documents it, and GitLab's sections; the rest of gitignore's rules as pathspec knows them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from sweeper.backlog.owners import group_of, notes, owned, read

# The example of GitHub's documentation, line by line.
DOCUMENTED = b"""\
# This is a comment.
*       @global-owner1 @global-owner2
*.js    @js-owner #This is an inline comment.
*.go docs@example.com
*.txt @octo-org/octocats
/build/logs/ @doctocat
docs/*  docs@example.com
apps/ @octocat
/docs/ @doctocat
/scripts/ @doctocat @octocat
**/logs @octocat
/apps/ @octocat
/apps/github
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README.md", ("@global-owner1", "@global-owner2")),
        ("src/deep/a.js", ("@js-owner",)),
        ("a.go", ("docs@example.com",)),
        ("x/notes.txt", ("@octo-org/octocats",)),
        ("build/logs/a", ("@octocat",)),
        ("docs/a.md", ("@doctocat",)),
        ("docs/deep/a.md", ("@doctocat",)),
        ("src/docs/a.md", ("@global-owner1", "@global-owner2")),
        ("src/apps/a.py", ("@octocat",)),
        ("scripts/x/y", ("@doctocat", "@octocat")),
        ("deeply/nested/logs/x", ("@octocat",)),
        ("apps/a", ("@octocat",)),
        ("apps/github/a", ()),
        ("apps/github", ()),
    ],
)
def test_the_documented_example(path: str, owners: tuple[str, ...]) -> None:
    assert read(DOCUMENTED).of(path) == owners
    assert read(DOCUMENTED).bad == ()


def owner(line: str, path: str) -> bool:
    return read(f"{line} @x\n".encode()).of(path) == ("@x",)


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("docs/*", ["docs/a"], ["docs/a/b", "x/docs/a", "docs"]),
        ("/*", ["a"], ["a/b"]),
        ("*", ["a", "a/b/c"], []),
        ("apps/", ["apps/a", "x/apps/a/b"], ["apps", "x/apps"]),
        ("apps", ["apps", "x/apps", "apps/a"], ["napps"]),
        ("/a/b", ["a/b", "a/b/c"], ["x/a/b", "a/bc"]),
        ("a/**/b", ["a/b", "a/x/y/b", "a/b/c"], ["b", "a/xb"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "x/a/b"]),
        ("a?.py", ["ab.py", "x/ab.py"], ["a/.py", "a.py"]),
        (r"my\ file.md", ["my file.md"], ["my", "file.md"]),
        (r"a\*b", ["a*b"], ["axb"]),
        (r"app/\[slug\].js", ["app/[slug].js"], ["app/s.js"]),
        ("A.py", ["A.py"], ["a.py"]),
        ("é.py", ["é.py"], ["e.py"]),
    ],
)
def test_patterns(pattern: str, inside: list[str], outside: list[str]) -> None:
    assert [path for path in inside if not owner(pattern, path)] == []
    assert [path for path in outside if owner(pattern, path)] == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"!a.py @x", "cannot be negated"),
        (b"[ab].py @x", "no range"),
        (b"\\#a @x", "escaped '#'"),
        (b"a.py nobody", "'nobody' is no owner"),
        (b"a.py @", "'@' is no owner"),
        (b"/ @x", "matches no path"),
        (b"a//b @x", "matches no path"),
        (b"a\\", "ends in a backslash"),
    ],
)
def test_a_bad_line_is_skipped_and_reported(line: bytes, why: str) -> None:
    owners = read(b"*.py @all\n" + line + b"\nb.py @b\n")
    ((number, said),) = owners.bad
    assert number == 2
    assert why in said
    assert owners.of("a.py") == ("@all",)
    assert owners.of("b.py") == ("@b",)


def test_many_bad_lines_are_told_in_few_words() -> None:
    told = notes("CODEOWNERS", read(b"! @x\n" * 30).bad)
    assert told[0] == "CODEOWNERS:1: a pattern cannot be negated with '!'; the line is skipped"
    assert told[-1] == "CODEOWNERS: 20 more lines are skipped"
    assert len(told) == 11


def test_sections_of_gitlab_decide_each_for_themselves() -> None:
    owners = read(
        b"* @top\n[Docs][2] @docs @top\n*.md\n*.rst @writer\n^[Database]\n/db/ @dba\n/db/own.md @@maintainer\n[Empty]\n"
    )
    assert owners.bad == ()
    assert owners.of("a.py") == ("@top",)
    assert owners.of("a.md") == ("@top", "@docs")
    assert owners.of("db/a.md") == ("@top", "@docs", "@dba")
    assert owners.of("db/own.md") == ("@top", "@docs", "@@maintainer")
    assert owners.of("a.rst") == ("@top", "@writer")


def test_one_owner_in_two_spellings_is_one_group() -> None:
    owners = read(b"a @Org/Team @me\nb @me @org/team\n")
    assert owners.of("b") == ("@me", "@Org/Team")
    assert group_of(owners.of("a")) == group_of(owners.of("b")) == "@me @Org/Team"
    assert group_of(()) == ""


def test_any_encoding_and_line_ending() -> None:
    owners = read(b"\xef\xbb\xbf*.py @x\r\n\xff.md @y\r\n\r\n")
    assert owners.of("a.py") == ("@x",)
    assert owners.of("\udcff.md") == ("@y",)
    assert owned(b"*.py @x\n[ @y", ["a.py", "b"]) == {
        "owners": [("@x",), ()],
        "bad": ((2, "'[ ]' is no range of characters here"),),
    }


@given(st.binary(max_size=200), st.text(max_size=20))
def test_any_bytes_make_some_owners(data: bytes, path: str) -> None:
    read(data).of(path)


PARTS = st.sampled_from(["a", "b", "ab", "*", "**", "a*", "*b", "?", "*.js", "a.js"])
PATTERNS = st.builds(
    lambda first, parts, last: first + "/".join(parts) + last,
    st.sampled_from(["", "/"]),
    st.lists(PARTS, min_size=1, max_size=4),
    st.sampled_from(["", "/"]),
)
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "c", "a.js"]), min_size=1, max_size=5).map("/".join)


@given(PATTERNS, PATHS)
def test_a_pattern_means_what_it_means_in_gitignore(pattern: str, path: str) -> None:
    if pattern.endswith("/*"):
        return  # the one place where CODEOWNERS differs: see test_patterns
    assert owner(pattern, path) == GitIgnoreSpec.from_lines([pattern]).match_file(path)


@given(st.lists(st.tuples(PATTERNS, st.booleans()), max_size=8), PATHS)
def test_the_last_line_that_matches_decides(lines: list[tuple[str, bool]], path: str) -> None:
    text = "".join(f"{pattern} {f'@o{number}' if some else ''}\n" for number, (pattern, some) in enumerate(lines))
    matching = [number for number, (pattern, _) in enumerate(lines) if owner(pattern, path)]
    expected = (f"@o{matching[-1]}",) if matching and lines[matching[-1]][1] else ()
    assert read(text.encode()).of(path) == expected


def test_a_hostile_pattern_costs_no_more_than_its_length() -> None:
    """A matcher that tries every way would not end."""
    deep = "/".join(["a"] * 60)
    owners = read(b"/" + b"**/a/" * 60 + b"b @x\n" + b"*a" * 100 + b"b @y\n")
    assert owners.of(deep) == owners.of("a" * 400) == ()
