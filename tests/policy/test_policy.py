"""The policy of one captured change."""

from __future__ import annotations

import base64
import json
import os
import pickle
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.config.models import SweepConfig
from sweeper.errors import ConfigError
from sweeper.order import severities
from sweeper.policy import RULES, TEST_CONFIG, Level, Scope, Verdict
from sweeper.policy.content import secret_rules
from sweeper.policy.judge import judge
from sweeper.policy.rules import MAX_VIOLATIONS
from sweeper.policy.wire import judge_rows, verdict_of
from sweeper.records import Change, Finding, Unit
from sweeper.redact import forms
from tests.policy import rules_table

BASE = b"import os\n\n\ndef f(a):\n    return a\n"
ANYWHERE = Scope(("**",))
SECRET = b"sk-test-0123456789/abc+XYZ"


class Refused(NamedTuple):
    path: str
    reason: str


def unit(*paths: str, rules: Sequence[str] = ("F401",)) -> Unit:
    findings = tuple(Finding(path, 1, 1, rule, "message") for path in paths for rule in rules)
    return Unit("u" * 32, "s", "title", paths, findings)


def judged(
    changes: Mapping[str, bytes | None] | Sequence[Change],
    base: Mapping[str, bytes] | None = None,
    *,
    scope: Scope = ANYWHERE,
    rules: Sequence[str] = ("F401",),
    **more: Any,
) -> Verdict:
    """The verdict on changes of a unit whose path is src/a.py, with everything in scope unless said otherwise."""
    if isinstance(changes, Mapping):
        changes = [Change(path, data) for path, data in changes.items()]
    return judge(changes, base or {}, unit("src/a.py", rules=rules), scope, **more)


def broken(verdict: Verdict) -> list[str]:
    return [violation.rule for violation in (*verdict.rejections, *verdict.reviews)]


def rejected(verdict: Verdict) -> list[str]:
    return [violation.rule for violation in verdict.rejections]


def test_a_plain_fix_breaks_no_rule() -> None:
    fixed = {"src/a.py": BASE.replace(b"import os\n\n\n", b"")}
    assert judged(fixed, {"src/a.py": BASE}, scope=Scope()) == Verdict()


# --- scope ---


def test_d13_writes_beyond_the_unit_are_rejected_by_name() -> None:
    verdict = judged({"src/a.py": BASE + b"x = 1\n"}, {"src/a.py": BASE}, scope=Scope(), out_of_scope=["b.py", "c.py"])
    assert [str(v) for v in verdict.rejections] == ["scope: b.py", "scope: c.py"]


def test_d13_a_formatter_over_200_files_is_summed_up() -> None:
    verdict = judged({}, out_of_scope=[f"src/f{n:03}.py" for n in range(200)])
    assert len(verdict.rejections) == MAX_VIOLATIONS + 1
    assert verdict.rejections[-1].detail == "180 more"


def test_b07_build_outputs_outside_the_scope_are_named() -> None:
    left = ["build/lib/a.py", "node_modules", "x.egg-info/PKG-INFO", ".ruff_cache/x"]
    verdict = judged({}, out_of_scope=left, refused=[Refused("src/link", "is a symbolic link")])
    assert [(v.rule, v.path) for v in verdict.rejections] == [
        ("link", "src/link"),
        *[("scope", p) for p in sorted(left)],
    ]


def test_a_change_that_no_matcher_let_through_is_out_of_scope() -> None:
    assert broken(judged({"src/b.py": b"x = 1\n"}, scope=Scope())) == ["scope"]


def test_the_matcher_takes_bytes_of_any_kind() -> None:
    own = os.fsdecode(b"src/\xe9 [x].py")
    matches = Scope(("docs/", "*.pyi", "!keep.pyi")).matcher(unit(own))
    assert matches(b"src/\xe9 [x].py")
    assert [matches(path) for path in (b"docs/x/y.md", b"src/a.pyi", b"src/keep.pyi", b"src/a.py")] == [
        True,
        True,
        False,
        False,
    ]
    assert not Scope().matcher(unit("a*.py"))(b"ab.py"), "a unit's own path is no glob"


