"""What comes out of a sandbox: every shape that a command can leave, real overlays only."""

from __future__ import annotations

import os

import pytest

from sweeper.records import Change
from sweeper.sandbox.contract import EntryKind, LayerCaps, Limits
from tests.sandbox.conftest import MB, SMALL, Box
from tests.sandbox.trees import LINK, PROGRAM, SUBMODULE, PlainTree

# Where one file may not be larger than the disk limit, as large as that allows.
SPARSE = """
f = open('sparse', 'w')
try: f.truncate(10 << 30)
except OSError: f.truncate(60 << 20)
"""
ROOMY = Limits(memory=1 << 30, pids=64, disk=512 * MB, output=MB)


@pytest.mark.parametrize(
    ("script", "changed"),
    [
        ("true", {}),
        ("echo new > edit.py", {"edit.py": b"new\n"}),
        ("printf 'import so\\n' > edit.py; touch -d @1 edit.py", {"edit.py": b"import so\n"}),
        ("rm gone.py", {"gone.py": None}),
        ("rm -r folder", {"folder/a.txt": None, "folder/b.txt": None}),
        ("rm -r folder; mkdir folder", {"folder/a.txt": None, "folder/b.txt": None}),
        ("rm -r folder; mkdir folder; echo a > folder/a.txt", {"folder/b.txt": None}),
        (
            "rm -r folder; mkdir -p folder/deep; echo c > folder/deep/c",
            {"folder/a.txt": None, "folder/b.txt": None, "folder/deep/c": b"c\n"},
        ),
        ("rm -r folder; echo file > folder", {"folder": b"file\n", "folder/a.txt": None, "folder/b.txt": None}),
        ("rm gone.py; mkdir gone.py; echo x > gone.py/x", {"gone.py": None, "gone.py/x": b"x\n"}),
        ("mv folder moved", {"folder/a.txt": None, "folder/b.txt": None, "moved/a.txt": b"a\n", "moved/b.txt": b"b\n"}),
        ("mv edit.py gone.py", {"edit.py": None, "gone.py": b"import os\n"}),
        ("touch edit.py; chmod 700 gone.py; chmod 000 folder", {}),
        ("cp edit.py x; cat x > edit.py; rm x", {}),
        ("rm edit.py; printf 'import os\\n' > edit.py", {}),
        ("mkdir empty; mkdir -p a/b/c", {}),
        ("ln gone.py hard; echo y >> hard", {"gone.py": b"x = 1\ny\n", "hard": b"x = 1\ny\n"}),
        ("printf 'a\\r\\nb' > edit.py", {"edit.py": b"a\r\nb"}),
        (": > edit.py", {"edit.py": b""}),
    ],
)  # fmt: skip
def test_change(box: Box, script: str, changed: dict[str, bytes | None]) -> None:
    done = box.run(script)
    assert done.facts.exit_code == 0, done.stderr
    assert done.changed == changed
    for path, data in changed.items():
        assert done.entries[path].kind is (EntryKind.DELETED if data is None else EntryKind.FILE)


@pytest.mark.parametrize(
    ("code", "path", "kind"),
    [
        ("os.symlink('/etc/passwd', 'l')", "l", EntryKind.SYMLINK),
        ("os.unlink('edit.py'); os.symlink('gone.py', 'edit.py')", "edit.py", EntryKind.SYMLINK),
        ("os.symlink('..', 'folder/up')", "folder/up", EntryKind.SYMLINK),
        ("os.mkfifo('pipe')", "pipe", EntryKind.SPECIAL),
        ("socket.socket(socket.AF_UNIX).bind('sock')", "sock", EntryKind.SPECIAL),
        ("os.mkdir('x'); os.mkdir('x/.git'); open('x/.git/config', 'w')", "x/.git", EntryKind.REFUSED_NAME),
        ("open('.GIT', 'w')", ".GIT", EntryKind.REFUSED_NAME),
        ("os.mkdir('.git.'); open('.git./config', 'w')", ".git.", EntryKind.REFUSED_NAME),
        ("open('.g\\u200cit', 'w')", ".g\u200cit", EntryKind.REFUSED_NAME),
        ("open('GIT~1', 'w')", "GIT~1", EntryKind.REFUSED_NAME),
        ("open('.git::$INDEX_ALLOCATION', 'w')", ".git::$INDEX_ALLOCATION", EntryKind.REFUSED_NAME),
        ("open('a\\\\b', 'w')", "a\\b", EntryKind.REFUSED_NAME),
        ("open('a\\nb', 'w')", "a\nb", EntryKind.REFUSED_NAME),
        (SPARSE, "sparse", EntryKind.TOO_BIG),
        ("open('huge', 'w').write('x' * 6_000_000)", "huge", EntryKind.TOO_BIG),
        ("open('edit.py', 'w').write('x' * 6_000_000)", "edit.py", EntryKind.TOO_BIG),
    ],
)
def test_hostile_entry(box: Box, code: str, path: str, kind: EntryKind) -> None:
    if path == "sock" and box.factory.name == "remote_engine":
        pytest.skip("an engine's archive leaves sockets out")
    done = box.python(f"import os, socket\n{code}")
    assert done.facts.exit_code == 0, done.stderr
    assert {p: e.kind for p, e in done.entries.items()} == {path: kind}
    assert done.changed == {path: None}


