"""The only door to git."""

from sweeper.repo.commits import Commit, Identity
from sweeper.repo.export import CommitTree
from sweeper.repo.remote import Remote, Remotes
from sweeper.repo.repository import Repo
from sweeper.repo.write import Conflict

__all__ = ["Commit", "CommitTree", "Conflict", "Identity", "Remote", "Remotes", "Repo"]