# --- denied paths ---


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/ci.yml",
        "sub/.github/workflows/ci.yml",
        ".github/actions/x/action.yml",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        "Jenkinsfile",
        ".husky/pre-commit",
        ".gitattributes",
        "src/.gitignore",
        ".gitmodules",
        ".git/config",
        "sub/.git",
        "sweeper.toml",
        ".github/sweeper.toml",
        "AGENTS.md",
        "src/AGENTS.md",
        "agents.MD",
        "CLAUDE.md",
        "CLAUDE.local.md",
        ".claude/settings.json",
        "src/.claude/skills/x.md",
        ".cursor/rules/x.mdc",
        ".cursorrules",
        ".github/copilot-instructions.md",
        "GEMINI.md",
        ".mcp.json",
        ".vscode/tasks.json",
        "CODEOWNERS",
    ],
)
def test_what_steers_ci_git_and_agents_is_denied_even_in_scope(path: str) -> None:
    assert "denied_path" in broken(judged({path: b"x = 1\n"}))
    assert broken(judged({}, out_of_scope=[path])) == ["denied_path"]
    assert "denied_path" not in broken(judged({path: b"x = 1\n"}, scope=Scope(("**",), allow=(path,))))


def test_allow_lifts_what_a_path_means_and_not_where_it_lies() -> None:
    assert broken(judged({}, scope=Scope(allow=("AGENTS.md",)), out_of_scope=["AGENTS.md"])) == ["scope"]
    assert broken(judged({"src/a.py": b"x = 1  # noqa\n"}, {"src/a.py": b"x = 1\n"}, scope=Scope(allow=("**",)))) == [
        "suppression"
    ]


@pytest.mark.parametrize(
    "path", ["src/github/workflows.py", "agents.py", "docs/claude.rst", "git.py", "src/sweeper_toml.py"]
)
def test_ordinary_names_are_not_denied(path: str) -> None:
    assert broken(judged({path: b"x = 1\n"})) == []


# --- D07: files of suppressions; the spellings have a file of their own ---


@pytest.mark.parametrize(
    "path",
    [
        "eslint-suppressions.json",
        "web/eslint-suppressions.json",
        ".rubocop_todo.yml",
        "phpstan-baseline.neon",
        ".secrets.baseline",
    ],
)
def test_d07_a_file_of_suppressions_is_a_suppression(path: str) -> None:
    assert "suppression" in broken(judged({path: b"{}\n"}, {path: b"{ }\n"}))
    assert broken(judged({}, out_of_scope=[path])) == ["suppression"]


def test_d07_the_violation_has_lines_and_no_content() -> None:
    verdict = judged(
        {"src/a.py": b"a = 'geheim'  # noqa\nb = 1\nc = 2  # noqa: E501\nd = 3  # noqa\n"}, {"src/a.py": b"b = 1\n"}
    )
    (violation,) = verdict.rejections
    assert str(violation) == "suppression: src/a.py:1,3,4: new suppression (noqa)"


# --- D08: the check's configuration ---


@pytest.mark.parametrize(
    "path",
    [
        "src/ruff.toml",
        "ruff.toml",
        "a/b/c/.ruff.toml",
        ".flake8",
        "src/tox.ini",
        ".pylintrc",
        "mypy.ini",
        ".eslintrc",
        "web/.eslintrc.cjs",
        "eslint.config.mjs",
        ".eslintignore",
        "biome.json",
        "tsconfig.json",
        "tsconfig.build.json",
        ".golangci.yml",
        "clippy.toml",
        ".rubocop.yml",
        ".shellcheckrc",
        ".yamllint",
        ".markdownlint.json",
        ".clang-tidy",
        "phpstan.neon.dist",
        ".editorconfig",
        ".pre-commit-config.yaml",
        "pytest.ini",
        ".RUFF.TOML",
    ],
)
def test_d08_a_configuration_file_is_rejected_at_any_depth(path: str) -> None:
    for change, base in (
        ({path: b"ignore = ['E501']\n"}, {}),
        ({path: b"x = 1\n"}, {path: b"y = 1\n"}),
        ({path: None}, {path: b"y = 1\n"}),
    ):
        assert "check_config" in broken(judged(change, base))
    assert broken(judged({}, out_of_scope=[path])) == ["check_config"]
    assert broken(judged({path: b"x = 1\n"}, scope=Scope(("**",), (f"**/{path}",)))) == []


