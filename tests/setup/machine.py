"""Prepare the machine for the whole suite, run a command, and take down what was started.

`python tests/setup/machine.py pytest ...` is what `make test` does. As root on Debian it installs the packages that
are missing and starts a docker engine if none answers; the engine is stopped by its process id whatever the tests
did. Anybody else tests with what is there, and `tests/conftest.py` says what was skipped.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
from docker.errors import DockerException, ImageNotFound
from filelock import FileLock
from urllib3.exceptions import HTTPError

BASE_IMAGE = "debian:bookworm-slim"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sweeper-tests"
SBIN = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])
Engine = subprocess.Popen[bytes]


def say(text: str) -> None:
    print(f"[machine] {text}", file=sys.stderr, flush=True)


def on_debian_as_root() -> bool:
    return os.geteuid() == 0 and Path("/etc/debian_version").exists() and shutil.which("apt-get") is not None


def client(timeout: float) -> docker.DockerClient:
    return docker.from_env(timeout=timeout)  # type: ignore[arg-type]  # the stubs know whole seconds only


def engine_answers(within: float = 0.0) -> bool:
    """Ask the engine for a sign of life, again and again for `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        with contextlib.suppress(DockerException, OSError), contextlib.closing(client(5)) as engine:
            if engine.ping():
                return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.25)


def install_packages() -> None:
    """Install the Debian packages that are missing."""
    wanted = {
        "docker.io": engine_answers() or shutil.which("dockerd", path=SBIN),
        "debootstrap": shutil.which("debootstrap", path=SBIN),
        "postgresql": any(Path("/usr/lib/postgresql").glob("*/bin/initdb")),
    }
    missing = [package for package, there in wanted.items() if not there]
    if not missing:
        return
    say(f"installing {' '.join(missing)}")
    environment = {**os.environ, "PATH": SBIN, "DEBIAN_FRONTEND": "noninteractive"}
    if "postgresql" in missing:
        # The tests make their own cluster in a temporary directory; the machine needs none.
        settings = Path("/etc/postgresql-common/createcluster.d")
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "sweeper-tests.conf").write_text("create_main_cluster = false\n")
    for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", *missing]):
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout.decode(errors='replace')[-2000:]}")


def start_engine() -> Engine | None:
    """Start a docker engine unless one answers; a second one on a host would break the first one's bridge."""
    # A package that brings a service may just have started it.
    if engine_answers(within=5 if Path("/run/systemd/system").exists() else 0):
        return None
    binary = shutil.which("dockerd", path=SBIN)
    if binary is None:
        return None
    log = CACHE / "dockerd.log"
    with log.open("wb") as out:
        # Should this process be killed, the kernel ends the engine (it follows the thread: this is the main one).
        engine = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", binary],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": SBIN},
            start_new_session=True,
        )
    if engine_answers(within=60):
        say(f"started a docker engine, process {engine.pid}, log {log}")
        return engine
    say("the docker engine did not answer within a minute; the end of its log:")
    sys.stderr.write(log.read_text(errors="replace")[-2000:])
    stop_engine(engine)
    return None


def stop_engine(engine: Engine) -> None:
    if engine.poll() is None:
        engine.terminate()
        try:
            engine.wait(30)
        except subprocess.TimeoutExpired:
            engine.kill()
            engine.wait()


def provide_base_image() -> None:
    """Have BASE_IMAGE on the engine: as it is there, pulled, or built once with debootstrap and cached."""
    with contextlib.closing(client(120)) as engine:
        with contextlib.suppress(ImageNotFound):
            engine.images.get(BASE_IMAGE)
            return
        if pull(BASE_IMAGE):
            return
        tarball = CACHE / f"{BASE_IMAGE.replace(':', '-')}.tar.gz"
        if not tarball.exists():
            if os.geteuid() != 0 or shutil.which("debootstrap", path=SBIN) is None:
                say(f"no {BASE_IMAGE}: no registry answers, and only root can build it (with debootstrap)")
                return
            build_base(tarball)
        repository, tag = BASE_IMAGE.split(":")
        engine.api.import_image(src=str(tarball), repository=repository, tag=tag, changes=['CMD ["bash"]'])
        say(f"imported {tarball} as {BASE_IMAGE}")


def pull(image: str) -> bool:
    """Whether a registry gave the image; one that is silent for 20 seconds does not."""
    repository, tag = image.split(":")
    try:
        with contextlib.closing(client(20)) as engine:
            return not any("error" in line for line in engine.api.pull(repository, tag, stream=True, decode=True))
    except (DockerException, HTTPError, OSError):
        return False


def build_base(tarball: Path) -> None:
    say(f"building {BASE_IMAGE} with debootstrap, once")
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        root = Path(scratch) / "root"
        log = CACHE / "debootstrap.log"
        with log.open("wb") as out:
            command = ["debootstrap", "--variant=minbase", "bookworm", str(root)]
            environment = {**os.environ, "PATH": SBIN}
            done = subprocess.run(command, env=environment, stdout=out, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            sys.exit(f"debootstrap: exit {done.returncode}\n{log.read_text(errors='replace')[-2000:]}")
        for pattern in ("var/cache/apt/archives/*.deb", "var/lib/apt/lists/*_*"):
            for file in root.glob(pattern):
                file.unlink()
        packed = Path(scratch) / "packed"
        subprocess.run(["tar", "-C", root, "--numeric-owner", "-I", "gzip -1", "-cf", packed, "."], check=True)
        packed.replace(tarball)


@contextlib.contextmanager
def prepared() -> Iterator[dict[str, str]]:
    """The machine ready for the suite; gives the environment to run it with."""
    CACHE.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ)
    started = None
    full = on_debian_as_root()
    try:
        with FileLock(CACHE / "lock"):
            if full:
                install_packages()
                started = start_engine()
            if engine_answers():
                provide_base_image()
        if full or environment.get("CI", "").lower() not in ("", "0", "false"):
            environment["SWEEPER_REQUIRE_SANDBOXES"] = "1"
        yield environment
    finally:
        if started is not None:
            stop_engine(started)


def interrupted(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def main(command: list[str]) -> int:
    if not command:
        sys.exit("usage: machine.py COMMAND [ARGUMENT...]")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    with prepared() as environment:
        tests = subprocess.Popen(command, env=environment)
        try:
            return tests.wait()
        except KeyboardInterrupt:
            return tests.wait() or 130  # the terminal sent the interrupt to the tests too: let them finish
        finally:
            if tests.poll() is None:
                tests.terminate()
                tests.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
