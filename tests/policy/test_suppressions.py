"""D07: suppression instead of a fix."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.policy.spellings import CODE, COMMENTS, ENDINGS, ONLY, WORDS
from sweeper.policy.suppressions import added, find

# tool -> (path, a line of code with the suppression in it)
SPELLED: dict[str, list[tuple[str, str]]] = {
    "noqa": [
        ("a.py", "x = 1  # noqa"),
        ("a.py", "x = 1  # noqa: E501"),
        ("a.py", "x = 1  #noqa:E501"),
        ("a.py", "x = 1  # NoQA : E501"),
        ("a.py", "x = 1  # ours # noqa"),
        ("a.py", "x = 1  # noqa E501"),
        ("a.py", "x = 1  # nopep8"),
        ("a.py", "# ruff: noqa"),
        ("a.py", "# ruff: noqa: E501"),
        ("a.py", "# flake8: noqa"),
        ("a.py", "# flake8=noqa"),
        ("Makefile", "all: # noqa"),
        ("a.unknown", "x # noqa"),
    ],
    "ruff": [
        ("a.py", "# ruff: file-ignore[E501]"),
        ("a.py", "# ruff: ignore[E501]"),
        ("a.py", "# ruff: disable[E501]"),
    ],
    "type": [
        ("a.py", "x = 1  # type: ignore"),
        ("a.py", "x = 1  # type: ignore[x]"),
        ("a.py", "x = 1 #type:ignore[x]"),
    ],
    "mypy": [("a.py", "# mypy: ignore-errors"), ("a.py", '# mypy: disable-error-code="x"')],
    "pyright": [
        ("a.py", "x = 1  # pyright: ignore"),
        ("a.py", "# pyright: basic"),
        ("a.py", "# pyright: reportX=false"),
        ("a.py", "# pyright: strict, reportFoo=false"),
        ("a.py", "# pyright: strict," + " " * 900 + "reportFoo = none"),
        ("a.py", "# pyright: strict, basic"),
        ("a.py", "# pyright: analyzeUnannotatedFunctions=false"),
        ("a.py", "x = 1  # basedpyright: ignore[x]"),
    ],
    "pyre": [("a.py", "x = 1  # pyre-ignore[3]"), ("a.py", "# pyre-unsafe"), ("a.py", "x = 1  # pyre-fixme")],
    "ty": [
        ("a.py", "x = 1  # ty: ignore[x]"),
        ("a.py", "x = 1  # pyrefly: ignore"),
        ("a.py", "x = 1  # pytype: disable=x"),
    ],
    "pylint": [
        ("a.py", "# pylint: disable=all"),
        ("a.py", "x = 1  # pylint:disable=x"),
        ("a.py", "# pylint: skip-file"),
    ],
    "formatter": [("a.py", "# fmt: off"), ("a.py", "x = 1  # fmt: skip"), ("a.py", "# yapf: disable")],
    "isort": [
        ("a.py", "import x  # isort: skip"),
        ("a.py", "# isort:skip_file"),
        ("a.py", "# isort: off"),
        ("a.py", "# isort: split"),
    ],
    "bandit": [("a.py", "x = 1  # nosec"), ("a.py", "x = 1  # nosec B101"), ("a.py", "x = 1  #nosec: B101")],
    "pycharm": [("a.py", "# noinspection PyUnresolvedReferences"), ("a.java", "//noinspection unchecked")],
    "nolint": [("a.cpp", "int x; // NOLINT"), ("a.h", "// NOLINTNEXTLINE(google-x)"), ("a.c", "/* NOLINTBEGIN */")],
    "golangci": [
        ("a.go", "x() //nolint"),
        ("a.go", "x() //nolint:errcheck // reason"),
        ("a.go", "x() // nolint: errcheck"),
    ],
    "sonar": [("a.java", "x(); // NOSONAR")],
    "semgrep": [("a.py", "x = 1  # nosemgrep: rule.x"), ("a.js", "x() // nosem")],
    "codeql": [("a.js", "x() // lgtm[js/x]"), ("a.py", "x = 1  # codeql[py/x]")],
    "secrets": [("a.py", "x = 1  # pragma: allowlist secret"), ("a.py", "x = 1  # gitleaks:allow")],
    "coverage": [("a.py", "if x:  # pragma: no cover"), ("a.js", "/* istanbul ignore next */"), ("a.rb", "# :nocov:")],
    "spelling": [
        ("a.py", "# cspell:disable"),
        ("a.md", "<!-- cspell:ignore wrod -->"),
        ("a.py", "x = 1  # codespell:ignore"),
    ],
    "editorconfig": [("a.py", "x = 1  # editorconfig-checker-disable-line")],
    "eslint": [
        ("a.ts", "// eslint-disable-next-line"),
        ("a.js", "/* eslint-disable */"),
        ("a.js", "x(); // eslint-disable-line no-alert -- reason"),
        ("a.vue", "<!-- eslint-disable -->"),
        ("a.js", "// oxlint-disable-next-line"),
    ],
    "eslint-config": [
        ("a.js", "/* eslint no-alert: 0 */"),
        ("a.js", "/* global foo */"),
        ("a.js", "/* eslint-env node */"),
        ("a.js", '/* eslint "no-undef": "off" */'),
        ("a.js", "/* eslint 'no-undef': 0 */"),
        ("a.js", "/* global $ */"),
        ("a.js", "/* globals $, _ */"),
        ("a.js", "/*exported $x */"),
        ("a.js", "/* jshint x:false */"),
        ("a.js", "// jshint -W034"),
        ("a.js", "// jshint undef: false"),
        ("a.js", "/* jslint browser: true */"),
    ],
    "typescript": [
        ("a.ts", "// @ts-ignore"),
        ("a.ts", "// @ts-expect-error"),
        ("a.js", "// @ts-nocheck"),
        ("a.tsx", "{/* @ts-ignore */}"),
    ],
    "flow": [("a.js", "// $FlowFixMe[x]"), ("a.js", "/* @noflow */"), ("a.js", "// flowlint-next-line x:off")],
    "biome": [("a.ts", "// biome-ignore lint/style/noVar: reason"), ("a.ts", "// biome-ignore-all lint: x")],
    "prettier": [
        ("a.js", "// prettier-ignore"),
        ("a.md", "<!-- prettier-ignore-start -->"),
        ("a.lua", "-- stylua: ignore"),
    ],
    "stylelint": [("a.css", "/* stylelint-disable */"), ("a.scss", "// stylelint-disable-next-line color-no-hex")],
    "tslint": [
        ("a.ts", "// tslint:disable-next-line"),
        ("a.sol", "// solhint-disable-line"),
        ("a.js", "/* jshint ignore:start */"),
    ],
    "deno": [("a.ts", "// deno-lint-ignore no-explicit-any"), ("a.svelte", "<!-- svelte-ignore a11y -->")],
    "staticcheck": [("a.go", "//lint:ignore U1000 reason"), ("a.go", "//lint:file-ignore U1000 reason")],
    "revive": [("a.go", "//revive:disable:exported")],
    "gosec": [("a.go", "x() // #nosec G104")],
    "cppcheck": [("a.c", "// cppcheck-suppress nullPointer"), ("a.c", "// cppcheck-suppress-file x")],
    "clang-format": [("a.c", "// clang-format off")],
    "iwyu": [("a.c", '#include "a.h"  // IWYU pragma: keep')],
    "checkstyle": [("a.java", "// CHECKSTYLE:OFF"), ("a.scala", "// scalastyle:off"), ("a.java", "// @formatter:off")],
    "pmd": [("a.java", "x(); // NOPMD")],
    "ktlint": [("a.kt", "// ktlint-disable no-wildcard-imports")],
    "swiftlint": [("a.swift", "// swiftlint:disable force_cast"), ("a.swift", "x() // swiftlint:disable:this all")],
    "resharper": [("a.cs", "// ReSharper disable once UnusedMember")],
    "dart": [("a.dart", "// ignore: unused"), ("a.dart", "// ignore_for_file: unused")],
    "rubocop": [
        ("a.rb", "x # rubocop:disable Style/X"),
        ("a.rb", "# rubocop:todo all"),
        ("a.rb", "# rubocop : disable all"),
        ("a.rb", "x # standard:disable X"),
    ],
    "ruby": [("a.rb", "# :reek:UtilityFunction"), ("a.rb", "# typed: false"), ("a.rb", "x # steep:ignore")],
    "php": [
        ("a.php", "<?php x(); // @phpstan-ignore-line"),
        ("a.php", "/** @psalm-suppress X */"),
        ("a.php", "// phpcs:ignore X"),
        ("a.php", "# @codingStandardsIgnoreStart"),
    ],
    "shellcheck": [
        ("a.sh", "# shellcheck disable=SC2086"),
        ("run", "#!/bin/sh\n# shellcheck source=x disable=SC1"),
        ("a.sh", "# shellcheck " + "source=x " * 90 + "disable=SC1"),
        ("a.sh", "# shellcheck source=shellcheck  shell=sh disable=SC1"),
    ],
    "hadolint": [("Dockerfile", "# hadolint ignore=DL3008")],
    "yamllint": [("a.yml", "a: 1  # yamllint disable-line rule:x"), ("a.yaml", "# yamllint disable")],
    "infrastructure": [
        ("a.tf", "# checkov:skip=CKV_1: no"),
        ("a.tf", "x = 1 #tfsec:ignore:aws"),
        ("a.tf", "// tflint-ignore: x"),
    ],
    "workflow": [("a.yml", "a: b # zizmor: ignore[x]")],
    "sqlfluff": [("a.sql", "select 1 -- noqa: L001"), ("a.sql", "-- sqlfluff:rules:x")],
    "markdownlint": [
        ("a.md", "<!-- markdownlint-disable MD013 -->"),
        ("a.md", "<!-- vale off -->"),
        ("a.md", '<!-- markdownlint-configure-file { "MD013": false } -->'),
    ],
    "remark": [("a.md", "<!-- lint disable no-x -->")],
    "lua": [("a.lua", "x() -- luacheck: ignore"), ("a.lua", "-- selene: allow(x)")],
    "credo": [("a.ex", "# credo:disable-for-next-line")],
    "hlint": [("a.hs", "{- HLINT ignore -}"), ("a.hs", "{-# OPTIONS_GHC -w #-}"), ("a.pl", "x; ## no critic (X)")],
    "buf": [
        ("a.proto", "// buf:lint:ignore X"),
        ("a.sv", "/* verilator lint_off X */"),
        ("a.bzl", "# buildifier: disable=x"),
    ],
    "code": [
        ("a.rs", "#[allow(clippy::x)]"),
        ("a.rs", "#![allow(dead_code)]"),
        ("a.rs", "#[cfg_attr(test, expect(x))]"),
        ("a.rs", "#[rustfmt::skip]"),
        ("a.rs", "#[cfg_attr(all()," + " " * 900 + "allow(x))]"),
        ("a.rs", "#[" + " " * 900 + "allow(x)]"),
        ("a.rs", "#[cfg_attr(all(), x([1]), allow(x))]"),
        ("a.rs", '#[cfg_attr(not(feature = "]"), allow(x))]'),
        ("a.c", '#pragma GCC diagnostic ignored "-Wx"'),
        ("a.cpp", "#pragma warning(disable: 4996)"),
        ("a.cc", '_Pragma("GCC diagnostic ignored \\"-Wx\\"")'),
        ("a.c", '#pragma GCC diagnostic \\\n ignored "-Wall"'),
        ("a.c", '#pragma GCC diagnostic ign\\ \nored "-Wall"'),
        ("a.c", "#pragma GCC diagnostic" + " " * 900 + 'ignored "-Wall"'),
        ("a.java", '@SuppressWarnings("unchecked")'),
        ("a.java", '@java.lang.SuppressWarnings("unchecked")'),
        ("a.java", '@ java . lang . SuppressWarnings("unchecked")'),
        ("a.kt", '@kotlin.Suppress("X")'),
        ("a.kt", '@file:kotlin.Suppress("X")'),
        ("a.kt", '@file:[JvmName("A") Suppress("X")]'),
        ("a.kt", '@file:Suppress("X")'),
        ("a.scala", "@nowarn"),
        ("a.cs", "#pragma warning disable CS0168"),
        ("a.cs", '[assembly: SuppressMessage("x", "y")]'),
        ("a.py", "@typing.no_type_check"),
        ("a.py", "@t.no_type_check"),
        ("a.py", "@a.b.c.no_type_check"),
        ("a.py", "from typing import no_type_check"),
        ("a.py", "from typing import (cast,\n    no_type_check as n)"),
        ("a.ps1", "[Diagnostics.CodeAnalysis.SuppressMessageAttribute('x', '')]"),
        ("a.php", "#[SuppressWarnings('x')]"),
    ],
}
CASES = [(tool, path, line) for tool, spelled in SPELLED.items() for path, line in spelled]


def said(path: str, before: str, after: str) -> list[str]:
    return [what for _, what in added(path, before.encode(), after.encode())]


def test_every_tool_of_the_table_is_spelled_here() -> None:
    assert set(SPELLED) == {*COMMENTS, "code"}
    suffixes = {suffix for key in CODE for suffix in key.split()}
    assert {path.rsplit(".", 1)[-1] for path, _ in SPELLED["code"]} <= suffixes
    assert set(ENDINGS) <= set(COMMENTS)
    assert set(ONLY) <= set(COMMENTS)


@pytest.mark.parametrize(("tool", "path", "line"), CASES)
def test_d07_every_spelling_is_caught(tool: str, path: str, line: str) -> None:
    tools = {one.tool for one in find(path, line + "\n")}
    assert tool in tools
    assert any(word in line.lower() for word in WORDS)
    assert any(f"new suppression ({tool})" in what for what in said(path, "one\ntwo\n", f"one\n{line}\ntwo\n"))


@pytest.mark.parametrize(("tool", "path", "line"), CASES)
def test_d07_unchanged_removed_and_moved_are_fine(tool: str, path: str, line: str) -> None:
    before = f"one = 1\n{line}\ntwo = 2\nthree = 3\nfour = 4\n"
    assert said(path, before, before) == []
    assert said(path, before, before.replace("\n", "\r\n")) == []
    assert said(path, before, "one = 1\ntwo = 2\nthree = 3\nfour = 4\n") == []
    moved = f"three = 3\nfour = 4\none = 1\n{line}\ntwo = 2\n"
    assert said(path, before, moved) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", 'x = "# noqa"'),
        ("a.py", "x = '''\n# noqa: E501\n# ruff: noqa\n'''"),
        ("a.py", 'x = f"# type: ignore {y}"'),
        ("a.py", 'def f():\n    """# pylint: disable=all"""'),
        ("a.js", 'x = "// eslint-disable-line"'),
        ("a.js", "x = `\n// eslint-disable-next-line\n${y}// @ts-ignore`"),
        ("a.js", "x = /[/*] eslint-disable [*/]/"),
        ("a.py", "x = 'no_type_check'  # about no_type_check"),
        ("a.ts", "x = '// @ts-ignore'"),
        ("a.go", "x := `//nolint`"),
        ("a.rs", 'let x = "#[allow(clippy::x)]";'),
        ("a.rs", 'let x = r#"// NOLINT "#;'),
        ("a.java", 'String x = "// NOSONAR";'),
        ("a.kt", 'val x = """\n// NOSONAR\n@Suppress("x")"""'),
        ("a.cpp", 'auto x = R"(// NOLINT)";'),
        ("a.rb", "x = '# rubocop:disable all'"),
        ("a.sh", "echo '# shellcheck disable=SC1'"),
        ("a.yml", 'a: "# yamllint disable"'),
        ("a.sql", "select '-- noqa'"),
        ("a.lua", "x = [[-- luacheck: ignore]]"),
        ("notes.txt", "how to write # noqa"),
        ("a.md", "how to write `# noqa`"),
    ],
)
def test_d07_the_text_in_a_string_is_none(path: str, line: str) -> None:
    assert said(path, "one\n", f"one\n{line}\n") == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.js", "x = /[\"']/ // eslint-disable-line"),
        ("a.js", "x = a.match(/\"/); y = '\"' // eslint-disable-line"),
        ("a.js", "x = `${a /* eslint-disable-line */}`"),
        ("a.js", "x = `${`${b}`}` // eslint-disable-line"),
        ("a.js", "x = 'unclosed // eslint-disable-line"),
        ("a.js", "x = `unclosed // eslint-disable-line"),
        ("a.rs", "fn f<'a>(c: &'a str) {} // NOLINT"),
        ("a.rs", "let c = '\"'; // NOLINT"),
        ("a.go", "x := '\"' // NOLINT"),
        ("a.cpp", "char c = '\"'; int n = 1'000; // NOLINT"),
        ("a.sh", 'echo "${#x}" don\'t # shellcheck disable=SC1'),
        ("a.py", "x = '# no' # noqa"),
        ("a.py", "x = (  # noqa"),
    ],
)
def test_d07_quotes_hide_no_comment(path: str, line: str) -> None:
    assert len(said(path, "one\n", f"one\n{line}\n")) == 1


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "# isort: on"),
        ("a.py", "# pyright: strict"),
        ("a.py", "# pyright: strict, reportFoo=true"),
        ("a.py", "# pyright: strict, reportFoo=error"),
        ("a.py", "# pyright: see the manual, it reports this"),
        ("a.py", "@typing.final"),
        ("a.js", "/* eslint */"),
        ("a.js", "/* global */"),
        ("a.c", "/* Global state. */"),
        ("a.js", "// jshint is gone"),
        ("a.java", "@java.lang.Override"),
        ("a.kt", '@file:[JvmName("A")] class Suppressed'),
        ("a.rs", "#[derive(Debug)] fn f() { x.expect(y[1]) }"),
        ("a.rs", '#[cfg_attr(feature = "[x]", derive(Debug))] fn f() { g(x, expect(y)) }'),
        ("a.c", "#pragma omp parallel \\\n for"),
        ("a.c", "#pragma once\nint ignored;"),
        ("a.sh", "# shellcheck source=x shell=sh"),
        ("a.rb", "# rubocop : a linter"),
        ("a.md", "<!-- markdownlint is a linter -->"),
    ],
)
def test_honest_code_is_fine(path: str, line: str) -> None:
    assert said(path, "one\n", f"one\n{line}\ntwo\n") == []