def test_d08_the_names_that_the_tool_reads_count_too() -> None:
    assert broken(judged({"src/my-lint.conf": b"x = 1\n"})) == []
    assert broken(judged({"src/my-lint.conf": b"x = 1\n"}, check_config_files=["my-lint.*"])) == ["check_config"]
    assert broken(judged({"a/My.Conf": b"x = 1\n"}, check_config_files=["my.conf"])) == ["check_config"]


@pytest.mark.parametrize(
    "path", ["conftest.py", "a/jest.config.mjs", ".rspec", "spec/Spec_Helper.rb", "phpunit.xml.dist"]
)
def test_d08_what_steers_a_test_run_counts_where_there_is_one(path: str) -> None:
    assert broken(judged({path: b"x = 1\n"})) == ["forged_verdict"]
    assert broken(judged({path: b"x = 1\n"}, check_config_files=TEST_CONFIG)) == ["check_config"]


@pytest.mark.parametrize(
    ("path", "before", "harmless", "harmful"),
    [
        (
            "pyproject.toml",
            b"[project]\nname = 'x'\n[tool.ruff]\nline-length = 88\n",
            b"[project]\nname = 'y'\n[tool.ruff]\nline-length = 88  # why\n[tool.poetry]\nx = 1\n",
            b"[project]\nname = 'x'\n[tool.ruff]\nline-length = 88\nignore = ['E501']\n",
        ),
        (
            "pyproject.toml",
            b"[project]\nname = 'x'\n",
            b"[project]\nname = 'x'\nversion = '1'\n",
            b"[project]\nname = 'x'\n[tool.unheard-of]\nignore = 1\n",
        ),
        (
            "pyproject.toml",
            b"[project]\nrequires-python = '>=3.11'\n",
            b"[project]\nrequires-python = \">=3.11\"\nname = 'x'\n",
            b"[project]\nrequires-python = '>=3.8'\n",
        ),
        (
            "pyproject.toml",
            b"[tool.poetry.dependencies]\npython = '^3.11'\n",
            b"[tool.poetry.dependencies]\npython = '^3.11'\nx = '1'\n",
            b"[tool.poetry.dependencies]\npython = '^3.8'\n",
        ),
        ("pyproject.toml", b"[tool.uv]\na = 1\n", b"[tool.uv]\na = 1 # x\n", b"[tool.uv]\na = 2\n"),
        ("pyproject.toml", b"[tool.hatch]\na = 1\n", b"[tool.hatch]\na = 1 # x\n", b"[tool.hatch]\na = 2\n"),
        (
            "src/setup.cfg",
            b"[metadata]\nname = x\n[flake8]\nignore = A\n",
            b"[metadata]\nname = y\n[options.extras_require]\na = b\n[flake8]\nignore = A\n",
            b"[metadata]\nname = x\n[flake8]\nignore = A\nper-file-ignores = src/a.py: E501\n",
        ),
        (
            "package.json",
            b'{"name": "x", "eslintConfig": {"rules": {}}}',
            b'{"name": "y", "eslintConfig": {"rules": {}}}\n',
            b'{"name": "x", "eslintConfig": {"rules": {"no-alert": "warn"}}}',
        ),
        (
            "Cargo.toml",
            b"[package]\nname = 'x'\n",
            b"[package]\nname = 'y'\n",
            b"[package]\nname = 'x'\n[lints.clippy]\nall = 'allow'\n",
        ),
    ],
)
def test_d08_in_a_shared_file_only_the_part_of_the_check_counts(
    path: str, before: bytes, harmless: bytes, harmful: bytes
) -> None:
    base = {path: before}
    assert broken(judged({path: harmless}, base)) == []
    assert broken(judged({path: harmful}, base)) == ["check_config"]
    assert broken(judged({path: harmful})) == ["check_config"], "a new nested one"
    assert broken(judged({path: b"]["}, {path: b"]["})) == []
    for unreadable in (b"][", b"\xff\xfe", b'{"a": ' + b"[" * 5000, b"[tool]\nruff = " + b"[" * 5000):
        assert "check_config" in broken(judged({path: unreadable}, base))


# --- files ---


