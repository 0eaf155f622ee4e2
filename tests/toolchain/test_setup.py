"""`setup` on every kind of sandbox: what it installs is found, and it runs again only when a lock file changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeper.errors import CheckBroken
from sweeper.sandbox import lockfiles
from sweeper.sandbox.contract import WORK, Limits, Snapshot, Toolchain
from tests.sandbox.conftest import Box
from tests.sandbox.trees import PlainTree

DATA = Path(__file__).parents[1] / "data" / "toolchain"
LOCAL = ("node_modules/.bin", ".venv/bin")
ROOMY = Limits(memory=1 << 30, pids=128)
NETWORKED = pytest.mark.timeout(600)
STAMP = ("sh", "-c", "mkdir -p node_modules/.bin && date +%s%N > node_modules/stamp")
IGNORE = b"node_modules/\n.venv/\n"


def prepared(box: Box, toolchain: Toolchain, tree: PlainTree) -> Snapshot:
    return box.portal.call(box.backend.prepare, tree, lockfiles.keyed(toolchain, tree.listing))


def test_an_unchanged_lock_file_sets_nothing_up_again_and_a_changed_one_does(box: Box) -> None:
    chain = Toolchain(tools=("sh",), setup=(STAMP, ("true", "--manager", "pip")), local=LOCAL)
    files = {".gitignore": IGNORE, "a.py": b"a\n", "gone.py": b"gone\n", "requirements.txt": b"one\n"}

    def stamp(**changed: bytes | None) -> tuple[str, str]:
        now = {name: data for name, data in {**files, **changed}.items() if data is not None}
        tree = PlainTree(now, git=True)
        done = box.run("cat node_modules/stamp; ls; git status --porcelain", snapshot=prepared(box, chain, tree))
        first, _, rest = done.stdout.decode().partition("\n")
        return first, rest

    first, listed = stamp()
    assert listed == "a.py\ngone.py\nnode_modules\nrequirements.txt\n"
    assert stamp(**{"a.py": b"b\n", "gone.py": None}) == (first, "a.py\nnode_modules\nrequirements.txt\n")
    assert stamp(**{"requirements.txt": b"two\n"})[0] != first
    assert stamp() == (first, listed)


def test_a_program_of_the_work_tree_is_found_and_comes_first(box: Box) -> None:
    """Also one that no machine and no image has: it is looked for after the set-up, not before."""
    make = (
        "mkdir -p node_modules/.bin pkg/node_modules/.bin; "
        "for name in own-lint cat; do printf '#!/bin/sh\\necho local $0 $1\\n' > node_modules/.bin/$name; done; "
        "cp node_modules/.bin/own-lint pkg/node_modules/.bin/inner-lint; chmod 755 */.bin/* pkg/*/.bin/*"
    )
    chain = Toolchain(
        tools=("own-lint", "inner-lint"), setup=(("sh", "-c", make),), local=("pkg/node_modules/.bin", *LOCAL)
    )
    tree = PlainTree({".gitignore": IGNORE, "pkg/a": b"a\n"}, git=True)
    snapshot = prepared(box, chain, tree)
    done = box.run("own-lint x; cat y; inner-lint z", snapshot=snapshot)
    assert done.stdout.decode().split("\n")[:-1] == [
        f"local {WORK}/node_modules/.bin/own-lint x",
        f"local {WORK}/node_modules/.bin/cat y",
        f"local {WORK}/pkg/node_modules/.bin/inner-lint z",
    ]
    assert done.changed == {}


def test_a_tool_that_the_setup_did_not_bring_is_named(box: Box) -> None:
    chain = Toolchain(tools=("no-such-lint",), setup=(("true",),), local=LOCAL)
    with pytest.raises(CheckBroken, match="no-such-lint") as caught:
        prepared(box, chain, PlainTree({".gitignore": IGNORE}, git=True))
    assert "setup" in f"{caught.value} {caught.value.hint}"


@pytest.mark.slow
@NETWORKED
def test_pip_installs_a_linter_and_the_stubs_that_it_needs(box: Box) -> None:
    files = {
        "requirements.txt": (DATA / "requirements.txt").read_bytes(),
        "a.py": b"import requests\n\nrequests.get(1)\n",
    }
    chain = Toolchain(tools=("mypy",), setup=(("pip", "install", "-r", "requirements.txt"),), local=LOCAL)
    done = box.run("mypy", "--cache-dir=/dev/null", "a.py", snapshot=prepared(box, chain, PlainTree(files, git=True)))
    said = done.stdout.decode()
    assert "[arg-type]" in said, said + done.stderr.decode()  # a type that only the stubs know
    assert "import-untyped" not in said


@pytest.mark.slow
@NETWORKED
def test_npm_installs_eslint_with_a_plugin(box: Box) -> None:
    files = {path.name: path.read_bytes() for path in (DATA / "node").iterdir()}
    files |= {
        ".gitignore": IGNORE,
        "eslint.config.js": b'import plugin from "eslint-plugin-unused-imports";\n'
        b'export default [{ plugins: { plugin }, rules: { "plugin/no-unused-imports": "error" } }];\n',
        "a.js": b'import fs from "node:fs";\nexport const a = 1;\n',
    }
    chain = Toolchain(name="node", tools=("eslint", "npx"), setup=(("npm", "ci"),), local=LOCAL)
    tree = PlainTree(files, git=True)
    snapshot = prepared(box, chain, tree)
    limits = {"limits": ROOMY, "snapshot": snapshot}
    for command in (("eslint", "."), ("npx", "--no-install", "eslint", ".")):
        done = box.run(*command, **limits)
        assert b"plugin/no-unused-imports" in done.stdout, done.stdout + done.stderr
    fixed = box.run("eslint", "--fix", ".", **limits)
    assert fixed.changed == {"a.js": b"export const a = 1;\n"}, fixed.stdout + fixed.stderr
