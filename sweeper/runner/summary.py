"""The step's summary, within what the runner takes: it drops a summary that is a byte too long as a whole. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sweeper.forge.contract import Published, Rendered
from sweeper.report.escape import code
from sweeper.report.markdown import plan_markdown, rendered_markdown, report_markdown
from sweeper.report.model import SweepPlan, SweepReport

LIMIT = 1_000_000  # bytes of the whole file; the runner's limit is 1 MiB
CUT = "\n\n*The summary was too long for the runner; the report has everything.*\n"
LISTED = (50, 10, 0)  # units of each group, ever fewer until it fits


def room(there: int) -> int:
    """Bytes that may be added to a file that has `there` bytes."""
    return max(0, LIMIT - there)


def clip(text: str, most: int) -> str:
    """The text in at most `most` bytes of UTF-8, cut after a whole line; "" if not even the remark fits."""
    raw = text.encode("utf-8", "backslashreplace")
    if len(raw) <= most:
        return raw.decode()
    left = most - len(CUT.encode())
    if left < 0:
        return ""
    return raw[: raw.rfind(b"\n", 0, left) + 1].decode() + CUT


def of_run(
    reports: Sequence[SweepReport],
    published: Sequence[Published],
    problems: Sequence[tuple[str, str]],
    most: int,
    rendered: Sequence[Rendered] = (),
) -> str:
    """The summary of a fire in at most `most` bytes. `problems`: (what, way out), untrusted."""
    head = "\n".join([*_problems(problems), *_published(published)])
    text = ""
    for listed in LISTED:
        parts = [head, *map(rendered_markdown, rendered)]
        text = "\n".join(filter(None, [*parts, *(report_markdown(report, listed=listed) for report in reports)]))
        if len(text.encode("utf-8", "backslashreplace")) <= most:
            break
    return clip(text, most)


def of_plan(plans: Sequence[SweepPlan], why: str, most: int) -> str:
    """The summary of a dry run in at most `most` bytes. `why` nothing was done."""
    text = ""
    for listed in LISTED:
        text = "\n".join([f"**Dry run**: {why}.\n", *(plan_markdown(plan, listed=listed) for plan in plans)])
        if len(text.encode("utf-8", "backslashreplace")) <= most:
            break
    return clip(text, most)


def _problems(problems: Sequence[tuple[str, str]]) -> Iterator[str]:
    for what, hint in problems:
        yield "> [!CAUTION]"
        yield f"> {code(what, 1000)}"
        for line in filter(None, hint.splitlines()):
            yield f"> {code(line, 1000)}"
        yield ""


def _published(published: Sequence[Published]) -> Iterator[str]:
    for each in published:
        part = f", {code(each.part)}" if each.part else ""
        draft = ", draft" if each.draft else ""
        yield f"- Pull request #{each.number} {each.operation}{draft}{part}: <{_address(each.url)}>"
        yield from (f"  - {code(note, 1000)}" for note in each.notes)
    if published:
        yield ""


def _address(url: str) -> str:
    """A forge's address as it can stand between angle brackets: what has no place in one is escaped."""
    plain = "".join(char if char.isascii() and char.isprintable() and char not in ' <>"`\\' else "%" for char in url)
    return plain if plain.startswith(("https://", "http://")) else "about:blank"