def test_emptied_deleted_and_shrunk_files() -> None:
    long = b"".join(b"x%d = 1\n" % n for n in range(40))
    assert broken(judged({"src/a.py": None}, {"src/a.py": BASE})) == ["deleted"]
    assert broken(judged({"src/a.py": b" \n\n"}, {"src/a.py": BASE})) == ["emptied"]
    assert broken(judged({"src/a.py": b""}, {"src/a.py": b"\n"})) == []
    shrunk = judged({"src/a.py": long[:100]}, {"src/a.py": long})
    assert ("shrunk" in broken(shrunk), shrunk.rejections) == (True, ())


def test_b13_a_binary_is_rejected_by_name() -> None:
    verdict = judged(
        {"logo.png": b"\x89PNG\r\n\x1a\n\0\0", "src/a.py": b"x = 1\n"},
        {"logo.png": b"\x89PNG\0", "src/a.py": b"y = 1\n"},
    )
    assert [str(v) for v in verdict.rejections] == ["binary: logo.png"]
    assert broken(judged({"src/a.py": "x = 1\n".encode("utf-16")}, {"src/a.py": b"x = 1\n"})) == ["binary"]


@pytest.mark.parametrize(
    ("mode", "rule"),
    [(0o120000, "link"), (0o160000, "special"), (0o100600, "special"), (0o040000, "special"), (0o100755, "mode")],
)
def test_modes_and_links(mode: int, rule: str) -> None:
    assert broken(judged([Change("src/a.py", b"x = 1\n", mode)])) == [rule]
    expected = [] if rule == "mode" else [rule]
    assert broken(judged([Change("src/a.py", b"x = 1\n", mode)], {"src/a.py": b"y = 1\n"})) == expected


@pytest.mark.parametrize(
    ("reason", "rule"),
    [
        ("is a symbolic link", "link"),
        ("replaces a symbolic link", "link"),
        ("is a device, pipe or socket", "special"),
        ("replaces a submodule", "special"),
        ("is too large", "unreadable"),
        ("has a name that git or a terminal could misread", "unreadable"),
    ],
)
def test_what_the_capture_refused_is_rejected(reason: str, rule: str) -> None:
    (violation,) = judged({}, refused=[Refused("", reason)]).rejections
    assert (violation.rule, violation.detail) == (rule, reason)


def test_conflict_markers() -> None:
    text = b"a = 1\n<<<<<<< ours\nb = 1\n=======\nb = 2\n>>>>>>> theirs\n"
    (violation,) = judged({"src/a.py": text}, {"src/a.py": b"a = 1\n"}).rejections
    assert (violation.rule, violation.lines) == ("conflict_marker", (2, 6))
    assert broken(judged({"a.rst": b"Title\n=======\n\nx <<<<<<< y\n"})) == []
    assert broken(judged({"src/a.py": text + b"c = 1\n"}, {"src/a.py": text})) == [], "they were there before"


# --- B02: line endings and encodings ---


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\n", b"a2\nb\n"),
        (b"a\r\nb\r\n", b"a2\r\nb\n"),
        (b"a\nb\nc\n", b"a\r\nb\r\nc\r\n"),
        (b"a\nb\r\nc\n", b"a\nb\nc\n"),
        (b"a\r\nb\r\n", b"a\r\nnew\nb\r\n"),
        (b"a\nb\n", b"a\rb\r"),
    ],
)
def test_b02_line_endings_of_untouched_lines(before: bytes, after: bytes) -> None:
    assert broken(judged({"src/a.txt": after}, {"src/a.txt": before})) == ["line_endings"]
    for rule in ("linebreak-style", "Layout/EndOfLine", "mixed-line-endings", "new-lines", "prettier/prettier"):
        assert broken(judged({"src/a.txt": after}, {"src/a.txt": before}, rules=[rule])) == []
    assert broken(judged({"src/a.txt": after}, {"src/a.txt": before}, rules=["eol-last", "W292"])) == ["line_endings"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\n", b"a2\r\nb\r\n"),
        (b"a\r\nb\r\n", b"b\r\n"),
        (b"a\nb\r\n", b"a2\nb\r\nnew\r\n"),
        (b"a\nb", b"a\nb\n"),
        (b"a\nb\n", b"a\nb"),
        (b"a\r\nb", b"a2\r\nb"),
        (b"b\na\n", b"a\nb\n"),
        (b"", b"a\r\n"),
    ],
)
def test_b02_b04_other_changes_of_lines_are_fine(before: bytes, after: bytes) -> None:
    assert broken(judged({"src/a.txt": after}, {"src/a.txt": before})) == []


