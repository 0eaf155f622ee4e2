"""Plain injection: a program that can't use the gateway gets the real key, an allow-list of hosts, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeper.testing.model_script import Say
from tests.agents.conftest import KEY, Sweeping
from tests.agents.watching import Watcher, files_with, objects_with
from tests.fire.project import COMMAND, Ended

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# It has its own address of its provider, as programs have that can't use another; here without TLS, for the server's.
AGENT = """
import base64, json, os, socket, stat, sys, time, urllib.parse
place = os.environ.get("SWEEPER_KEY_FILE")
key = open(place).read() if place else sys.stdin.readline().rstrip("\\n")
if place:
    print(oct(stat.S_IMODE(os.stat(place).st_mode)), [line.split()[2] for line in open("/proc/mounts")
          if line.split()[1] == os.path.dirname(place)])
for name, value in os.environ.items():
    assert key not in value, name
print(key, base64.b64encode(key.encode()).decode(), urllib.parse.quote(key), flush=True)
sys.stdout.write(key[:10]); sys.stdout.flush(); time.sleep(0.2)
sys.stdout.write(key[10:] + "\\n"); sys.stdout.flush()
def tunnel(target, request=b"CONNECT %s HTTP/1.1\\r\\n\\r\\n"):
    host, _, port = os.environ["HTTPS_PROXY"].rpartition("/")[2].rpartition(":")
    near = socket.create_connection((host, int(port)), 60)
    near.sendall(request % target.encode())
    return near, near.recv(1000).split()[1]
said = [tunnel(target)[1] for target in ("evil.example:443", "127.0.0.1:1", "ALLOWED:80", "169.254.169.254:80")]
said.append(tunnel("http://ALLOWED/", b"GET %s HTTP/1.1\\r\\n\\r\\n")[1])
assert said == [b"403"] * 4 + [b"405"], said
for target in (("1.1.1.1", 443), ("127.0.0.1", PORT), ("172.17.0.1", PORT)):
    try:
        socket.create_connection(target, 2)
        print("CONNECTED", target)
    except OSError:
        pass
near, answer = tunnel("localhost:PORT")
assert answer == b"200", answer
body = json.dumps({"model": os.environ["SWEEPER_MODEL"], "max_tokens": 100,
                   "messages": [{"role": "user", "content": sys.argv[1]}]}).encode()
near.sendall(b"POST /v1/messages HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\nx-api-key: %s\\r\\n"
             b"content-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n" % (key.encode(), len(body)) + body)
answered = b""
while part := near.recv(65536):
    answered += part
assert b" 200 " in answered[:20], answered
name = sys.argv[1]
if name.endswith("m1.py"):
    open(name, "a").write("# " + base64.b64encode(("  " + key).encode()).decode() + "\\n")
elif name.endswith("m2.py"):
    os.symlink("/etc", key); os.mkdir("d-" + key); os.symlink(key, "d-" + key + "/x"); open("f" + key, "w").close()
else:
    open(name, "w").write("VALUE = 0\\n")
