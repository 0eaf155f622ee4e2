"""How command lines are recognised and rewritten, held against the real ruff."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sweeper.backlog.tools import FILES, GENERIC, RUFF, TOOLS, recognise
from sweeper.records import CheckState
from tests.backlog.samples import said, tree

RUFF_PROGRAM = str(Path(sys.executable).parent / "ruff")


@pytest.mark.parametrize(
    "command",
    [
        "ruff check .",
        "ruff check",
        "/opt/venv/bin/ruff check --select F src",
        "ruff --config x.toml check .",
        "python -m ruff check .",
        "python3.12 -I -m ruff check .",
        "uv run ruff check .",
        "uvx ruff check .",
        "uv tool run ruff check .",
        "poetry run ruff check .",
    ],
)
def test_ruff_is_recognised(command: str) -> None:
    assert recognise(shlex.split(command)) is RUFF


@pytest.mark.parametrize(
    "command",
    [
        "",
        "ruff format --check .",
        "ruff",
        "make lint",
        "python x.py -m ruff check",
        "sh -c 'ruff check $FILES'",
        "uv ruff check",
    ],
)
def test_other_commands_are_generic(command: str) -> None:
    tool = recognise(shlex.split(command))
    assert tool is GENERIC
    assert tool.check(["make", "lint"]) == ["make", "lint"]
    assert tool.unit_check(["make", "lint"]) == []
    assert tool.fixers(["make", "lint"]) == []
    assert tool.without_suppressions(["make", "lint"]) == []


@pytest.mark.parametrize(
    ("command", "check"),
    [
        ("ruff check .", "ruff check --output-format json --no-fix --no-cache ."),
        ("ruff check --output-format json .", "ruff check --output-format json --no-fix --no-cache ."),
        ("ruff check --output-format=sarif src", "ruff check --output-format sarif --no-fix --no-cache src"),
        ("ruff check --output-format full src", "ruff check --output-format json --no-fix --no-cache src"),
        (
            "ruff check --select=F,E --fix -e a b",
            "ruff check --select F,E --output-format json --no-fix --no-cache a b",
        ),
        ("ruff check -o out --statistics --add-noqa=x --watch", "ruff check --output-format json --no-fix --no-cache"),
        ("ruff check -- -odd.py", "ruff check --output-format json --no-fix --no-cache ./-odd.py"),
        (
            "ruff check --config lint.select=['F'] .",
            "ruff check --config lint.select=[F] --output-format json --no-fix --no-cache .",
        ),
    ],
)
def test_check_asks_for_a_machine_format_and_changes_nothing(command: str, check: str) -> None:
    assert RUFF.check(shlex.split(command)) == check.split()
    assert RUFF.check(check.split()) == check.split()


def test_unit_check_and_fixers_keep_the_selection() -> None:
    argv = shlex.split("python -m ruff check --select F,E501 --output-format=concise --fix src tests")
    assert RUFF.unit_check(argv) == shlex.split(
        "python -m ruff check --select F,E501 --output-format concise --no-fix --no-cache --force-exclude {files}"
    )
    start = "python -m ruff check --select F,E501 --no-cache --fix"
    assert RUFF.fixers(argv) == [
        shlex.split(f"{start} --force-exclude {{files}}"),
        shlex.split(f"{start} --unsafe-fixes --force-exclude {{files}}"),
    ]
    assert RUFF.fixers(RUFF.check(argv)) == RUFF.fixers(argv)
    assert [RUFF.unsafe(fixer) for fixer in RUFF.fixers(argv)] == [False, True]
    assert RUFF.unit_check(["ruff", "check", "-"]) == []


def test_without_suppressions_works_on_both_checks() -> None:
    for argv in (RUFF.check(["ruff", "check", "."]), RUFF.unit_check(["ruff", "check", "."])):
        shown = RUFF.without_suppressions(argv)
        assert "--ignore-noqa" in shown
        assert [word for word in shown if word != "--ignore-noqa"] == argv


def run(folder: Path, argv: Sequence[str], *files: str) -> subprocess.CompletedProcess[bytes]:
    words = [name for word in argv for name in (files if word == FILES else [word])]
    return subprocess.run([RUFF_PROGRAM, *words[1:]], cwd=folder, capture_output=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.ruff]\nextend-exclude = ["vendored"]\nfix = true\n')
    (tmp_path / "vendored").mkdir()
    for name in ("vendored/m.py", "a.py"):
        (tmp_path / name).write_text("import os\nimport sys  # noqa: F401\n\n\ndef f() -> None:\n    unused = 1\n")
    return tmp_path


def test_a15_named_files_have_the_excludes_of_a_whole_run(project: Path) -> None:
    listing = tree("a.py", "vendored/m.py")
    whole = run(project, RUFF.check(["ruff", "check", "."]))
    named = run(project, RUFF.unit_check(["ruff", "check", "."]), "a.py", "vendored/m.py")
    results = [
        said(ran.stdout, ran.stderr, code=ran.returncode, listing=listing, checkouts=(str(project),))
        for ran in (whole, named)
    ]
    assert [(f.path, f.rule) for f in results[0].findings] == [("a.py", "F401"), ("a.py", "F841")]
    assert results[0] == results[1]
    plain = run(project, ["ruff", "check", "--no-cache", "--no-fix", "--output-format", "json", "vendored/m.py"])
    assert len(said(plain.stdout, listing=listing, checkouts=(str(project),)).findings) == 2
    only_excluded = run(project, RUFF.unit_check(["ruff", "check", "."]), "vendored/m.py")
    result = said(only_excluded.stdout, only_excluded.stderr, code=only_excluded.returncode, listing=listing)
    assert (result.state, "No Python files" in result.why) == (CheckState.BROKEN, True)


def test_a_check_changes_no_file_and_fixers_do(project: Path) -> None:
    before = (project / "a.py").read_text()
    for argv in (RUFF.check(["ruff", "check", "--fix", "."]), RUFF.without_suppressions(["ruff", "check", "."])):
        assert run(project, argv).returncode == 1
    assert (project / "a.py").read_text() == before
    hidden = run(project, RUFF.without_suppressions(["ruff", "check", "."]))
    assert len(said(hidden.stdout, listing=tree("a.py"), checkouts=(str(project),)).findings) == 3
    safe, unsafe = RUFF.fixers(["ruff", "check", "--output-format", "json", "."])
    assert run(project, safe, "a.py").returncode == 1
    assert "import os" not in (project / "a.py").read_text()
    assert "unused = 1" in (project / "a.py").read_text()
    assert run(project, unsafe, "a.py").returncode == 0
    assert "unused" not in (project / "a.py").read_text()
    assert not (project / ".ruff_cache").exists()
    assert (project / "vendored/m.py").read_text() == before


@pytest.mark.parametrize("format", ["json", "json-lines", "sarif", "concise", "pylint"])
def test_every_good_format_of_the_real_program_is_understood(project: Path, format: str) -> None:
    clean = project / "clean.py"
    clean.write_text("x = 1\n")
    for argv, names in ((["a.py"], ["a.py", "a.py"]), (["clean.py"], [])):
        ran = run(project, RUFF.check(["ruff", "check", "--output-format", format, *argv]))
        listing = tree("a.py", "clean.py")
        result = said(ran.stdout, ran.stderr, code=ran.returncode, listing=listing, checkouts=(str(project),))
        assert [f.path for f in result.findings] == names
        assert result.state is (CheckState.FINDINGS if names else CheckState.CLEAN)


# --- the other rows ---


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("npx eslint .", "eslint"),
        ("npx --no-install eslint .", "eslint"),
        ("npx @biomejs/biome ci .", "biome-ci"),
        ("pnpm dlx @biomejs/biome@2.3.1 check .", "biome-check"),
        ("npx -y eslint@9 .", "eslint"),
        ("npx --package=typescript tsc -b", "tsc"),
        ("npx -p typescript -- tsc", "tsc"),
        ("npx markdownlint-cli '**/*.md'", "markdownlint-cli"),
        ("npm exec -- eslint .", "eslint"),
        ("npm exec eslint .", "generic"),  # its options would be npm's
        ("pnpm -r exec eslint .", "generic"),  # in every package
        ("npx -c 'eslint .'", "generic"),
        ("yarn --silent eslint .", "eslint"),
        ("uvx ruff@latest check .", "ruff"),
        ("uvx --from ruff ruff check", "ruff"),
        ("uv run --frozen --group dev mypy .", "mypy"),
        ("uv run --directory web ruff check", "generic"),
        ("uv run python -m pylint src", "pylint"),
        ("env FOO=1 BAR=2 uv run ruff check .", "ruff"),
        ("/usr/bin/env ruff check .", "ruff"),
        ("env -i ruff check .", "generic"),
        ("env", "generic"),
        ("go tool golangci-lint run", "golangci-lint"),
        ("sh -c 'ruff check .'", "ruff"),
        ("sh -c 'ruff check . && mypy .'", "generic"),
        ("sh -c 'shellcheck *.sh'", "generic"),
        ("sh -c 'A=1 ruff check'", "generic"),
        ("pnpm exec biome check .", "biome-check"),
        ("yarn stylelint x.css", "stylelint"),
        ("./node_modules/.bin/tsc -p .", "tsc"),
        ("bundle exec rubocop", "rubocop"),
        ("cargo +nightly clippy -- -D warnings", "clippy"),
        ("cargo build", "generic"),
        ("go vet ./...", "go-vet"),
        ("go build ./...", "generic"),
        ("golangci-lint run", "golangci-lint"),
        ("golangci-lint run --out-format=json", "golangci-lint-v1"),
        ("python3 -m mypy .", "mypy"),
        ("semgrep scan --config x.yml", "semgrep"),
        ("semgrep --config x.yml .", "semgrep-short"),
        ("semgrep login", "generic"),
        ("clang -Wall -c a.c", "gcc"),
        ("sh -c \"git ls-files -z -- '*.sh' | xargs -0 shellcheck\"", "shellcheck"),
        ("sh -c \"git ls-files -z -- '*.sh' | xargs -0 shellcheck; rm -r x\"", "generic"),
        ('sh -c "git ls-files -z | xargs -0 \'shellcheck"', "generic"),
    ],
)
def test_tools_are_recognised_by_their_command_line(command: str, name: str) -> None:
    assert recognise(shlex.split(command)).name == name


@pytest.mark.parametrize(
    ("command", "check", "unit"),
    [
        (
            "eslint --fix -f stylish --ext .ts src",
            "eslint --ext .ts --format json src",
            "eslint --ext .ts --format json {files}",
        ),
        ("shellcheck -fgcc -x a.sh", "shellcheck --format gcc -x a.sh", "shellcheck --format gcc -x {files}"),
        (
            "rubocop -a --format progress --format=html",
            "rubocop --format json --cache=false",
            "rubocop --format json --cache=false --force-exclusion {files}",
        ),
        ("tsc --pretty -p web", "tsc -p web --pretty false --noEmit", ""),
        ("tsc --strict true a.ts", "tsc --strict true --pretty false --noEmit a.ts", ""),
        (
            "cargo clippy --fix --all-targets -- -D warnings",
            "cargo clippy --all-targets --message-format json -- -D warnings",
            "",
        ),
        ("cppcheck --std=c11 --template=gcc .", "cppcheck --std=c11 --xml -q .", "cppcheck --std=c11 --xml -q {files}"),
        ("gcc -Wall -o x.o -c a.c", "gcc -Wall -o x.o -c a.c", "gcc -Wall -o x.o -c {files}"),
        ("codespell -w -L ue .", "codespell -L ue .", "codespell -L ue {files}"),
        ("semgrep scan -c r.yml --sarif -o out .", None, None),
        ("markdownlint-cli2 --fix '**/*.md'", "markdownlint-cli2 '**/*.md'", "markdownlint-cli2 --no-globs {files}"),
        ("eslint --stdin", "eslint --stdin --format json", ""),
        ("mypy -O json --junit-xml x a", "mypy --output json --cache-dir=/dev/null a", ""),
    ],
)  # fmt: skip
def test_checks_of_the_other_rows(command: str, check: str | None, unit: str | None) -> None:
    argv = shlex.split(command)
    tool = recognise(argv)
    if check is None or unit is None:
        assert tool.check(argv) == shlex.split(
            "semgrep scan --config r.yml --json --disable-version-check --metrics=off ."
        )
        return
    assert tool.check(argv) == shlex.split(check)
    assert tool.unit_check(argv) == shlex.split(unit)
    assert tool.check(tool.check(argv)) == tool.check(argv)


def test_a_check_of_listed_files_keeps_its_list() -> None:
    argv = ["sh", "-c", "git ls-files -co -z -- '*.sh' | xargs -0 shellcheck -S style"]
    tool = recognise(argv)
    script = "git ls-files -co -z -- '*.sh' | xargs -0 shellcheck -S style --format json1"
    assert tool.check(argv) == ["sh", "-c", script]
    assert tool.unit_check(argv) == shlex.split("shellcheck -S style --format json1 {files}")
    assert tool.fixers(argv)[0][:2] == ["sh", "-c"]
    assert tool.fixers(argv)[0][2].startswith("shellcheck -S style --format diff ")


@pytest.mark.parametrize(
    ("command", "fixers"),
    [
        (
            "npx biome ci --reporter rdjson src",
            ["check --max-diagnostics=none --write", "check --max-diagnostics=none --write --unsafe"],
        ),
        ("sqlfluff lint --dialect ansi -f json .", ["fix --dialect ansi --disable-progress-bar"]),
        ("rubocop", ["--cache=false -a --force-exclusion", "--cache=false -A --force-exclusion"]),
        ("mypy .", []),
    ],
)  # fmt: skip
def test_fixers_of_the_other_rows(command: str, fixers: list[str]) -> None:
    argv = shlex.split(command)
    found = recognise(argv).fixers(argv)
    start = argv[: 2 if argv[0] == "npx" else 1]
    assert found == [[*start, *shlex.split(fixer), FILES] for fixer in fixers]
    assert [recognise(fixer).unsafe(fixer) for fixer in found] == [place > 0 for place in range(len(fixers))]


def test_a_long_spelling_of_an_unsafe_fix_is_one_too() -> None:
    for word, unsafe in (("-A", True), ("--autocorrect-all", True), ("--autocorrect", False)):
        argv = ["bundle", "exec", "rubocop", word, FILES]
        assert recognise(argv).unsafe(argv) is unsafe


def test_a_fixer_of_the_whole_project_keeps_only_the_units_files(tmp_path: Path) -> None:
    names = ("a b.rs", "-c.rs", "sub/other.rs", "*.rs")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("old\n")
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "-q", "."], ["add", "-A"], ["commit", "-qm", "m"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    program = tmp_path.parent / "cargo"
    program.write_text(
        '#!/bin/sh\nfor f in ./*.rs sub/*.rs; do echo new > "$f"; done\necho "$@" > ../arguments\nexit 1\n'
    )
    program.chmod(0o755)
    ((*shell, files),) = TOOLS["clippy"].fixers([str(program), "clippy", "--", "-D", "warnings"])
    assert files == FILES
    subprocess.run([*shell, "a b.rs", "./-c.rs"], cwd=tmp_path, check=False)
    assert [(tmp_path / name).read_text() for name in names] == ["new\n", "new\n", "old\n", "old\n"]
    arguments = (tmp_path.parent / "arguments").read_text().split()
    assert arguments == shlex.split("clippy --fix --allow-dirty --allow-staged --allow-no-vcs -- -D warnings")


def test_every_rows_check_is_recognised_as_itself() -> None:
    for tool in TOOLS.values():
        if tool is not GENERIC:
            argv = [tool.programs[0], *tool.command, *([tool.needs, "json"] if tool.needs else []), "."]
            assert recognise(tool.check(argv)) is tool
            assert tool.check(tool.check(argv)) == tool.check(argv)
            for fixer in tool.fixers(argv):
                assert fixer[-1] == FILES
