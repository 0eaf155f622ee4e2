"""The settings of [pull_request]: what they take, and that what they don't take is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeper.config import file as configfile
from sweeper.config.models import PullRequestConfig
from sweeper.errors import ConfigError


def load(folder: Path, text: str, **environ: str) -> PullRequestConfig:
    (folder / "sweeper.toml").write_text(f"[pull_request]\n{text}\n")
    return configfile.load(folder, environ=environ, overrides={}).config.pull_request


@pytest.mark.parametrize(
    "text",
    [
        'split = "none"', 'split = "owners"', 'split = "max_files = 20"', 'split = "max_files=1"', 'commits = "squash"',
        'message = "fix({sweep}): {title} {rules} {units} {before} {after} {rung} {{literal}}"',
        'title = "{sweep} {part} {fixed} {remaining} {units}"', 'branch = "bots/{sweep}"', 'token = "MY_TOKEN"',
        'repository = "acme/widgets"', 'api = "https://ghe.example.com/api/v3"', 'reviewers = ["kim", "acme/team"]',
    ],
)  # fmt: skip
def test_what_is_taken(tmp_path: Path, text: str) -> None:
    load(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('split = "team"', "split"),
        ('split = "max_files = 0"', "split"),
        ('commits = "one"', "commits"),
        ('message = "{title.__class__}"', "title.__class__"),
        ('message = "{finding}"', "{finding}"),
        ('message = "{"', "template"),
        ('title = "{title}"', "{title}"),
        ('branch = "sweeper"', "{sweep}"),
        ('branch = "-x/{sweep}"', "branch"),
        ('branch = "a/../{sweep}"', "branch"),
        ('branch = "a b/{sweep}"', "branch"),
        ('token = "ghp_x-y"', "token"),
        ('repository = "widgets"', "repository"),
        ('api = "ghe.example.com"', "api"),
        ("auto_clos = true", "auto_close"),
    ],
)
def test_what_is_not_taken_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, text)
    assert said in f"{refused.value} {refused.value.hint}"


def test_a_variable_outranks_the_file(tmp_path: Path) -> None:
    chosen = load(tmp_path, 'base = "main"', SWEEPER_PULL_REQUEST__BASE="develop", SWEEPER_PULL_REQUEST__LABELS='["a"]')
    assert (chosen.base, chosen.labels) == ("develop", ["a"])
