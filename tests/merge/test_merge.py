from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio
import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from sweeper.gate.merge import Merged, Verified, merge
from sweeper.records import Change
from sweeper.repo import Repo
from tests.repo.builders import Project, project

LINES = b"".join(b"%d\n" % i for i in range(20))


def run(made: Project, work: Callable[[Repo, Units], Awaitable[None]]) -> None:
    async def main() -> None:
        async with await Repo.open(made.top) as repo:
            await work(repo, Units(repo, made.head))

    anyio.run(main)


class Units:
    """Verified commits on one base, made as captures make them."""

    def __init__(self, repo: Repo, base: str) -> None:
        self.repo, self.base = repo, base

    async def __call__(self, key: str, files: Mapping[str, bytes | None], when: float = 10.0) -> Verified:
        changes = [Change(path, data) for path, data in files.items()]
        commit = await self.repo.write_change(self.base, changes, key, f"refs/sweeper/r/{key}/1", when)
        return Verified(key, commit, f"fix {key}\n\nSweeper-Unit: {key}\n")


def line(number: int, text: bytes) -> bytes:
    return LINES.replace(b"\n%d\n" % number, b"\n" + text + b"\n")


def test_one_commit_per_unit_in_order(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {f"d{i}/f.py": b"x\n" for i in range(30)})
    base = made.head

    async def work(repo: Repo, unit: Units) -> None:
        units = [await unit(f"u{i:02}", {f"d{i}/f.py": b"%d\n" % i, f"d{i}/new.py": b"n\n"}) for i in range(30)]
        merged = await merge(repo, base, units)
        assert list(merged.merged) == [unit.key for unit in units]
        assert (merged.empty, merged.conflicts) == ((), {})
        assert await merge(repo, base, units) == merged
        log = made.text("log", "--reverse", "--format=%H %P %s %an", f"{base}..{merged.tip}").splitlines()
        parents = [base, *merged.merged.values()]
        name = repo.identity.name
        assert log == [
            f"{commit} {parent} fix {key} {name}"
            for (key, commit), parent in zip(merged.merged.items(), parents, strict=False)
        ]
        assert made.text("log", "-1", "--format=%B", merged.tip).endswith("Sweeper-Unit: u29")
        for i in range(30):
            assert made.show(merged.tip, f"d{i}/f.py") == b"%d\n" % i
        assert await repo.refs("refs/sweeper/") == {f"refs/sweeper/r/{unit.key}/1": unit.commit for unit in units}

    run(made, work)
    assert made.text("fsck", "--strict", "--no-dangling") == ""
    assert made.head == base
    assert made.git("status", "--porcelain") == b""


