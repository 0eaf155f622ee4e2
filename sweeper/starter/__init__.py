"""What a repository's files suggest to sweep: linters, their own invocations, set-ups and tests. Pure."""

from __future__ import annotations

from sweeper.starter.project import Project, is_read
from sweeper.starter.suggest import Suggestion, suggest
from sweeper.starter.text import configuration

__all__ = ["Project", "Suggestion", "configuration", "is_read", "suggest"]
