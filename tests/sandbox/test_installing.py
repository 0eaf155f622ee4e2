"""`setup` on bubblewrap: run once, networked, without credentials; kept read-only for every later sandbox."""

from __future__ import annotations

import dataclasses
import os
import shlex

import pytest

from sweeper.errors import CheckBroken
from sweeper.sandbox.bubblewrap import setup, tools
from sweeper.sandbox.contract import Clocks, Handle, Snapshot, Toolchain
from tests.sandbox.conftest import Box, embedded
from tests.sandbox.sleeping import sleepers, unique_seconds, until_none_sleep
from tests.sandbox.trees import PlainTree
from tests.waiting import until

pytestmark = embedded
FILES = {"a.py": b"import os\n", ".gitignore": b"node_modules/\n*.log\n", "lock": b"1\n"}
TREE = PlainTree(FILES, git=True)


def shell(text: str) -> tuple[str, ...]:
    return ("sh", "-c", text)


def toolchain(*commands: str, key: str = "", names: tuple[str, ...] = ("sh",)) -> Toolchain:
    return Toolchain(tools=names, setup=tuple(shell(command) for command in commands), key=key or repr(commands))


def prepared(box: Box, chain: Toolchain, tree: PlainTree = TREE) -> Snapshot:
    return box.portal.call(box.backend.prepare, tree, chain)


def test_program_of_the_setup_is_a_tool(box: Box) -> None:
    make = "printf '#!/bin/sh\\necho linted $1\\n' > $VIRTUAL_ENV/bin/mylint; chmod 755 $VIRTUAL_ENV/bin/mylint"
    snapshot = prepared(box, toolchain(make, names=("mylint", "sh")))
    done = box.run("mylint", "a.py", snapshot=snapshot)
    assert done.stdout == b"linted a.py\n"
    shut = box.run("touch /opt/toolchain/x /opt/toolchain/bin/mylint || echo read-only; ls", snapshot=snapshot)
    assert shut.stdout == b"read-only\na.py\nlock\n"
    assert shut.changed == {}


def test_python_environment_of_its_own(box: Box) -> None:
    """What pip would do: a module in the environment's site-packages, seen by its python."""
    make = "echo 'x = 7' > $(python -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')/made.py"
    snapshot = prepared(box, toolchain(make, names=("python",)))
    done = box.python("import made, sys; print(made.x, sys.prefix)", snapshot=snapshot)
    assert done.stdout == b"7 /opt/toolchain\n"


@pytest.mark.slow
def test_pip_installs_into_the_environment(box: Box) -> None:
    chain = toolchain("pip --version > $VIRTUAL_ENV/said; python -m pip list >> $VIRTUAL_ENV/said")
    done = box.run("cat", "/opt/toolchain/said", snapshot=prepared(box, chain))
    assert b"/opt/toolchain/lib" in done.stdout


def test_only_ignored_files_of_the_work_tree_are_kept(box: Box) -> None:
    make = (
        "mkdir -p node_modules/.bin node_modules/x; echo y > node_modules/x/y; ln -s ../x/y node_modules/.bin/y; "
        "echo l > b.log; echo changed > a.py; echo new > new.py; rm lock"
    )
    snapshot = prepared(box, toolchain(make))
    done = box.run("cat a.py node_modules/.bin/y b.log; ls; git status --porcelain", snapshot=snapshot)
    assert done.stdout == b"import os\ny\nl\na.py\nb.log\nlock\nnode_modules\n"
    assert done.changed == {}
    over = box.run("echo z > node_modules/x/y; rm b.log; echo w > a.py", snapshot=snapshot)
    assert over.changed == {"node_modules/x/y": b"z\n", "a.py": b"w\n"}


def test_setup_runs_once_and_serves_every_commit(box: Box) -> None:
    chain = toolchain("date +%s%N > $VIRTUAL_ENV/when")
    first = box.run("cat /opt/toolchain/when", snapshot=prepared(box, chain)).stdout
    other = PlainTree({**FILES, "a.py": b"pass\n"}, git=True)
    assert box.run("cat /opt/toolchain/when", snapshot=prepared(box, chain, other)).stdout == first
    renewed = dataclasses.replace(chain, key="another lock file")
    assert box.run("cat /opt/toolchain/when", snapshot=prepared(box, renewed)).stdout != first


def test_setup_has_a_network_and_no_credentials(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do-not-leak")
    look = "import socket; print(len(socket.if_nameindex()))"
    chain = toolchain(
        f"env > $VIRTUAL_ENV/env; python3 -c {shlex.quote(look)} > $VIRTUAL_ENV/links; ls -A $HOME >> $VIRTUAL_ENV/env"
    )
    done = box.run("cat /opt/toolchain/env; echo; cat /opt/toolchain/links", snapshot=prepared(box, chain))
    assert b"do-not-leak" not in done.stdout
    assert int(done.stdout.split()[-1]) == len(os.listdir("/sys/class/net"))
    assert box.python(look, snapshot=prepared(box, chain)).stdout == b"1\n"


def test_failing_setup_says_how_it_ended(box: Box) -> None:
    chain = toolchain("echo first", "echo cannot find it >&2; exit 7", "echo never")
    with pytest.raises(CheckBroken, match="exit 7") as caught:
        prepared(box, chain)
    assert "cannot find it" in str(caught.value)
    assert "never\n" not in str(caught.value)
    assert "setup" in caught.value.hint


def test_setup_without_end(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "CLOCKS", Clocks(wall=1.5))
    with pytest.raises(CheckBroken, match="no end after"):
        prepared(box, toolchain("sleep 60"))


def test_tool_that_neither_has_is_named(box: Box) -> None:
    with pytest.raises(CheckBroken, match=r"no-such-lint.*neither") as caught:
        prepared(box, toolchain("true", names=("no-such-lint",)))
    assert "pip install no-such-lint" in caught.value.hint


def test_cancelled_setup_leaves_nothing(box: Box) -> None:
    seconds = unique_seconds()
    future = box.portal.start_task_soon(box.backend.prepare, TREE, toolchain(f"sleep {seconds}"))

    def setups() -> list[Handle]:
        return [handle for handle in box.portal.call(box.backend.list) if handle.role == "setup"]

    until(lambda: sleepers(seconds), "the set-up")
    assert len(setups()) == 1
    future.cancel()
    until_none_sleep(seconds)
    until(lambda: not setups(), "its removal")


def test_hostile_links_are_kept_as_links(box: Box) -> None:
    """A link of the setup to a file of the host shows what the sandbox has there, never the host's."""
    chain = toolchain("ln -s /etc/shadow $VIRTUAL_ENV/shadow; ln -s / $VIRTUAL_ENV/root; ln -s /etc node_modules")
    done = box.run(
        "cat /opt/toolchain/shadow node_modules/shadow; ls /opt/toolchain/root/opt", snapshot=prepared(box, chain)
    )
    assert done.stdout == b"kept\ntoolchain\n"


def test_key_depends_on_what_was_asked_and_found(box: Box) -> None:
    del box
    chain = toolchain("true", key="k")
    plain = tools.Tools()
    other = tools.Tools(mounts=["/opt/python"])
    keys = {
        setup.key(chain, plain),
        setup.key(chain, other),
        setup.key(dataclasses.replace(chain, key="l"), plain),
        setup.key(dataclasses.replace(chain, setup=()), plain),
    }
    assert len(keys) == 4