def test_devices_cannot_be_made_and_a_whiteout_of_nothing_is_nothing(box: Box) -> None:
    code = """
import os, stat
for number in (0, 1):
    try:
        os.mknod(f'device{number}', stat.S_IFCHR | 0o666, os.makedev(number, number * 3))
        print('made', number)
    except OSError:
        print('refused', number)
"""
    done = box.python(code)
    assert done.stdout.splitlines()[1] == b"refused 1"
    assert done.changed == {}


def test_forged_overlay_marks(box: Box) -> None:
    """A command may set attributes of its own; the overlay's it cannot reach."""
    code = """
import os
os.mkdir('made')
for name in ('opaque', 'redirect', 'metacopy', 'whiteout'):
    for path in ('folder', 'made', 'edit.py'):
        try:
            os.setxattr(path, 'user.overlay.' + name, b'y')
        except OSError:
            pass
"""
    done = box.python(code)
    assert done.facts.exit_code == 0, done.stderr
    assert done.changed == {}


def test_b12_names_that_are_no_text(box: Box) -> None:
    code = """
import os
for name in (b'\\xff\\xfe.py', 'gr\\u00fc\\u00dfe \\U0001f600'.encode(), b'-rf', b' lead', b'q\\"uote', b'a b'):
    open(name, 'w').write('x')
"""
    done = box.python(code)
    expected = {b"\xff\xfe.py", "grüße \U0001f600".encode(), b"-rf", b" lead", b'q"uote', b"a b"}
    assert {entry.path for entry in done.layer.entries} == expected
    assert set(done.changed.values()) == {b"x"}


def test_very_long_names_and_deep_nesting(box: Box) -> None:
    code = """
import os
open('n' * 255, 'w').write('x')
for _ in range(1500):
    os.mkdir('d')
    os.chdir('d')
open('deepest', 'w').write('x')
"""
    done = box.python(code)
    assert done.facts.exit_code == 0, done.stderr
    kinds = {entry.kind for entry in done.layer.entries}
    assert done.changed["n" * 255] == b"x"
    assert kinds == {EntryKind.FILE, EntryKind.TOO_DEEP}
    assert len(done.layer.entries) == 2


def test_c20_modes_that_shut_us_out(box: Box) -> None:
    code = """
import os
os.makedirs('shut/inner')
open('shut/inner/file', 'w').write('x')
open('secret', 'w').write('y')
for path in ('shut/inner/file', 'shut/inner', 'shut', 'secret', 'edit.py', 'folder'):
    os.chmod(path, 0)
os.mkdir('searchless'); open('searchless/f', 'w').write('z'); os.chmod('searchless', 0o400)
os.mkdir('readless'); open('readless/f', 'w').write('z'); os.chmod('readless', 0o100)
"""
    done = box.python(code)
    assert done.facts.exit_code == 0, done.stderr
    assert done.changed == {"shut/inner/file": b"x", "secret": b"y", "searchless/f": b"z", "readless/f": b"z"}


def test_executable_bit(box: Box) -> None:
    done = box.run("echo x > plain; echo x > program; chmod 755 program; chmod 755 edit.py; echo y >> edit.py")
    assert {path: entry.executable for path, entry in done.entries.items()} == {
        "plain": False, "program": True, "edit.py": True,
    }  # fmt: skip


@pytest.mark.slow
def test_fifty_thousand_files(box: Box) -> None:
    # The engine's own removal of so many files takes a minute on a busy disk.
    folders = 5 if box.factory.name == "remote_engine" else 50
    code = f"""
import os
for i in range({folders}):
    os.mkdir(f'd{{i}}')
    for j in range(1000):
        open(f'd{{i}}/{{j}}', 'w').write(str(j))
"""
    done = box.python(code, limits=ROOMY)
    assert len(done.layer.entries) == folders * 1000
    assert done.changed[f"d{folders - 1}/999"] == b"999"
    assert not done.layer.truncated


def test_too_many_entries(box: Box) -> None:
    done = box.python("for i in range(300): open(f'f{i}', 'w')", caps=LayerCaps(entries=100))
    assert done.layer.truncated
    assert len(done.layer.entries) <= 101
    assert EntryKind.TOO_MANY in {entry.kind for entry in done.layer.entries}


def test_total_bytes_are_bounded(box: Box) -> None:
    done = box.python("for i in range(10): open(f'f{i}', 'w').write('x' * 1000)", caps=LayerCaps(total_bytes=3500))
    kinds = [entry.kind for entry in done.layer.entries]
    assert (kinds.count(EntryKind.FILE), kinds.count(EntryKind.TOO_BIG)) == (3, 7)


def test_unwanted_files_are_listed_without_content(box: Box) -> None:
    done = box.run("echo x > edit.py; echo y > other; touch gone.py", wanted=lambda path: path == b"edit.py")
    assert done.changed == {"edit.py": b"x\n", "other": None}
    assert done.entries["other"].kind is EntryKind.FILE


