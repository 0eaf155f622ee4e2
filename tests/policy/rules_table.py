"""docs/policy.md, made from the rules: `python -m tests.policy.rules_table`; a test holds it current."""

from __future__ import annotations

from pathlib import Path

from sweeper.policy import RULES, Level
from sweeper.policy.languages import LANGUAGES

FILE = Path(__file__).parents[2] / "docs" / "policy.md"

HEAD = """# Policy

<!-- Made from the rules by `python -m tests.policy.rules_table`; a test holds it current. -->

A captured change is judged by its text, before any check runs on it: by a syntax tree where there is a grammar
({languages}), by its lines and comments in every other language. What a rule says is about the *difference* between
the base and the change: what was there before, or went, breaks none. A text that its grammar does not understand is
judged by its lines and marked. The rules run in a child process with limits on memory and time; if it does not finish,
the change is rejected.

A rule of severity *reject* ends the attempt: the unit goes on to its next rung, with the rule and the lines as
evidence. A rule of severity *review* lets the change be verified and merged, and lists its unit first in the report.
Evidence names paths, lines and what it is, never content.

Findings explain removals: an unused variable, import or function may go where a finding says that it is unused, dead,
redundant or duplicated, at that line or by that name; line endings, encodings and layout may change where the finding
is about them.

`policy` of a sweep gives a rule another severity:

```toml
[sweep.ruff.policy]
debug_output = "off"
dummy_use = "reject"
```

`allow` of a sweep lifts the rules that are marked with it for the paths that its globs name.

| rule | severity | key | allow | broken when |
|---|---|---|---|---|
"""


def table() -> str:
    """The whole page."""
    names = ", ".join(name for name in LANGUAGES if name != "tsx")
    rows = [
        f"| `{name}` | {rule.severity.value} | {'' if rule.firm else f'`sweep.NAME.policy.{name}`'} "
        f"| {'yes' if rule.allow else ''} | {rule.what} |"
        for level in (Level.REJECT, Level.REVIEW)
        for name, rule in RULES.items()
        if rule.severity is level
    ]
    return HEAD.format(languages=names) + "\n".join(rows) + "\n"


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")