def test_no_git_is_started_per_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Units with paths of their own are put together from trees: merging many costs no process for each."""
    from sweeper.repo.run import Git

    made = project(tmp_path / "p", {f"d/f{i}": b"x\n" for i in range(99)})

    async def work(repo: Repo, unit: Units) -> None:
        units = [await unit(f"u{i}", {f"d/f{i}": b"y\n"}) for i in range(99)]

        def none(*args: object, **options: object) -> None:
            raise AssertionError(args)

        monkeypatch.setattr(Git, "answer", none)
        merged = await merge(repo, made_head, units + units)
        assert len(merged.merged) == len(merged.empty) == 99

    made_head = made.head
    run(made, work)


def test_e12_nothing_is_left_to_change(tmp_path: Path) -> None:
    """What the tip already has makes no commit: the same fix twice, or one that the base got meanwhile."""
    made = project(tmp_path / "p", {"a.py": LINES, "b.py": b"b\n"})

    async def work(repo: Repo, unit: Units) -> None:
        one = await unit("one", {"a.py": line(5, b"five")})
        same = await unit("same", {"a.py": line(5, b"five")})
        gone = await unit("gone", {"b.py": None})
        both = await unit("both", {"a.py": line(5, b"five"), "b.py": None})
        tip = made.commit({"a.py": line(5, b"five")})
        merged = await merge(repo, tip, [one, same, gone, both])
        assert merged.empty == ("one", "same", "both")
        assert list(merged.merged) == ["gone"]
        assert made.names(merged.tip) == [b"a.py"]
        assert await merge(repo, merged.tip, [one, both]) == Merged(merged.tip, {}, ("one", "both"))
        assert await merge(repo, tip, []) == Merged(tip, {})

    run(made, work)


def test_changes_of_one_file_are_merged_line_by_line(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a.py": LINES, "b.py": b"b\n"})

    async def work(repo: Repo, unit: Units) -> None:
        units = [
            await unit("u1", {"a.py": line(3, b"three")}),
            await unit("u2", {"a.py": line(15, b"fifteen"), "b.py": b"B\n"}),
            await unit("u3", {"a.py": line(3, b"THREE"), "b.py": b"BB\n"}),
            await unit("u4", {"a.py": line(9, b"nine")}),
            await unit("u5", {"b.py": None}),
        ]
        merged = await merge(repo, made.head, units)
        assert list(merged.merged) == ["u1", "u2", "u4"]
        assert merged.conflicts == {"u3": ("a.py", "b.py"), "u5": ("b.py",)}
        text = made.show(merged.tip, "a.py")
        assert [text.split(b"\n")[i] for i in (3, 9, 15)] == [b"three", b"nine", b"fifteen"]
        assert made.show(merged.tip, "b.py") == b"B\n"

    run(made, work)


def test_b17_user_index_lock_and_b24_hooks_do_not_matter(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    (made.top / ".git" / "index.lock").write_text("")
    hook = made.top / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nsleep 3; exit 1\n")
    hook.chmod(0o755)

    async def work(repo: Repo, unit: Units) -> None:
        merged = await merge(repo, made.head, [await unit("u1", {"a.py": b"1\n"})])
        assert list(merged.merged) == ["u1"]

    run(made, work)


def test_a_commit_is_never_older_than_its_parent(tmp_path: Path) -> None:
    made = project(tmp_path / "p")

    async def work(repo: Repo, unit: Units) -> None:
        late = 4_000_000_000.0
        merged = await merge(
            repo, made.head, [await unit("u1", {"x": b"1"}, late), await unit("u2", {"y": b"2"}, late - 50)]
        )
        assert made.text("log", "-2", "--format=%ct", merged.tip).split() == ["4000000000", "4000000000"]

    run(made, work)


PATHS = st.sampled_from(["a", "b", "c/x", "c/y", "c", "d/e/f", "d"])
EDITS = st.dictionaries(PATHS, st.one_of(st.none(), st.sampled_from([b"1\n", b"2\n"])), min_size=1, max_size=3)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(EDITS, min_size=1, max_size=5))
def test_composing_agrees_with_git(
    tmp_path_factory: pytest.TempPathFactory, edits: list[dict[str, bytes | None]]
) -> None:
    """Whatever the units do: each is merged, empty or a conflict, exactly as git's own merge sees it."""
    made = project(tmp_path_factory.mktemp("any") / "p", {"a": b"0\n", "c/x": b"0\n", "d/e/f": b"0\n", "keep": b"k\n"})

    async def work(repo: Repo, unit: Units) -> None:
        units = []
        for i, edit in enumerate(edits):
            try:
                made_unit = await unit(f"u{i}", edit)
            except Exception:  # no tree: a file where a directory is
                continue
            if made_unit.commit:
                units.append(made_unit)
        merged = await merge(repo, made.head, units)
        assert [*merged.merged, *merged.empty, *merged.conflicts] != [] or not units
        tip = made.head
        for key, commit, message, _ in units:
            expected = await repo.merge_tree(tip, commit)
            if key in merged.conflicts:
                assert not isinstance(expected, str)
                continue
            assert isinstance(expected, str)
            if key in merged.merged:
                tip = merged.merged[key]
            assert (await repo.commit_of(tip)).tree == expected, (key, message)

    run(made, work)
