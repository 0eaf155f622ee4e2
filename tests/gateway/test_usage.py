"""Token counts, read from any cutting of a stream into chunks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.gateway import Error, Tokens
from sweeper.gateway.usage import LONGEST_LINE, UsageReader, counts
from sweeper.testing.model_script import ToolCall
from sweeper.testing.model_wire import Answer, Counted, events, whole

ANSWER = Answer("m", ("Fixed ", "it."), (ToolCall("Edit", "function", {"path": "a"}),), "tools", Counted(70, 20, 0, 9))
TOKENS = Tokens(70, 20, 0, 0, 9)
KINDS = ("messages", "chat", "responses", "generate")


@given(st.sampled_from(KINDS), st.lists(st.integers(1, 400), max_size=12), st.booleans())
def test_any_chunks_give_the_same_counts(kind: str, cuts: list[int], crlf: bool) -> None:
    stream = b"".join(events(kind, ANSWER, with_usage=True))
    if crlf:
        stream = stream.replace(b"\n", b"\r\n")
    reader, at = UsageReader(), 0
    for cut in cuts:
        reader.feed(stream[at : at + cut])
        at += cut
    reader.feed(stream[at:])
    assert reader.complete
    reader.end()
    assert (reader.tokens, reader.complete, reader.error) == (TOKENS, True, None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_answer(kind: str) -> None:
    reader = UsageReader()
    reader.whole(json.dumps(whole(kind, ANSWER)).encode())
    assert (reader.tokens, reader.complete) == (TOKENS, True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_stream_is_not_complete(kind: str) -> None:
    reader = UsageReader()
    for event in list(events(kind, ANSWER, with_usage=True))[:3]:
        reader.feed(event)
    assert reader.complete is (kind == "generate"), "Gemini's third event here is its last"


def test_geminis_array_of_parts() -> None:
    last = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3, "toolUsePromptTokenCount": 4}
    parts = [{"candidates": [{}], "usageMetadata": {"promptTokenCount": 5}}, {"usageMetadata": last}]
    reader = UsageReader()
    reader.whole(json.dumps(parts).encode())
    assert reader.tokens == Tokens(input=9, output=5)


def test_one_hour_writes_are_told_apart() -> None:
    usage: dict[str, Any] = {"input_tokens": 1, "cache_creation_input_tokens": 30, "output_tokens": 2}
    usage |= {"cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}}
    assert counts(usage) == Tokens(1, 0, 10, 20, 2)
    assert counts({"output_tokens": 7}, counts(usage)) == Tokens(1, 0, 10, 20, 7), "later counts are cumulative"


def test_an_error_within_a_stream() -> None:
    reader = UsageReader()
    reader.feed(b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"m"}}\n\n')
    reader.end()
    assert (reader.error, reader.complete) == (Error.OVERLOADED, False)


@pytest.mark.parametrize(
    "body", [b"", b"[", b"[" * 100_000, b"7", b'{"usage": 3}', b'{"usage": {"input_tokens": "1"}}']
)
def test_nonsense_counts_nothing(body: bytes) -> None:
    reader = UsageReader()
    reader.whole(body)
    assert sum(reader.tokens or ()) == 0
    reader.feed(b"data: " + body + b"usage\n")
    reader.end()
    assert sum(reader.tokens or ()) == 0


def test_a_line_without_end_is_not_kept() -> None:
    reader = UsageReader()
    part = b"x" * (1 << 20)
    for _ in range((LONGEST_LINE >> 20) + 2):
        reader.feed(part)
    assert not reader._rest
    reader.feed(b'\ndata: {"usage": {"prompt_tokens": 3, "completion_tokens": 1}}\n')
    reader.end()
    assert reader.tokens == Tokens(input=3, output=1)
