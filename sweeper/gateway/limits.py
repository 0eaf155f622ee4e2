"""How long an answer may get: each protocol's name for it, read and set. Pure."""

from __future__ import annotations

from typing import Any

from sweeper.gateway.routes import Route

UNSTATED = 16_384  # for a request that leaves it to the provider; most models can
SMALLEST_THINKING = 1024
NAMES: dict[str, tuple[str, ...]] = {
    "messages": ("max_tokens",),
    "chat": ("max_completion_tokens", "max_tokens"),
    "responses": ("max_output_tokens",),
    "generate": ("maxOutputTokens", "max_output_tokens"),
}


def wanted(route: Route, body: dict[str, Any]) -> int:
    """The answer's limit in tokens that the request states, else UNSTATED."""
    place = _place(route, body)
    stated = [place[name] for name in NAMES[route.kind] if _is_count(place.get(name))]
    return min(stated) if stated else UNSTATED


def clamp(route: Route, body: dict[str, Any], most: int, base_url: str) -> None:
    """Let the answer be at most `most` tokens, in place."""
    place = _place(route, body)
    names = [name for name in NAMES[route.kind] if name in place]
    for name in names or [_default_name(route, base_url)]:
        place[name] = most
    if route.kind == "generate":
        body["generationConfig"] = place
        body.pop("generation_config", None)
    thinking = body.get("thinking")
    if route.kind == "messages" and isinstance(thinking, dict) and _is_count(thinking.get("budget_tokens")):
        # it has to be less than the limit, and at least so many
        if most < 2 * SMALLEST_THINKING:
            del body["thinking"]
        elif thinking["budget_tokens"] >= most:
            body["thinking"] = thinking | {"budget_tokens": most // 2}


def _place(route: Route, body: dict[str, Any]) -> dict[str, Any]:
    if route.kind != "generate":
        return body
    place = body.get("generationConfig", body.get("generation_config"))
    return place if isinstance(place, dict) else {}


def _default_name(route: Route, base_url: str) -> str:
    # OpenAI's reasoning models refuse the old name, many compatible servers don't know the new one
    if route.kind == "chat" and "openai.com" not in base_url and "openai.azure.com" not in base_url:
        return "max_tokens"
    return NAMES[route.kind][0]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
