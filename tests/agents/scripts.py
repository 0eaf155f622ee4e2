"""What a scripted model does to the units of a sweep: it mends them, or fails in every known way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sweeper.testing.model_script import (
    Asked,
    Do,
    Edit,
    Fail,
    Hang,
    Page,
    Read,
    Reply,
    Run,
    Say,
    Script,
    Write,
    do,
    turns,
)

OLD = "import ast\nimport bisect\n"  # what is to go from every unit
ONE = "pkg/m0.py"
OTHER = "pkg/other.py"  # which no unit is about; aider takes a name that is too like a unit's for the unit's
FINE = "VALUE = 1\n"  # what is in it


def unit_of(asked: Asked) -> str:
    """The file that a request's prompt is about."""
    found = re.search(r'"files": \[\s*"([^"]+)"', asked.text)
    return found[1] if found else ""


def changing(path: str, old: str, new: str) -> Script:
    """Reads a file and edits it; for an agent without tools, the edit as text."""
    place = f"/swept/{path}"
    with_tools = turns(do(Read(place)), do(Edit(place, old, new)), Say("Fixed both unused imports."))
    return lambda asked: with_tools(asked) if asked.tools else do(Edit(path, old, new))


def fixing_units(asked: Asked) -> Reply:
    """Mends the unit that the prompt names."""
    return changing(unit_of(asked), OLD, "")(asked)


def suppressing(asked: Asked) -> Reply:
    return changing(unit_of(asked), OLD, "import ast  # noqa\nimport bisect  # noqa\n")(asked)


def adding(asked: Asked) -> Reply:
    """Makes a file that nobody asked for."""
    if not asked.tools:
        return do(Write("notes.txt", "hi\n"))
    return turns(do(Write("/swept/notes.txt", "hi\n")), Say("Fixed."))(asked)


def looping(asked: Asked) -> Reply:
    """Never comes to an end, and does something else each time: some agents notice their own repetitions.

    Not at full speed: in two minutes some would have asked a thousand times, of all that they had asked before.
    """
    return do(Run(f"echo {asked.results}"), wait=0.5)


def obeying(script: Script) -> Script:
    """Ends where an agent tells its model to end: opencode has no other turn limit."""
    return lambda asked: Say("I was told to end.") if "MAXIMUM STEPS REACHED" in asked.text else script(asked)


@dataclass(frozen=True)
class Failure:
    """A unit that gets `reply` ends as (kind, reason). `but`: agents with another end: they show less of it.

    `verified`: there is a change, and the verifier's word on it counts.
    """

    reply: Reply | Script
    kind: str
    reason: str = ""
    but: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    verified: bool = False

    def ends(self, agent: str) -> tuple[str, str]:
        return self.but.get(agent, (self.kind, self.reason))


PROMPT_TOO_LONG = "prompt is too long: 250000 tokens > 200000 maximum"
NO_CHANGE = ("no_change", "no change")
SILENT = {"mini": NO_CHANGE}  # its model's prose is not in what it prints at its end
TURNS = {"mini": ("no_change", "turn limit")}
WHOLE = dict.fromkeys(("aider", "mini"), ("transient", "unreachable"))  # they stream nothing: half an answer is none
UNITS: dict[str, Failure] = {  # true of one unit alone
    "400": Failure(
        Fail(400, "invalid_request_error", "messages: at least one is required"), "unclassified", "bad_request"
    ),
    "overflow": Failure(Fail(400, "invalid_request_error", PROMPT_TOO_LONG), "context_overflow"),
    "refusal": Failure(Say("I can't help with that request.", stop="refusal"), "declined"),
    "prose": Failure(Say("I'm sorry, but I can't help with this request."), "declined", but=SILENT),
    "question": Failure(
        Say("Which of the two imports do you want me to remove?"), "needs_input", "asks a question", but=SILENT
    ),
    "no-tool-call": Failure(Say("There is nothing to fix here."), *NO_CHANGE),
    "edit-of-another-file": Failure(changing(OTHER, FINE, "VALUE = 11\n"), "rejected", "scope", verified=True),
    "new-file": Failure(adding, "rejected", "scope", verified=True),
    "suppression": Failure(suppressing, "rejected", "suppression", verified=True),
    "hang": Failure(Hang(), "timed_out", "idle"),
    "stall": Failure(Say("I will now think about it", ending="stall"), "timed_out", "idle"),
    "loop": Failure(looping, "timed_out", "wall", but={"aider": NO_CHANGE, **TURNS}),
}  # fmt: skip
ACCOUNT: dict[str, Failure] = {  # true of every unit
    "401": Failure(Fail(401, "authentication_error", "invalid x-api-key"), "refused", "auth"),
    "403": Failure(Fail(403, "permission_error", "your organization is disabled"), "refused", "auth"),
    "404": Failure(Fail(404, "not_found_error", "model: no-such-model"), "refused", "unknown_model"),
    "quota": Failure(
        Fail(429, "insufficient_quota", "You exceeded your current quota, please check your plan"), "refused", "quota"
    ),
    "credit": Failure(
        Fail(400, "invalid_request_error", "Your credit balance is too low to access the API"), "refused", "quota"
    ),
}  # fmt: skip
PASSING: dict[str, Failure] = {  # gone after a while
    "429": Failure(Fail(429, "rate_limit_error", "rate limit", retry_after="2"), "transient", "rate_limit"),
    "500": Failure(Fail(500, "api_error", "internal server error"), "transient", "server"),
    "529": Failure(Fail(529, "overloaded_error", "overloaded"), "transient", "overloaded"),
    "cut": Failure(Say("this stream is about to be cut", ending="cut"), "transient", "cut", but=WHOLE),
}
FAILURES = UNITS | ACCOUNT | PASSING


BROKEN: dict[str, Reply] = {  # answers that are none: each agent gets over them, or its unit is tried again
    "overloaded within": Say("this stream is about to fail", chunks=6, ending="error"),
    "refused within": Say("", ending="error"),
    "early end": Say("this stream ends", chunks=6, ending="early"),
    "page": Page(),
    "502": Page("<html><body>502 Bad Gateway</body></html>", status=502),
}


def garbling(asked: Asked) -> Reply:
    """Its first tool call is no JSON; then it mends its unit."""
    if asked.number == 1 and asked.tools:
        return Do((Read(f"/swept/{unit_of(asked)}"),), garbled=True)
    return fixing_units(replace(asked, results=max(0, asked.results - 1)))


def most_turns(agent: str) -> int:
    """Enough to loop until a clock ends it, but for mini."""
    return 20 if agent in TURNS else 100_000


def answered(reply: Reply | Script, asked: Asked) -> Reply:
    return reply(asked) if callable(reply) else reply


def by_unit(replies: Mapping[str, Reply | Script], times: int | None = None) -> Script:
    """Each of these units gets its reply, `times` times (None: always); any other unit is mended."""
    seen: Counter[str] = Counter()

    def script(asked: Asked) -> Reply:
        unit = unit_of(asked)
        seen[unit] += 1
        if unit in replies and (times is None or seen[unit] <= times):
            return answered(replies[unit], asked)
        return fixing_units(asked)

    return script
