"""The answers of the scripted model server in each protocol, whole or as events."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sweeper.testing.model_script import ToolCall

Json = dict[str, Any]
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Counted:
    """Tokens of one call as a provider counts them: `input` is neither cached nor written to the cache."""

    input: int
    cached: int
    written: int
    output: int


@dataclass(frozen=True)
class Answer:
    """`pieces`: the text in its deltas. `stop`: "end", "tools", "limit" or "refusal"."""

    model: str
    pieces: tuple[str, ...]
    calls: tuple[ToolCall, ...]
    stop: str
    counted: Counted

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def whole(protocol: str, answer: Answer) -> Json:
    """The answer as one JSON object."""
    return _WHOLE[protocol](answer)


def events(protocol: str, answer: Answer, *, with_usage: bool) -> Iterator[bytes]:
    """The answer as an event stream. `with_usage`: chat completions say what was used only when they are asked."""
    return _EVENTS[protocol](answer, with_usage)


def uncounted(value: Json) -> Json:
    """An answer, or an event's data, without what it says that was used."""
    for holder in (value, value.get("message"), value.get("response")):
        if isinstance(holder, dict):
            holder.pop("usage", None)
            holder.pop("usageMetadata", None)
    return value


def uncounted_event(event: bytes) -> bytes:
    name, _, data = event.partition(b"data: ")
    return name + b"data: " + json.dumps(uncounted(json.loads(data))).encode() + b"\n\n" if data[:1] == b"{" else event


def _id(kind: str) -> str:
    return f"{kind}_{next(_numbers):08d}"


def as_event(data: Mapping[str, Any], *, named: bool = False) -> bytes:
    """One event of a stream."""
    name = f"event: {data['type']}\n" if named else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def _arguments(value: Json | str) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _anthropic_usage(counted: Counted) -> Json:
    return {
        "input_tokens": counted.input,
        "cache_creation_input_tokens": counted.written,
        "cache_read_input_tokens": counted.cached,
        "output_tokens": counted.output,
    }


def _anthropic(answer: Answer) -> Json:
    blocks: list[Json] = [{"type": "text", "text": answer.text}] if answer.text else []
    blocks += [{"type": "tool_use", "id": _id("toolu"), "name": c.name, "input": c.arguments} for c in answer.calls]
    stop = {"end": "end_turn", "tools": "tool_use", "limit": "max_tokens"}.get(answer.stop, answer.stop)
    return {
        "id": _id("msg"), "type": "message", "role": "assistant", "model": answer.model, "content": blocks,
        "stop_reason": stop, "stop_sequence": None, "usage": _anthropic_usage(answer.counted),
    }  # fmt: skip


def _anthropic_events(answer: Answer, with_usage: bool) -> Iterator[bytes]:
    message = _anthropic(answer)
    start = message | {"content": [], "stop_reason": None, "usage": message["usage"] | {"output_tokens": 1}}
    yield as_event({"type": "message_start", "message": start}, named=True)
    for index, block in enumerate(message["content"]):
        empty: Json = {"text": ""} if block["type"] == "text" else {"input": {}}
        yield as_event({"type": "content_block_start", "index": index, "content_block": block | empty}, named=True)
        if block["type"] == "text":
            deltas: list[Json] = [{"type": "text_delta", "text": piece} for piece in answer.pieces]
        else:
            deltas = [{"type": "input_json_delta", "partial_json": _arguments(block["input"])}]
        for delta in deltas:
            yield as_event({"type": "content_block_delta", "index": index, "delta": delta}, named=True)
        yield as_event({"type": "content_block_stop", "index": index}, named=True)
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    used = {"output_tokens": answer.counted.output}
    yield as_event({"type": "message_delta", "delta": end, "usage": used}, named=True)
    yield as_event({"type": "message_stop"}, named=True)


def _openai_total(counted: Counted) -> int:
    return counted.input + counted.cached + counted.written


def _chat_usage(counted: Counted) -> Json:
    total = _openai_total(counted)
    return {
        "prompt_tokens": total, "completion_tokens": counted.output, "total_tokens": total + counted.output,
        "prompt_tokens_details": {"cached_tokens": counted.cached},
    }  # fmt: skip


def _chat_parts(answer: Answer) -> tuple[Json, str]:
    message: Json = {"role": "assistant", "content": answer.text or None}
    if answer.stop == "refusal":
        message = {"role": "assistant", "content": None, "refusal": answer.text}
    if answer.calls:
        message["tool_calls"] = [
            {"id": _id("call"), "type": "function", "function": {"name": c.name, "arguments": _arguments(c.arguments)}}
            for c in answer.calls
        ]
    stop = {"end": "stop", "tools": "tool_calls", "limit": "length", "refusal": "content_filter"}[answer.stop]
    return message, stop


def _chat(answer: Answer) -> Json:
    message, stop = _chat_parts(answer)
    return {
        "id": _id("chatcmpl"), "object": "chat.completion", "created": 1, "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": stop}], "usage": _chat_usage(answer.counted),
    }  # fmt: skip


