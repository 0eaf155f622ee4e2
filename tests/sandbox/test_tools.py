"""Tools come in by name, with what they need and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from sweeper.errors import CheckBroken
from sweeper.sandbox.bubblewrap import Bubblewrap, tools
from sweeper.sandbox.contract import Limits, Name, Role, Spec, Toolchain
from tests.sandbox.conftest import owner
from tests.sandbox.trees import PlainTree


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that is root's or a user's own: closed to everybody else."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    folders: list[Path] = []

    class Path_(list[Path]):
        def append(self, folder: Path) -> None:
            super().append(folder)
            monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return Path_(folders)


def standalone_python(prefix: Path) -> Path:
    (prefix / "lib" / "python3.11").mkdir(parents=True)
    return script(prefix / "bin" / "python3", "#!/bin/sh\necho python\n")


def test_system_programs_need_no_mount() -> None:
    found = tools.find(["sh", "env"])
    assert (found.mounts, found.path) == ([], list(tools.PATH_INSIDE))


def test_virtual_environment_comes_with_its_interpreter(home: Path, on_path: list[Path]) -> None:
    python = standalone_python(home / ".pyenv" / "versions" / "3.11.9")
    venv = home / "project" / "venv"
    script(venv / "bin" / "tool", f"#!{venv}/bin/python\n")
    (venv / "bin" / "python3").symlink_to(python)
    (venv / "bin" / "python").symlink_to("python3")
    (venv / "pyvenv.cfg").write_text(f"home = {python.parent}\n")
    on_path.append(venv / "bin")
    found = tools.find(["tool"])
    assert found.mounts == [str(venv), str(python.parents[1])]
    assert found.path[0] == str(venv / "bin")


def test_link_in_a_local_bin_leads_to_its_environment(home: Path, on_path: list[Path]) -> None:
    venv = home / ".local" / "share" / "pipx" / "venvs" / "tool"
    script(venv / "bin" / "tool", "#!/bin/sh\n")
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\n")
    local = home / ".local" / "bin"
    local.mkdir(parents=True)
    (local / "tool").symlink_to(venv / "bin" / "tool")
    on_path.append(local)
    found = tools.find(["tool"])
    assert found.mounts == [str(venv)]
    assert found.path[0] == str(venv / "bin")


def test_single_program_below_home_comes_alone(home: Path, on_path: list[Path]) -> None:
    script(home / ".cargo" / "bin" / "tool", "#!/bin/sh\n")
    script(home / ".cargo" / "bin" / "other", "#!/bin/sh\n")
    (home / ".cargo" / "credentials.toml").write_text("secret")
    on_path.append(home / ".cargo" / "bin")
    found = tools.find(["tool"])
    assert found.mounts == [str(home / ".cargo" / "bin" / "tool")]


def test_interpreter_of_a_script_comes_too(home: Path, on_path: list[Path]) -> None:
    python = standalone_python(home / "pythons" / "3.11")
    script(home / "bin" / "tool", f"#!{python} -E\n")
    script(home / "bin" / "other", "#!/usr/bin/env -S python3 -E\n")
    on_path.append(home / "bin")
    on_path.append(python.parent)
    assert tools.find(["tool"]).mounts == [str(home / "bin" / "tool"), str(python.parents[1])]
    assert tools.find(["other"]).mounts == [str(home / "bin" / "other"), str(python.parents[1])]


def test_node_prefix(home: Path, on_path: list[Path]) -> None:
    prefix = home / ".nvm" / "versions" / "node" / "v20"
    script(prefix / "bin" / "node", "#!/bin/sh\n")
    script(prefix / "lib" / "node_modules" / "eslint" / "bin" / "eslint.js", "#!/usr/bin/env node\n")
    (prefix / "bin" / "eslint").symlink_to("../lib/node_modules/eslint/bin/eslint.js")
    on_path.append(prefix / "bin")
    found = tools.find(["eslint"])
    assert (found.mounts, found.path[0]) == ([str(prefix)], str(prefix / "bin"))


def test_shim_leads_to_the_real_program(home: Path, on_path: list[Path]) -> None:
    python = standalone_python(home / ".pyenv" / "versions" / "3.11.9")
    real = script(python.parent / "tool", "#!/bin/sh\n")
    script(home / ".pyenv" / "bin" / "pyenv", f'#!/bin/sh\ntest "$1 $2" = "which tool" && echo {real}\n')
    script(home / ".pyenv" / "shims" / "tool", '#!/usr/bin/env bash\nexec pyenv exec "$0" "$@"\n')
    on_path.append(home / ".pyenv" / "shims")
    assert tools.find(["tool"]).mounts == [str(python.parents[1])]


def test_shim_that_leads_nowhere_is_explained(home: Path, on_path: list[Path]) -> None:
    script(home / ".other" / "shims" / "tool", "#!/bin/sh\nexec manager run tool\n")
    on_path.append(home / ".other" / "shims")
    with pytest.raises(CheckBroken, match="shim"):
        tools.find(["tool"])


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_the_proxy_of_rustup_leads_to_the_toolchain(home: Path, on_path: list[Path], link: Callable[..., None]) -> None:
    """rustup's proxies are links to rustup itself, of either kind; alone in a sandbox they know no toolchain."""
    toolchain = home / ".rustup" / "toolchains" / "stable"
    (toolchain / "lib" / "rustlib").mkdir(parents=True)
    real = script(toolchain / "bin" / "cargo", "#!/bin/sh\n")
    which = f'#!/bin/sh\ntest "$1 $2" = "which cargo" && echo {real} || {{ echo no default >&2; exit 1; }}\n'
    rustup = script(home / ".cargo" / "bin" / "rustup", which)
    for name in ("cargo", "rustfmt"):
        link(rustup, rustup.parent / name)
    on_path.append(rustup.parent)
    found = tools.find(["cargo"])
    assert (found.mounts, found.path[0]) == ([str(toolchain)], str(real.parent))
    with pytest.raises(CheckBroken, match="no default") as caught:
        tools.find(["rustfmt"])
    assert "rustup" in caught.value.hint


