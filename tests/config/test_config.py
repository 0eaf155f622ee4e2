"""Configuration: models, places, precedence and messages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import sweeper
from sweeper.commands import argv, programs_of
from sweeper.config.file import PLACES, Loaded, credential, digest, json_schema, load
from sweeper.config.models import Config, LimitsConfig, RungConfig, SandboxConfig
from sweeper.config.quantities import BYTES, SECONDS
from sweeper.errors import ConfigError

RUFF = '[sweep.ruff]\ncheck = "ruff check ."\n'


def loaded(
    top: Path,
    text: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Loaded:
    if text is not None:
        (top / "sweeper.toml").write_text(text)
    return load(top, environ=environ or {}, overrides=overrides or {})


def refused(top: Path, text: str, **more: Mapping[str, Any]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        loaded(top, text, **more)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return caught.value


# --- quantities and commands ---


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(10, 10), (1.5, 1.5), ("60s", 60), ("3m", 180), ("1.5h", 5400), ("2 d", 172800), ("250ms", 0.25), ("7", 7)],
)
def test_seconds(written: Any, seconds: float) -> None:
    assert LimitsConfig(wall=written).wall == seconds


@pytest.mark.parametrize(
    ("written", "size"),
    [(1024, 1024), ("512MB", 512_000_000), ("2GiB", 2 << 30), ("1.5 kib", 1536), ("7", 7), ("7B", 7)],
)
def test_bytes(written: Any, size: int) -> None:
    assert SandboxConfig(memory=written).memory == size


@pytest.mark.parametrize("written", ["", "3x", "m", "-3s", -1, True, [], "1e3", float("nan"), float("inf"), "３s·"])
def test_no_seconds(written: Any) -> None:
    with pytest.raises(ValidationError):
        LimitsConfig(wall=written)


@pytest.mark.parametrize("written", ["", "2G", "2g", 0, -1, 1.5, "0.3B", True, None, "GiB", float("inf")])
def test_no_bytes(written: Any) -> None:
    with pytest.raises(ValidationError):
        SandboxConfig(memory=written)


@given(st.integers(1, 10**6), st.sampled_from(sorted(BYTES)), st.sampled_from(sorted(SECONDS)))
def test_a_quantity_is_its_number_times_its_unit(number: int, size: str, duration: str) -> None:
    assert SandboxConfig.model_validate({"disk": f"{number}{size}"}).disk == number * BYTES[size]
    assert LimitsConfig.model_validate({"ramp": f"{number} {duration.upper()}"}).ramp == number * SECONDS[duration]


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("ruff check .", ["ruff"]),
        ("", []),
        ("sh -c 'cd pkg && FOO=1 eslint . > out; exit $?'", ["sh", "eslint"]),
        ("bash -ec 'a|b && (c) || ! d >&2 2>x & env E=1 f'", ["bash", "a", "b", "c", "d", "f"]),
        ("/bin/sh -c 'if test -f x; then y; fi; $TOOL z'", ["/bin/sh", "y"]),
        (["sh", "-c", "one\ntwo 'x; y'"], ["sh", "one", "two"]),
        (["sh", "-c", "one 'unclosed"], ["sh", "one"]),
        ("sh script.sh", ["sh"]),
        ("python -c 'import os; os.abort'", ["python"]),
    ],
)
def test_programs_of_a_command(command: str | list[str], programs: list[str]) -> None:
    assert list(programs_of(argv(command))) == programs


def test_argv() -> None:
    assert argv("ruff check --select 'E, F' {files}") == ("ruff", "check", "--select", "E, F", "{files}")
    assert argv(["a b", "$(c)"]) == ("a b", "$(c)")
    assert argv("") == ()
    assert argv("a; b #c") == ("a;", "b", "#c"), "no shell"
    for wrong in ("ruff 'check", ["a\0b"], "tail\\"):
        with pytest.raises(ConfigError) as caught:
            argv(wrong)
        assert caught.value.hint


# --- places ---


def test_without_a_file_there_are_defaults(tmp_path: Path) -> None:
    assert loaded(tmp_path) == Loaded(Config())


def test_the_first_place_wins(tmp_path: Path) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.sweeper.limits]\nslots = 1\n[tool.other]\nx = 1\n")
    assert loaded(tmp_path).config.limits.slots == 1
    for number, place in reversed([*enumerate(PLACES, 2)]):
        (tmp_path / place).write_text(f"[limits]\nslots = {number}\n")
        found = loaded(tmp_path)
        assert (found.config.limits.slots, found.path) == (number, tmp_path / place)
    (tmp_path / "env.toml").write_text("[limits]\nslots = 8\n")
    (tmp_path / "cli.toml").write_text("[limits]\nslots = 9\n")
    environ = {"SWEEPER_CONFIG": str(tmp_path / "env.toml")}
    assert load(tmp_path, environ=environ, overrides={}).config.limits.slots == 8
    assert load(tmp_path, explicit=tmp_path / "cli.toml", environ=environ, overrides={}).config.limits.slots == 9
    assert load(tmp_path, environ={"SWEEPER_CONFIG": ""}, overrides={}).config.limits.slots == 2


def test_a_pyproject_without_our_table_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 3\n")
    assert loaded(tmp_path).path is None
    (tmp_path / "pyproject.toml").write_text("this is [ not toml")
    assert loaded(tmp_path).path is None
    (tmp_path / "pyproject.toml").write_text("[tool]\nsweeper = 3\n")
    with pytest.raises(ConfigError, match=r"pyproject\.toml: tool\.sweeper = 3: expected a table"):
        loaded(tmp_path)


def test_a_named_file_must_exist_and_be_toml(tmp_path: Path) -> None:
    for name, content, said in (
        ("none.toml", None, "no such file"),
        ("latin.toml", b"a = '\xe9'", "not UTF-8 at byte 5"),
        ("bad.toml", b"a = ", "not TOML"),
        ("folder.toml", "folder", "it is a folder"),
    ):
        if content == "folder":
            (tmp_path / name).mkdir()
        elif isinstance(content, bytes):
            (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError, match=said) as caught:
            load(tmp_path, explicit=tmp_path / name, environ={}, overrides={})
        assert name in str(caught.value)


def test_the_digest_of_the_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    first = loaded(tmp_path, RUFF).digest
    assert len(first) == 64
    assert loaded(tmp_path, RUFF + "# a comment\n").digest != first


# --- precedence ---


def test_command_line_over_variables_over_file_over_defaults(tmp_path: Path) -> None:
    text = RUFF + "[limits]\nslots = 2\n"
    assert loaded(tmp_path, text).config.limits.slots == 2
    variable = {"SWEEPER_LIMITS__SLOTS": "3"}
    assert loaded(tmp_path, text, environ=variable).config.limits.slots == 3
    options = {"limits.slots": 5, "limits.verifiers": None}
    got = loaded(tmp_path, text, environ=variable, overrides=options).config.limits
    assert (got.slots, got.verifiers, got.usd_per_fire) == (5, None, 5.0)


def test_variables_reach_every_kind_of_value(tmp_path: Path) -> None:
    text = '[sweep."my-lint.x"]\ncheck = "a"\n'
    environ = {
        "SWEEPER_SLOTS": "7",
        "SWEEPER_SANDBOX": "bubblewrap",
        "SWEEPER_LEDGER": "postgresql://x/1",
        "SWEEPER_LIMITS__WALL": "3m",
        "SWEEPER_LIMITS__USD_PER_DAY": "1",
        "SWEEPER_SANDBOX__RUNTIME": "1",
        "SWEEPER_SWEEP__MY_LINT_X__SCOPE": '["a/*"]',
        "SWEEPER_SWEEP__MY_LINT_X__CHECK": "b c",
        "SWEEPER_SWEEP__MY_LINT_X__LADDER": '[{run = "fix"}]',
        "SWEEPER_SWEEP__NEW__CHECK": "d",
        "SWEEPER_LIMITS__VERIFIERS": "",
        "SWEEPER_STATE": "/elsewhere",
        "SWEEPER_SOMETHING": "x",
    }
    got = loaded(tmp_path, text, environ=environ)
    assert got.config.limits == LimitsConfig(slots=7, wall=180, usd_per_day=1)
    assert got.config.sandbox == SandboxConfig(backend="bubblewrap", runtime="1")
    assert got.config.ledger.url == "postgresql://x/1"
    sweep = got.config.sweep["my-lint.x"]
    assert (sweep.check, sweep.scope, sweep.ladder) == ("b c", ["a/*"], [RungConfig(run="fix")])
    assert got.config.sweep["new"].check == "d"
    assert got.ignored == ("SWEEPER_SOMETHING",)


def test_an_override_may_be_a_table(tmp_path: Path) -> None:
    got = loaded(tmp_path, RUFF, overrides={"sweep": {"ruff": {"slots": 2}, "check": {"check": ["x"]}}})
    assert got.config.sweep["ruff"].check == "ruff check ."
    assert got.config.sweep["ruff"].slots == 2
    assert got.config.sweep["check"].check == ["x"]


def test_an_empty_credential_is_missing() -> None:
    assert credential({}, "KEY") is None
    assert credential({"KEY": ""}, "KEY") is None
    assert credential({"KEY": " \n"}, "KEY") is None
    assert credential({"KEY": "secret\n"}, "KEY") == "secret"


# --- messages ---


@pytest.mark.parametrize(
    ("text", "key", "suggestion"),
    [
        (RUFF + "slot = 2\n", "sweep.ruff.slot", "sweep.ruff.slots"),
        (RUFF + "[limit]\n", "limit", "limits"),
        ("[sandbox]\nslots = 3\n", "sandbox.slots", "limits.slots"),
        (
            RUFF + "[[sweep.ruff.ladder]]\nrun = 'x'\nclocks.wal = 3\n",
            "sweep.ruff.ladder.0.clocks.wal",
            "sweep.ruff.ladder.0.clocks.wall",
        ),
    ],
)
def test_an_unknown_key_is_an_error_with_a_suggestion(tmp_path: Path, text: str, key: str, suggestion: str) -> None:
    error = refused(tmp_path, text)
    assert str(error) == f"{tmp_path / 'sweeper.toml'}: {key}: unknown key"
    assert error.hint == f"{key}: did you mean {suggestion}?"


def test_an_unknown_key_like_no_other_lists_the_keys(tmp_path: Path) -> None:
    assert refused(tmp_path, "[ledger]\nqqqq = 1\n").hint == "ledger.qqqq: the keys here are url"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[sweep.ruff]\ncheck = 3\n", "sweep.ruff.check = 3: expected a valid string or expected a valid list"),
        (RUFF + "slots = 'four'\n", 'sweep.ruff.slots = "four": expected a valid integer'),
        (RUFF + "slots = true\n", "sweep.ruff.slots = true: expected a valid integer"),
        ("[sandbox]\nbackend = 'dokcer'\n", "sandbox.backend = \"dokcer\": expected 'auto', 'docker' or 'bubblewrap'"),
        ("[sandbox]\nmemory = '2G'\n", 'sandbox.memory = "2G": expected bytes as a whole number, or a string such as'),
        ("[limits]\nwall = 'long'\n", 'limits.wall = "long": expected seconds as a number, or a string such as'),
        ("[limits]\nslots = 0\n", "limits.slots = 0: expected greater than or equal to 1"),
        ("[sweep.ruff]\nslots = 1\n", "sweep.ruff.check: is missing"),
        ("[sweep.ruff]\ncheck = ''\n", 'sweep.ruff.check = "": expected a command, not nothing'),
        ('[sweep.ruff]\ncheck = "x \'"\n', 'sweep.ruff.check = "x \'": not a command line'),
        (RUFF + "root = '../x'\n", 'sweep.ruff.root = "../x": expected a path inside the repository'),
        (RUFF + "test_junit = 'j.xml'\n", "sweep.ruff: `test_junit` needs `test`"),
        (RUFF + "[[sweep.ruff.ladder]]\n", 'sweep.ruff.ladder.0: a rung with agent = "command" needs `run`'),
        (RUFF.replace("ruff]", '"a b"]'), 'sweep."a b"'),
        ("sweep = 3\n", "sweep = 3: expected a table"),
    ],
)
def test_a_wrong_value_names_file_key_value_and_what_is_expected(tmp_path: Path, text: str, said: str) -> None:
    assert f"{tmp_path / 'sweeper.toml'}: {said}" in str(refused(tmp_path, text))


def test_every_error_is_named_at_once(tmp_path: Path) -> None:
    text = str(refused(tmp_path, "[limits]\nslots = 0\nx = 1\n[sandbox]\npids = 'y'\n"))
    assert len(text.splitlines()) == 3


def test_an_error_names_where_its_value_came_from(tmp_path: Path) -> None:
    error = refused(tmp_path, RUFF, environ={"SWEEPER_LIMITS__SLOTS": "x"}, overrides={"sandbox.pids": 1})
    assert 'SWEEPER_LIMITS__SLOTS: limits.slots = "x"' in str(error)
    assert "the command line: sandbox.pids = 1" in str(error)
    error = refused(tmp_path, RUFF, environ={"SWEEPER_LIMITS__SLOTZ": "3"})
    assert str(error) == "SWEEPER_LIMITS__SLOTZ: limits.slotz: unknown key"
    assert "SWEEPER_LIMITS__SLOTS__X" in str(
        refused(tmp_path, "[limits]\nslots = 1\n", environ={"SWEEPER_LIMITS__SLOTS__X": "3"})
    )


def test_a_long_value_is_cut_in_a_message(tmp_path: Path) -> None:
    assert len(str(refused(tmp_path, f"[limits]\nslots = '{'x' * 5000}'\n"))) < 400


# --- what decides a result ---


def test_the_sweep_digest_covers_what_decides_its_results(tmp_path: Path) -> None:
    def of(text: str) -> str:
        return digest(loaded(tmp_path, text).config, "ruff")

    first = of(RUFF)
    assert of(RUFF + "slots = 3\nmax_rounds = 2\n[limits]\nslots = 9\n[sandbox]\nmemory = '1GiB'\n") == first
    assert of(RUFF + "[sweep.other]\ncheck = 'x'\n") == first
    for line in (
        "root = 'a'",
        "test = 'pytest'",
        "[[sweep.ruff.ladder]]\nrun = 'x'",
        "[sandbox]\nbackend = 'docker'",
        "allow = ['x']",
    ):
        assert of(RUFF + line + "\n") != first
    with pytest.raises(KeyError):
        digest(Config(), "ruff")


# --- the schema ---


def test_the_shipped_schema_is_that_of_the_models() -> None:
    shipped = Path(sweeper.__file__).with_name("sweeper.schema.json")
    expected = json.dumps(json_schema(), indent=2) + "\n"
    assert shipped.read_text() == expected, "write json.dumps(sweeper.configfile.json_schema(), indent=2) to it again"


def test_every_key_of_the_schema_is_described() -> None:
    schema = json_schema()
    for name, model in schema["$defs"].items():
        for key, field in model["properties"].items():
            assert field.get("description"), f"{name}.{key}"


def test_the_floor_reads_no_pydantic_where_the_command_line_shows_its_help() -> None:
    program = "import sys, sweeper, sweeper.errors, sweeper.records; print('pydantic' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
    )


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"inject": "file", "egress": ["a:1"], "budget_usd": 1}, "with a `provider`"),
        ({"inject": "file", "provider": "p", "budget_usd": 1}, "needs `egress`"),
        ({"inject": "file", "provider": "p", "egress": ["a:1"]}, "needs `egress`"),
        ({"egress": ["a:1"]}, "is for a rung with `inject`"),
        ({"inject": "env", "provider": "p"}, "'file' or 'stdin'"),
        ({"inject": "file", "provider": "p", "egress": ["https://a"], "budget_usd": 1}, "host:port"),
        ({"inject": "file", "provider": "p", "egress": ["*:443"], "budget_usd": 1}, "host:port"),
        ({"inject": "file", "provider": "p", "egress": ["a:65536"], "budget_usd": 1}, "no port 65536"),
        ({"inject": "file", "provider": "p", "egress": ["a:0"], "budget_usd": 1}, "no port 0"),
        ({"inject": "file", "provider": "p", "egress": ["a..b:1"], "budget_usd": 1}, "no host can be called"),
        ({"inject": "file", "provider": "p", "egress": [f"{'a' * 64}:1"], "budget_usd": 1}, "no host can be called"),
        (
            {"agent": "claude", "inject": "file", "provider": "p", "egress": ["a:1"], "budget_usd": 1},
            "the other agents",
        ),
    ],
)
def test_plain_injection_is_never_half_configured(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        RungConfig(run="x", **wrong)
    whole: dict[str, Any] = {
        "inject": "file",
        "provider": "p",
        "egress": ["API.example.com:443", "[::1]:8"],
        "budget_usd": 1,
    }
    assert RungConfig(run="x", **whole).egress == ["api.example.com:443", "[::1]:8"]


@pytest.mark.parametrize("variable", ['"" = "x"', '"A=B" = "x"', '"A\\u0000" = "x"', 'A = "x\\u0000y"'])
def test_a_variable_that_no_program_can_get_is_refused(variable: str, tmp_path: Path) -> None:
    said = refused(tmp_path, f'{RUFF}[[sweep.ruff.ladder]]\nrun = "x"\nenv = {{ {variable} }}\n')
    assert "no program can get a variable" in str(said)


def test_any_other_variable_is_taken(tmp_path: Path) -> None:
    text = f'{RUFF}[[sweep.ruff.ladder]]\nrun = "x"\nenv = {{ "A B" = "a\\nb=c", EMPTY = "" }}\n'
    assert loaded(tmp_path, text).config.sweep["ruff"].ladder[0].env == {"A B": "a\nb=c", "EMPTY": ""}
