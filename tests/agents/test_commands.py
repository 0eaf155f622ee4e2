"""What a user sees: the price, the default ladder, prompts of a plan, and doctor's rehearsal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeper.config.models import RungConfig, SweepConfig
from sweeper.errors import ConfigError
from sweeper.order import with_default_ladder
from sweeper.testing.model_script import Asked, Fail, Reply, at_first
from tests.agents.conftest import KEY, Sweeping
from tests.agents.scripts import changing
from tests.agents.test_programs import LONG, MANY, needs
from tests.fire.project import COMMAND

SLOW = pytest.mark.slow


def test_the_default_ladder_ends_with_an_agent_whose_key_is_there() -> None:
    config = SweepConfig(check="ruff check .")
    ladder = with_default_ladder(config, ["claude", "codex"]).ladder
    assert [rung.agent for rung in ladder][-2:] == ["command", "claude"]
    assert {rung.agent for rung in with_default_ladder(config).ladder} == {"command"}
    unknown = SweepConfig(check="my-own-check")
    assert [rung.agent for rung in with_default_ladder(unknown, ["codex"]).ladder] == ["codex"]
    assert with_default_ladder(unknown).ladder == []


def test_a_run_without_configuration_ends_with_claude_where_its_key_is(sweeping: Callable[..., Sweeping]) -> None:
    sweep = sweeping()
    env = sweep.environment("claude")
    check = ("--", "ruff", "check", "--output-format", "json", ".")
    said = sweep.project.sweeper("plan", "--sandbox", "bubblewrap", *check, env=env)
    assert "claude: claude-sonnet-4-5" in said.out
    said = sweep.project.sweeper("plan", "--sandbox", "bubblewrap", *check, env=env | {"ANTHROPIC_API_KEY": " "})
    assert "claude" not in said.out


def test_plan_prints_prompts_and_calls_no_model(sweeping: Callable[..., Sweeping]) -> None:
    sweep = sweeping()
    folder = sweep.project.folder / ".sweeper" / "prompts"
    folder.mkdir(parents=True)
    (folder / "mine.md.j2").write_text("MINE: {{ data }}\n")
    sweep.configure("true {files}", {"agent": "claude", "prompt": "explore"})
    env = sweep.environment("claude")
    said = sweep.project.sweeper("plan", "--prompts", "--sandbox", "bubblewrap", env=env)
    assert "prompt of pkg/m0.py on rung 2:" in said.out
    assert "This is the code around the findings" in said.out
    assert "import bisect" in said.out
    sweep.configure({"agent": "claude", "prompt": "mine"})
    assert "| MINE: {" in sweep.project.sweeper("plan", "--prompts", "--sandbox", "bubblewrap", env=env).out
    assert sweep.server.seen == []


def _on_terminal(sweep: Sweeping, answer: str, *words: str) -> tuple[int, str]:
    """`sweeper run` with a terminal on stdin and stderr that answers `answer`."""
    leader, follower = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != "CI"} | sweep.environment("claude")
    child = subprocess.Popen(
        [*COMMAND, "run", "--no-live", "--sandbox", "bubblewrap", *words],
        cwd=sweep.project.folder,
        stdin=follower,
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env=env | {"TERM": "xterm"},
    )
    os.close(follower)
    os.write(leader, f"{answer}\n".encode())
    said = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(leader)
    return child.wait(), said.decode()


@SLOW
def test_the_price_is_shown_and_asked_once(sweeping: Callable[..., Sweeping]) -> None:
    sweep = sweeping(files=1)
    sweep.configure({"agent": "claude", "budget_usd": 0.4})
    code, said = _on_terminal(sweep, "n")
    assert code == 2
    assert "at most $0.40 each" in said
    assert sweep.server.seen == []
    code, said = _on_terminal(sweep, "y")
    assert code == 0, said
    assert sweep.project.recount() == 0
    code, said = _on_terminal(sweep, "", "--fresh")
    assert code == 0
    assert "go on?" not in said
    assert "at most $5.00 in this run" in said


def rehearsed(asked: Asked) -> Reply:
    return changing("rehearsal.txt", "The colour is red.\n", "The colour is green.\n")(asked)


@SLOW
@pytest.mark.parametrize("sandbox", ["bubblewrap", pytest.param("docker", marks=[pytest.mark.docker, LONG])])
@pytest.mark.parametrize("agent", MANY)
def test_doctor_proves_that_an_agent_works(
    sweeping: Callable[..., Sweeping], agent: str, sandbox: str, request: pytest.FixtureRequest
) -> None:
    needs(request, sandbox)
    busy = Fail(529, "overloaded_error", retry_after="0")  # which an agent gets over is not what is wrong with it
    sweep = sweeping(at_first(1, busy, rehearsed))
    sweep.configure({"agent": agent}, top=f'[sandbox]\nbackend = "{sandbox}"')
    said = sweep.project.sweeper("doctor", env=sweep.environment(agent))
    assert said.code == 0, said.out
    assert f"ok  agent {agent}" in said.out
    assert "edits a file ($0." in said.out
    assert KEY not in said.out + said.err


@SLOW
def test_doctor_says_what_is_wrong_with_an_agent(sweeping: Callable[..., Sweeping]) -> None:
    sweep = sweeping(lambda asked: Fail(401, "authentication_error", f"invalid key {KEY}"))
    sweep.configure({"agent": "claude"}, top='[sandbox]\nbackend = "bubblewrap"')
    said = sweep.project.sweeper("doctor", env=sweep.environment("claude"))
    assert said.code == 4
    assert "the model's provider refused: auth" in said.out
    assert KEY not in said.out + said.err
    said = sweep.project.sweeper("doctor", env=sweep.environment("claude", key=""))
    assert "ANTHROPIC_API_KEY is not set or empty" in said.out


def test_a_model_without_a_price_needs_a_cap_on_tokens(sweeping: Callable[..., Sweeping]) -> None:
    sweep = sweeping(files=1)
    sweep.configure({"agent": "claude", "model": "nobody-knows-9"})
    ended = sweep.run("claude")
    assert ended.code == 2
    assert "nobody-knows-9" in ended.err
    assert sweep.server.seen == []


def test_an_unknown_provider_is_explained(tmp_path: Path) -> None:
    from sweeper.config.models import ProviderConfig
    from sweeper.providers import settle

    sweep = SweepConfig(check="x", ladder=[RungConfig(agent="codex", provider="mine", model="m")])
    with pytest.raises(ConfigError, match="'mine' has no base_url"):
        settle([sweep], {}, {})
    mine = ProviderConfig(base_url="http://models.example.com/v1", key="MY_KEY", protocol="openai")
    with pytest.raises(ConfigError, match="MY_KEY is not set or empty"):
        settle([sweep], {"mine": mine}, {"MY_KEY": " "})
    (provider,) = settle([sweep], {"mine": mine}, {"MY_KEY": "secret-value"})
    assert "secret-value" not in repr(provider) + json.dumps(sweep.model_dump())
