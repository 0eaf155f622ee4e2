"""A run's tip as pull requests: pieces, where they stand, parts, commits, and reading back what was pushed."""
