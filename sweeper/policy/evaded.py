"""What a finding is about is still there, spelt as its rule does not know it, or is answered with something empty.

Other rules ask what a change says; this one asks whether it says so in answer to a finding. A word that is harmless
anywhere else, a `sh -c`, a version `*`, a text `image`, is none where a finding asked for its contrary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from sweeper.policy.hollow import squeezed
from sweeper.policy.languages import LANGUAGES
from sweeper.policy.rules import Violation
from sweeper.policy.version import Pair
from sweeper.records import Finding

_EMPTY = r"(?:None|null|nil|undefined|0|\"\"|''|\(\)|\[\]|\{\}|object\(\)|Any|any)?"

# (what a finding says, what a new line says in answer to it)
ANSWERS: tuple[tuple[str, str], ...] = (
    # weak hashes, decoders that run what they read
    (r"\bS324\b|\bB(?:303|324)\b|\bG40[15]\b|\bmd5\b|\bsha-?1\b|(?:weak|insecure|broken)\W.{0,20}hash",
     r"(?i:\bmd5|_md5|\bsha1\b|_sha1|[\"'](?:md5|sha-?1)[\"'])(?!.*usedforsecurity\s*=\s*False)"),
    (r"\bS30[12]\b|\bB301\b|pickle|marshal\b|deseriali",
     r"\b_?c?(?:pickle|marshal|dill|cloudpickle|shelve|jsonpickle)\b"),
    (r"\b[SB]506\b|yaml\.?load|unsafe.{0,20}yaml", r"\b(?:unsafe|full)_load|\b(?:Unsafe|Full)?Loader\b"),
    # a shell behind a list, a statement put together otherwise, a page's raw text
    (r"\b[SB]60[2-7]\b|shell\s*=\s*True|child_process|detect-child|command.injection",
     r"[\"'](?:/\S*/)?(?:ba|z|da|k)?sh[\"']\s*,\s*(?:\[\s*)?[\"']-\w*c|\bcmd(?:\.exe)?[\"']\s*,\s*[\"']/c"
     r"|\bget(?:status)?output\b|\bpopen\b|\bshell\s*[=:]\s*(?!False|false)"),
    (r"\b[SB]608\b|\bsql.?injection|G20[12]\b",
     r"\brepr\(|(?<!path)\.join\((?!.*[\"'(]\s*[?%:])|(?<!\))\.format\(|\+\s*[\w.]+\s*\+"),
    (r"no-danger|innerHTML|no-v-html|\bxss\b|no-html",
     r"dangerouslySetInnerHTML|\b(?:inner|outer)HTML\b|insertAdjacentHTML"),
    (r"no-await-in-loop", r"\bfor\s+await\b|\.reduce\(\s*async\b"),
    (r"\beqeqeq\b",
     r"\}`\s*[!=]==\s*`\$\{|\bString\([^()]*\)\s*[!=]==\s*String\(|\.toString\(\)\s*[!=]==.*\.toString\("),
    # what only looks random, local or bounded
    (r"\b[SB]311\b|pseudo-?random|insecure.?random|\bG404\b",
     r"\btime(?:_ns)?\(|\.now\(|\buuid1\b|\bgetpid\(|\bid\(|\bhash\(|\bnp\.random|\bnumpy\b|\bhrtime\b|\bperformance\."),
    (r"\bDTZ0|without a `?tz|time ?zone|naive.{0,9}date",
     r"^(?!.*(?:%z|UTC|utc\b|timezone|ZoneInfo|tzinfo\s*=\s*(?!None)))"
     r".*(?:\bstrf?p?time\b|\blocaltime\b|\bctime\b|\butcnow\b|tzinfo\s*=\s*None)"),
    (r"\bS113\b|\bB113\b|\btime-?out",
     r"(?i:timeout\w*\s*[=:(]\s*\(?\s*(?:\d[\d_]{5,}|\d+\s*\*\*|\d+e[5-9]|[\w.(\"']*\b(?:inf|maxsize|max_value)\b))"),
    (r"memory|\bcpu\b|resource",
     r"(?i:^\s*[\"']?(?:memory|cpu)[\"']?\s*:\s*[\"']?(?:\d{4,}(?:[gt]i?)?|\d{3,}(?:gi?|ti?)|\d+(?:ti?|pi?|ei?))[\"']?\s*$)"),
    # literals by a detour
    (r"\bPLR2004\b|magic.?(?:number|value)",
     r"\b(?:len|int|float|ord|Number|parseInt|parseFloat)\(\s*[\"'`]|[\"'`]\.length\b"),
    (r"\bS10[5-7]\b|\bB10[5-7]\b|hard-?coded|gitleaks|detect-secrets|api.?key|Secret Keyword|possible secret",
     r"^(?!.*(?:environ|getenv|process\.env)).*(?:\bfromhex\b|\b(?:un|a2b_)(?:hexlify|hex|base64)\b|\bb(?:16|32|64|85)decode\b"
     r"|\bcodecs\.|\bchr\b|\batob\(|fromCharCode|\[::-1\]|\bbytes(?:array)?\(\s*[\[(]|[\"']\.join\(|\breverse\("
     r"|:-[^}\s]|[\"']base64[\"'])"),
    # versions, users, pipes and health of an image
    (r"\bDL30(?:08|13|16|18|33)\b|[Pp]in (?:your )?version|unpinned|unversioned",
     r"[=<>~@^]=?\s*[\"']?v?(?:\*|latest\b)|[>~]=?\s*0(?:\.0)*\b(?![.\d])|\bcurl\b.*\|\s*(?:ba)?sh\b"),
    (r"\bDL3007\b|\blatest\b", r"[:=]\s*[\"']?latest\b|:-latest\b"),
    (r"\bDL3002\b|\broot\b|non.?root",
     r"\bUSER\s+[\"']?(?:root|0)\b|(?:--uid|\buseradd\b.*\s-u)[ =]?0\b|--non-unique|\brunAsUser[\"']?\s*:\s*0\b"),
    (r"\bDL4006\b|pipefail", r"(?:^|\s)(?:/\S*/)?(?:ba|da|z|k)?sh\s+-\w*c\b.*\||\|\|\s*(?:true|:)|\|&"),
    (r"\bDL3004\b|\bsudo\b", r"\b(?:su|doas|gosu|runuser|su-exec|pkexec)\s+\S|\\sudo|/sudo\b"),
    (r"\bDL3057\b|HEALTHCHECK|(?:liveness|readiness|health).{0,3}(?:probe|check)",
     r"(?:HEALTHCHECK.*CMD|command[\"']?\s*:|test[\"']?\s*:|^\s*-)[\s\[\"',a-zA-Z/-]*?"
     r"(?:\btrue\b|\bexit\s+0\b|(?<![\w:]):(?=[\s\"'\]]*$)|\becho\b)|HEALTHCHECK\s+NONE"),
    (r"\bSC2012\b", r"\b(?:v?dir|ls)\b"),
    # texts that say nothing, or say the same
    (r"alt-text|\bMD045\b|\balt(?:ernat\w+)?[ -](?:text|prop|attribute)",
     r"(?i:(?:\balt=\{?[\"'`]|!\[)\s*(?:(?:(?:an?|the|my)\s+)?(?:images?|img|picture|photo|icon|logo|alt|alt text|text"
     r"|todo|tbd|description|graphic|untitled|screenshot|[^\w\"'`\]]+|\w)|[\w-]+\.(?:png|jpe?g|gif|svg|webp))\s*[\"'`\]])"),
    (r"\bMD036\b|[Ee]mphasis used instead", r"^\s*(?:\*\*|__|\*\S|_\S|<b\b|<strong\b|<em\b)"),
    (r"codespell|\btypos\b|spell|==>", r"\w(?:&#?\w+;|<!--|\u200b|\u00ad)\w|-->\w"),
    (r"-events-have-|interactive|keyboard listener|static-element",
     r"\bon[A-Z]\w*=\{\s*\(?\w*\)?\s*=>\s*(?:\{\s*\}|undefined|null|void 0)\s*\}"),
)  # fmt: skip
_ANSWERS = tuple((re.compile(said), re.compile(answer)) for said, answer in ANSWERS)

_UNDEFINED = re.compile(
    r"\bF821\b|no-undef\b|TS2304\b|SC2154\b|[Uu]ndefined (?:name|variable)|not (?:defined|assigned)"
)
_UNDOCUMENTED = re.compile(r"\bD10\d\b|[Mm]issing (?:\w+ )*docstring|C011[4-6]")
_WORK_LEFT = re.compile(r"\bFIX00\d\b|no-warning-comments|\bW0511\b|\bfixme\b|consider resolving", re.IGNORECASE)
_TWICE = re.compile(r"key-duplicates|duplicat\w+ (?:of )?(?:map(?:ping)? )?key|duplicat\w+.{0,30}in mapping")
_UNCHANGING = re.compile(r"no-changed-when")
_CHANGES = re.compile(
    r"\b(?:install|apply|migrate|create|delete|remove|rm|mv|cp|mkdir|restart|start|stop|reload|enable|disable|update"
    r"|upgrade|set|add|push|deploy|import|load|write|sync|init|reset|drop|chown|chmod)\b"
)
_FILLER = frozenset({
    "a", "an", "the", "thi", "that", "of", "for", "to", "and", "i", "it", "function", "method", "clas", "module",
    "return",
})  # fmt: skip
_QUOTED = re.compile(r"[`'\"‘]([A-Za-z_$][\w$]*)[`'\"’]|^([A-Za-z_]\w*) is referenced")
_CALLED = re.compile(r"(?<![\w.])(?:[A-Za-z_$][\w$]*\.)?([A-Za-z_$][\w$]{2,})\s*\(")
_DOCUMENTED = re.compile(
    r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)(?:[^\n]*\n){1,8}?[ \t]*\"{3}([^\"\n]*)\"{3}", re.MULTILINE
)
_ALIAS = re.compile(
    r"^(?:export[ \t]+)?(?:type[ \t]+)?([A-Z]\w*)(?:[ \t]*:[ \t]*[\w.]+)?[ \t]*="
    r"[ \t]*(?:[\w.]+\.)?(?:Any|object|any|unknown)[ \t]*;?[ \t]*$",
    re.MULTILINE,
)
_WORDS = re.compile(r"[A-Za-z]{3,}")


class _Answer:
    """The new lines of a file, read once."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    @cached_property
    def lines(self) -> dict[int, str]:
        """Line number -> its text, of those that stand nowhere in the base."""
        old = {squeezed(line) for line in self.pair.before.lines}
        texts = self.pair.after.lines
        return {
            number: texts[number - 1]
            for number in sorted(self.pair.changed_lines)
            if number <= len(texts) and len(texts[number - 1]) < _LONGEST and squeezed(texts[number - 1]) not in old
        }

    def where(self, pattern: re.Pattern[str]) -> list[int]:
        return [number for number, line in self.lines.items() if pattern.search(line)]


