"""What holds for every format: printing and reading back, any bytes, and recorded output with a change in it.

`SWEEPER_FUZZ_SECONDS=600 pytest -m slow tests/backlog/test_properties.py` is the long run.
"""

from __future__ import annotations

import os
import random
import re
import string
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.backlog.formats import FORMATS, codespell, github, hadolint, markdownlint, text, tsc, yamllint
from sweeper.backlog.formats.residue import is_chatter
from sweeper.backlog.parsed import Raw, plain, raw, strip_ansi
from sweeper.backlog.reading import read
from sweeper.backlog.sniff import sniff
from sweeper.backlog.tools import GENERIC, TOOLS, Tool, recognise
from sweeper.records import CheckState, Finding
from tests.backlog.samples import DATA, RECORDED_TREE, expected, output, recorded, said, words

WORDS = st.text(string.ascii_letters + "`'-_", min_size=1, max_size=8)
MESSAGES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
PATHS = (
    st.lists(st.text(string.ascii_letters + "._- é", min_size=1, max_size=8), min_size=1, max_size=3)
    .map(lambda parts: "/".join(parts).strip())
    .filter(lambda path: path.strip("./- ") != "" and not path.startswith(" "))
)


def raws(rule: str, *, severities: str = "error warning info", columns: int = 1) -> st.SearchStrategy[Raw]:
    return st.builds(
        raw,
        PATHS,
        st.integers(1, 99999),
        st.integers(1, 999) if columns else st.just(0),
        st.from_regex(rule, fullmatch=True) if rule else st.just("misspelling"),
        MESSAGES if rule else MESSAGES.map(lambda message: f"teh ==> {message}"),
        st.sampled_from(severities.split()),
    ).filter(lambda found: found.kind == "finding")


Render = Callable[[Raw], str]
TEXT: dict[str, tuple[Render, st.SearchStrategy[Raw]]] = {
    text.NAME: (text.render, raws(r"[A-Z]{1,4}[0-9]{1,3}")),
    tsc.NAME: (tsc.render, raws(r"TS2[0-9]{3}")),
    codespell.NAME: (codespell.render, raws("", severities="error", columns=0)),
    markdownlint.NAME: (markdownlint.render, raws(r"MD[0-9]{3}", severities="error warning")),
    yamllint.NAME: (yamllint.render, raws(r"[a-z]{2,5}-[a-z]{2,5}", severities="error warning")),
    hadolint.TEXT_NAME: (hadolint.render, raws(r"DL3[0-9]{3}", columns=0)),
    github.NAME: (github.render, raws(r"[a-z]{2,5}/[a-z]{2,5}")),
}


@pytest.mark.parametrize("name", TEXT)
@given(data=st.data())
def test_a_finding_printed_in_a_text_format_reads_back_the_same(name: str, data: st.DataObject) -> None:
    render, strategy = TEXT[name]
    found = data.draw(st.lists(strategy, min_size=1, max_size=4))
    printed = "".join(render(item) + "\n" for item in found).encode()
    parsed = FORMATS[name].parse(printed, b"")
    assert (parsed.findings, parsed.unparsed) == (found, 0)
    assert sniff(printed) == name


@given(
    st.binary(max_size=300) | st.text(max_size=200).map(lambda value: value.encode("utf-8", "surrogatepass")),
    st.binary(max_size=60),
    st.sampled_from(["auto", *FORMATS]),
    st.sampled_from(sorted(TOOLS)),
    st.sampled_from([0, 1, 2, 101]),
)
def test_any_bytes_are_findings_broken_or_understood(
    stdout: bytes, stderr: bytes, format: str, tool: str, code: int
) -> None:
    check(stdout, stderr, TOOLS[tool], code, format)


def check(stdout: bytes, stderr: bytes, tool: Tool, code: int, format: str = "auto") -> CheckState:
    """Whatever was printed: no exception, printable findings, and never a clean run that nobody understood."""
    result = said(stdout, stderr, code=code, tool=tool, format=format, listing=RECORDED_TREE)
    for finding in result.findings:
        assert isinstance(finding, Finding)
        assert finding.line >= 0
        assert finding.column >= 0
        assert (plain(finding.message), plain(finding.rule)) == (finding.message, finding.rule)
        (finding.message + finding.rule).encode()
    if result.state is CheckState.BROKEN:
        assert result.why
    if result.state is CheckState.CLEAN:
        assert code == 0
        parsed = read(stdout, stderr, tool.how(format)).parsed
        lines = strip_ansi(stdout).decode("utf-8", "replace").splitlines()
        assert parsed.understood or all(is_chatter(line) for line in lines if line.strip())
    return result.state


