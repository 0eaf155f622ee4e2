"""The probe: a miniature unit with the production flags, and what a refusal says."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from sweeper.errors import NoSandbox, SandboxFailed
from sweeper.sandbox import probing
from sweeper.sandbox.bubblewrap import Bubblewrap, program
from sweeper.sandbox.contract import Clocks, Entry, EntryKind, Facts, Layer, Name, Ran, Role, Spec, Toolchain
from tests.sandbox.conftest import SMALL, Box, owner
from tests.sandbox.trees import PlainTree

LIMITS = {"memory", "pids", "cpus", "disk", "output"}


def test_probe_is_fine_and_says_how_limits_are_held(box: Box) -> None:
    probe = box.portal.call(box.backend.probe)
    assert (probe.ok, probe.why) == (True, "")
    assert probe.backend in (box.factory.name, "docker")
    assert probe.version
    assert set(probe.enforced) >= LIMITS


def fake_bwrap(folder: Path, said: str) -> Path:
    """A bwrap that has a version and nothing else."""
    path = folder / "bwrap"
    path.write_text(
        f'#!/bin/sh\ntest "$1" = --version && echo bubblewrap 0.11.0 && exit 0\necho "bwrap: {said}" >&2\nexit 1\n'
    )
    path.chmod(0o755)
    return path


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    "said",
    [
        "setting up uid map: Permission denied",
        "Failed to make / slave: Permission denied",
        "No permissions to create new namespace, likely because the kernel does not allow user namespaces",
        "loopback: Failed RTM_NEWADDR: Operation not permitted",
    ],
)
def test_c27_bubblewrap_does_not_work_here(store: Path, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = store / "apparmor"
    setting.write_text("1\n")
    monkeypatch.setattr(probing, "APPARMOR", setting)
    bwrap = fake_bwrap(store, said)

    async def check() -> None:
        backend = Bubblewrap(store, owner("fake"), slots=1, bwrap=bwrap)
        try:
            probe = await backend.probe()
            assert not probe.ok
            assert said in probe.why
            assert "kernel.apparmor_restrict_unprivileged_userns=0" in probe.hint
            assert f"profile sweeper-bwrap {bwrap}" in probe.hint
            assert "--sandbox docker" in probe.hint
            snapshot = await backend.prepare(PlainTree({"a": b""}), Toolchain())
            spec = Spec(Name("r", "u", 1, Role.AGENT), snapshot, ("true",), store / "o", store / "e")
            with pytest.raises(SandboxFailed, match="did not start a sandbox") as caught:
                await backend.run(spec)
            assert not caught.value.may_have_run
        finally:
            await backend.aclose()

    anyio.run(check)


@pytest.mark.parametrize(
    ("setting", "value", "way"),
    [
        ("APPARMOR", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("CLONE", "0", "kernel.unprivileged_userns_clone=1"),
        ("NAMESPACES", "0", "user.max_user_namespaces="),
    ],
)
def test_c27_each_cause_has_its_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, way: str
) -> None:
    for name in ("APPARMOR", "CLONE", "NAMESPACES"):
        monkeypatch.setattr(probing, name, tmp_path / "absent")
    assert way not in probing.explain_namespaces("/usr/bin/bwrap", "refused")
    (tmp_path / "setting").write_text(value + "\n")
    monkeypatch.setattr(probing, setting, tmp_path / "setting")
    assert way in probing.explain_namespaces("/usr/bin/bwrap", "refused")


def test_c27_a_command_that_prints_like_bwrap_is_a_command(box: Box) -> None:
    done = box.run("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", clocks=Clocks(wall=30))
    assert done.facts.exit_code == 1


def test_a_command_cannot_pretend_that_it_was_not_found(box: Box) -> None:
    assert box.run("echo 'bwrap: execvp x: No such file' >&2; exit 1").facts.exit_code == 1


def test_too_old_a_bwrap_is_refused(tmp_path: Path) -> None:
    old = fake_bwrap(tmp_path, "")
    old.write_text("#!/bin/sh\necho bubblewrap 0.8.0\n")
    assert program.version_of(str(old)) == "0.8.0"
    old.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(NoSandbox, match="exit 3"):
        program.version_of(str(old))


@pytest.mark.parametrize(
    ("entries", "wrong"),
    [
        ((), "edit"),
        ((Entry(b"edit", EntryKind.FILE, 9, b"one\nmore\n"), Entry(b"gone", EntryKind.DELETED)), "folder/a"),
    ],
)
def test_a_layer_that_differs_is_a_refusal(box: Box, entries: tuple[Entry, ...], wrong: str) -> None:
    snapshot = box.snapshot(PlainTree({"a": b""}))

    async def run(spec: Spec) -> Ran:
        spec.stdout.write_text("")
        spec.stderr.write_text("")
        return Ran(Facts(0), Layer(entries))

    async def check() -> str:
        return await probing.miniature(snapshot, run, "test", SMALL)

    assert f"for {wrong}, not" in anyio.run(check)


@pytest.mark.bubblewrap
def test_a_cache_folder_out_of_reach_is_named(store: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's sandbox is the user")
    shut = store / "shut"
    shut.mkdir()
    shut.chmod(0o700)

    async def check() -> None:
        backend = Bubblewrap(shut / "cache", owner("shut"), slots=1)
        probe = await backend.probe()
        assert str(shut) in probe.why
        assert "chmod o+x" in probe.hint
        await backend.aclose()

    anyio.run(check)
