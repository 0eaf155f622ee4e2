"""The pull request's text for a reviewer, risk first, within a forge's limit. Pure.

Untrusted text stands in code spans only, where a forge sees no mention, reference, link or HTML in it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sweeper.forge import marker
from sweeper.forge.story import Change, Left, Rule, Story
from sweeper.report.escape import code, inert

LIMIT = 60_000  # characters and bytes; GitHub's own is 65,536 characters
TITLE = 200
SPAN = 120  # characters of a text in what is never left out; an odd one may be shown tenfold
SHORT = 12
ELSEWHERE = "`sweeper report --markdown` has them"
TICKED = re.compile(r"(?m)^- \[[xX]\] (.*)$")


@dataclass(frozen=True, slots=True)
class Section:
    """One section in its forms, the fullest first; each is the whole text, and the last one is what always fits."""

    forms: tuple[str, ...]


def title(story: Story) -> str:
    """The default title, one line, inert."""
    findings = f"{story.fixed:,} {story.sweep} finding{'' if story.fixed == 1 else 's'}"
    part = f" in {inert(story.part, 80)}" if story.part else ""
    return f"Fix {findings}{part}"[:TITLE]


def body(story: Story, mark: str, limit: int = LIMIT) -> str:
    """The text, `mark` being its first line. At most `limit` characters and bytes.

    What does not fit is left out by whole sections, a section's details before the section itself, in the order of
    `_dropped`; what is left out is said in its place.
    """
    sections = _sections(story)
    shown = dict.fromkeys(sections, 0)

    def text() -> str:
        parts = [sections[name].forms[form] for name, form in shown.items()]
        return "\n\n".join([mark, *filter(None, parts)]) + "\n"

    result = text()
    for name in _dropped(sections):
        while len(result.encode()) > limit and shown[name] + 1 < len(sections[name].forms):
            shown[name] += 1
            result = text()
    return result


def _dropped(sections: dict[str, Section]) -> Sequence[str]:
    """What goes first if it is too long: what a reviewer finds elsewhere (in the commits) before what we alone know."""
    return [name for name in ("changes", "cost", "left out", "index", "held", "review", "notes") if name in sections]


def _sections(story: Story) -> dict[str, Section]:
    """In the order of reading."""
    marked = [change for change in story.changes if change.reviews]
    plain = [change for change in story.changes if not change.reviews]
    return {
        "head": Section((_head(story),)),
        "notes": Section(_forms(_notes(story), "notes")),
        "review": _units("Look at these first", "on the branch, marked for review", marked, _marked),
        "index": Section(_forms(_index(story), "pull requests of this sweep")),
        "held": _lefts("Held: a person decides", "held", story.held, "- [ ] "),
        "left out": _lefts("Verified, but not on this branch", "left out", story.left_out, "- "),
        "changes": _units("Changes", "changed", plain, _change),
        "cost": Section((_cost(story), "")),
        "again": Section((_again(story),)),
    }


def _head(story: Story) -> str:
    rest = f", {story.remaining:,} {'remains' if story.remaining == 1 else 'remain'}" if story.remaining else ""
    part = f", part {code(story.part, SPAN)}" if story.part else ""
    tests = code(story.tests or "none", SPAN)
    where = f"on top of {code(story.base, SPAN)} at {code(story.base_commit[:SHORT])}"
    if story.shared:
        where = "each time that ours were put on this branch, together with the commits that are not ours"
    lines = [
        f"**{story.fixed:,} {_plural('finding', story.fixed)} fixed** in {_count(len(story.changes), 'unit')}{rest}. "
        f"Sweep {code(story.sweep)}{part}: {code(story.headline, SPAN)}.",
        "",
        "Each unit was fixed in its own sandbox and verified by the check in a fresh one; the whole tree was checked "
        f"{where}; tests: {tests}.",
    ]
    lines += [f"- {number:,} open: {code(reason, SPAN)}" for reason, number in story.open[:10]]
    return "\n".join(lines)


def _notes(story: Story) -> list[str]:
    return [f"> {note}" for note in story.notes]


def _index(story: Story) -> list[str]:
    if not story.index:
        return []
    lines = ["### All pull requests of this sweep", ""]
    for part in story.index:
        place = f"#{part.number}" if part.number is not None else "not open yet"
        lines.append(f"- {place}: {code(part.label)}, {_count(part.units, 'unit')}")
    return lines


def _units(heading: str, what: str, changes: Sequence[Change], line: Callable[[Change], str]) -> Section:
    if not changes:
        return Section(("",))
    top = f"### {heading} ({len(changes):,})\n\n"
    full = top + "\n".join(map(line, changes))
    brief = top + "\n".join(f"- {code(change.title)} {change.commit[:SHORT]}" for change in changes)
    least = f"{top}{_count(len(changes), 'unit')} {what}: too long a list for here; {ELSEWHERE}."
    return Section((full, brief, top + _by_directory(changes), least))


def _by_directory(changes: Sequence[Change]) -> str:
    """What so many changes are, folder by folder."""
    found: dict[str, list[Change]] = {}
    for change in changes:
        found.setdefault(change.title.rpartition("/")[0] or ".", []).append(change)
    lines = []
    for folder, some in found.items():
        rules: dict[str, tuple[int, int]] = {}
        for rule in (rule for change in some for rule in change.rules):
            before, after = rules.get(rule.name, (0, 0))
            rules[rule.name] = (before + rule.before, after + rule.after)
        summed = [Rule(name, before, after) for name, (before, after) in sorted(rules.items())]
        lines.append(f"- {code(folder)}: {_count(len(some), 'unit')}; {_rules(summed)}")
    return "\n".join([*lines, f"- {ELSEWHERE} one by one, and so have the commits"])


def _change(change: Change) -> str:
    line = f"- {code(change.title)}: {_rules(change.rules)}; {code(change.rung)}; {change.commit[:SHORT]}"
    return f"{line}\n  - {code(change.evidence)}" if change.evidence else line


def _marked(change: Change) -> str:
    return "\n".join([_change(change), *(f"  - **review**: {code(reason)}" for reason in change.reviews)])


def _rules(rules: Iterable[Rule]) -> str:
    return ", ".join(f"{code(rule.name)} {rule.before:,} → {rule.after:,}" for rule in rules) or "no rule"


def _lefts(heading: str, what: str, lefts: Sequence[Left], mark: str) -> Section:
    if not lefts:
        return Section(("",))
    top = f"### {heading} ({len(lefts):,})\n\n"

    def line(left: Left, *, full: bool) -> str:
        number = f", {_count(left.findings, 'finding')}" if left.findings else ""
        said = f"{mark}{code(left.title)}{number}: {code(left.why)}"
        return f"{said}\n  - {code(left.evidence)}" if full and left.evidence else said

    full, brief = ("\n".join(line(left, full=form) for left in lefts) for form in (True, False))
    return Section((top + full, top + brief, top + f"{_count(len(lefts), 'unit')} {what}: {ELSEWHERE}."))


def _cost(story: Story) -> str:
    usage = story.usage
    parts = [f"{story.seconds:,.1f} s of attempts"]
    if usage.input_tokens or usage.output_tokens:
        parts.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
    parts.append(f"${usage.micro_usd / 1e6:,.2f}")
    lines = ["### Cost", "", f"- {', '.join(parts)}"]
    lines += [f"- Attempts: {code(story.attempts)}"] if story.attempts else []
    lines += [f"- {code(line)}" for line in story.spending[:20]]
    lines += [f"- Gate: {code(line)}" for line in story.gates[-20:]]
    return "\n".join(lines)


def _again(story: Story) -> str:
    lines = ["### Check it yourself", "", f"- the branch: {code(f'git fetch origin {story.branch}')}"]
    if story.check:
        lines.append(f"- the check: {code(shlex.join(story.check))}")
    if story.test:
        lines.append(f"- the tests: {code(shlex.join(story.test))}")
    lines.append(f"- one unit's whole story, where it was run: {code('sweeper why UNIT')} (run {code(story.run)})")
    return "\n".join(lines)


def _forms(lines: Sequence[str], what: str) -> tuple[str, ...]:
    return ("\n".join(lines), f"({len(lines):,} lines of {what} are left out: too long)") if lines else ("",)


def within(old: str, ours: Callable[[int], str]) -> str:
    """The whole text: what a person wrote above and below our last one, `old`, stays around the new one.

    `ours`: our text in so many bytes.
    """
    above, below = marker.around(old)
    around = len((above + below).encode()) + len(marker.END) + 8
    text = keep_ticks(old, ours(LIMIT - around))
    return "\n\n".join(filter(None, [above, f"{text}\n{marker.END}", below])) + "\n"


def keep_ticks(old: str, new: str) -> str:
    """`new` with the boxes ticked that a person ticked in `old`; a box is known by its line."""
    ticked = {line.rstrip() for line in TICKED.findall(old.replace("\r\n", "\n"))}

    def tick(found: re.Match[str]) -> str:
        return f"- [x] {found[1]}" if found[1].rstrip() in ticked else found[0]

    return re.sub(r"(?m)^- \[ \] (.*)$", tick, new) if ticked else new


def _count(number: int, noun: str) -> str:
    return f"{number:,} {_plural(noun, number)}"


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"
