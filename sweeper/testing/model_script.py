"""What a scripted model answers, and how an edit becomes a call of whatever tool the agent program offers.

A script is a function of one request. `turns` makes one out of a list: the turn is worked out from the tool results in
the request, so that the server keeps no conversation and any number of them can run at once.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

# --- what the model does ---


@dataclass(frozen=True)
class Read:
    path: str


@dataclass(frozen=True)
class Edit:
    """Replace `old`, which occurs once, by `new`."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Write:
    path: str
    content: str


@dataclass(frozen=True)
class Run:
    command: str


Op = Read | Edit | Write | Run


@dataclass(frozen=True)
class Say:
    """A text, after `wait` seconds, in `chunks` deltas with `pause` seconds between. `tokens`: a text of that length.

    `ending`: "cut" drops the connection in mid-answer, "stall" falls silent there, "early" ends there like a whole one,
    "error" says there that it failed: with `kind`. `stop` "refusal" declines. `usage`: whether it says what was used.
    """

    text: str = "Done."
    stop: Literal["end", "refusal"] = "end"
    ending: Literal["whole", "cut", "stall", "early", "error"] = "whole"
    kind: str = "overloaded_error"
    usage: bool = True
    tokens: int = 0
    chunks: int = 1
    pause: float = 0.0
    wait: float = 0.0


@dataclass(frozen=True)
class Do:
    """Tool calls, all in one turn, after `wait` seconds. `garbled`: their arguments are no JSON. `usage`: as of Say."""

    ops: tuple[Op, ...]
    text: str = ""
    wait: float = 0.0
    garbled: bool = False
    usage: bool = True


@dataclass(frozen=True)
class Fail:
    """An error. `kind`: the machine word in its body; `retry_after`: the header, as it is."""

    status: int
    kind: str = ""
    message: str = "scripted failure"
    retry_after: str = ""


@dataclass(frozen=True)
class Page:
    """What something in between says in the provider's place."""

    body: str = "<html><body>Please log in to the network.</body></html>"
    content_type: str = "text/html"
    status: int = 200


@dataclass(frozen=True)
class Hang:
    """Never answer; not even headers."""


Reply = Say | Do | Fail | Page | Hang


@dataclass(frozen=True)
class Tool:
    """A tool that the agent program offers. `kind`: "function", or "custom" for one that takes plain text."""

    kind: str
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """One request. `text`: what the user's messages say; `results`: tool results in it; `limit`: output tokens.

    `number` counts the requests with this key from 1; `at`: seconds since the server started.
    """

    protocol: str
    model: str
    key: str
    text: str
    tools: Mapping[str, Tool]
    results: int
    limit: int
    stream: bool
    size: int
    number: int = 1
    at: float = 0.0


Script = Callable[[Asked], Reply]


def do(*ops: Op, text: str = "", wait: float = 0.0) -> Do:
    return Do(ops, text, wait)


def turns(*replies: Reply) -> Script:
    """One reply a turn; the last one repeats."""

    def script(asked: Asked) -> Reply:
        seen = 0
        for reply in replies[:-1]:
            seen += len(reply.ops) if isinstance(reply, Do) else 1
            if seen > asked.results:
                return reply
        return replies[-1]

    return script


def fixing(path: str, old: str, new: str) -> Script:
    """Reads the file, edits it, says so."""
    return turns(do(Read(path)), do(Edit(path, old, new)), Say("Fixed."))


def looping(asked: Asked) -> Reply:
    """Never comes to an end."""
    return do(Run("true"))


def storm(seconds: float, fail: Fail, then: Script) -> Script:
    """Fails for so many seconds from the first request on."""
    began: list[float] = []

    def script(asked: Asked) -> Reply:
        began.append(asked.at)
        return fail if asked.at - began[0] < seconds else then(asked)

    return script


def at_first(times: int, reply: Reply, then: Script) -> Script:
    """Answers the first requests with each key by `reply`."""
    return lambda asked: reply if asked.number <= times else then(asked)


# --- tools ---