def test_b02_the_lines_with_other_endings_are_named() -> None:
    (violation,) = judged({"src/a.txt": b"a\r\nx\r\nb\nc\n"}, {"src/a.txt": b"a\r\nb\r\nc\r\n"}).rejections
    assert violation.lines == (3, 4)


def test_encodings() -> None:
    bom, latin = b"\xef\xbb\xbf", "é = 1\nx = 2\n".encode("latin-1")
    cases: list[tuple[bytes, bytes, bool]] = [
        (BASE, bom + BASE, True),
        (bom + BASE, BASE, True),
        (bom + BASE, bom + BASE + b"x = 1\n", False),
        (BASE, BASE + latin, True),
        (latin, "é = 1\nx = 3\n".encode(), True),
        (latin, latin.replace(b"2", b"3"), False),
        ("é = 1\nx = 2\n".encode(), "é = 1\nx = 3\n".encode(), False),
        (latin, b"x = 2\n", False),
    ]
    for before, after, wrong in cases:
        assert rejected(judged({"src/a.py": after}, {"src/a.py": before})) == (["encoding"] if wrong else []), (
            before,
            after,
        )
    assert rejected(judged({"src/a.py": BASE}, {"src/a.py": bom + BASE}, rules=["unicode-bom"])) == []
    assert rejected(judged({"src/new.py": latin})) == ["encoding"]


# --- C26: known secrets ---


def written(secret: bytes) -> dict[str, bytes]:
    line = b"padding=" + secret + b"\n"
    return {
        "raw": secret,
        "echo | base64": base64.b64encode(secret + b"\n"),
        "env | base64": base64.b64encode(line),
        "shifted": base64.b64encode(b"xy" + line),
        "url-safe": base64.urlsafe_b64encode(b"x" + secret),
        "wrapped": base64.encodebytes(b"x" * 50 + secret * 3),
        "hex": secret.hex().encode(),
        "URL": quote(secret, safe="").encode(),
        "backwards": secret[::-1],
        "base32": base64.b32encode(b"xyz" + secret),
        "mixed hex": bytes(c - 32 if c > 96 and i % 3 else c for i, c in enumerate(secret.hex().encode())),
        "hex bytes": secret.hex(":").encode(),
        "escapes": "".join(f"\\x{code:02x}" for code in secret).encode(),
        "JSON escapes": "".join(f"\\u{code:04X}" for code in secret).encode(),
        "entities": "".join(f"&#{code};" for code in secret).encode(),
        "numbers": str(list(secret)).encode(),
        "letters": " ".join(secret.decode()).encode(),
        "put together": b'"' + b'" + "'.join(secret[at : at + 4] for at in range(0, len(secret), 4)) + b'"',
        "a wrapped comment": b"\n".join(b"# " + line for line in base64.encodebytes(secret * 3).split()),
        "list": b",\n".join(b"    '%c'" % code for code in secret),
    }


@pytest.mark.parametrize("form", sorted(written(SECRET)))
def test_c26_a_known_secret_is_refused_in_any_form(form: str) -> None:
    data = b"# notes\n" + written(SECRET)[form] + b"\n"
    verdict = judged({"notes.md": data}, secrets=[b"", b"other-secret", SECRET])
    assert broken(verdict) == ["secret"]
    assert SECRET not in repr(verdict).encode()
    assert broken(judged({"notes.md": data}, secrets=[b"", b"  ", b"other-secret"])) == []


def test_c26_a_secret_in_a_path_is_refused_without_saying_it() -> None:
    path, secrets = "x/sk-test-123456", [b"sk-test-123456\n"]
    for verdict in (judged({}, secrets=secrets, out_of_scope=[path]), judged({path: b"x = 1\n"}, secrets=secrets)):
        assert verdict.rejections[0].rule == "secret"
        assert "sk-test" not in str(verdict.rejections[0])


@pytest.mark.parametrize("form", ["raw", "put together", "hex bytes"])
def test_c26_what_the_base_holds_already_is_no_leak_of_this_change(form: str) -> None:
    base = b"key = '" + written(SECRET)[form] + b"'\n"
    assert broken(judged({"a.txt": base + b"x = 1\n"}, {"a.txt": base}, secrets=[SECRET])) == []


