"""A forge on this machine: real `git push` over HTTP, a dozen of GitHub's API calls, their real failures.

By itself: `python -m tests.forge.server [FOLDER]`. It prints one JSON line with its address, clone URL and token,
and serves until its stdin ends. `GET /_state` shows everything, `POST /_fail` plans a refusal, `POST /_commit` is a
person's commit on a branch.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.forge.api import Api
from tests.forge.hub import GIT_ENV, Hub, Person
from tests.waiting import PATIENCE

TOKEN = "ghp_faketokenfaketokenfaketoken123456"  # of "dev", who may do everything but change workflows
BOT_TOKEN = "ghs_faketokenofthebotfaketoken123456"
MOST = 1 << 30


class Forge:
    """A hub that is served. `url`: its address; `clone`: the repository's, without credentials."""

    def __init__(self, folder: Path) -> None:
        self.hub = Hub(folder)
        self.hub.tokens = {TOKEN: Person("dev"), BOT_TOKEN: Person("github-actions", bot=True)}
        self.hub.create()
        self.url = ""
        self.pushes: list[str] = []
        self._runner: web.AppRunner | None = None

    @property
    def clone(self) -> str:
        return f"{self.url}/{self.hub.full}.git"

    @property
    def api(self) -> str:
        return f"{self.url}/api/v3"

    async def start(self, port: int = 0) -> None:
        app = web.Application(client_max_size=MOST)
        api = Api(self.hub, "")
        app.add_routes(api.routes())
        app.add_routes(
            [
                web.get("/_state", self._state),
                web.post("/_fail", self._fail),
                web.post("/_commit", self._commit),
                web.route("*", "/{owner}/{repository}.git/{rest:.*}", self._git),
            ]
        )
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.url = api.base = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def _state(self, request: web.Request) -> web.Response:
        return web.json_response(self.hub.state())

    async def _fail(self, request: web.Request) -> web.Response:
        data: dict[str, Any] = await request.json()
        self.hub.fail(**data)
        return web.json_response({})

    async def _commit(self, request: web.Request) -> web.Response:
        data: dict[str, Any] = await request.json()
        return web.json_response({"commit": self.hub.commit_on(**data)})

    async def _git(self, request: web.Request) -> web.StreamResponse:
        """`git http-backend`, behind a password as GitHub has it: any name, the token."""
        person = self._who(request.headers.get("Authorization", ""))
        pushing = "git-receive-pack" in (request.query_string + request.match_info["rest"])
        self.pushes += [request.path] if pushing else []
        if person is None:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="GitHub"'}, text="denied")
        if pushing and not person.push:
            return web.Response(status=403, text=f"Permission to {self.hub.full}.git denied to {person.login}.")
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            **GIT_ENV,
            "GIT_PROJECT_ROOT": str(self.hub.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": "/{owner}/{repository}.git/{rest}".format(**request.match_info),
            "REMOTE_USER": person.login,
            "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": request.method,
            "QUERY_STRING": request.query_string,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "FORGE_MAY_CHANGE_WORKFLOWS": "yes" if person.workflows else "no",
        }
        body = await request.read()  # aiohttp has undone a gzip
        process = await asyncio.create_subprocess_exec(
            "git", "http-backend", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, env=env | {"CONTENT_LENGTH": str(len(body))},
        )  # fmt: skip
        out, _ = await process.communicate(body)
        head, _, rest = out.partition(b"\r\n\r\n")
        status, headers = 200, {}
        for row in head.decode("latin-1").split("\r\n"):
            name, _, value = row.partition(": ")
            if name.lower() == "status":
                status = int(value.split()[0])
            elif name:
                headers[name] = value
        return web.Response(status=status, headers=headers, body=rest)

    def _who(self, header: str) -> Person | None:
        kind, _, coded = header.partition(" ")
        if kind.lower() != "basic":
            return None
        try:
            password = base64.b64decode(coded).decode().partition(":")[2]
        except ValueError:
            return None
        return self.hub.tokens.get(password)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Forge]:
    """A forge in a thread of its own, for tests that start real programs."""
    forge = Forge(folder)
    ready, loop = threading.Event(), asyncio.new_event_loop()

    def serve() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(forge.start())
        ready.set()
        loop.run_forever()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield forge
    finally:
        asyncio.run_coroutine_threadsafe(forge.stop(), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve a forge with one repository until stdin ends.")
    parser.add_argument("folder", nargs="?", type=Path, help="where it keeps it; without it a temporary one")
    folder = parser.parse_args().folder
    with contextlib.ExitStack() as stack:
        folder = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        forge = stack.enter_context(serving(folder))
        said = {"url": forge.url, "api": forge.api, "clone": forge.clone, "token": TOKEN, "bot_token": BOT_TOKEN}
        print(json.dumps(said | {"git_dir": str(forge.hub.git_dir)}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
