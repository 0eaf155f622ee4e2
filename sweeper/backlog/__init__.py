"""The backlog: what a check said, as findings, and the findings as units."""