def _chat_events(answer: Answer, with_usage: bool) -> Iterator[bytes]:
    message, stop = _chat_parts(answer)
    base = {"id": _id("chatcmpl"), "object": "chat.completion.chunk", "created": 1, "model": answer.model}

    def chunk(delta: Json, finish: str | None = None) -> bytes:
        return as_event(base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in answer.pieces:
        yield chunk({"refusal" if answer.stop == "refusal" else "content": piece})
    for index, call in enumerate(message.get("tool_calls") or []):
        yield chunk({"tool_calls": [call | {"index": index}]})
    yield chunk({}, stop)
    if with_usage:
        yield as_event(base | {"choices": [], "usage": _chat_usage(answer.counted)})
    yield b"data: [DONE]\n\n"


def _responses(answer: Answer) -> Json:
    items: list[Json] = []
    if answer.text:
        part: Json = {"type": "output_text", "text": answer.text, "annotations": []}
        if answer.stop == "refusal":
            part = {"type": "refusal", "refusal": answer.text}
        items.append({
            "type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": [part],
        })  # fmt: skip
    for call in answer.calls:
        named = {"id": _id("fc"), "call_id": _id("call"), "name": call.name, "status": "completed"}
        if call.kind == "custom":
            items.append(named | {"type": "custom_tool_call", "input": _arguments(call.arguments)})
        else:
            items.append(named | {"type": "function_call", "arguments": _arguments(call.arguments)})
    cut = answer.stop == "limit"
    total, counted = _openai_total(answer.counted), answer.counted
    return {
        "id": _id("resp"), "object": "response", "created_at": 1, "model": answer.model, "output": items,
        "status": "incomplete" if cut else "completed", "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "usage": {
            "input_tokens": total, "input_tokens_details": {"cached_tokens": counted.cached},
            "output_tokens": counted.output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": total + counted.output,
        },
    }  # fmt: skip


def _responses_events(answer: Answer, with_usage: bool) -> Iterator[bytes]:
    response = _responses(answer)
    numbers = itertools.count()

    def event(kind: str, **data: Any) -> bytes:
        return as_event({"type": kind, "sequence_number": next(numbers), **data}, named=True)

    yield event("response.created", response=response | {"status": "in_progress", "output": [], "usage": None})
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        empty = {"message": {"content": []}, "function_call": {"arguments": ""}}.get(item["type"], {"input": ""})
        started = item | empty | {"status": "in_progress"}
        yield event("response.output_item.added", output_index=index, item=started)
        if item["type"] == "message":
            part, place = item["content"][0], place | {"content_index": 0}
            name = "text" if part["type"] == "output_text" else "refusal"
            yield event("response.content_part.added", **place, part=part | {name: ""})
            for piece in answer.pieces:
                yield event(f"response.{part['type']}.delta", **place, delta=piece)
            yield event(f"response.{part['type']}.done", **place, **{name: part[name]})
            yield event("response.content_part.done", **place, part=part)
        else:
            name = "arguments" if item["type"] == "function_call" else "input"
            kind = "function_call_arguments" if name == "arguments" else "custom_tool_call_input"
            yield event(f"response.{kind}.delta", **place, delta=item[name])
            yield event(f"response.{kind}.done", **place, **{name: item[name]})
        yield event("response.output_item.done", output_index=index, item=item)
    yield event(f"response.{response['status']}", response=response)


FINISHES = {"limit": "MAX_TOKENS", "refusal": "SAFETY", "garbled": "MALFORMED_FUNCTION_CALL"}


def _gemini_usage(counted: Counted) -> Json:
    total = _openai_total(counted)
    return {
        "promptTokenCount": total, "cachedContentTokenCount": counted.cached,
        "candidatesTokenCount": counted.output, "totalTokenCount": total + counted.output,
    }  # fmt: skip


def _gemini_part(answer: Answer, parts: list[Json], stop: str | None) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if stop:
        garbled = any(isinstance(call.arguments, str) for call in answer.calls)
        stop = "garbled" if garbled else stop
        candidate["finishReason"] = FINISHES.get(stop, "STOP")
    value: Json = {"candidates": [candidate], "modelVersion": answer.model, "responseId": _id("gen")}
    return value | ({"usageMetadata": _gemini_usage(answer.counted)} if stop else {})


def _gemini_calls(answer: Answer) -> list[Json]:
    calls = [c for c in answer.calls if not isinstance(c.arguments, str)]  # the protocol has no place for a garbled one
    return [{"functionCall": {"id": _id("fc"), "name": c.name, "args": c.arguments}} for c in calls]


def _gemini(answer: Answer) -> Json:
    text: list[Json] = [{"text": answer.text}] if answer.text else []
    return _gemini_part(answer, text + _gemini_calls(answer), answer.stop)


def _gemini_events(answer: Answer, with_usage: bool) -> Iterator[bytes]:
    for piece in answer.pieces:
        yield as_event(_gemini_part(answer, [{"text": piece}], None))
    yield as_event(_gemini_part(answer, _gemini_calls(answer), answer.stop))


_WHOLE = {"messages": _anthropic, "chat": _chat, "responses": _responses, "generate": _gemini}
_EVENTS = {
    "messages": _anthropic_events,
    "chat": _chat_events,
    "responses": _responses_events,
    "generate": _gemini_events,
}