def test_lines_after_a_continued_one_are_counted_right() -> None:
    after = '#define A \\\n  1 \\\n  2\nint x;\n#pragma GCC diagnostic \\\n  ignored "-Wx"\n_Pragma("disable")\n'
    assert [line for line, _ in added("a.c", b"", after.encode())] == [5, 7]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "x = 1  # noqa: E501", "x = 1  # noqa"),
        ("a.py", "x = 1  # noqa: E501", "x = 1  # noqa: E501, F401"),
        ("a.py", "x = 1  # type: ignore[a]", "x = 1  # type: ignore"),
        ("a.py", "x = 1  # type: ignore[a]", "y = 2  # type: ignore[b]"),
        ("a.py", "# pylint: disable=x", "# pylint: disable=all"),
        ("a.js", "// eslint-disable-next-line a", "// eslint-disable-next-line"),
        ("a.go", "x() //nolint:a", "x() //nolint:a,b"),
        ("a.rs", "#[allow(a)]", "#[allow(a, b)]"),
        ("a.java", '@SuppressWarnings("a")', '@SuppressWarnings({"a", "b"})'),
        ("a.py", "# pyright: reportA=false", "# pyright: reportA=false, reportB=false"),
        ("a.js", "/* eslint a: 0 */", "/* eslint a: 0, b: 0 */"),
        ("a.js", "/* global a */", "/* global a, $ */"),
        ("a.sh", "# shellcheck disable=SC1", "# shellcheck disable=SC1 disable=SC2"),
        ("a.md", "<!-- markdownlint-configure-file {a: 0} -->", "<!-- markdownlint-configure-file {a: 0, b: 0} -->"),
        ("a.c", '#pragma GCC diagnostic ignored "-Wa"', '#pragma GCC diagnostic \\\n ignored "-Wb"'),
    ],
)
def test_d07_a_widened_one_is_caught(path: str, before: str, after: str) -> None:
    (what,) = said(path, f"one\n{before}\ntwo\n", f"one\n{after}\ntwo\n")
    assert what.startswith("widened")


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "x = 1  # noqa", "x = 1  # noqa: E501"),
        ("a.py", "x = 1  # noqa: E501, F401", "x = 2  # noqa: F401"),
        ("a.py", "x = 1 # noqa:E501", "x = 1  # NOQA: e501"),
        ("a.py", "x = 1  # noqa: F401,E501", "x = 1  # noqa: E501, F401"),
        ("a.py", "x = 1  # type: ignore", "x = 3  # type: ignore[a]"),
        ("a.js", "/* eslint-disable a, b */", "/* eslint-disable b */"),
    ],
)
def test_a_narrowed_one_is_fine(path: str, before: str, after: str) -> None:
    assert said(path, f"one\n{before}\ntwo\n", f"one\n{after}\ntwo\n") == []


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "x = 1  # noqa: E501", "# ruff: noqa: E501\nx = 1"),
        ("a.py", "# noqa: E501", "# ruff: noqa: E501"),
        ("a.py", "import x  # type: ignore", "# type: ignore\nimport x"),
        ("a.js", "// eslint-disable-next-line a", "/* eslint-disable a */"),
        ("a.py", "x = 1  # pylint: disable=a", "# pylint: disable=a\nx = 1"),
    ],
)
def test_a_longer_reach_is_new(path: str, before: str, after: str) -> None:
    assert len(said(path, f"one\n{before}\ntwo\n", f"one\n{after}\ntwo\n")) == 1


