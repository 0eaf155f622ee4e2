"""Known secrets are removed in any spelling, whatever the chunks."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.records import Evidence, Finding, Kind, Outcome
from sweeper.redact import MARK, Redactor, forms

SECRET = b"sk-ant-api03-A/b+c=d~e_f-0123456789"
OTHER = SECRET + b"-and-more"
noise = st.binary(max_size=60)


def spellings() -> list[bytes]:
    shifted = [base64.b64encode(b"x" * shift + SECRET + b"tail") for shift in range(3)]
    safe = [base64.urlsafe_b64encode(b"key=" + b"x" * shift + SECRET) for shift in range(3)]
    quoted = quote(SECRET, safe="").encode()
    wrapped = base64.encodebytes(b"padding in front, so that a line ends within " + SECRET)
    return [
        SECRET,
        SECRET.hex().encode(),
        SECRET.hex().upper().encode(),
        quoted,
        quoted.lower(),
        wrapped,
        *shifted,
        *safe,
    ]


def test_every_spelling_is_removed() -> None:
    redactor = Redactor([SECRET.lower(), SECRET])
    for spelling in spellings():
        clean = redactor.bytes(b"before " + spelling + b" after")
        assert MARK in clean
        assert clean.startswith(b"before ")
        assert clean.endswith(b" after")
        packed = b"".join(clean.split())
        assert not any(form in packed for form in forms(SECRET))


@given(noise, st.sampled_from(spellings()), noise, st.lists(st.integers(1, 50), max_size=20))
def test_a_stream_gives_what_the_whole_gives(before: bytes, secret: bytes, after: bytes, cuts: list[int]) -> None:
    data = before + secret + after + secret
    redactor = Redactor([SECRET, OTHER])
    stream, out, at = redactor.stream(), b"", 0
    for cut in cuts:
        out += stream.feed(data[at : at + cut])
        at += cut
    out += stream.feed(data[at:]) + stream.end()
    assert out == redactor.bytes(data)
    assert not any(form in out for form in forms(SECRET))


@given(st.integers(1, 200))
def test_the_longer_of_two_secrets_is_removed_whole(size: int) -> None:
    data = b"a " + OTHER + b" b"
    stream = Redactor([SECRET, OTHER]).stream()
    out = b"".join(stream.feed(data[at : at + size]) for at in range(0, len(data), size)) + stream.end()
    assert out == b"a " + MARK + b" b"


@given(st.text(max_size=80))
def test_text_without_secrets_stays(text: str) -> None:
    assert Redactor([SECRET]).text(text) == text
    assert Redactor([]).text(text) == text


def test_what_is_held_back_is_bounded() -> None:
    stream = Redactor([SECRET]).stream()
    given_out = sum(len(stream.feed(b"z" * 1000)) for _ in range(100))
    assert 100_000 - given_out < 3 * 2 * len(SECRET) + 1


@pytest.mark.parametrize("short", ["", "abc", b"     ", b"12345"])
def test_a_secret_that_is_found_everywhere_is_none(short: str | bytes) -> None:
    assert Redactor([short]).text("12345 abc") == "12345 abc"


def test_a_redactor_shows_no_secret() -> None:
    assert "sk-ant" not in repr(Redactor([SECRET]))


def test_an_outcome_is_told_without_a_secret() -> None:
    said = f"link: {SECRET.decode()}"
    finding = Finding("a.py", 1, 1, "R", said)
    evidence = Evidence(reason=said, lines=("kept", said), new=(finding,), before=3)
    told = Redactor([SECRET]).outcome(
        Outcome("u", 1, 0, Kind.REJECTED, "base", evidence=evidence, claimed=said, reviews=(said,))
    )
    assert SECRET.decode() not in repr(told)
    assert (told.evidence.lines[0], told.evidence.before, told.evidence.new[0].path) == ("kept", 3, "a.py")
