"""What may be called, and how each protocol says no. Pure."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from sweeper.gateway.contract import Protocol

MODEL = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
POSTS = (
    (re.compile(r"/v1/messages"), Protocol.ANTHROPIC, "messages"),
    (re.compile(r"/v1/messages/count_tokens"), Protocol.ANTHROPIC, "count"),
    (re.compile(r"/v1/chat/completions"), Protocol.OPENAI, "chat"),
    (re.compile(r"/v1/responses"), Protocol.OPENAI, "responses"),
    (re.compile(rf"/v1(?:beta)?/models/(?P<model>{MODEL}):generateContent"), Protocol.GEMINI, "generate"),
    (re.compile(rf"/v1(?:beta)?/models/(?P<model>{MODEL}):streamGenerateContent"), Protocol.GEMINI, "generate"),
    (re.compile(rf"/v1(?:beta)?/models/(?P<model>{MODEL}):countTokens"), Protocol.GEMINI, "count"),
)
QUERY = frozenset({"beta", "alt"})
VERSION = re.compile(r"/v\d+(?:beta)?$")


class Route(NamedTuple):
    """One kind of call. `model` is set where the path names it. A `count` call costs nothing."""

    path: str
    protocol: Protocol
    kind: str
    model: str = ""


def find(path: str) -> Route | None:
    """The route of a POST to `path`, as it stands in the request line (nothing is decoded)."""
    for pattern, protocol, kind in POSTS:
        if match := pattern.fullmatch(path):
            return Route(path, protocol, kind, match.groupdict().get("model") or "")
    return None


def speaks(path: str) -> Protocol:
    """The protocol in which to answer a call that is not offered."""
    if path.startswith("/v1beta"):
        return Protocol.GEMINI
    return Protocol.ANTHROPIC if path.startswith("/v1/messages") else Protocol.OPENAI


def upstream(base_url: str, route: Route) -> str:
    """The provider's address for `route`; a base address that ends with a version keeps it."""
    base = base_url.rstrip("/")
    _version, _, rest = route.path[1:].partition("/")
    return f"{base}/{rest}" if VERSION.search(base) else base + route.path


def credential(protocol: Protocol, key: str) -> dict[str, str]:
    if protocol is Protocol.ANTHROPIC:
        return {"x-api-key": key}
    if protocol is Protocol.GEMINI:
        return {"x-goog-api-key": key}
    return {"authorization": f"Bearer {key}"}


ANTHROPIC_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip
OPENAI_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 402: "insufficient_quota", 403: "permission_error",
    404: "not_found_error", 429: "rate_limit_error",
}  # fmt: skip
GEMINI_STATES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 402: "FAILED_PRECONDITION", 403: "PERMISSION_DENIED",
    404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE",
}  # fmt: skip


def error_body(protocol: Protocol, status: int, message: str, code: str) -> dict[str, Any]:
    """An error in the protocol's own shape. `code`: a machine word where the protocol has a place for one."""
    if protocol is Protocol.GEMINI:
        return {"error": {"code": status, "message": message, "status": GEMINI_STATES.get(status, "INTERNAL")}}
    if protocol is Protocol.ANTHROPIC:
        kind = ANTHROPIC_TYPES.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}
    kind = OPENAI_TYPES.get(status, "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
