"""What agents do that no recording has: each thing is a unit of one sweep."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from sweeper.testing.model_script import Asked, Fail, Page, Reply, Say
from tests.agents.conftest import Sweeping

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# A small one: it asks its model once, and then does what it is told of its unit.
AGENT = """
import json, os, subprocess, sys, time, urllib.request
path = sys.argv[1]
body = {"model": os.environ["SWEEPER_MODEL"], "max_tokens": 4000, "stream": True}
body["messages"] = [{"role": "user", "content": path}]
head = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
def ask():
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), head)
    said = urllib.request.urlopen(request).read()
    assert b"message_stop" in said, said
def fix():
    open(path, "w").write("VALUE = 0\\n")
def git(*words):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    print(subprocess.run(["git", *who, *words], capture_output=True, text=True), flush=True)
ask()
DO
"""


DEEDS = {  # what it does, and the outcome
    "never ends": ("fix(); print('done', flush=True); time.sleep(999)", "fixed", ""),
    "does nothing": ("print('All is well.')", "no_change", "no change"),
    "says nothing": ("pass", "unclassified", "said nothing"),
    "fails rightly": ("fix(); sys.exit(1)", "fixed", ""),
    "asks": ("print('Proceed? [y/N]', flush=True); sys.stdin.readline() or sys.exit(1)", "no_change", "no change"),
    "daemon": (
        "fix(); os.fork() or (os.setsid(), os.fork() and os._exit(0), time.sleep(1), "
        "open(path, 'w').write('import ast\\n'), time.sleep(99))",
        "fixed", "",
    ),
    "floods": ("[os.write(1, b'x' * 65535 + b'\\n') for _ in range(3200)]; fix()", "fixed", ""),
    "no text": ("os.write(1, b'\\xff\\xfe{\\x00\\n' * 99); os.write(2, b'\\xff'); fix()", "fixed", ""),
    "deletes": ("fix(); os.remove(path)", "rejected", "deleted"),
    "rewrites": (
        "print('x'); t = open(path).read(); os.remove(path); open(path, 'w').write(t)", "no_change", "no change",
    ),
    "commits": ("fix(); git('checkout', '-b', 'x'); git('commit', '-qam', 'x'); git('gc', '-q')", "fixed", ""),
    "stashes": ("fix(); git('stash')", "no_change", "no change"),
    "worktree": (
        "git('worktree', 'add', 'wt'); open('wt/' + path, 'w').write('VALUE = 0\\n')", "rejected", "denied_path",
    ),
    "hooks": (
        "os.makedirs('.git/hooks', exist_ok=True); open('.git/hooks/pre-commit', 'w').write('#!/bin/sh\\nexit 1\\n'); "
        "git('config', 'core.fsmonitor', 'touch /tmp/pwned'); fix()",
        "fixed", "",
    ),
    "no git": ("import shutil; shutil.rmtree('.git'); fix()", "fixed", ""),
    "modes": ("fix(); os.chmod(path, 0o755)", "fixed", ""),
    "no mode": ("fix(); os.chmod(path, 0)", "fixed", ""),
    "links": ("os.remove(path); os.symlink('m1.py', path)", "rejected", "link"),
    "links beside": ("fix(); os.symlink('/etc/passwd', 'pkg/x.py')", "rejected", "scope"),
    "fifo": ("os.remove(path); os.mkfifo(path)", "rejected", "special"),
    "is killed": ("fix(); os.kill(os.getpid(), 9)", "fixed", ""),
}  # fmt: skip

REPLIES: dict[str, tuple[Reply, int, list[tuple[str, str]]]] = {  # what comes so many times first, and the outcomes
    "cut by a proxy": (Say(tokens=99, chunks=9, ending="early"), 1, [("transient", "cut"), ("fixed", "")]),
    "overloaded within": (Say("Well", ending="error"), 1, [("transient", "overloaded"), ("fixed", "")]),
    "refused within": (Say("", ending="error", kind="api_error"), 1, [("transient", "server"), ("fixed", "")]),
    "a page": (Page(), 1, [("transient", "unreachable"), ("fixed", "")]),
    "too long": (Fail(413, "request_too_large"), 9, [("context_overflow", "")]),
    "a filter": (
        Fail(400, "invalid_request_error", "Output blocked by content filtering policy"),
        9,
        [("declined", "")],
    ),
    "no count": (Say("ok", usage=False), 9, [("fixed", "")]),
}
UNCOUNTED = frozenset({"cut by a proxy", "overloaded within", "a page", "no count"})
REFUSED = frozenset({"refused within", "too long", "a filter"})
# In every run of the tests; the rest is tested by what it comes down to, and here with the long ones.
SOME = [
    "never ends",
    "fails rightly",
    "asks",
    "daemon",
    "stashes",
    "no mode",
    "overloaded within",
    "a page",
    "no count",
]


def own(deeds: str) -> dict[str, Any]:
    """A rung with the agent that does `deeds`."""
    run = ["python3", "-c", AGENT.replace("DO", deeds), "{files}"]
    return {"run": run, "provider": "anthropic", "model": "claude-sonnet-4-5", "pilot": 0}


@pytest.mark.parametrize(
    "sandbox", ["bubblewrap", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.long])]
)
def test_what_an_agent_and_its_provider_may_do_besides(
    sweeping: Callable[..., Sweeping], sandbox: str, request: pytest.FixtureRequest
) -> None:
    if sandbox == "docker":
        request.getfixturevalue("docker_engine")
    names = [*DEEDS, *REPLIES] if os.environ.get("SWEEPER_LONG") else SOME
    places = {name: f"pkg/m{number}.py" for number, name in enumerate(names)}
    by_place = {place: name for name, place in places.items()}
    seen: Counter[str] = Counter()

    def script(asked: Asked) -> Reply:
        name = by_place[asked.text.strip()]
        seen[name] += 1
        reply, times, _ = REPLIES.get(name, (Say("ok"), 1, []))
        return reply if seen[name] <= times else Say("ok")

    sweep = sweeping(script, files=len(names))
    deeds = "".join(f"if path == {places[name]!r}:\n    {DEEDS.get(name, ('fix()',))[0]}\n" for name in names)
    clocks = {"first_output": "60s", "idle": "12s", "wall": "60s"}
    sweep.configure(
        own(deeds) | {"clocks": clocks},
        top="[limits]\nslots = 4\nusd_per_fire = 50\nusd_per_day = 50",
        more="max_rounds = 1",
    )
    ended = sweep.run(sandbox=sandbox)
    found = {n: list(zip(ended.kinds(p), ended.reasons(p), strict=True)) for n, p in places.items()}
    right = {name: outcomes for name, (_, _, outcomes) in REPLIES.items()}
    right |= {name: [(kind, reason)] for name, (_, kind, reason) in DEEDS.items()}
    assert found == {name: right[name] for name in names}
    cost = {name: ended.unit(place)["tries"][0]["usage"]["micro_usd"] for name, place in places.items()}
    longest = 4000 * 15  # micro-dollars of the longest answer that was allowed
    assert {name for name in names if cost[name] >= longest} == UNCOUNTED.intersection(names), "never too low"
    assert {name for name in names if cost[name] == 0} == REFUSED.intersection(names)


STOPS: dict[str, tuple[Reply, str]] = {
    "a revoked key": (Fail(401, "authentication_error", "invalid x-api-key"), "auth"),
    "an unknown model": (Fail(400, "invalid_request_error", "x is not a valid model ID"), "unknown_model"),
    "a wrong address": (Page("no such page", "text/plain", 404), "no_such_path"),
    "quota within": (Say("", ending="error", kind="insufficient_quota"), "quota"),
}


@pytest.mark.parametrize(
    "name", [name if name == "a revoked key" else pytest.param(name, marks=pytest.mark.long) for name in STOPS]
)
def test_what_is_true_of_every_unit_stops_a_run_that_went_well(sweeping: Callable[..., Sweeping], name: str) -> None:
    reply, reason = STOPS[name]
    good, files = 2, 5

    def script(asked: Asked) -> Reply:
        return Say("ok") if asked.number <= good else reply

    sweep = sweeping(script, files=files)
    sweep.configure(own("fix()"), own("fix()") | {"prompt": "retry"}, top="[limits]\nslots = 1")
    ended = sweep.run()
    assert ended.code == 3
    assert reason in ended.report["ended"]
    assert ended.report["outcomes"]["fixed"] == good
    assert ended.report["outcomes"].keys() == {"fixed", "refused"}
    assert sum(unit["state"] == "open" for unit in ended.report["units"]) == files - good
    assert sweep.project.recount() == 2 * (files - good), "what was paid for is on the branch"
    assert ended.report["usage"]["micro_usd"] == good * ended.unit("pkg/m0.py")["tries"][0]["usage"]["micro_usd"]


@pytest.mark.long
def test_an_outage_stops_the_run_and_holds_nobody(sweeping: Callable[..., Sweeping]) -> None:
    sweep = sweeping(lambda asked: Page(status=502), files=2)
    sweep.configure(own("fix()"), top="[limits]\nslots = 2")
    ended = sweep.run()
    assert ended.code == 3
    assert "anthropic claude-sonnet-4-5: server" in ended.report["ended"]
    assert ended.report["outcomes"].keys() == {"transient"}
    assert {unit["state"] for unit in ended.report["units"]} == {"open"}
    assert ended.report["usage"]["micro_usd"] == 0