def test_layer_can_be_left_unread(box: Box) -> None:
    done = box.run("echo x > edit.py && cat edit.py", read_layer=False)
    assert (done.stdout, done.layer.entries) == (b"x\n", ())


def test_links_and_modes_of_the_base(box: Box) -> None:
    files = {"run.sh": b"#!/bin/sh\necho ran\n", "link": b"run.sh", "dangling": b"nowhere", "sub": b"", "x/y": b"1"}
    tree = PlainTree(files, modes={"run.sh": PROGRAM, "link": LINK, "dangling": LINK, "sub": SUBMODULE})
    assert box.run("./run.sh; ./link; ls sub", tree=tree).stdout == b"ran\nran\n"
    same = box.run("rm link && ln -s run.sh link && touch -h dangling && touch sub", tree=tree)
    assert (same.facts.exit_code, same.changed) == (0, {})
    done = box.run("ln -sfn elsewhere link; rm dangling; echo file > dangling; echo in > sub/file", tree=tree)
    kinds = {path: entry.kind for path, entry in done.entries.items()}
    assert kinds == {"link": EntryKind.SYMLINK, "dangling": EntryKind.FILE, "sub/file": EntryKind.FILE}


def test_large_file_of_the_base_that_was_only_touched(box: Box) -> None:
    tree = PlainTree({"large.bin": b"x" * (8 * MB), "a": b""})
    touched = box.run("chmod 600 large.bin", tree=tree)
    assert (touched.facts.exit_code, touched.changed) == (0, {})
    assert box.run("echo y >> large.bin", tree=tree).entries["large.bin"].kind is EntryKind.TOO_BIG


def test_b05_agent_committed(box: Box) -> None:
    tree = PlainTree({"a.py": b"x\n", "b.py": b"y\n"}, git=True)
    commit = "git -c user.name=a -c user.email=a@b commit -qam done"
    script = f"echo z > a.py; rm b.py; {commit}; git checkout -q -b other; rm -rf .git"
    assert box.run(script, tree=tree).changed == {"a.py": b"z\n", "b.py": None}


# --- a change laid over the snapshot, as a verifier sees it ---

CHANGES = (
    Change("edit.py", b"edited\n"),
    Change("gone.py", None),
    Change("folder/a.txt", None),
    Change("new/deep/file", b"new\n"),
    Change("tool", b"#!/bin/sh\necho tool\n", mode=PROGRAM),
)


def test_changes_are_seen_and_are_the_base(box: Box) -> None:
    done = box.run("cat edit.py new/deep/file; ls . folder; ./tool", changes=CHANGES)
    assert done.stdout.split() == b"edited new .: edit.py folder new tool folder: b.txt tool".split()
    assert done.changed == {}


def test_only_what_differs_from_base_and_change_is_reported(box: Box) -> None:
    script = (
        "echo edited > edit.py; echo again > new/deep/file; echo back > gone.py; rm tool; "
        "rm folder/b.txt; printf 'a\\n' > folder/a.txt; touch new/deep/file"
    )
    done = box.run(script, changes=CHANGES)
    assert done.changed == {
        "new/deep/file": b"again\n", "gone.py": b"back\n", "tool": None, "folder/b.txt": None, "folder/a.txt": b"a\n",
    }  # fmt: skip


A_GONE, B_GONE = Change("folder/a.txt", None), Change("folder/b.txt", None)
WHOLE = "edit.py folder folder/a.txt folder/b.txt gone.py"


@pytest.mark.parametrize(
    ("changes", "listed"),
    [
        ((A_GONE, B_GONE), "edit.py gone.py"),
        ((A_GONE, B_GONE, Change("folder", b"f")), "edit.py folder gone.py"),
        ((Change("gone.py", None), Change("gone.py/inner", b"i")), f"{WHOLE} gone.py/inner"),
        ((A_GONE, Change("folder/c", b"c")), "edit.py folder folder/b.txt folder/c gone.py"),
        ((Change("no-such-file", None), Change("no/such/folder", None)), WHOLE),
    ],
)
def test_shapes_of_changes(box: Box, changes: tuple[Change, ...], listed: str) -> None:
    done = box.run("find . -mindepth 1 | cut -c3- | sort", changes=changes)
    assert done.stdout.decode().split() == sorted([*listed.split()])
    assert done.changed == {}


def test_changed_folder_recreated_by_the_verifier(box: Box) -> None:
    done = box.run("rm -r folder new; mkdir folder; echo b > folder/b.txt", changes=CHANGES)
    assert done.changed == {"new/deep/file": None}


def test_change_with_a_name_that_is_no_text(box: Box) -> None:
    path = os.fsdecode(b"\xff.py")
    assert box.python("print(open(b'\\xff.py').read())", changes=(Change(path, b"odd"),)).stdout == b"odd\n"


def test_disk_of_a_change_is_bounded(box: Box) -> None:
    assert SMALL.disk > 2 * MB
    assert box.run("wc -c < big", changes=(Change("big", b"x" * 2 * MB),)).stdout.strip() == b"%d" % (2 * MB)
