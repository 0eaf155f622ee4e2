"""The suite's way to a backend: `box.run(...)` is one sandbox of the backend that the test is run for."""

from __future__ import annotations

import dataclasses
import itertools
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from sweeper.ledger.lease import make_owner, started_at
from sweeper.records import Owner
from sweeper.sandbox.contract import Backend, Clocks, Entry, Facts, Layer, Limits, Name, Ran, Role, Snapshot, Spec
from tests.conftest import cannot_run
from tests.sandbox.backends import FACTORIES, Factory
from tests.sandbox.trees import PlainTree
from tests.waiting import PATIENCE, until

MB = 1 << 20
FILES = {"edit.py": b"import os\n", "gone.py": b"x = 1\n", "folder/a.txt": b"a\n", "folder/b.txt": b"b\n"}
SMALL = Limits(memory=256 * MB, pids=64, disk=64 * MB, output=MB)
_numbers = itertools.count()


def owner(name: str) -> Owner:
    return dataclasses.replace(make_owner(), id=f"{name}-{os.getpid()}-{next(_numbers)}")


def seemingly_alive(id: str) -> Owner:
    """An owner of this process whose sandboxes no run of another test takes for left, though this process gets killed:
    it passes for the one that started it.
    """
    starter = os.getppid()
    return dataclasses.replace(make_owner(), id=id, pid=starter, started=started_at(starter) or 0.0)


@dataclasses.dataclass(frozen=True)
class Done:
    facts: Facts
    layer: Layer
    stdout: bytes
    stderr: bytes

    @property
    def entries(self) -> dict[str, Entry]:
        return {os.fsdecode(entry.path): entry for entry in self.layer.entries}

    @property
    def changed(self) -> dict[str, bytes | None]:
        """Path -> new content, None for what is not a readable file."""
        return {path: entry.data for path, entry in self.entries.items()}


class Box:
    """A backend, an event loop in a thread, and a small tree to start from."""

    def __init__(self, portal: BlockingPortal, backend: Backend, factory: Factory, folder: Path) -> None:
        self.portal, self.backend, self.factory, self.folder = portal, backend, factory, folder
        self._snapshots: dict[str, Snapshot] = {}

    def snapshot(self, tree: PlainTree) -> Snapshot:
        if tree.commit not in self._snapshots:
            self._snapshots[tree.commit] = self.portal.call(self.backend.prepare, tree, self.factory.toolchain)
        return self._snapshots[tree.commit]

    def spec(
        self, *argv: str, files: Mapping[str, bytes] | None = None, tree: PlainTree | None = None, **more: Any
    ) -> Spec:
        """A spec of one argument is a shell script."""
        number = next(_numbers)
        given: dict[str, Any] = {
            "name": Name("suite", f"unit{number}-{os.getpid()}", 1, Role.AGENT),
            "snapshot": self.snapshot(tree or PlainTree(FILES if files is None else files)),
            "argv": argv if len(argv) > 1 else ("sh", "-c", *argv),
            "stdout": self.folder / f"{number}.stdout",
            "stderr": self.folder / f"{number}.stderr",
            "limits": SMALL,
            "clocks": Clocks(wall=PATIENCE),
            "wanted": lambda path: True,
            "deadline": time.time() + 2 * PATIENCE,
        }
        return Spec(**{**given, **more})

    def done(self, spec: Spec, ran: Ran) -> Done:
        return Done(ran.facts, ran.layer, spec.stdout.read_bytes(), spec.stderr.read_bytes())

    def run(self, *argv: str, **more: Any) -> Done:
        spec = self.spec(*argv, **more)
        return self.done(spec, self.portal.call(self.backend.run, spec))

    def begin(self, spec: Spec) -> Future[Ran]:
        """Its run, once its command has printed something."""
        future = self.portal.start_task_soon(self.backend.run, spec)

        def printed() -> bool:
            if future.done():
                future.result()
            return spec.stdout.exists() and spec.stdout.read_bytes() != b""

        until(printed, f"the first words of {spec.argv}")
        return future

    def python(self, code: str, **more: Any) -> Done:
        return self.run("python3", "-c", code, **more)


# For what one backend alone has: `@embedded` on a test that takes `box`.
embedded = pytest.mark.parametrize(
    "factory", [pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)], indirect=True, scope="session"
)
relayed = pytest.mark.parametrize(
    "factory", [pytest.param("remote_engine", marks=pytest.mark.docker)], indirect=True, scope="session"
)


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as started:
        yield started


@pytest.fixture(scope="session")
def store() -> Path:
    """A cache folder that the sandbox's user can reach, which pytest's own folders are not."""
    folder = Path(tempfile.mkdtemp(prefix="store-", dir=os.environ["SWEEPER_CACHE"]))
    folder.chmod(0o755)
    return folder


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for a coordinator that is killed. A socket's path has to be short: not a folder of pytest's."""
    with tempfile.TemporaryDirectory(prefix="sweeper-coordinator-") as folder:
        yield Path(folder)


@pytest.fixture(
    scope="session",
    params=[pytest.param(name, marks=getattr(pytest.mark, each.marker)) for name, each in FACTORIES.items()],
)
def factory(request: pytest.FixtureRequest) -> Factory:
    found = FACTORIES[request.param]
    if why := found.missing():
        cannot_run(why)
    return found


@pytest.fixture(scope="session")
def backend(factory: Factory, portal: BlockingPortal, store: Path) -> Iterator[Backend]:
    made = factory.make(store, owner("suite"), 4)
    yield made
    portal.call(made.aclose)


@pytest.fixture(scope="session")
def _box_of_backend(
    portal: BlockingPortal, backend: Backend, factory: Factory, tmp_path_factory: pytest.TempPathFactory
) -> Box:
    return Box(portal, backend, factory, tmp_path_factory.mktemp("out"))


@pytest.fixture
def box(_box_of_backend: Box) -> Box:
    return _box_of_backend
