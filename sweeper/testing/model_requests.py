"""What the scripted model server reads of a request, in each protocol, and how each protocol says that it failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sweeper.testing.model_script import Tool

Json = dict[str, Any]


def tools_of(protocol: str, body: Json) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    for tool in body.get("tools") or []:
        if protocol == "generate":
            for one in tool.get("functionDeclarations") or []:
                tools[one["name"]] = Tool("function", one.get("parametersJsonSchema") or one.get("parameters") or {})
        elif protocol == "chat":
            function = tool.get("function") or {}
            tools[function.get("name", "?")] = Tool("function", function.get("parameters") or {})
        elif protocol == "messages":
            tools[tool.get("name", "?")] = Tool("function", tool.get("input_schema") or {})
        else:
            for one in tool.get("tools") or [tool]:
                if "name" in one:
                    tools[one["name"]] = Tool(one.get("type", "function"), one.get("parameters") or {})
    return tools


def said_of(protocol: str, body: Json) -> tuple[str, int]:
    """The text of the user's messages and of the last one, and the number of tool results."""
    name = {"generate": "contents", "responses": "input"}.get(protocol, "messages")
    messages = body.get(name) or []
    if isinstance(messages, str):
        return messages, 0
    texts, results = [], 0
    for message in messages:
        content = message.get("parts" if protocol == "generate" else "content")
        if str(message.get("type", "")).endswith("_call_output") or message.get("role") == "tool":
            results += 1
        elif message.get("role") == "user" or message is messages[-1]:  # some agents end with words of the model's
            texts.append(content if isinstance(content, str) else _text(content))
            results += sum(1 for part in content or () if _is_result(part))
    return "\n".join(texts), results


def _is_result(part: Any) -> bool:
    return isinstance(part, dict) and (part.get("type") == "tool_result" or "functionResponse" in part)


def _text(parts: Iterable[Any] | None) -> str:
    return "\n".join(str(part.get("text") or "") for part in parts or () if isinstance(part, dict))


def limit_of(protocol: str, body: Json) -> int:
    names = {"messages": ("max_tokens",), "chat": ("max_completion_tokens", "max_tokens")}
    place = (body.get("generationConfig") or {}) if protocol == "generate" else body
    for name in names.get(protocol, ("max_output_tokens", "maxOutputTokens")):
        if isinstance(place.get(name), int):
            return int(place[name])
    return 1 << 30


def wants_usage(body: Json) -> bool:
    """Whether a chat asks that its stream says what was used."""
    options = body.get("stream_options")
    return isinstance(options, dict) and bool(options.get("include_usage"))


def failure(protocol: str, status: int, kind: str, message: str) -> Json:
    if protocol == "generate":
        states = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED"}
        return {"error": {"code": status, "message": message, "status": states.get(status, "UNAVAILABLE")}}
    if protocol in ("messages", "count"):
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"type": kind, "code": kind, "message": message, "param": None}}


def failure_within(protocol: str, kind: str) -> Json:
    """How an answer of status 200 says that it failed."""
    message = f"scripted failure: {kind}"
    if protocol == "responses":
        error = {"code": kind, "message": message}
        return {
            "type": "response.failed",
            "response": {"status": "failed", "error": error, "output": [], "usage": None},
        }
    busy = {"overloaded_error": 503, "server_error": 500, "rate_limit_exceeded": 429, "insufficient_quota": 429}
    return failure(protocol, busy.get(kind, 400), kind, message)