def test_a_stale_suppression_moved_onto_other_code_is_new() -> None:
    before = "stale = 1  # noqa: E501\none\ntwo\nthree\nlong = 2\n"
    after = "stale = 1\none\ntwo\nthree\nlong = 2  # noqa: E501\n"
    assert [*added("a.py", before.encode(), after.encode())] == [(5, "new suppression (noqa)")]
    before = "// eslint-disable-next-line\na()\nb()\nc()\n"
    assert len(said("a.js", before, "a()\nb()\n// eslint-disable-next-line\nc()\n")) == 1


def test_one_goes_with_a_line_whose_names_were_put_in_order() -> None:
    """As isort leaves `from pytest import ...  # noqa` elsewhere among the imports."""
    before = "from pytest import skip, raises  # noqa: F401\nimport os\nimport sys\nx = 1\n"
    after = "import os\nimport sys\n\nfrom pytest import raises, skip  # noqa: F401\nx = 1\n"
    assert said("a.py", before, after) == []
    assert len(said("a.py", before, after.replace("skip", "skip, mark"))) == 1
    assert len(said("a.py", before, before.replace("sys", "sys  # noqa: F401"))) == 1


def test_a_second_one_beside_an_existing_one_is_new() -> None:
    before = "one\nx = 1  # noqa: E501\ntwo\n"
    assert len(said("a.py", before, before + "y = 2  # noqa: E501\n")) == 1


