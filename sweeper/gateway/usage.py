"""Reads a provider's own token counts out of an answer as it passes. Pure; keeps one line, never a stream.

A JSON answer counts as one line. `complete` says whether the counts are final: a stream that was cut has counts of
what came so far at most, also one that something on the way ended as if it were whole.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sweeper.gateway.contract import NO_TOKENS, Error, Tokens
from sweeper.gateway.failures import kind_within

LONGEST_LINE = 32 << 20
HEAD = 160  # bytes of an event in which its type stands
ERRORS = re.compile(rb'"error"\s*:\s*[{"]')
DECLINES = re.compile(rb'"(?:refusal|content_filter|SAFETY|PROHIBITED_CONTENT|blockReason)"')
# What a provider says before it has done anything.
PRELUDE = re.compile(rb'"type"\s*:\s*"(?:ping|response\.(?:created|queued|in_progress))"')
ENDS = frozenset({"message_stop", "response.completed", "response.incomplete", "response.failed"})
FILTERED = frozenset({"blocked", "content_filter", "SAFETY", "PROHIBITED_CONTENT"})
HELD = ("content", "choices", "candidates", "output")  # where an answer's own words stand


class UsageReader:
    """Feed an event stream's chunks, then `end`; or `whole` with a JSON answer.

    `error`: what the provider says went wrong, within an answer of status 200. `refused`: it said nothing else.
    `begun`: there is more than that. `ended`: the answer came to its end, by its own word.
    """

    __slots__ = ("_blind", "_rest", "_size", "begun", "complete", "declined", "ended", "error", "tokens")

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0
        self._blind = False  # within a line that is too long to keep
        self.begun = False
        self.tokens: Tokens | None = None
        self.complete = False
        self.declined = False
        self.ended = False
        self.error: Error | None = None

    @property
    def refused(self) -> bool:
        return self.error is not None and not self.begun

    def feed(self, chunk: bytes) -> None:
        first, newline, more = chunk.partition(b"\n")
        if not newline:
            self._keep(chunk)
            return
        self._keep(first)
        if not self._blind:
            self._line(b"".join(self._rest))
        *lines, rest = more.split(b"\n")
        for line in lines:
            self._line(line)
        self._rest, self._size, self._blind = [], 0, False
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > LONGEST_LINE:
            self._rest, self._blind = [], True
        elif part:
            self._rest.append(part)

    def _line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return
        if _is_noted(line):
            try:
                self._take(json.loads(line[5:]))
            except (ValueError, RecursionError):
                pass
        elif line[5:].strip() == b"[DONE]":
            self.ended = True
        if self.error is None and not self.begun:
            self.begun = not PRELUDE.search(line)

    def end(self) -> None:
        """Nothing more comes."""
        if self._rest and not self._blind:
            self._line(b"".join(self._rest))
        self._rest = []
        self.complete = self.complete or (self.tokens is not None and self.ended and self.error is None)

    def whole(self, body: bytes) -> bool:
        """A JSON answer, a list of partial ones, or a stream that is not called one; False if it is none of them."""
        if body.lstrip()[:6].startswith((b"data:", b"event:")):
            self.feed(body)
            self.end()
            return True
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return False
        for part in value if isinstance(value, list) else [value]:
            self._take(part)
            self.begun = self.begun or (isinstance(part, dict) and any(part.get(name) for name in HELD))
        self.begun = self.begun or self.tokens is not None
        self.ended = True
        self.complete = self.tokens is not None
        return isinstance(value, (dict, list))

    def _take(self, event: Any) -> None:
        if not isinstance(event, dict):
            return
        kind = event.get("type")
        if error := _error(event):
            self.error = kind_within(error)
        self.ended = self.ended or (isinstance(kind, str) and kind in ENDS) or bool(_stops(event))
        for holder in (event, event.get("message"), event.get("response"), event.get("delta")):
            if isinstance(holder, dict):
                self.declined = self.declined or _declines(holder)
                usage = holder.get("usage") or holder.get("usageMetadata") or holder.get("usage_metadata")
                if isinstance(usage, dict):
                    self.tokens = counts(usage, self.tokens or NO_TOKENS)
                    self.complete = self.complete or _final(event)


def _is_noted(line: bytes) -> bool:
    """Whether a stream's line may hold counts, an end, an error or a refusal. Most hold none, and are many."""
    if b"sage" in line or b'eason":"' in line or b'eason": "' in line or b"failed" in line[:HEAD]:
        return True
    if b'"error"' in line and (b'"error"' in line[:HEAD] or ERRORS.search(line)):
        return True
    return DECLINES.search(line) is not None


