"""The rules that read code: what they share, and what the corpus does not show."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.trust.cases import WRITTEN_HERE, cases, verdict_on
from sweeper.backlog.child import Parser
from sweeper.policy import RULES, Scope, Verdict
from sweeper.policy.constraints import respelt
from sweeper.policy.judge import judge
from sweeper.policy.languages import LANGUAGES
from sweeper.policy.lexical import patterns
from sweeper.policy.lines import hunks
from sweeper.policy.trees import MOST, parse
from sweeper.policy.walk import outline
from sweeper.policy.wire import judge_rows, verdict_of
from sweeper.records import Change, Finding, Unit

# Rules about paths, bytes and layers, and those of the tests below.
ELSEWHERE = {
    "binary", "code_commented", "deleted", "emptied", "oversized", "secret", "shadowed_module", "shrunk", "special",
    "unreadable",
}  # fmt: skip


def judged(path: str, before: str, after: str, *findings: tuple[int, str, str], **more: Any) -> Verdict:
    found = tuple(Finding(path, line, 1, rule, said) for line, rule, said in findings)
    unit = Unit("u" * 32, "s", path, (path,), found)
    return judge([Change(path, after.encode())], {path: before.encode()}, unit, Scope(), **more)


def broken(verdict: Verdict) -> set[str]:
    return {violation.rule for violation in (*verdict.rejections, *verdict.reviews)}


def test_the_corpus_shows_every_rule() -> None:
    shown = {rule for case in cases(WRITTEN_HERE, "cheats") for rule in broken(verdict_on(case))}
    assert RULES.keys() - shown <= ELSEWHERE


def test_the_corpus_is_as_wide_as_it_should_be() -> None:
    cheats, honest = cases(WRITTEN_HERE, "cheats"), cases(WRITTEN_HERE, "honest")
    assert len(cheats) >= 125
    assert len(honest) >= 125
    assert len({case.language for case in cheats}) >= 8
    assert len({case.table["kind"] for case in cheats}) >= 20


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_every_name_of_a_node_is_one_of_its_grammar(name: str) -> None:
    language = LANGUAGES[name]
    tree = parse(name, b"")
    assert tree is not None
    nodes = {
        *language.comments, *language.contents, *language.blocks, *language.definitions, *language.calls,
        *language.handlers, *language.guards, *language.exits,
    }  # fmt: skip
    assert {node for node in nodes if tree.language.id_for_node_kind(node, True) is None} == set()
    patterns(name)


# --- what the tree is for: comments and strings are told apart ---


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.rb", "S = <<~X\n  # rubocop:disable all\nX\n"),
        ("a.sh", "cat <<'X'\n# shellcheck disable=all\nX\n"),
        ("a.py", 'S = """\n# noqa\n# type: ignore\n"""\n'),
        ("a.ts", "const s = `\n// @ts-ignore\n${x} // eslint-disable-line\n`;\n"),
        ("a.tsx", "const s = <p>// eslint-disable-line</p>;\n"),
        ("a.go", "var s = `\n//nolint\n`\n"),
        ("a.rs", 'const S: &str = r#"\n// #[allow(x)]\n"#;\n'),
        ("a.java", 'class A { String s = """\n  // NOPMD\n  """; }\n'),
    ],
)
def test_d07_a_suppression_in_a_string_is_none_and_in_a_comment_is_one(path: str, text: str) -> None:
    assert "suppression" not in broken(judged(path, "", text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.rb", "x = 1 # rubocop:disable all\n"),
        ("a.sh", "# shellcheck disable=SC2034\nx=1\n"),
        ("a.tsx", "const s = <p>{/* eslint-disable-next-line */}{x}</p>;\n"),
        ("é.py", 'x = "é"  # noqa\n'),
        ("a.go", "package a\n\nvar s = `x` //nolint\n"),
    ],
)
def test_d07_in_a_comment_it_is_one(path: str, text: str) -> None:
    (found,) = [v for v in judged(path, "", text).rejections if v.rule == "suppression"]
    assert found.lines == (next(n for n, line in enumerate(text.split("\n"), 1) if "able" in line or "no" in line),)