def test_path_in_the_repository_is_no_tool_of_the_host() -> None:
    assert tools.find(["./scripts/check", "node_modules/.bin/eslint"]).mounts == []


def test_home_itself_is_never_mounted(home: Path, on_path: list[Path]) -> None:
    """Even where a home folder looks like an environment, or a program lies in ~/bin."""
    script(home / "bin" / "tool", "#!/bin/sh\n")
    (home / "pyvenv.cfg").write_text("home = /usr/bin\n")
    on_path.append(home / "bin")
    assert tools.find(["tool"]).mounts == [str(home / "bin" / "tool")]


def test_missing_tool() -> None:
    with pytest.raises(CheckBroken, match="'no-such-tool'") as caught:
        tools.find(["sh", "no-such-tool"]).require()
    assert 'setup = ["pip install no-such-tool"]' in caught.value.hint
    assert caught.value.exit_code == 3


@pytest.mark.bubblewrap
def test_tools_work_inside_also_from_a_closed_home(store: Path, home: Path, on_path: list[Path]) -> None:
    """A home of mode 0700 is closed to the sandbox's user when the coordinator is root; its tools are not."""
    script(home / "deep" / "bin" / "tool", "#!/bin/sh\necho tool ran\n")
    (home / "deep" / "secret").write_text("secret")
    on_path.append(home / "deep" / "bin")
    seen = Path(store / "seen")

    async def run() -> int | None:
        backend = Bubblewrap(store, owner("tools"), slots=1)
        try:
            snapshot = await backend.prepare(PlainTree({"a": b""}), Toolchain(tools=("tool", "ruff", "pytest")))
            line = f"tool && ruff --version && pytest --version && ls -A {home} {home}/deep && ls"
            spec = Spec(Name("r", "u", 1, Role.CHECK), snapshot, ("sh", "-c", line), seen, store / "e", limits=Limits())
            ran = await backend.run(spec)
            assert ran.layer.entries == ()
            return ran.facts.exit_code
        finally:
            await backend.aclose()

    assert anyio.run(run) == 0, (store / "e").read_text()
    lines = seen.read_text().splitlines()
    assert lines[0] == "tool ran"
    assert lines[1].startswith("ruff ")
    assert lines[2].startswith("pytest ")
    assert lines[3:7] == [f"{home}:", "deep", "", f"{home}/deep:"]
    assert "secret" not in lines