def _error(event: dict[str, Any]) -> Any:
    """The error that an event or an answer tells of, None where all is well."""
    if event.get("type") == "response.failed":
        return _part(event, "response").get("error") or event
    if event.get("error"):
        return event["error"]
    return event if event.get("type") == "error" else None


def _stops(answer: dict[str, Any]) -> list[str]:
    """Why the choices of an answer, or of a part of one, came to their end."""
    ends = [
        each.get("finish_reason") or each.get("finishReason")
        for each in [*_items(answer, "choices"), *_items(answer, "candidates")]
    ]
    if _part(answer, "promptFeedback").get("blockReason"):
        ends.append("blocked")
    return [end for end in ends if isinstance(end, str)]


def _declines(answer: dict[str, Any]) -> bool:
    """Whether a protocol's own field says that the model refuses; its words are the agent's to read."""
    if answer.get("stop_reason") == "refusal":
        return True
    parts = [part.get("type") for item in _items(answer, "output") for part in _items(item, "content")]
    return not FILTERED.isdisjoint(_stops(answer)) or "refusal" in parts


def _items(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = value.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _final(event: dict[str, Any]) -> bool:
    """Whether no later count follows the one in `event`."""
    if event.get("type") in ("message_delta", "response.completed", "response.incomplete", "response.failed"):
        return True
    if event.get("object") == "chat.completion.chunk":
        return not event.get("choices")
    candidates = event.get("candidates")
    return isinstance(candidates, list) and any(isinstance(one, dict) and one.get("finishReason") for one in candidates)


def counts(usage: dict[str, Any], before: Tokens = NO_TOKENS) -> Tokens:
    """One protocol's usage object as tokens. What it leaves out stays as it was: later counts are cumulative."""
    if "promptTokenCount" in usage or "candidatesTokenCount" in usage:
        return _gemini(usage)
    if "prompt_tokens" in usage or "input_tokens_details" in usage:
        return _openai(usage)
    creation = _part(usage, "cache_creation")
    written = _int(usage, "cache_creation_input_tokens", before.written + before.written_1h)
    written_1h = min(written, _int(creation, "ephemeral_1h_input_tokens", before.written_1h))
    return Tokens(
        input=_int(usage, "input_tokens", before.input),
        cached=_int(usage, "cache_read_input_tokens", before.cached),
        written=written - written_1h,
        written_1h=written_1h,
        output=_int(usage, "output_tokens", before.output),
    )


def _openai(usage: dict[str, Any]) -> Tokens:
    total = _int(usage, "input_tokens", _int(usage, "prompt_tokens"))
    details = _part(usage, "input_tokens_details") or _part(usage, "prompt_tokens_details")
    cached = min(total, _int(details, "cached_tokens", _int(usage, "prompt_cache_hit_tokens")))
    written = min(total - cached, _int(details, "cache_write_tokens"))
    output = _int(usage, "output_tokens", _int(usage, "completion_tokens"))
    return Tokens(total - cached - written, cached, written, 0, output)


def _gemini(usage: dict[str, Any]) -> Tokens:
    total = _int(usage, "promptTokenCount") + _int(usage, "toolUsePromptTokenCount")
    cached = min(total, _int(usage, "cachedContentTokenCount"))
    output = _int(usage, "candidatesTokenCount") + _int(usage, "thoughtsTokenCount")
    return Tokens(total - cached, cached, 0, 0, output)


def _part(usage: dict[str, Any], name: str) -> dict[str, Any]:
    value = usage.get(name)
    return value if isinstance(value, dict) else {}


def _int(usage: dict[str, Any], name: str, default: int = 0) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