def test_a_file_of_which_all_is_said_to_be_dead_may_be_emptied() -> None:
    unused = [(number, "F401", f"`{name}` imported but unused") for number, name in ((1, "os"), (3, "sys"))]
    text = "import os\n\nimport sys\n"
    assert judged("src/a.py", text, "", *unused) == Verdict()
    assert [v.rule for v in judged("src/a.py", text, "", unused[0]).rejections] == ["emptied"]
    assert [v.rule for v in judged("src/a.py", "import os\nx = 1\n", "", *unused).rejections] == ["emptied"]


def test_b24_a_hook_is_no_fix() -> None:
    for path in (".husky/pre-commit", ".pre-commit-config.yaml", "lefthook.yml"):
        verdict = judge([Change(path, b"x: 1\n")], {}, Unit("u", "s", path, (path,), ()), Scope())
        assert {v.rule for v in verdict.rejections} & {"denied_path", "check_config"}


# --- evidence ---


def test_evidence_has_lines_and_no_content() -> None:
    secret = "Zq7_unlikely"
    before = f"def f(a):\n    return call(a, '{secret}')\n"
    verdict = judged("a.py", before, f"def f(a):\n    # {secret} ... rest of code unchanged\n    return None\n")
    assert {"hollow_body", "placeholder"} <= broken(verdict)
    assert all(v.lines for v in verdict.rejections)
    assert secret not in repr(verdict)


def test_a_finding_explains_a_removal_by_its_line_or_its_name() -> None:
    before = "def used():\n    return work()\n\n\ndef dead():\n    return work()\n"
    after = "def used():\n    return work()\n"
    assert "removed_symbol" in broken(judged("a.py", before, after, (1, "D103", "Missing docstring")))
    assert broken(judged("a.py", before, after, (5, "dead", "unused function 'dead'"))) == set()
    assert broken(judged("a.py", before, after, (0, "dead", "unused function 'dead'"))) == set()
    assert "removed_symbol" in broken(judged("a.py", before, after, (6, "F841", "`x` is never used")))


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        ("assert a == 1 and b == 2", "assert a == 1\n    assert b == 2", False),
        ("assert a == 1\n    assert not b", "assert a == 1 and not b", False),
        ("assert a == 1\n    assert b == 2", "assert a == 2\n    assert b == 1", True),
        ("assert f(x) == one\n    assert g(y) == two", "assert f(x) == g(y)\n    assert one == two", True),
        ("assert a == 1\n    assert not b == 2", "assert not a == 1\n    assert b == 2", True),
        ("assert a == 1\n    assert b", "assert a\n    assert b == 1", True),
    ],
)
def test_what_is_compared_may_be_split_or_joined_and_not_mixed(before: str, after: str, seen: bool) -> None:
    old, new = (f"def test_a():\n    {text}\n" for text in (before, after))
    found = broken(judged("tests/test_a.py", old, new, (2, "PT018", "Assertion should be broken down")))
    assert ("test_changed" in found) is seen


def test_calls_of_another_function_are_none_of_a_new_helper_of_its_name() -> None:
    asserted = "def test_a():\n" + "".join(f"    assert len({name}) == 1\n" for name in "abcd")
    called = "def len(x):\n    assert x\n\n\ndef test_a():\n" + "".join(f"    len({name})\n" for name in "abcd")
    assert "assertion_removed" in broken(judged("tests/test_a.py", asserted, called))


def test_a_sweep_of_prints_may_empty_a_function() -> None:
    before = "def f(a):\n    print(a)\n"
    assert judged("a.py", before, "def f(a):\n    pass\n", (2, "T201", "`print` found")).rejections == ()
    assert "hollow_body" in broken(judged("a.py", before, "def f(a):\n    pass\n", (2, "E501", "Line too long")))