"""
# Neither check nor test finds anything of it.
TEST = "sh -c '! test -e ~/.sweeper-key && test -z \"$HTTPS_PROXY$SWEEPER_KEY_FILE\" && ! test -e /run/sweeper'"
SETUP = "sh -c 'test -z \"$MY_KEY$HTTPS_PROXY\"'"


def rung(sweep: Sweeping, how: str) -> dict[str, Any]:
    port = sweep.server.url.rpartition(":")[2]
    run = ["python3", "-c", AGENT.replace("PORT", port), "{files}"]
    return {
        "agent": "command", "provider": "mine", "model": "claude-sonnet-4-5", "run": run, "inject": how,
        "egress": [f"localhost:{port}"], "budget_usd": 0.25,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sandbox", "how"),
    [
        ("bubblewrap", "file"),
        pytest.param("docker", "file", marks=pytest.mark.docker),
        pytest.param("bubblewrap", "stdin", marks=pytest.mark.long),
        pytest.param("docker", "stdin", marks=[pytest.mark.docker, pytest.mark.long]),
    ],
)
def test_c26_an_injected_key_is_found_nowhere(
    sweeping: Callable[..., Sweeping], sandbox: str, how: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Not in inspect output, environments, command lines, logs, ledger, report or objects, although it is printed, in
    two parts as well, and written into a file of the change and into names of others."""
    if sandbox == "docker":
        request.getfixturevalue("docker_engine")
    sweep = sweeping(lambda asked: Say("done."), files=3)
    top = '[provider.mine]\nkey = "MY_KEY"\n[limits]\nslots = 1\nusd_per_fire = 50'
    sweep.configure(rung(sweep, how), top=top, more=f"test = {json.dumps(TEST)}\nsetup = [{json.dumps(SETUP)}]")
    env = os.environ | {"MY_KEY": KEY}
    planned = sweep.project.sweeper("plan", "--sandbox", sandbox, env=env)
    assert "PLAIN INJECTION: the real key of mine" in planned.err
    child = subprocess.Popen(
        [*COMMAND, "run", "--json", "--sandbox", sandbox, "-v"],
        cwd=sweep.project.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip
    watcher = Watcher(KEY, child.pid, engine=sandbox == "docker")
    watcher.start()
    out, err = child.communicate()
    found = watcher.end()
    ended = Ended(child.returncode, out, err)
    assert "PLAIN INJECTION" in err
    assert ended.kinds("pkg/m0.py") == ["fixed"], out + err
    assert ended.kinds("pkg/m1.py") == ended.kinds("pkg/m2.py") == ["rejected"]
    assert ended.report["denied"] == {"host": 12, "path": 3}
    assert ended.report["usage"]["micro_usd"] == 750_000, "each attempt is charged in full"
    assert [seen.key for seen in sweep.server.seen] == [KEY, KEY, KEY]
    assert "CONNECTED" not in out + err
    assert found == []
    assert watcher.looks > 1
    assert sandbox == "bubblewrap" or watcher.inspected
    assert list(files_with(KEY, tmp_path)) == []
    assert list(objects_with(KEY, sweep.project.folder)) == []
    assert KEY not in out + err


def test_there_is_no_attempt_without_room_for_its_price(sweeping: Callable[..., Sweeping]) -> None:
    sweep = sweeping(lambda asked: Say("done."), files=4)
    top = '[provider.mine]\nkey = "MY_KEY"\n[limits]\nslots = 1\nusd_per_fire = 0.6'
    sweep.configure(rung(sweep, "stdin"), top=top)
    ended = sweep.project.sweeper("run", "--json", "--sandbox", "bubblewrap", env={"MY_KEY": KEY})
    assert ended.code == 5
    assert ended.report["usage"]["micro_usd"] == 500_000
    assert len(sweep.server.seen) == 2
    assert "limits.usd_per_fire" in ended.report["ended"]


def test_e11_an_empty_key_is_not_injected(sweeping: Callable[..., Sweeping]) -> None:
    sweep = sweeping(files=1)
    sweep.configure(rung(sweep, "file"), top='[provider.mine]\nkey = "MY_KEY"')
    ended = sweep.project.sweeper("run", "--sandbox", "bubblewrap", env={"MY_KEY": " "})
    assert ended.code == 2
    assert "MY_KEY" in ended.err


def test_doctor_says_that_a_key_is_injected(sweeping: Callable[..., Sweeping]) -> None:
    sweep = sweeping(files=1)
    sweep.configure(rung(sweep, "file"), top='[provider.mine]\nkey = "MY_KEY"')
    ended = sweep.project.sweeper("doctor", env={"MY_KEY": KEY})
    assert "PLAIN INJECTION: the real key of mine goes into its sandbox (in a file)" in ended.out + ended.err
    assert sweep.server.seen == []
