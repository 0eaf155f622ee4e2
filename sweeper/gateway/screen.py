"""What a request may ask of a provider: its own model's tokens, nothing else. Pure.

A tool is kept only if it is known to run at the agent's side; whatever the provider would run (search, fetch, code,
remote MCP) and whatever it would fetch (files and images by address) is a way out of a sandbox without network.
Options that change the price of a token, or that run on after the answer, are dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from sweeper.gateway.contract import Try
from sweeper.gateway.routes import Route

Json = dict[str, Any]

ANTHROPIC_TOOLS = re.compile(r"custom|(bash|text_editor|memory|computer)_\d{8}")
OPENAI_TOOLS = frozenset({"function", "custom", "local_shell", "apply_patch"})
GEMINI_TOOLS = frozenset({"functionDeclarations", "function_declarations"})
# The provider's own tools under a name of their own, outside the list of tools.
TOOL_OPTIONS = frozenset({"mcp_servers", "container", "web_search_options", "plugins", "prompt"})
DROPPED: dict[str, frozenset[str]] = {
    "messages": frozenset({"service_tier", "speed", "inference_geo"}),
    "chat": frozenset({"service_tier", "n", "modalities", "audio", "store", "prediction"}),
    "responses": frozenset({"service_tier"}),
    "generate": frozenset({"serviceTier", "service_tier"}),
}
# What the provider keeps for the account: input that nobody counted here, or a run that outlives the request.
KEPT_THERE = ("previous_response_id", "conversation", "background", "cachedContent", "cached_content")
GENERATION_DROPPED = frozenset({"candidateCount", "responseModalities", "speechConfig"})
NESTED = ("content", "output", "parts", "source", "functionResponse", "function_response")
GONE = "[a file at a remote address was left out: the sandbox has no network]"


def kept_there(body: Json) -> str:
    """The option by which `body` refers to something that the provider keeps, or "". Such a call is refused."""
    return next((name for name in KEPT_THERE if body.get(name)), "")


def screen(route: Route, body: Json) -> Counter[str]:
    """Take out of `body`, in place, what may not pass, and count each by its kind (`Try`)."""
    tries: Counter[str] = Counter()
    for name in DROPPED.get(route.kind, frozenset()):
        body.pop(name, None)
    for name in TOOL_OPTIONS & body.keys():
        if body.pop(name):
            tries[Try.TOOL] += 1
    tries[Try.TOOL] += _tools(route, body)
    if route.kind == "generate" and isinstance(config := body.get("generationConfig"), dict):
        for name in GENERATION_DROPPED:
            config.pop(name, None)
    is_remote, words = _REMOTE[route.protocol], _WORDS.get(route.kind, {"type": "text", "text": GONE})
    for name in ("system", "messages", "input", "contents", "systemInstruction", "system_instruction"):
        if isinstance(value := body.get(name), (list, dict)):
            tries[Try.REMOTE] += _strip(value, is_remote, words)
    return +tries


def _tools(route: Route, body: Json) -> int:
    tools = body.get("tools")
    if not isinstance(tools, list):
        body.pop("tools", None)
        return 1 if tools else 0
    keep = {"anthropic": _anthropic, "openai": _openai, "gemini": _gemini}[route.protocol]
    screened = [keep(tool) for tool in tools]
    kept = [tool for tool in screened if tool is not None]
    stripped = sum(1 for before, after in zip(tools, screened, strict=True) if before != after)
    if stripped:
        body["tools"] = kept
        # the choice may name what is gone, and a choice without tools is an error
        body.pop("tool_choice", None)
    if not kept:
        body.pop("tools", None)
    return stripped


def _anthropic(tool: Any) -> Json | None:
    kind = tool.get("type", "custom") if isinstance(tool, dict) else ""
    return tool if isinstance(kind, str) and ANTHROPIC_TOOLS.fullmatch(kind) else None


def _openai(tool: Any) -> Json | None:
    if not isinstance(tool, dict):
        return None
    kind = tool.get("type")
    if kind == "shell":  # a hosted container unless it says otherwise
        environment = tool.get("environment")
        return tool if isinstance(environment, dict) and environment.get("type") == "local" else None
    if kind == "tool_search":  # the agent's own, or the provider's
        return tool if tool.get("execution") == "client" else None
    if kind == "namespace" and isinstance(tool.get("tools"), list):
        inner = [kept for kept in map(_openai, tool["tools"]) if kept is not None]
        return tool | {"tools": inner} if inner else None
    return tool if isinstance(kind, str) and kind in OPENAI_TOOLS else None


def _gemini(tool: Any) -> Json | None:
    if not isinstance(tool, dict):
        return None
    return {name: value for name, value in tool.items() if name in GEMINI_TOOLS} or None


def _strip(value: Any, is_remote: Callable[[Json], bool], words: Json) -> int:
    """Replace remote references below `value`, a message or a list of parts, by words; how many there were."""
    if isinstance(value, dict):
        return sum(
            _strip(value[name], is_remote, words) for name in NESTED if isinstance(value.get(name), (list, dict))
        )
    count = 0
    for at, item in enumerate(value):
        if isinstance(item, dict) and is_remote(item):
            value[at] = dict(words)
            count += 1
        elif isinstance(item, (dict, list)):
            count += _strip(item, is_remote, words)
    return count


def _anthropic_remote(block: Json) -> bool:
    source = block.get("source")
    if block.get("type") == "container_upload":
        return True
    return isinstance(source, dict) and source.get("type") not in ("base64", "text", "content")


def _openai_remote(part: Json) -> bool:
    if part.get("type") in ("image_url", "input_image", "computer_screenshot", "file", "input_file", "item_reference"):
        inner = part.get("file")
        file: Json = inner if isinstance(inner, dict) else part
        image = part.get("image_url")
        address = image.get("url") if isinstance(image, dict) else image
        inline = isinstance(address, str) and address.startswith("data:")
        return not (inline or "file_data" in file) or any(file.get(name) for name in ("file_id", "file_url"))
    return False


def _gemini_remote(part: Json) -> bool:
    return "fileData" in part or "file_data" in part


_REMOTE: dict[str, Callable[[Json], bool]] = {
    "anthropic": _anthropic_remote,
    "openai": _openai_remote,
    "gemini": _gemini_remote,
}
_WORDS: dict[str, Json] = {
    "responses": {"type": "input_text", "text": GONE},
    "generate": {"text": GONE},
}
