"""Every recorded run of every supported tool, held against what was written down from its raw output."""

from __future__ import annotations

from typing import Any

import pytest

from sweeper.backlog.tools import GENERIC, TOOLS, recognise
from sweeper.records import CheckState
from tests.backlog.samples import DATA, RECORDED_TREE, expected, output, recorded, said, words

EXPECTED = expected()
CASES = [(folder, name) for folder, samples in EXPECTED.items() for name in samples]
NOT_RUNS = {"fix.txt"}  # a pipeline with git


@pytest.mark.parametrize(("folder", "name"), CASES, ids=[f"{folder}/{name}" for folder, name in CASES])
def test_a_recorded_run_says_what_is_written_beside_it(folder: str, name: str) -> None:
    wanted: dict[str, Any] = EXPECTED[folder][name]
    command, code = recorded(DATA / folder)[name]
    stdout, stderr = output(name, DATA / folder)
    tool = recognise(words(command))
    result = said(stdout, stderr, code=code, tool=tool, listing=RECORDED_TREE)
    assert tool.name == wanted["tool"]
    assert str(tool.exit_codes.get(code, "unlisted")) == wanted["exit"]
    assert (result.state.value, result.format, len(result.findings)) == (
        wanted["state"],
        wanted["format"],
        wanted["findings"],
    )
    if result.findings:
        first = result.findings[0]
        assert [first.path, first.line, first.column, first.rule, first.severity.value] == wanted["first"]
    assert {s.path: [s.reason.value, s.findings] for s in result.skips} == wanted.get("skips", {})
    assert result.incomplete == wanted.get("incomplete", "")
    if result.state is CheckState.BROKEN:
        assert result.why


def test_every_recorded_run_has_its_expectation() -> None:
    for folder in sorted(path for path in DATA.iterdir() if (path / "COMMANDS.md").exists()):
        present = {name for name in recorded(folder) if (folder / name).exists()}
        if folder.name != "ruff":  # its runs are in test_formats
            missing = present - EXPECTED.get(folder.name, {}).keys()
            assert missing <= (NOT_RUNS if folder.name == "shellcheck" else set()), folder.name


def test_every_tool_has_recorded_findings_in_its_own_format() -> None:
    """Of golangci-lint only version 1 was recorded; the short forms of a tool are the same tool."""
    understood = {(e["tool"], e["format"]) for samples in EXPECTED.values() for e in samples.values() if e["findings"]}
    alike = {
        "golangci-lint",
        "semgrep-short",
        "markdownlint-cli",
        "biome-check",
        "biome-ci",
        "ruff",
    }
    for tool in TOOLS.values():
        if tool is not GENERIC and tool.name not in alike:
            assert (tool.name, tool.format) in understood, tool.name


@pytest.mark.parametrize("name", ["findings.json", "findings_json.txt", "findings_json.jsonl"])
def test_a_cut_off_document_is_broken(name: str) -> None:
    for folder in sorted(DATA.iterdir()):
        if not (folder / name).exists():
            continue
        command, code = recorded(folder)[name]
        stdout, stderr = output(name, folder)
        data = stdout or stderr
        tool = recognise(words(command))
        cut = data[: len(data) * 2 // 3] if name.endswith("json") else data[: len(data) - 40]
        for exit_code in (0, code):
            result = said(cut, b"", code=exit_code, tool=tool, listing=RECORDED_TREE)
            if not name.endswith("jsonl"):  # the whole lines of a cut-off stream are findings
                assert (result.state, result.findings) == (CheckState.BROKEN, ()), (folder.name, exit_code)
            assert result.state is not CheckState.CLEAN


@pytest.mark.parametrize(("folder", "name"), CASES[::3], ids=[f"{folder}/{name}" for folder, name in CASES[::3]])
def test_renamed_members_are_a_changed_format_and_never_clean(folder: str, name: str) -> None:
    command, code = recorded(DATA / folder)[name]
    stdout, stderr = output(name, DATA / folder)
    facts = EXPECTED[folder][name]
    if facts["state"] != "findings" or (facts["format"], facts["exit"]) == ("text", "clean"):
        return  # without its separators a line is as good as any other, and no exit code says more

    def renamed(data: bytes) -> bytes:
        for word in (b"message", b"line", b"file", b"path", b"code", b"rule", b":", b"(", b"["):
            data = data.replace(word, b"#" + word[1:])
        return data

    result = said(renamed(stdout), renamed(stderr), code=code, tool=recognise(words(command)), listing=RECORDED_TREE)
    assert result.state is CheckState.BROKEN
    assert result.why