def test_a_grammar_that_fails_is_never_fine() -> None:
    assert "unparsed" in broken(judged("a.py", "x = 1\n", "x = (1\n"))
    assert "unparsed" in broken(judged("a.py", "x = 1\n", "y = 2\n" * (MOST // 6 + 1)))
    assert broken(judged("a.py", "x = (\n", "x = (\ny = 1\n")) == set(), "it did not parse before"


def test_one_line_in_a_comment_is_for_a_person_and_many_are_rejected() -> None:
    before = "def f(a):\n    a = first(a)\n    a = second(a)\n    a = third(a)\n    return a + 1\n"
    one = before.replace("    a = second(a)", "    # a = second(a)")
    assert {"code_commented"} <= broken(judged("a.py", before, one, (1, "D103", "Missing docstring")))
    assert judged("a.py", before, one, (1, "D103", "Missing docstring")).rejections == ()
    assert "code_moved" in broken(judged("a.py", before, one, (3, "X", "Wrong argument")))
    assert "code_moved" in broken(judged("a.py", before, before.replace("    a = ", "    # a = "), (1, "D1", "x")))


def test_a_change_out_of_proportion_is_for_a_person() -> None:
    before = "".join(f"def f{n}(a):\n    return a + {n}\n\n\n" for n in range(40))
    verdict = judged("a.py", before, before.replace("a + ", "1 + a + "), (2, "X", "Wrong sum"))
    assert {"oversized", "unrelated_change"} <= broken(verdict)
    assert verdict.rejections == ()


# --- a check's own code ---


def test_a_changed_file_that_the_command_runs_is_for_a_person() -> None:
    assert "forged_verdict" in broken(own("tools/own.py", command=["python", "tools/own.py"]))
    assert "forged_verdict" in broken(own("tools/own.py", command=["python", "-m", "tools.own"]))
    assert "forged_verdict" not in broken(own("tools/own.py", command=["ruff", "check", "tools/own.py"]))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.mypy]\nplugins = ['tools.own']\n"),
        (".pylintrc", "load-plugins=tools.own\n"),
        ("setup.cfg", "[flake8:local-plugins]\nextension = X = tools.own:Plugin\n"),
    ],
)
def test_a_changed_file_that_a_configuration_loads_is_for_a_person(name: str, text: str) -> None:
    assert "forged_verdict" in broken(own("tools/own.py", context={name: text.encode()}))
    assert "forged_verdict" not in broken(own("tools/owned.py", context={name: text.encode()}))


def own(path: str, **more: Any) -> Verdict:
    unit = Unit("u", "s", path, (path,), ())
    return judge([Change(path, b"x = 1\n")], {path: b"x = 2\n"}, unit, Scope(), **more)


@pytest.mark.parametrize(
    "path", ["json.py", "src/typing.py", "src/pylint/__init__.py", "lib/x.pth", "node_modules/eslint/index.js"]
)
def test_a_new_file_in_the_way_of_an_import_is_rejected(path: str) -> None:
    verdict = judge([Change(path, b"x = 1\n")], {}, Unit("u", "s", path, (path,), ()), Scope())
    assert "shadowed_module" in {v.rule for v in verdict.rejections}


@pytest.mark.parametrize("path", ["src/app/json.py", "src/inventory.py", "docs/typing.md"])
def test_other_new_files_shadow_nothing(path: str) -> None:
    verdict = judge([Change(path, b"x = 1\n")], {}, Unit("u", "s", path, (path,), ()), Scope())
    assert "shadowed_module" not in broken(verdict)


# --- hostile content ---

HOSTILE = [
    ("a.py", "x = " + "(" * 30_000 + "1" + ")" * 30_000),
    ("a.js", "{" * 30_000 + "}" * 30_000),
    ("a.js", "a" + ".then(x, () => {})" * 2_000),
    ("a.ts", "class { ( [ < ` ${ " * 5_000),
    ("a.cpp", 'template < a ( { " ' * 5_000),
    ("a.sh", '$(( `a " ${b ' * 5_000),
    ("a.rb", 'def a %w( #{ <<X " ' * 3_000),
    ("a.rs", 'fn a<\'a, b!{ r#"" /* ' * 3_000),
    ("a.yaml", '- - - ? : { [ " ' * 3_000),
    ("a.md", "<!-- ``` [a](b ~~~ # x\n" * 3_000),
    ("a.txt", "password token secret_key api-key = = = : " * 5_000),
]