def test_a_region_that_is_not_closed_any_more_is_widened() -> None:
    before = "a()\n/* eslint-disable */\nb()\n/* eslint-enable */\nc()\nd()\n"
    lost = before.replace("/* eslint-enable */\n", "")
    assert said("a.js", before, lost) == ["widened suppression (eslint): the end of its region is gone or moved"]
    assert len(said("a.js", before, lost + "/* eslint-enable */\n")) == 1
    assert said("a.js", before, lost.replace("/* eslint-disable */\n", "")) == []
    assert said("a.js", before, before.replace("c()", "c(1)")) == []
    assert said("a.js", before, before.replace("d()\n", "")) == []


@pytest.mark.parametrize(
    ("path", "start", "end"),
    [
        ("a.py", "# ruff: disable[E501]", "# ruff: enable[E501]"),
        ("a.py", "# pylint: disable=x", "# pylint: enable=x"),
        ("a.py", "# fmt: off", "# fmt: on"),
        ("a.py", "# isort: off", "# isort: on"),
        ("a.cpp", "// NOLINTBEGIN", "// NOLINTEND"),
        ("a.js", "/* eslint-disable */", "/* eslint-enable */"),
        ("a.ts", "// biome-ignore-start lint: x", "// biome-ignore-end lint: x"),
        ("a.md", "<!-- prettier-ignore-start -->", "<!-- prettier-ignore-end -->"),
        ("a.css", "/* stylelint-disable */", "/* stylelint-enable */"),
        ("a.ts", "// tslint:disable", "// tslint:enable"),
        ("a.go", "//revive:disable", "//revive:enable"),
        ("a.c", "// clang-format off", "// clang-format on"),
        ("a.java", "// CHECKSTYLE:OFF", "// CHECKSTYLE:ON"),
        ("a.swift", "// swiftlint:disable x", "// swiftlint:enable x"),
        ("a.cs", "// ReSharper disable X", "// ReSharper restore X"),
        ("a.rb", "# rubocop:disable X", "# rubocop:enable X"),
        ("a.php", "// phpcs:disable", "// phpcs:enable"),
        ("a.yml", "# yamllint disable", "# yamllint enable"),
        ("a.md", "<!-- markdownlint-disable -->", "<!-- markdownlint-enable -->"),
        ("a.md", "<!-- vale off -->", "<!-- vale on -->"),
        ("a.js", "/* v8 ignore start */", "/* v8 ignore stop */"),
        ("a.py", "# cspell:disable", "# cspell:enable"),
        ("a.lua", "-- luacheck: push ignore", "-- luacheck: pop"),
        ("a.sv", "/* verilator lint_off X */", "/* verilator lint_on X */"),
    ],
)
def test_every_end_of_a_region_is_known(path: str, start: str, end: str) -> None:
    before = f"one = 1\n{start}\ntwo = 2\n{end}\nthree = 3\n"
    assert {one.tool for one in find(path, end) if one.ends}
    (what,) = said(path, before, before.replace(end + "\n", ""))
    assert what.startswith("widened")
    assert said(path, before, before.replace(end + "\n", "").replace(start + "\n", "")) == []