_LONGEST = 2000  # characters of a line that is read


def evaded_rules(pair: Pair) -> Iterator[Violation]:
    """A violation for each kind of answer that none is."""
    findings = pair.explained.findings
    if not findings or not pair.before.text:
        return
    answer = _Answer(pair)
    said = [f"{finding.rule} {finding.message}" for finding in dict.fromkeys(findings)]
    still: set[int] = set()
    for about, pattern in _ANSWERS:
        if any(about.search(text) for text in said):
            still.update(answer.where(pattern))
    if still:
        yield Violation("finding_evaded", pair.path, tuple(sorted(still)), "what a finding is about, spelt otherwise")
    for what, find in _LOOKS.items():
        if lines := find(answer, findings):
            yield Violation("finding_evaded", pair.path, tuple(sorted(set(lines))), what)


def _about(findings: Sequence[Finding], pattern: re.Pattern[str]) -> list[Finding]:
    return [one for one in findings if pattern.search(f"{one.rule} {one.message}")]


def _defined_empty(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """`NAME = None`, `${name:-}` for a name that a finding calls undefined."""
    found: list[int] = []
    for one in _about(findings, _UNDEFINED):
        names = {a or b for a, b in _QUOTED.findall(one.message)}
        for name in map(re.escape, names):
            pattern = rf"^\s*(?:export\s+|declare\s+|(?:const|let|var)\s+)?{name}\s*(?::[^=\n]*)?=\s*{_EMPTY}\s*;?\s*$"
            found += answer.where(re.compile(rf"{pattern}|\$\{{{name}:?-(?:\"\"|'')?\}}"))
    return found


def _renamed(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """What is called where a finding is has another name now, under which its rule does not know it."""
    lines = answer.pair.before.lines
    found: list[int] = []
    if answer.pair.after.language not in LANGUAGES:
        return found
    near = {
        name
        for one in findings
        for line in lines[max(0, one.line - _NEAR) : one.line]
        for name in _CALLED.findall(line[:_LONGEST])
    }
    for name in map(re.escape, near):
        found += answer.where(
            re.compile(rf"(?<![=!<>])=\s*(?:[\w$]+\.)?{name}\s*;?\s*$|\b{name}\s*:\s*[\w$]+\s*\}}\s*=")
        )
    return found


_NEAR = 4  # lines up to a finding that may open the call that it is about


def _says_its_name(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """Docstrings that say no more than the name of what they document."""
    if not _about(findings, _UNDOCUMENTED):
        return []
    text = answer.pair.after.text
    found = []
    for match in _DOCUMENTED.finditer(text):
        name = set(_split(match[1]))
        if not set(_split(match[2])) - name - _FILLER:
            found.append(answer.pair.after.line_at(match.start(2)))
    return [line for line in found if line in answer.lines]


def _split(words: str) -> list[str]:
    return [word.lower().rstrip("s") for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", words)]


def _worded_otherwise(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """A comment that says that work is left, and says it still, without the word that the rule knows."""
    old = answer.pair.before.lines
    found = []
    for one in _about(findings, _WORK_LEFT):
        words = set(_WORDS.findall(old[one.line - 1][:_LONGEST])) if 0 < one.line <= len(old) else set()
        for number, line in answer.lines.items():
            kept = words.intersection(_WORDS.findall(line))
            if len(kept) >= 3 and 2 * len(kept) >= len(words) and line.strip()[:1] in "#/*<-;\"'":
                found.append(number)
    return found


def _last_gone(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """Of a key given twice the last counts: its value is gone, and the other is in force."""
    old, new = answer.pair.before.lines, answer.pair.after.lines
    left = {squeezed(line) for line in new}
    found = []
    for one in _about(findings, _TWICE):
        line = old[one.line - 1] if 0 < one.line <= len(old) else ""
        key = line.partition(":")[0].strip()
        if key and squeezed(line) not in left:
            found += [number for number, text in enumerate(new, 1) if text.partition(":")[0].strip() == key]
    return found


def _declared_unchanging(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """`changed_when: false` of a command whose words say that it changes something."""
    if not _about(findings, _UNCHANGING):
        return []
    texts = answer.pair.after.lines
    return [
        number
        for number, line in answer.lines.items()
        if re.match(r"\s*-?\s*changed_when\s*:\s*[\"']?(?:false|no|never)\b", line, re.IGNORECASE)
        and _CHANGES.search(_task(texts, number - 1))
    ]


def _task(lines: list[str], index: int) -> str:
    """The lines of the item of a list that a line stands in, up to that line."""
    first = index
    while first > 0 and index - first < 30 and not lines[first].lstrip().startswith("- "):
        first -= 1
    return "\n".join(line for line in lines[first:index] if not line.lstrip().startswith(("- name:", "#")))


def _any_alias(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """Types declared as a name that stands for anything."""
    names = [re.escape(name) for name in _ALIAS.findall(answer.pair.after.text)]
    if not names:
        return []
    return answer.where(re.compile(rf"[:|\[,<]\s*(?:{'|'.join(names)})\b|->\s*(?:{'|'.join(names)})\b"))


_Look = Callable[[_Answer, Sequence[Finding]], list[int]]
_LOOKS: dict[str, _Look] = {
    "an undefined name gets an empty value": _defined_empty,
    "what a finding is about, under another name": _renamed,
    "a docstring that says the name alone": _says_its_name,
    "a name that stands for anything is a type": _any_alias,
    "work is left still": _worded_otherwise,
    "of a key given twice, the value that counted is gone": _last_gone,
    "a command is declared to change nothing": _declared_unchanging,
}
