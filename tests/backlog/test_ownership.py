"""Owners come from a commit's CODEOWNERS alone, wherever the forges look for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from sweeper.backlog.child import Parser
from sweeper.backlog.owners import LOCATIONS, MAX_BYTES
from sweeper.backlog.ownership import Ownership, owners_of
from sweeper.repo import Repo
from tests.repo.builders import Project

pytestmark = pytest.mark.anyio


class Ask(Protocol):
    async def __call__(self, files: Mapping[str, bytes], parser: Parser | None = None) -> Ownership: ...


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    project = Project(tmp_path)
    project.git("init", "--quiet")

    async def owners(files: Mapping[str, bytes], parser: Parser | None = None) -> Ownership:
        commit = project.commit({"a.py": b"", **files})
        project.write(dict.fromkeys(files, b"* @work-tree\n"))
        parser = parser or Parser()
        try:
            async with await Repo.open(tmp_path) as repo:
                return await owners_of(repo, parser, commit, ["a.py", "na\udcefve.py"])
        finally:
            await parser.aclose()

    return owners


async def test_the_first_place_that_has_the_file_counts(ask: Ask) -> None:
    assert await ask({"elsewhere/CODEOWNERS": b"* @x"}) == Ownership()
    for number in reversed(range(len(LOCATIONS))):
        places = {place: b"*.py @x\n/a.py @" + place.encode() for place in LOCATIONS[number:]}
        found = await ask({place: text.replace(b".g", b"g") for place, text in places.items()})
        owner = "@" + LOCATIONS[number].removeprefix(".")
        assert found == Ownership(LOCATIONS[number], {"a.py": (owner,), "na\udcefve.py": ("@x",)})


async def test_a_link_is_no_codeowners_file(ask: Ask, tmp_path: Path) -> None:
    os.symlink("a.py", tmp_path / "CODEOWNERS")
    assert await ask({"docs/CODEOWNERS": b"* @x"}) == Ownership(
        "docs/CODEOWNERS", {"a.py": ("@x",), "na\udcefve.py": ("@x",)}
    )


async def test_bad_lines_are_named_and_the_rest_counts(ask: Ask) -> None:
    found = await ask({"CODEOWNERS": b"* @x\n!a.py @y\n"})
    assert found.of["a.py"] == ("@x",)
    assert found.notes == ("CODEOWNERS:2: a pattern cannot be negated with '!'; the line is skipped",)


async def test_a_file_that_cannot_be_read_is_said_and_never_fatal(ask: Ask) -> None:
    found = await ask({"CODEOWNERS": b"#" * MAX_BYTES + b"\n* @x"})
    assert found == Ownership("CODEOWNERS", notes=("CODEOWNERS is larger than 3 MB: no owner is known",))
    hostile = b"".join(b"*a*a*a%d @x\n" % number for number in range(150_000))
    impatient = Parser(wall=0.05)
    found = await ask({"CODEOWNERS": hostile}, impatient)
    assert (found.where, dict(found.of)) == ("CODEOWNERS", {})
    assert "no owner is known" in found.notes[0]