READERS = ("read", "read_file", "view", "view_file", "readfile")
EDITORS = ("edit", "replace", "edit_file", "str_replace", "str_replace_editor")
WRITERS = ("write", "write_file", "create", "create_file")
SHELLS = ("bash", "shell", "run_shell_command", "exec_command", "shell_command", "local_shell", "execute_bash")
PROPERTIES = {
    "path": ("filepath", "absolutepath", "path", "filename", "file"),
    "old": ("oldstring", "oldstr", "oldtext", "search"),
    "new": ("newstring", "newstr", "newtext", "replacement"),
    "content": ("content", "contents", "filetext", "text"),
    "command": ("command", "cmd", "script"),
}
PADDING: dict[str, Any] = {"string": "scripted", "boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}
REPLACE = (
    "import sys,pathlib;p=pathlib.Path(sys.argv[1]);s=p.read_text();assert sys.argv[2] in s;"
    "p.write_text(s.replace(sys.argv[2],sys.argv[3],1))"
)


@dataclass(frozen=True)
class ToolCall:
    """`arguments`: an object for a function, plain text for a custom tool or for what should have been an object."""

    name: str
    kind: str
    arguments: dict[str, Any] | str


def call_for(op: Op, tools: Mapping[str, Tool]) -> ToolCall | None:
    """The call that does `op` with one of `tools`; None if none of them can."""
    by_name = {name.rpartition("__")[2].lower(): name for name in tools}

    def first(names: tuple[str, ...]) -> str | None:
        return next((by_name[name] for name in names if name in by_name), None)

    known = {"command": as_shell(op)} if isinstance(op, Run) else vars(op)
    own = {Read: READERS, Edit: EDITORS, Write: WRITERS, Run: SHELLS}[type(op)]
    if name := first(own):
        arguments = _fill(tools[name].schema, known)
        if "command" in arguments and isinstance(op, Edit):  # one tool with several commands
            arguments["command"] = "str_replace"
        return ToolCall(name, tools[name].kind, arguments)
    if isinstance(op, (Edit, Write)) and "apply_patch" in by_name:
        name = by_name["apply_patch"]
        tool = tools[name]
        if tool.kind == "custom":
            return ToolCall(name, "custom", as_patch(op))
        field_name = next(iter(tool.schema.get("properties") or {"input": 0}))
        return ToolCall(name, tool.kind, {field_name: as_patch(op)})
    if name := first(SHELLS):
        return ToolCall(name, tools[name].kind, _fill(tools[name].schema, {"command": as_shell(op)}))
    return None


def _fill(schema: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """Arguments by a JSON schema's property names; required ones that say nothing to us are padded."""
    filled: dict[str, Any] = {}
    for name, spec in (schema.get("properties") or {}).items():
        plain = name.lower().replace("_", "")
        meaning = next((key for key, names in PROPERTIES.items() if plain in names and key in known), None)
        if meaning:
            value = known[meaning]
            filled[name] = ["bash", "-lc", value] if spec.get("type") == "array" else value
        elif plain == "edits" and "old" in known:
            inner = _fill(spec.get("items") or {}, known)
            filled[name] = [inner or {"oldText": known["old"], "newText": known["new"]}]
        elif name in (schema.get("required") or ()):
            filled[name] = (spec.get("enum") or [PADDING.get(str(spec.get("type")), "scripted")])[0]
    return filled


def as_shell(op: Op) -> str:
    match op:
        case Run(command):
            return command
        case Read(path):
            return f"cat {shlex.quote(path)}"
        case Write(path, content):
            return f"printf %s {shlex.quote(content)} > {shlex.quote(path)}"
        case Edit(path, old, new):
            return shlex.join(["python3", "-c", REPLACE, path, old, new])


def as_patch(op: Edit | Write) -> str:
    def lines(sign: str, text: str) -> str:
        return "".join(f"{sign}{line}\n" for line in text.splitlines())

    if isinstance(op, Write):
        return f"*** Begin Patch\n*** Add File: {op.path}\n{lines('+', op.content)}*** End Patch\n"
    change = lines("-", op.old) + lines("+", op.new)
    return f"*** Begin Patch\n*** Update File: {op.path}\n@@\n{change}*** End Patch\n"


def as_blocks(op: Edit | Write) -> str:
    """For agents that take edits as text, without tools."""
    old, new = (op.old, op.new) if isinstance(op, Edit) else ("", op.content)
    return f"{op.path}\n```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n"