def test_lines_are_those_of_the_changed_file() -> None:
    after = b"\xef\xbb\xbfone\r\n\r\nx = 1  # noqa\r\ny = '''\r\n\r\n'''  # noqa\r\n"
    assert [line for line, _ in added("a.py", b"", after)] == [3, 6]


def test_bytes_that_are_no_utf8_hide_nothing() -> None:
    for line in (b"x = '\xe9'  # noqa", b"caf\xe9 = 1  # noqa", b"# \xe9 noqa # noqa", b"x = '\0'  # noqa"):
        assert len([*added("a.py", b"", line + b"\n")]) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", '"\\' * 50_000),
        ("a.js", "`${" * 50_000),
        ("a.js", "=/x" * 50_000),
        ("a.js", "=" * 9000 + "/[" * 50_000),
        ("a.js", "=" + " " * 90_000),
        ("a.rs", 'r#"' * 50_000),
        ("a.py", "(" * 50_000),
        ("a.py", "'''" * 50_001),
        ("a.cs", '$@"' * 50_000),
        ("a.rs", "#[" * 50_000 + "allow"),
        ("a.py", "# type: ignore[" * 20_000),
        ("a.c", "#pragma " * 20_000),
        ("a.c", "/*" + " lgtm[" * 20_000),
        ("a.sh", "# shellcheck a=b" * 20_000),
        ("a.sh", "# shellcheck " + "a=b " * 50_000),
        ("a.sh", "# shellcheck " + "a=shellcheck " * 20_000),
        ("a.sh", "# shellcheck disable" + " a=shellcheck  disable" * 20_000),
        ("a.py", "# pyright:" * 20_000),
        ("a.py", "# pyright:" + " " * 200_000),
        ("a.py", "# pyright: " + "reporta " * 50_000),
        ("a.py", "# pyright: " + ", " * 100_000 + "report" * 20_000),
        ("a.py", "# pyright: a" + "strict=" * 20_000 + "," + " " * 100_000),
        ("a.py", "@" + "a." * 100_000),
        ("a.js", "/* eslint" + " " * 200_000),
        ("a.js", "/* jshint" + " x" * 100_000),
        ("a.js", "// jshint" + " " * 200_000),
        ("a.java", "@" + "a." * 100_000 + "Suppres"),
        ("a.java", "@" + " a" * 100_000 + "Suppress"),
        ("a.java", "@Suppress " + "@[Suppres " * 20_000),
        ("a.kt", "@Suppres @[" + "a " * 100_000),
        ("a.kt", "suppress @a:" + "[@a : " * 30_000),
        ("a.rs", "#[allo cfg_attr(" * 20_000),
        ("a.rs", "#[cfg_attr(" * 20_000),
        ("a.rs", "cfg_attr #[" + " " * 200_000),
        ("a.rs", "#[cfg_attr(a[" * 20_000),
        ("a.c", "#pragma \\\n" * 20_000),
        ("a.c", "pragma \\" + "\\ \t" * 60_000),
        ("a.c", "pragma \\" + " " * 200_000),
        ("a.c", "#pragma a\n" * 20_000),
        ("a.rb", "# rubocop " + ": " * 50_000 + "disable"),
        ("a.rb", "# disable rubocop" + " " * 200_000),
        ("a.md", "<!-- markdownlint-configure-file " * 20_000),
        ("a.md", "<!-- lint disable " * 20_000),
        ("a.py", "x = 1\n" + "# noqa\n" * 20_000),
        ("a.py", "".join(f"x{n} = 1  # noqa: E{n}\n" for n in range(5_000))),
    ],
)
def test_hostile_text_costs_no_more_than_its_length(path: str, text: str) -> None:
    """The time limit of the suite is the assertion: anything quadratic here takes minutes."""
    list(added(path, b"x\n", text.encode()))
    list(added(path, text.encode(), b"x\n"))