DOCUMENTS = ("json", "sarif", "rdjson", "gitlab", "codeclimate", "checkstyle", "xml")
RECORDED: list[tuple[Tool, int, bytes, bytes, bool]] = []
for folder, samples in expected().items():
    for sample, facts in samples.items():
        command, exit_code = recorded(DATA / folder)[sample]
        document = any(word in facts["format"] for word in DOCUMENTS)
        if facts["state"] == "findings":
            RECORDED.append((recognise(words(command)), exit_code, *output(sample, DATA / folder), document))
KEY = re.compile(rb'"[A-Za-z][\w-]*"(?=\s*:)|(?<=<)[a-z]+(?=[ >])|(?<= )[a-z]+(?==")')


def mutate(random: random.Random, data: bytes) -> bytes:
    """One to three changes of a few bytes."""
    for _ in range(random.randint(1, 3)):
        if not data:
            break
        at, kind = random.randrange(len(data)), random.randrange(5)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + data[at + random.randint(1, 20) :]
        elif kind == 2:
            data = data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]
        elif kind == 3:
            data = (
                data[:at] + random.choice([b"{", b"[", b"]", b"}", b'"', b"\n", b",", b"null", b"\x1b[0m"]) + data[at:]
            )
        else:
            data = data[:at] + data[random.randrange(len(data)) :]
    return data


def fuzz(seconds: float, seed: int) -> int:
    """Mutated recordings until the time is over; how many there were."""
    source = random.Random(seed)
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        tool, code, stdout, stderr, _ = source.choice(RECORDED)
        for exit_code in (code, 0, 1):
            tool_of_try = source.choice((tool, tool, GENERIC))
            check(
                mutate(source, stdout),
                mutate(source, stderr),
                tool_of_try,
                exit_code,
                source.choice(("auto", *FORMATS)),
            )
            count += 1
    return count


@pytest.mark.parametrize("between", [b"\x0b", b"\x0c", "\u2028".encode()])
def test_a_line_break_that_only_text_has_hides_no_document(between: bytes) -> None:
    """Found by the fuzzer: one line for the format, two for whoever looks for what was left over."""
    assert check(b"{" + between + b"ty", b"", GENERIC, 0, "typos-json") is CheckState.BROKEN


def test_mutated_output_is_never_misunderstood() -> None:
    assert fuzz(float(os.environ.get("SWEEPER_FUZZ_QUICK_SECONDS", "2")), seed=1) > 0


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_mutated_output_is_never_misunderstood_for_long() -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    assert fuzz(float(os.environ.get("SWEEPER_FUZZ_SECONDS", "20")), seed) > 0


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_a_document_that_is_cut_or_has_a_renamed_member_is_never_clean(number: int) -> None:
    """Even with an exit code that says clean: many tools end with 0 whatever they found."""
    tool, code, stdout, stderr, document = RECORDED[number]
    if not document:
        return
    data = stdout or stderr
    lenient = replace(tool, exit_codes={})
    source = random.Random(number)
    for at in source.sample(range(1, len(data.rstrip())), k=min(15, len(data) - 2)):
        cut = data[:at]
        if set(strip_ansi(cut)) & set(b"{<") or b"[{" in cut:
            for exit_code in {0, code}:
                assert said(cut, code=exit_code, tool=lenient, listing=RECORDED_TREE).state is not CheckState.CLEAN, cut
    names = [match.span() for match in KEY.finditer(data)]
    for start, end in source.sample(names, k=min(15, len(names))):
        word = data[start:end]
        everywhere = data.replace(word, word[:-2] + b"Zz" + word[-1:] if word.startswith(b'"') else word + b"zz")
        result = said(everywhere, code=0, tool=lenient, listing=RECORDED_TREE)
        assert result.state is not CheckState.CLEAN, word
