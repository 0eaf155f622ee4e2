"""The docker backend on an engine that is late, in the way, restarted or short of something: a proxy plays it."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import docker
import docker.errors
import pytest

from sweeper.errors import SandboxFailed
from sweeper.records import Owner
from sweeper.sandbox.contract import WORK, Clock, Clocks, Limits, Name, Ran, Role, Snapshot, Spec, Toolchain
from sweeper.sandbox.docker import Docker
from sweeper.sandbox.docker.endpoint import Endpoint
from sweeper.sandbox.docker.engine import Engine
from sweeper.sandbox.docker.slots import clear
from tests.sandbox.conftest import MB, owner
from tests.sandbox.engine_proxy import Late, Proxy, Says, proxied
from tests.sandbox.sleeping import unique_seconds, wake
from tests.sandbox.trees import PlainTree
from tests.waiting import PATIENCE, until_true

pytestmark = [pytest.mark.docker, pytest.mark.anyio]
SMALL = Limits(memory=128 * MB, pids=64, cpus=1.0, disk=32 * MB, output=MB)
Client = docker.DockerClient
PROBE = "/containers/create?name=sweeper-probe"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, for a socket's path, and open to the sandbox's user."""
    made = Path(tempfile.mkdtemp(prefix="sweeper-d-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    for left in (made / "store/docker").glob("*"):  # of a test that failed
        clear(left)
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def proxy(folder: Path) -> Iterator[Proxy]:
    with proxied(folder) as made:
        yield made


class Bench:
    """A backend behind a proxy, with a snapshot of the base image."""

    def __init__(self, backend: Docker, engine: Engine, snapshot: Snapshot, folder: Path, whose: Owner) -> None:
        self.backend, self.engine, self.snapshot, self.folder, self.owner = backend, engine, snapshot, folder, whose
        self.count = 0

    def spec(self, script: str, **more: Any) -> Spec:
        self.count += 1
        given: dict[str, Any] = {
            "name": Name("proxied", f"{self.owner.id}-{self.count}"[-16:], 1, Role.AGENT),
            "snapshot": self.snapshot,
            "argv": ("sh", "-c", script),
            "stdout": self.folder / f"{self.count}.out",
            "stderr": self.folder / f"{self.count}.err",
            "limits": SMALL,
            "clocks": Clocks(wall=PATIENCE),
            "wanted": lambda path: True,
        }
        return Spec(**{**given, **more})

    async def run(self, script: str, **more: Any) -> Ran:
        return await self.backend.run(self.spec(script, **more))


async def bench(folder: Path, proxy: Proxy, image: str, *, patience: float = PATIENCE) -> Bench:
    engine = Engine(Endpoint(proxy.url, "the test"), slots=4, timeout=PATIENCE, patience=patience)
    whose = owner("proxied")
    backend = Docker(folder / "store", whose, slots=16, engine=engine)
    try:
        snapshot = await backend.prepare(PlainTree({"a": b"a\n"}), Toolchain(image=image))
    except SandboxFailed:
        await backend.aclose()
        raise
    return Bench(backend, engine, snapshot, folder, whose)


def mounted(folder: Path) -> bool:
    return str(folder) in Path("/proc/self/mountinfo").read_text()


def containers(engine: Client, whose: Owner) -> list[Any]:
    return engine.containers.list(all=True, filters={"label": f"io.sweeper.owner={whose.id}"}, ignore_removed=True)


async def test_c07_a_create_whose_answer_is_late(
    docker_engine: Client, base_image: str, folder: Path, proxy: Proxy
) -> None:
    made = await bench(folder, proxy, base_image)
    control, late = made.engine.control, [Late()]
    create = control.create_container_from_config

    def hastily(*words: Any) -> Any:
        """This call alone gives up soon: any other may take its time on a busy machine."""
        control.timeout = 2
        try:
            return create(*words)  # type: ignore[no-untyped-call]
        finally:
            control.timeout = PATIENCE

    control.create_container_from_config = hastily  # type: ignore[method-assign]
    assert any(PROBE in path for _, path in proxy.seen)
    proxy.rule = lambda method, path: late.pop() if "/containers/create" in path and late else None
    proxy.seen.clear()
    ran = await made.run("echo x > b")
    assert ran.facts.exit_code == 0
    assert [entry.path for entry in ran.layer.entries] == [b"b"]
    assert late == []
    assert len([path for _, path in proxy.seen if "/containers/create" in path]) == 1
    assert containers(docker_engine, made.owner) == []
    await made.backend.aclose()


async def test_c08_a_foreign_container_of_that_name_is_not_touched(
    docker_engine: Client, base_image: str, folder: Path, proxy: Proxy
) -> None:
    made = await bench(folder, proxy, base_image)
    spec = made.spec("true")
    foreign = docker_engine.containers.create(base_image, "sleep 600", name=str(spec.name))
    try:
        with pytest.raises(SandboxFailed, match="did not create") as caught:
            await made.backend.run(spec)
        assert not caught.value.retryable
        foreign.reload()
    finally:
        foreign.remove(force=True)
    await made.backend.aclose()


async def test_c08_another_coordinators_sandbox_is_not_touched(
    docker_engine: Client, base_image: str, folder: Path, proxy: Proxy
) -> None:
    made = await bench(folder, proxy, base_image)
    spec = made.spec("true")
    theirs = docker_engine.containers.create(
        base_image, "sleep 600", name=str(spec.name), labels={"io.sweeper.owner": "another"}
    )
    try:
        with pytest.raises(SandboxFailed, match="another coordinator") as caught:
            await made.backend.run(spec)
        assert (caught.value.retryable, caught.value.may_have_run) == (True, True)
        theirs.reload()
    finally:
        theirs.remove(force=True)
    await made.backend.aclose()


async def test_c11_killed_at_once_and_never_stopped(base_image: str, folder: Path, proxy: Proxy) -> None:
    made = await bench(folder, proxy, base_image)
    proxy.seen.clear()
    ran = await made.run("trap '' TERM; sleep 600 & wait", clocks=Clocks(wall=1))
    assert (ran.facts.signal, ran.facts.clock) == (9, Clock.WALL)
    asked = [path for _, path in proxy.seen]
    assert any(path.endswith("/kill") for path in asked)
    assert not any("/stop" in path for path in asked)
    await made.backend.aclose()


async def test_c05_a_short_call_timeout_bounds_no_command(base_image: str, folder: Path, proxy: Proxy) -> None:
    made = await bench(folder, proxy, base_image)
    made.engine.streams.timeout = 3  # of what bounds a command where it does: attaching and waiting
    ran = await made.run("sleep 4; echo done; exec >&- 2>&-; sleep 4")
    assert ran.facts.exit_code == 0
    assert (folder / f"{made.count}.out").read_bytes() == b"done\n"
    await made.backend.aclose()


async def test_c14_many_at_once_on_a_pool_that_is_large_enough(
    base_image: str, folder: Path, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    made = await bench(folder, proxy, base_image)
    ended: list[Ran] = []

    async def one(spec: Spec) -> None:
        ended.append(await made.backend.run(spec))

    async with anyio.create_task_group() as group:
        for _ in range(12):
            group.start_soon(one, made.spec("sleep 1; echo x > b"))
    assert [ran.facts.exit_code for ran in ended] == [0] * 12
    assert "Connection pool is full" not in caplog.text
    await made.backend.aclose()


async def test_c16_c03_nothing_is_left_on_the_engine(
    docker_engine: Client, base_image: str, folder: Path, proxy: Proxy
) -> None:
    made = await bench(folder, proxy, base_image)
    proxy.seen.clear()
    ends = []
    for script in ("rm a", "exit 3", "kill -9 $$"):
        facts = (await made.run(script)).facts
        ends.append((facts.exit_code, facts.signal))
    assert ends == [(0, None), (3, None), (None, 9)]
    proxy.rule = lambda method, path: Says(500, "OCI runtime create failed") if path.endswith("/start") else None
    with pytest.raises(SandboxFailed, match="OCI runtime") as caught:
        await made.run("true")
    assert caught.value.retryable
    proxy.rule = lambda method, path: None
    assert containers(docker_engine, made.owner) == []
    mine = {"label": f"io.sweeper.owner={made.owner.id}"}
    assert docker_engine.volumes.list(filters=mine) == []
    asked = [path for _, path in proxy.seen]
    assert any("/containers/" in path for path in asked)
    assert not any("/networks" in path for path in asked)
    assert list((folder / "store/docker").iterdir()) != []
    assert mounted(folder) == (await made.backend._open()).slots.sizable
    await made.backend.aclose()
    assert list((folder / "store/docker").iterdir()) == []
    assert not mounted(folder)


async def test_c23_a_missing_image_stops_the_run_and_a_pull_limit_is_asked_once(folder: Path, proxy: Proxy) -> None:
    proxy.rule = lambda method, path: (
        Says(429, "toomanyrequests: pull rate limit") if "/images/create" in path else None
    )
    with pytest.raises(SandboxFailed, match="toomanyrequests") as caught:
        await bench(folder, proxy, "registry.example/none:1")
    assert (caught.value.retryable, caught.value.may_have_run) == (False, False)
    assert "docker login" in caught.value.hint
    assert len([path for _, path in proxy.seen if "/images/create" in path]) == 1
    assert not any(PROBE in path for _, path in proxy.seen)


async def test_c23_an_image_that_vanished_is_no_units_failure(base_image: str, folder: Path, proxy: Proxy) -> None:
    made = await bench(folder, proxy, base_image)
    proxy.rule = lambda method, path: Says(404, "No such image: sha256:0") if "/containers/create" in path else None
    with pytest.raises(SandboxFailed, match="no longer has the image") as caught:
        await made.run("true")
    assert not caught.value.retryable
    await made.backend.aclose()


async def test_c24_a_full_disk_of_the_engine_ends_the_run(base_image: str, folder: Path, proxy: Proxy) -> None:
    made = await bench(folder, proxy, base_image)
    proxy.rule = lambda method, path: Says(500, "mkdir x: no space left on device") if path.endswith("/start") else None
    with pytest.raises(SandboxFailed, match="no space left") as caught:
        await made.run("true")
    assert not caught.value.retryable
    assert "docker system df" in caught.value.hint
    proxy.rule = lambda method, path: None
    await made.backend.aclose()


async def test_c28_a_command_outlives_an_outage(base_image: str, folder: Path, proxy: Proxy) -> None:
    """The engine is away for a while and comes back, the sandbox is still there: its result counts."""
    made = await bench(folder, proxy, base_image)
    seconds = unique_seconds()
    spec = made.spec(f"echo up; sleep {seconds}; echo end; echo x > b")
    results: list[Ran] = []

    async def one() -> None:
        results.append(await made.backend.run(spec))

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        await until_true(lambda: spec.stdout.exists() and spec.stdout.read_bytes(), "what it prints")
        proxy.go_away()
        await anyio.sleep(1)
        proxy.seen.clear()
        proxy.come_back()
        await until_true(lambda: any("/attach" in path for _, path in proxy.seen), "one who follows it again")
        wake(seconds)
    (ran,) = results
    assert ran.facts.exit_code == 0
    assert ran.facts.output_truncated  # what it printed meanwhile is lost, and that is said
    assert [entry.path for entry in ran.layer.entries] == [b"b"]
    await made.backend.aclose()


async def outage(made: Bench, proxy: Proxy, meanwhile: Callable[[], object]) -> list[SandboxFailed]:
    """Two sandboxes run, the engine goes away, something happens, it comes back: what the two calls raise."""
    raised: list[SandboxFailed] = []
    specs = [made.spec("echo up; sleep 600") for _ in range(2)]

    async def one(spec: Spec) -> None:
        try:
            await made.backend.run(spec)
        except SandboxFailed as problem:
            raised.append(problem)

    async with anyio.create_task_group() as group:
        for spec in specs:
            group.start_soon(one, spec)
        await until_true(lambda: all(spec.stdout.exists() and spec.stdout.read_bytes() for spec in specs), "both")
        proxy.go_away()
        await anyio.to_thread.run_sync(meanwhile)
        await anyio.sleep(0.5)
        proxy.come_back()
    return raised


@pytest.mark.parametrize("end", ["kill", "remove"])
async def test_c28_a_sandbox_lost_in_an_outage_is_retryable(
    end: str, docker_engine: Client, base_image: str, folder: Path, proxy: Proxy
) -> None:
    made = await bench(folder, proxy, base_image)

    def lose() -> None:
        for container in containers(docker_engine, made.owner):
            container.kill() if end == "kill" else container.remove(force=True, v=True)

    raised = await outage(made, proxy, lose)
    assert [(each.retryable, each.may_have_run) for each in raised] == [(True, True)] * 2
    assert (await made.run("echo x > b")).facts.exit_code == 0
    assert containers(docker_engine, made.owner) == []
    await made.backend.aclose()


async def test_c28_patience_ends(docker_engine: Client, base_image: str, folder: Path, proxy: Proxy) -> None:
    made = await bench(folder, proxy, base_image, patience=1.0)
    proxy.go_away()
    with pytest.raises(SandboxFailed, match="has not answered for 1 s") as caught:
        await made.run("true")
    assert not caught.value.retryable
    assert "sweeper resume" in caught.value.hint
    proxy.come_back()
    await made.backend.aclose()
    assert os.listdir(folder / "store/docker") == []


@pytest.mark.parametrize(
    ("volume", "hides"), [(f"{WORK}/a", True), (f"{WORK}/./new/x/", True), (WORK, False), ("/data", False)]
)
async def test_an_image_whose_volume_would_hide_files_is_refused(
    volume: str, hides: bool, docker_engine: Client, base_image: str, folder: Path, proxy: Proxy
) -> None:
    """A check would find nothing in what it cannot see."""
    text = f'FROM {base_image}\nVOLUME ["{volume}"]\n'.encode()
    built, _ = docker_engine.images.build(fileobj=io.BytesIO(text), rm=True)
    image = str(built.id)
    try:
        if hides:
            with pytest.raises(SandboxFailed, match="declares the volume") as caught:
                await bench(folder, proxy, image)
            assert not caught.value.retryable
        else:
            made = await bench(folder, proxy, image)
            assert (await made.run("cat a && echo b > a")).layer.entries[0].data == b"b\n"
            await made.backend.aclose()
    finally:
        docker_engine.images.remove(image, force=True)