# --- properties ---

LINES = st.lists(
    st.one_of(
        st.sampled_from([line for _, path, line in CASES if path == "a.py"]),
        st.sampled_from(["x = 1", "def f():", "    pass", '"""', "y = '# noqa'", "", "# words", "(", "\tz", "x = '"]),
        st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=12),
    ),
    max_size=12,
)


@given(LINES)
def test_an_unchanged_file_never_violates(lines: list[str]) -> None:
    text = "\n".join(lines)
    for path in ("a.py", "a.js", "a.unknown", "a.yml"):
        assert said(path, text, text) == []


@given(LINES, st.data())
def test_removing_lines_of_comments_never_violates(lines: list[str], data: st.DataObject) -> None:
    lines = [line for line in lines if line.startswith(("#", "x =", "y =")) and line.count("'") % 2 == 0]
    kept = [line for line in lines if not line.startswith("#") or data.draw(st.booleans())]
    dropped = [line.split("  #")[0] if data.draw(st.booleans()) else line for line in kept]
    if any(one.alone for one in find("a.py", "\n".join(lines))):
        dropped = [line for line in dropped if not line.startswith("#")]
    assert said("a.py", "\n".join(lines), "\n".join(dropped)) == []


@given(
    st.lists(st.sampled_from(["x = 1", "y = [2]", "def f(): pass", "z = 'a'"]), max_size=8),
    st.sampled_from([line for _, path, line in CASES if path == "a.py" and "#" in line]),
    st.data(),
)
def test_a_spelling_is_caught_in_a_comment_and_not_in_a_string(
    lines: list[str], line: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(lines)))
    comment = line[line.index("#") :]
    before = "\n".join(lines)
    with_comment = "\n".join([*lines[:at], line, *lines[at:]])
    with_string = "\n".join([*lines[:at], f"s = {comment!r}", *lines[at:]])
    assert said("a.py", before, with_comment)
    assert said("a.py", before, with_string) == []
