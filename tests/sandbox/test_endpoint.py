"""Which engine is talked to, and what an engine's errors mean."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from pathlib import Path

import docker.errors
import pytest
import requests

from sweeper.errors import SandboxFailed
from sweeper.sandbox.docker.endpoint import find_endpoint
from sweeper.sandbox.docker.engine import Engine, failure
from tests.sandbox.engine_proxy import ENGINE

SOCKETS = ("/var/run/docker.sock", "/run/docker.sock")


def context(home: Path, name: str, host: str) -> None:
    folder = home / ".docker/contexts/meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    meta = {"Name": name, "Endpoints": {"docker": {"Host": host, "SkipTLSVerify": False}}}
    (folder / "meta.json").write_text(json.dumps(meta))


def test_c22_a_bare_path_in_docker_host(tmp_path: Path) -> None:
    found = find_endpoint({"DOCKER_HOST": "/some/where.sock", "DOCKER_CONTEXT": "other"}, tmp_path)
    assert (found.url, found.source) == ("unix:///some/where.sock", "DOCKER_HOST")


def test_c22_the_named_context_then_the_current_one(tmp_path: Path) -> None:
    context(tmp_path, "far", "tcp://192.0.2.1:2375")
    context(tmp_path, "near", "unix:///near.sock")
    (tmp_path / ".docker/config.json").write_text('{"currentContext": "near"}')
    assert find_endpoint({"DOCKER_CONTEXT": "far"}, tmp_path).url == "tcp://192.0.2.1:2375"
    assert find_endpoint({}, tmp_path).url == "unix:///near.sock"


def test_c22_a_context_without_an_engine_is_no_other_engine(tmp_path: Path) -> None:
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker/config.json").write_text('{"currentContext": "lost"}')
    with pytest.raises(SandboxFailed, match=r"'lost'.*DOCKER_HOST is not set") as caught:
        find_endpoint({}, tmp_path)
    assert not caught.value.retryable
    assert "docker context ls" in caught.value.hint


def test_c22_a_rootless_socket_and_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: str(path) not in SOCKETS and really(path))
    environment = {"XDG_RUNTIME_DIR": str(tmp_path / "run")}
    with pytest.raises(SandboxFailed) as caught:
        find_endpoint(environment, tmp_path)
    for tried in (
        "DOCKER_HOST",
        "DOCKER_CONTEXT",
        "config.json",
        "/var/run/docker.sock",
        ".docker/desktop",
        "run/docker",
    ):
        assert tried in str(caught.value)
    (tmp_path / "run").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "run/docker.sock"))
        assert find_endpoint(environment, tmp_path).url == f"unix://{tmp_path}/run/docker.sock"


async def connect(url: str, home: Path) -> None:
    await Engine(find_endpoint({"DOCKER_HOST": url}, home), slots=1).connect()


@pytest.mark.anyio
async def test_c22_an_engine_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(SandboxFailed, match=f"no docker engine answers at unix://{tmp_path}/no.sock.*DOCKER_HOST") as e:
        await connect(f"{tmp_path}/no.sock", tmp_path)
    assert not e.value.retryable


@pytest.mark.anyio
@pytest.mark.docker
@pytest.mark.skipif(not os.path.exists(ENGINE), reason="no engine's socket")
async def test_c22_the_engine_behind_a_bare_path(docker_engine: object, tmp_path: Path) -> None:
    await connect(ENGINE, tmp_path)


def said(status: int, message: str) -> Exception:
    response = requests.Response()
    response.status_code = status
    return docker.errors.APIError(message, response=response, explanation=message)


@pytest.mark.parametrize(
    ("problem", "retryable", "may_have_run"),
    [
        pytest.param(
            said(500, "could not find an available, non-overlapping IPv4 address pool among the defaults"),
            True, False, id="c03",
        ),
        pytest.param(said(500, "toomanyrequests: You have reached your pull rate limit"), False, False, id="c23"),
        pytest.param(said(429, "slow down"), False, False, id="c23-status"),
        pytest.param(said(500, "write /var/lib/docker/tmp/x: no space left on device"), False, False, id="c24"),
        pytest.param(requests.exceptions.ReadTimeout("Read timed out."), True, True, id="c07"),
        pytest.param(said(500, "fork: resource temporarily unavailable"), True, False, id="c10"),
        pytest.param(said(400, "invalid mount config"), False, False, id="bad request"),
        pytest.param(said(503, "starting"), True, False, id="unavailable"),
    ],
)  # fmt: skip
def test_what_an_engines_error_means(problem: Exception, retryable: bool, may_have_run: bool) -> None:
    failed = failure(problem, "create the sandbox")
    assert (failed.retryable, failed.may_have_run) == (retryable, may_have_run)
    assert "docker could not create the sandbox" in str(failed)
