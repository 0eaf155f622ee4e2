"""Suggested sweeps."""

from __future__ import annotations

import tomllib

import pytest

from sweeper.backlog.detect import READ, Found, linters
from sweeper.backlog.signs import SIGNS
from sweeper.backlog.tools import GENERIC, RUFF, TOOLS, recognise
from sweeper.cli import starter
from sweeper.commands import argv
from sweeper.config import Config
from sweeper.order import with_default_ladder
from sweeper.records import BaseEntry
from tests.backlog.samples import tree

CHECK = "ruff check --output-format json ."


def found(files: dict[str, bytes]) -> list[Found]:
    def read(path: str) -> bytes:
        assert path.rpartition("/")[2] in READ
        return files[path]

    return linters(tree(*files), read)


def test_a_configured_linter_is_found_nearest_to_the_root() -> None:
    files = {
        "pyproject.toml": b"[project]\n",
        "pkg/pyproject.toml": b"x=1\n[tool.ruff.lint]\nselect=[]\n",
        "pkg/a.py": b"",
    }
    assert found(files) == [Found("ruff", CHECK, True, "pkg/pyproject.toml", 1)]
    files["ruff.toml"] = b""
    assert found(files)[0].evidence == "ruff.toml"


def test_python_files_alone_are_suggested_as_unconfigured() -> None:
    files = {"pyproject.toml": b"[tool.rufflike]\n# [tool.ruff]\n", "b/a.py": b"", "c.pyi": b""}
    assert found(files) == [Found("ruff", CHECK, False, "c.pyi", 2)]


def test_nothing_to_check_suggests_nothing() -> None:
    listing = {**tree("ruff.toml", "README.md"), b"link.py": BaseEntry(0o120000, "0")}
    assert linters(listing, lambda path: b"") == []


def test_the_suggested_check_is_recognised() -> None:
    assert recognise(CHECK.split()) is RUFF


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: sign.tool)
def test_every_suggested_check_is_one_of_its_tool(sign: object) -> None:
    assert hasattr(sign, "check")
    for check in (sign.check, *(variant[1] for _, variant in sign.variants)):  # type: ignore[attr-defined]
        tool = recognise(argv(check))
        assert tool is not GENERIC
        assert tool.name.removesuffix("-v1") == sign.tool  # type: ignore[attr-defined]


def test_every_tool_with_a_configuration_of_its_own_is_detected() -> None:
    detected = {sign.tool for sign in SIGNS}
    variants = {"biome-check", "biome-ci", "golangci-lint-v1", "markdownlint-cli", "semgrep-short"}
    assert set(TOOLS) - detected - variants == {"generic", "gcc"}  # a compiler has no configuration to go by


@pytest.mark.parametrize(
    ("tool", "files"),
    [
        ("eslint", {"a.js": b"", "package.json": b'{"devDependencies": {"eslint": "^9"}}'}),
        ("eslint", {"web/a.ts": b"", "web/eslint.config.mjs": b""}),
        ("stylelint", {"a.scss": b"", "package.json": b'{"stylelint": {"rules": {}}}'}),
        ("tsc", {"a.ts": b"", "tsconfig.json": b""}),
        ("clippy", {"src/main.rs": b"", "Cargo.toml": b""}),
        ("go-vet", {"main.go": b"", "go.mod": b""}),
        ("shellcheck", {"x.sh": b""}),
        ("hadolint", {"Dockerfile": b""}),
        ("hadolint", {"images/Dockerfile": b""}),
        ("actionlint", {".github/workflows/ci.yml": b""}),
        ("zizmor", {".github/workflows/ci.yml": b"", "zizmor.yml": b""}),
        ("codespell", {"README": b"", "setup.cfg": b"[codespell]\nskip=x\n"}),
        ("typos", {"README": b"", "_typos.toml": b""}),
        ("flake8", {"a.py": b"", "tox.ini": b"[tox]\n[flake8]\n"}),
        ("mypy", {"a.py": b"", "pyproject.toml": b"[[tool.mypy.overrides]]\n[tool.mypy]\n"}),
        ("rubocop", {"a.rb": b"", ".rubocop.yml": b""}),
        ("yamllint", {"a.yml": b"", ".yamllint": b""}),
        ("sqlfluff", {"a.sql": b"", ".sqlfluff": b""}),
    ],
)
def test_a_linter_is_recognised_by_its_files(tool: str, files: dict[str, bytes]) -> None:
    assert tool in [one.tool for one in found(files)]


@pytest.mark.parametrize(
    "kind", [b"", b'{"dependencies": 3}', b"[" * 100_000, b'{"devDependencies": {"eslint-x": ""}}']
)
def test_a_package_json_that_says_nothing(kind: bytes) -> None:
    assert found({"a.js": b"", "package.json": kind}) == []


def test_vendored_files_suggest_nothing() -> None:
    assert found({"node_modules/x/a.sh": b"", "vendor/y.py": b"", "node_modules/x/eslint.config.js": b""}) == []


def test_another_linter_of_the_kind_stands_in_for_the_unconfigured_one() -> None:
    assert [one.tool for one in found({"a.py": b"", ".flake8": b""})] == ["flake8"]
    assert [one.tool for one in found({"a.go": b"", ".golangci.yml": b"version: '2'\n"})] == ["golangci-lint"]


def test_the_version_of_golangci_lint_follows_its_configuration() -> None:
    for content, option in ((b'version: "2"\n', "--output.json.path"), (b"linters: {}\n", "--out-format")):
        assert option in found({"a.go": b"", ".golangci.yml": content})[0].check


EVERYTHING = {
    "pyproject.toml": b"[tool.ruff]\n[tool.mypy]\n[tool.codespell]\n",
    "a.py": b"",
    "web/package.json": b'{"devDependencies": {"eslint": "1", "@biomejs/biome": "1", "stylelint": "1"}}',
    "web/a.ts": b"",
    "web/a.css": b"",
    "web/tsconfig.json": b"",
    "run.sh": b"",
    "Dockerfile": b"",
    ".github/workflows/ci.yml": b"",
    "Cargo.toml": b"",
    "src/lib.rs": b"",
    ".golangci.yml": b"version: '2'",
    "main.go": b"",
    ".markdownlint.json": b"",
    "a.md": b"",
}


def test_fixers_come_first_and_type_checkers_last() -> None:
    tools = [one.tool for one in found(EVERYTHING)]
    assert tools[0] == "codespell"
    assert tools[-2:] == ["mypy", "tsc"]
    fixing = [bool(recognise(argv(one.check)).fixers(argv(one.check))) for one in found(EVERYTHING)]
    assert fixing == sorted(fixing, reverse=True)


def test_what_init_writes_loads_and_every_sweep_has_a_ladder() -> None:
    suggested = found(EVERYTHING)
    text = starter.configuration(suggested)
    config = Config.model_validate(tomllib.loads(text))
    assert list(config.sweep) == [one.tool for one in suggested if recognise(argv(one.check)).fixers(argv(one.check))]
    for sweep in config.sweep.values():
        assert with_default_ladder(sweep).ladder == sweep.ladder
        assert all("{files}" in argv(rung.run) for rung in sweep.ladder)
    uncommented = "\n".join(line.removeprefix("# ") for line in text.splitlines() if not line.startswith("# mypy has"))
    assert "[sweep.mypy]\n" in uncommented
