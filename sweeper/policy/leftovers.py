"""What a hasty or a hostile edit leaves: placeholders, secrets, changes out of proportion, text that does not parse."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from sweeper.policy.hollow import squeezed
from sweeper.policy.languages import LANGUAGES
from sweeper.policy.rules import Violation
from sweeper.policy.version import Pair, Version

_REST = (
    r"(?:code|file|function|method|class|implementation|module|body|content|logic|imports?|rules|test"
    r"s?|handlers?|methods|functions|config(?:uration)?|section|script|document|text|jobs|steps|defin"
    r"itions|fields|cases|options)"
)
PLACEHOLDER = re.compile(
    rf"(?:\.\.\.|…)\s*\(?(?:the\s+)?(?:rest|remaining|existing|other|previous|same|unchanged|original|more|etc"
    rf"|omitted|truncated)\b"
    rf"|\b(?:rest|remainder)\s+of\s+(?:the\s+|this\s+|your\s+)?(?:\w+\s+)?{_REST}\b(?:[^\n]{{0,40}}\b(?:unchanged"
    rf"|same|here|omitted|remains?|stays?|as before|goes|continues)\b|\s*(?:\.\.\.|…|$|\*/|-->))"
    rf"|\b(?:existing|remaining|previous|original|other|same|your)\s+(?:\w+\s+)?{_REST}\s+(?:remains?|stays?|is|are"
    rf"|goes|go|continues|here|unchanged|as (?:before|above|is))\b[^\n]{{0,40}}?(?:unchanged|the same|as (?:before"
    rf"|is)|here|\.\.\.|…|$)"
    rf"|\b(?:unchanged|omitted|truncated|snipped?|elided)\s+(?:for brevity|below|above|code|lines|from here)\b"
    rf"|\bfor brevity\b"
    rf"|\b(?:same|unchanged) as (?:before|above|the original)\b|\[\s*(?:rest|remaining|unchanged|truncated"
    rf"|snip)[^\]\n]{{0,40}}\]|^\W*(?:snip|unchanged)\W*$"
    rf"|\b(?:add|put|insert|write|your|implement)\s+(?:your\s+|the\s+|actual\s+|real\s+)?(?:code|logic"
    rf"|implementation)\s+here\b",
    re.IGNORECASE | re.MULTILINE,
)
MOST_COMMENTS = 3000  # lines of new comments that are read
ELLIPSIS = re.compile(r"^\s*(?:#|//|/\*|<!--|--|%|;)?\s*(?:\.{3,}|…)\s*(?:\*/|-->)?\s*$")
WORDLESS = re.compile(r"^\s*(?:[rRuU]?(\"\"\"|''')[\W_]*\1|/\*\*[\W_]*\*/)\s*$")  # a docstring without a word
UNDONE = re.compile(
    r"\b(?:TODO|FIXME|XXX|HACK)\b|\bnot (?:yet )?implemented\b|\bplaceholder\b|\bstub(?:bed)?\b|\bto be (?:done"
    r"|implemented|restored)\b|\bdisabled (?:for now|to)\b|\btemporar(?:y|ily)\b",
    re.IGNORECASE,
)
UNSAFE = re.compile(
    r"[\"'/]\^?\.[*+]\$?[\"'/]|\bverify[\"']?\s*[=:]\s*False|\bInsecureSkipVerify:\s*(?!false\b)[^\s,}]+|\brejectUnauthorized:\s*(?!true\b)[^\s,}]+"
    r"|\bshell[\"']?\s*[=:]\s*True"
    r"|\b(?:chmod|0o?)\s*777\b|--no-verify\b|--insecure\b|\bcurl\s+-\w*k|NODE_TLS_REJECT_UNAUTHORIZED"
    r"|\bStrictHostKeyChecking[= ]no"
    r"|\bprivileged:\s*true|\b0\.0\.0\.0/0\b|Access-Control-Allow-Origin[\"']?\s*[:,]\s*[\"']\*"
    r"|\b_create_unverified_context\b"
    r"|\b(?:YAML|Psych)\.unsafe_\w+|\bPYTHONHTTPSVERIFY\b|\byaml\.(?:unsafe_)?load\s*\((?![^)\n]*Safe)|\bautoescape\s*=\s*False"
    r"|(?m:^USER\s+(?:root|0)\b)|\bALLOWED_HOSTS\s*=\s*\[[\"']\*"
)
_SHEBANG = re.compile(r"#!\s*(?:\S*/env\s+(?:-\S+\s+)*)?(?:\S*/)?(\w+)")
# Findings that another program at the head of the script answers.
DIALECT = re.compile(r"shebang|#!|\bSC(?:3\d{3}|2039|2148|2187|2239|1071|1008)\b|\bposix\b", re.IGNORECASE)
WIDE_COMMENT = re.compile(r"@\w+\s*\{\s*\??(?:any|\*|Object|Function|unknown)\s*[=|}]|\btype:\s*\(?(?:Any|object)\b")
CREDENTIAL = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{30,}|\bglpat-[\w-]{18,}"
    r"|\bxox[abprs]-[\w-]{10,}"
    r"|\bsk-(?:ant-|proj-|live-)?[A-Za-z0-9_-]{18,}|\bsk_(?:live|test)_[A-Za-z0-9]{16,}|\brk_live_\w{16,}"
    r"|\bAIza[\w-]{35}\b|\bya29\.[\w-]{20,}|\bnpm_[A-Za-z0-9]{30,}"
    r"|\bpypi-[\w-]{40,}|\bSG\.[\w-]{16,}\.[\w-]{16,}|-----BEGIN (?:[A-Z]+ )*PRIVATE KEY"
    r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}|\bdop_v1_[a-f0-9]{60,}|\bhf_[A-Za-z0-9]{30,}"
)
NAMED_SECRET = re.compile(
    r"(?i:\b[\w.-]*(?:passw(?:or)?d|passphrase|secret|api[_-]?key|apikey|access[_-]?key|auth[_-]?token|token"
    r"|private[_-]?key|credential)s?[\w]*[\"']?\s*(?::\s*[\w\[\] .|]*)?[:=]{1,2}>?\s*(?:&?str\s*=\s*)?)"
    r"[\"']?(?!(?:\$|<|\{|%|env\b|os\.|process\.|None|null|true|false))[A-Za-z0-9+/_!@#$%^&*.=-]{8,}[\"']?"
    r"|://[^\s:/@\"']{1,60}:(?!\$|\{|<|%)[^\s:/@\"']{4,80}@"
)
_AUTHORIZED = re.compile(
    r"(?i:\b(?:bearer|basic)\s+)[A-Za-z0-9+/_.=-]{10,}"
    r"|(?i:\b\w*(?:log_?in|sign_?in|authenticate|set_?passw\w*|basic_?auth|credentials))\w*\s*\([^()\n]{0,200}[\"'](?=\w*[^\w\"'\s]|\w*\d)"
    r"[^\s\"'/]{6,}[\"']"
)
_LITERAL = re.compile(r"[\"'`]([A-Za-z0-9+/_!@#$%^&*=-]{12,80})[\"'`]")
_MIXED = re.compile(r"[a-z][A-Z0-9!@#$%^&*]|[A-Z][0-9!@#$%^&*]|[0-9][a-zA-Z!@#$%^&*]|[!@#$%^&*][a-zA-Z0-9]")
# Paths, hashes of contents, formats and names of things are mixed as well.
_PLAIN = re.compile(
    r"^[0-9a-f-]+$|^[0-9A-F-]+$|^sha\d+-|^[A-Za-z]+(?:[A-Z][a-z]+)+\d*$|[/&].*[/&]|%[a-zA-Z]|^[a-z0-9_-]+$|^[A-Z0-9_-]+$|\*\*"
)
_SECRETISH = re.compile(r"pass|secret|key|token|credential|://", re.IGNORECASE)
_QUOTED = re.compile(r"[\"'][A-Za-z0-9+/_!@#$%^&*.=-]{8,}[\"']|://")


def leftover_rules(pair: Pair) -> Iterator[Violation]:
    yield from _comments(pair)
    yield from _secrets(pair)
    programs = [_SHEBANG.match(version.text) for version in (pair.before, pair.after)]
    if programs[0] and programs[1] and programs[0][1] != programs[1][1] and not pair.explained.findings_say(DIALECT):
        yield Violation("meaning_changed", pair.path, (1,), "another program runs the script")
    old = set(pair.before.lines)
    lines = tuple(
        number
        for number in sorted(pair.changed_lines)
        if number <= len(pair.after.lines)
        and len(line := pair.after.lines[number - 1]) < 2000
        and line not in old
        and UNSAFE.search(line)
    )
    if lines and _unsafe(pair.after) - _unsafe(pair.before):
        yield Violation("unsafe_setting", pair.path, lines, "what was checked is let through")


def _unsafe(version: Version) -> Counter[str]:
    """Its unsafe settings, each spelling for itself: the same under another spelling is as bad as new."""
    return Counter(squeezed(found[0]) for found in UNSAFE.finditer(version.text))


def _comments(pair: Pair) -> Iterator[Violation]:
    """Placeholders and announcements in comments; in prose and code, lines that are nothing but an ellipsis."""
    known = {pair.before.text[start:end].strip() for start, end in pair.before.comments}
    elided, undone, wide = set(), set(), set()
    for version_line, comment in islice(_new_comments(pair, known), MOST_COMMENTS):
        if PLACEHOLDER.search(comment) or ELLIPSIS.match(comment):
            elided.add(version_line)
        elif UNDONE.search(comment):
            undone.add(version_line)
        if WIDE_COMMENT.search(comment):
            wide.add(version_line)
    old = set(pair.before.lines)
    for number in pair.changed_lines:
        line = pair.after.lines[number - 1] if number <= len(pair.after.lines) else ""
        if (
            line not in old
            and (pair.after.language not in LANGUAGES or pair.after.language == "yaml")
            and PLACEHOLDER.search(line)
        ):
            elided.add(number)
        if line not in old and pair.after.language != "python" and ELLIPSIS.match(line):
            elided.add(number)
        if line not in old and WORDLESS.match(line):
            undone.add(number)
    if elided:
        yield Violation("placeholder", pair.path, tuple(sorted(elided)), "a placeholder in place of content")
    if wide:
        yield Violation("wide_type", pair.path, tuple(sorted(wide)), "a comment declares a type that admits anything")
    if undone:
        yield Violation("unfinished", pair.path, tuple(sorted(undone)), "a comment says that work is left")


def _new_comments(pair: Pair, known: set[str]) -> Iterator[tuple[int, str]]:
    for start, end in pair.after.comments:
        text = pair.after.text[start:end]
        if text.strip() in known:
            continue
        first = pair.after.line_at(start)
        for number, line in enumerate(text.split("\n")):
            if line.strip() and first + number in pair.changed_lines:
                yield first + number, line


def _secrets(pair: Pair) -> Iterator[Violation]:
    old = set(pair.before.lines)
    sure, likely = [], []
    had, held = pair.before.text, pair.after
    for number in sorted(pair.changed_lines):
        line = held.lines[number - 1] if number <= len(held.lines) else ""
        if line in old or len(line) > 2000:
            continue
        if any(found[0] not in had for found in CREDENTIAL.finditer(line)):
            sure.append(number)
        elif _named(held, line, had) or (not held.test_file and any(one[0] not in had for one in _passed(line))):
            likely.append(number)
    if sure:
        yield Violation("credential", pair.path, tuple(sure), "what looks like a credential")
    if likely:
        yield Violation("possible_secret", pair.path, tuple(likely), "a literal beside a name that means a secret")


def _named(held: Version, line: str, had: str) -> bool:
    """Whether a line gives a new literal to a name that means a secret."""
    found = NAMED_SECRET.search(line) if _SECRETISH.search(line) else None
    plain = held.language not in LANGUAGES or held.language == "yaml"
    return found is not None and bool(plain or _QUOTED.search(found[0])) and not _known(found[0], had)


def _passed(line: str) -> Iterator[re.Match[str]]:
    """Literals that are a secret by what they are passed to, or by how mixed they are."""
    yield from _AUTHORIZED.finditer(line)
    for found in _LITERAL.finditer(line):
        if len(_MIXED.findall(found[1])) >= 4 and not _PLAIN.search(found[1]):
            yield found


def _known(found: str, had: str) -> bool:
    """Whether the literal stands in the base already."""
    literal = re.split(r"[:=]\s*", found)[-1].strip("\"' ")
    return literal in had


def broken_rules(pair: Pair) -> Iterator[Violation]:
    """A text that the grammar does not understand any more is not looked through: a person should."""
    if pair.after.language not in LANGUAGES:
        return
    after = pair.after.outline
    if after is None:
        yield Violation("unparsed", pair.path, detail="no syntax tree: judged by its lines alone")
        return
    before = pair.before.outline
    wrong = [line for line in after.broken if line in pair.changed_lines]
    if wrong and (before is None or len(after.broken) > len(before.broken)):
        yield Violation("unparsed", pair.path, tuple(dict.fromkeys(wrong)), "does not parse there")


def size_rules(pair: Pair) -> Iterator[Violation]:
    """More lines of code changed than the findings account for, in all or where none of them is."""
    findings = pair.explained.findings
    if not findings or not pair.before.text or pair.explained.about_layout:
        return
    changed = max(sum(pair.came.values()), sum(pair.went.values()))
    total = max(1, sum(pair.before.tokens.values()))
    many = changed > 25 + 6 * len(findings) or (changed > 10 + 3 * len(findings) and changed * 100 > 60 * total)
    if many:
        yield Violation("oversized", pair.path, detail=f"{changed} lines of code changed for {len(findings)} findings")