@given(st.text(max_size=200))
def test_c26_other_text_is_no_secret(text: str) -> None:
    assert list(secret_rules("a.txt", None, text.encode("utf-8", "surrogatepass"), [SECRET, b"abcdef"])) == [] or (
        "abcdef" in "".join(text.split())
    )


@given(
    st.binary(min_size=9, max_size=40).filter(lambda s: len(s.strip()) >= 9),
    st.binary(max_size=5),
    st.binary(max_size=5),
)
def test_c26_base64_is_found_at_any_alignment(secret: bytes, before: bytes, after: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + secret.strip() + after)
        assert any(form in text for form in forms(secret))


# --- the whole ---


def test_the_weightiest_rule_comes_first() -> None:
    verdict = judged(
        {"src/a.py": b"x = 1  # noqa\n", ".claude/x": SECRET},
        {"src/a.py": b"x = 1\n"},
        out_of_scope=["b"],
        secrets=[SECRET],
    )
    assert broken(verdict) == ["secret", "denied_path", "suppression", "scope"]


def test_every_rule_is_described() -> None:
    assert all(rule.what and rule.severity in Level for rule in RULES.values())
    assert {rule.severity for rule in RULES.values()} == {Level.REJECT, Level.REVIEW}


def test_everything_crosses_into_a_child_process() -> None:
    verdict = judged({"src/a.py": None})
    parts = (Scope(("a",), ("b",)), verdict, unit("a"), Change("a", b"x"))
    assert pickle.loads(pickle.dumps(parts)) == parts


@given(
    st.binary(max_size=200),
    st.sampled_from(["src/a.py", "a.js", "pyproject.toml", "x.rs", "package.json", "setup.cfg"]),
)
def test_an_unchanged_text_never_violates(data: bytes, path: str) -> None:
    data = data.replace(b"\0", b"")
    assert judged({path: data}, {path: data}) == Verdict()


@given(
    st.binary(max_size=120),
    st.binary(max_size=120),
    st.sampled_from(["src/a.py", "a.js", "package.json", "Cargo.toml", "x.sh"]),
)
def test_no_content_makes_it_raise(before: bytes, after: bytes, path: str) -> None:
    for verdict in (judged({path: after}, {path: before}, secrets=[SECRET]), judged({path: after})):
        assert all(violation.rule in RULES for violation in verdict.rejections)


def test_the_page_of_the_rules_is_current() -> None:
    assert rules_table.FILE.read_text(encoding="utf-8") == rules_table.table()


# --- severities of a sweep's own ---


def test_a_sweep_may_have_its_own_severities() -> None:
    change, base = {"src/a.py": b"x = 1\nprint(x)\n"}, {"src/a.py": b"x = 1\n"}
    assert broken(judged(change, base)) == ["debug_output"]
    assert broken(judged(change, base, severities={"debug_output": Level.OFF})) == []
    assert rejected(judged(change, base, severities={"debug_output": Level.REJECT})) == ["debug_output"]


def test_a_firm_rule_keeps_its_severity() -> None:
    firm = {name: Level.OFF for name, rule in RULES.items() if rule.firm}
    assert rejected(judged({}, out_of_scope=["b.py"], severities=firm)) == ["scope"]


def test_a_severity_for_an_unknown_or_a_firm_rule_is_an_error() -> None:
    for rule, hint in (("debug_outptu", "debug_output"), ("scope", "allow")):
        config = SweepConfig(check="ruff check .", policy={rule: "off"})
        with pytest.raises(ConfigError, match=rule) as error:
            severities("ruff", config)
        assert hint in error.value.hint


def test_the_wire_gives_the_verdict_back() -> None:
    change = [Change("src/a.py", b"x = 1  # noqa\nprint(x)\n")]
    more: dict[str, Any] = {"severities": {"debug_output": Level.REJECT}, "out_of_scope": ["b"]}
    rows = judge_rows(change, {"src/a.py": b"x = 1\n"}, unit("src/a.py"), Scope(), more)
    verdict = verdict_of(json.loads(json.dumps(rows)))
    assert rejected(verdict) == ["suppression", "scope", "debug_output"]
    assert verdict == judge(change, {"src/a.py": b"x = 1\n"}, unit("src/a.py"), Scope(), **more)