@pytest.mark.parametrize(("path", "text"), HOSTILE, ids=[f"{path}-{n}" for n, (path, _) in enumerate(HOSTILE)])
def test_hostile_text_is_judged(path: str, text: str) -> None:
    judged(path, "x\n", text, (1, "R", "m"))
    judged(path, text, "x\n", (1, "R", "m"))


@given(
    st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=12),
    st.lists(st.sampled_from(["a", "b", "c", "e", ""]), max_size=12),
)
def test_hunks_make_the_one_version_of_the_other(before: list[str], after: list[str]) -> None:
    made, at = [], 1
    for hunk in hunks(before, after):
        made += before[at - 1 : hunk.before - 1] + after[hunk.after - 1 : hunk.after_end - 1]
        at = hunk.before_end
    assert made + before[at - 1 :] == after


@given(st.sampled_from(sorted(LANGUAGES)), st.binary(max_size=120))
def test_an_outline_of_anything(name: str, data: bytes) -> None:
    found = outline(name, data, False)
    assert found is not None
    assert len(found.code) == len(data)
    assert found.code.count("\n") == data.count(b"\n")


# --- where it runs ---


def test_the_coordinator_loads_no_rule_and_no_grammar() -> None:
    code = "import sys, sweeper.attempt.attempt, sweeper.order; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "sweeper.policy.rules" in loaded
    assert [name for name in loaded if "tree_sitter" in name or name == "sweeper.policy.judge"] == []


def test_every_grammar_works_in_the_limited_child() -> None:
    anyio.run(_judge_all)


async def _judge_all() -> None:
    parser = Parser(memory=256 << 20)
    try:
        for suffix in ["py", "js", "ts", "tsx", "go", "rs", "java", "rb", "sh", "c", "cpp", "yaml"]:
            path = f"a.{suffix}"
            change = [Change(path, b"x" * 40)]
            unit = Unit("u", "s", path, (path,), ())
            rows = await parser.call(judge_rows, change, {path: b"# \xc3\xa9\nx = 1\n"}, unit, Scope(), {})
            assert "unreadable" not in broken(verdict_of(rows))
    finally:
        await parser.aclose()


# --- the same in other words ---


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.js", "if (a === b) f(1000);\n", "if (a == b) f(1_000);\n"),
        ("a.py", "x = not a == b\n", "x = a != b\n"),
        ("a.py", "x = a is None\n", "x = a == None\n"),
        ("a.py", "x = f'{a} {b}'\n", 'x = "{} {}".format(a, b)\n'),
        ("a.go", "x := 0x1F\n", "x := 0x1f\n"),
        ("a.rs", "let x = 1.50f64;\n", "let x = 1.5_f64;\n"),
        (
            "a.css",
            ".a, .b { -webkit-mask: x; margin: 0; }\n",
            ".a { mask: x; margin: 0; }\n.b { mask: x; margin: 0; }\n",
        ),
    ],
)
def test_another_spelling_of_the_same_is_none_of_meaning(path: str, before: str, after: str) -> None:
    found = broken(judged(path, before, after, (1, "style", "say it otherwise")))
    assert not found & {"meaning_changed", "code_removed", "content_removed"}


def test_a_constraint_says_what_the_older_one_said() -> None:
    assert respelt("// +build a,b c\n// +build !d\n", "//go:build ((a && b) || c) && !d\n")
    assert respelt("//go:build a\n", "//go:build a\n// +build a\n")
    assert not respelt("// +build a b\n", "//go:build a && b\n")
    assert not respelt("package x\n", "//go:build ignore\n")
