"""Outcomes -> report: what became of every finding, for a terminal, for Markdown and as JSON."""
