"""What single nodes of a syntax tree say: handlers that swallow, casts, types that admit anything."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from sweeper.policy.hollow import hollow, squeezed

if TYPE_CHECKING:
    from tree_sitter import Node


class Mark(NamedTuple):
    """`rule`: the policy's; `what`, `spelling`: what counts as the same when before and after are compared."""

    rule: str
    what: str
    line: int
    spelling: str = ""


SILENT_BROAD = ("swallowed_error", "every error is swallowed")
SILENT = ("error_ignored", "an error is swallowed")
ANSWERED = ("error_ignored", "every error is answered with a constant")
BROAD = ("error_ignored", "every error is caught")

CAST = ("unchecked", "a cast")
NAMED_CAST = ("unchecked", "a cast that says what it is")
CAST_ANY = ("silencing_cast", "a cast to anything, or through it")

FATAL = ("error_ignored", "what should end the process is caught")
SUCCESS = ("error_ignored", "an error counts as success")
_ENDING = {
    "python": re.compile(r"\b(?:BaseException|KeyboardInterrupt|SystemExit|GeneratorExit|MemoryError)\b"),
    "ruby": re.compile(r"(?<![\w:])(?:Exception|SignalException|ScriptError|Interrupt|SystemExit|NoMemoryError)\b"),
    "java": re.compile(r"(?<!\w)(?:Throwable|Error|VirtualMachineError|OutOfMemoryError|ThreadDeath)\b"),
}
_SUCCEEDS = re.compile(
    r"(?:return)?(?:[Tt]rue|TRUE|1|[\"'](?:ok|OK|success|done)[\"']|Promise\.resolve\(true\)|\w+\+=1);?\Z"
)
_RERAISES = re.compile(r"\b(?:raise|throw)|reject\(|next\(|exit")
_BROAD_PYTHON = re.compile(r"except\*?\s*(?:\(?\s*(?:as\b|$))|\b(?:Base)?Exception\b")
_BROAD_OTHER = re.compile(r"\.\.\.|\b(?:Exception|Throwable|RuntimeException|Error|std::exception|StandardError)\b")
_CATCH_NOTHING = re.compile(
    r"\((?:async)?(?:\(?[\w$:]*\)?=>(?:\{\}|\(?null\)?|\(?undefined\)?|void0|\[\]|false|\(\{\}\))|(?:_\.)?noop"
    r"|function\w*\([\w$]*\)\{\})\)\Z"
)


def handler(language: str, node: Node, text: str, statements: Callable[[Node], tuple[str, ...]]) -> list[Mark]:
    """What a handler of errors does with them, if that is little. `statements`: those of a body."""
    line = node.start_point[0] + 1
    if node.type == "rescue_modifier":
        return [Mark(*SILENT_BROAD, line)]
    more: list[Mark] = []
    body = node.child_by_field_name("body")
    if body is None and language == "python":
        body = node.named_children[-1] if node.named_children and node.named_children[-1].type == "block" else None
    head = text[node.start_byte : body.start_byte if body is not None else node.end_byte]
    done = statements(body) if body is not None and not _idle(body, text) else ()
    if language == "python":
        broad = _BROAD_PYTHON.search(head.strip().rstrip(":")) is not None
    elif language == "ruby":
        exceptions = node.child_by_field_name("exceptions")
        broad = exceptions is None or _BROAD_OTHER.search(text[exceptions.start_byte : exceptions.end_byte]) is not None
    else:
        broad = language in ("javascript", "typescript", "tsx") or _BROAD_OTHER.search(head) is not None
    ending = _ENDING.get(language)
    if ending is not None and ending.search(head) and not _RERAISES.search("\n".join(done)):
        more.append(Mark(*FATAL, line))
    if done and _SUCCEEDS.match(done[-1].lstrip("@")):
        more.append(Mark(*SUCCESS, line))
    if hollow(done) and not any(one.startswith(("raise", "throw")) for one in done):
        empty = all(one in ("pass", "...", ";", "nil", "continue", "{}") for one in done)
        more.append(Mark(*((SILENT_BROAD if empty else ANSWERED) if broad else SILENT), line))
    elif broad and not re.search(r"\b(?:raise|throw)|reject\(|next\(", "\n".join(done)):
        more.append(Mark(*BROAD, line))
    return more


_LOCALS = frozenset({"local_variable_declaration", "lexical_declaration", "variable_declaration", "declaration"})
_TOLD = re.compile(r"\.(?:get\w*|toString|what|message)\(\)")


def _idle(body: Node, text: str) -> bool:
    """Whether a body only gives values to names of its own, which nobody else reads."""
    own: set[str] = set()
    for one in body.named_children:
        said = text[one.start_byte : one.end_byte]
        if one.type in _LOCALS:
            own.update(re.findall(r"(\w+)\s*(?==(?!=)|;|,|\Z)", said))
        elif not ((given := re.match(r"(\w+)\s*[-+*/|&]?=(?!=)", said)) and given[1] in own):
            return False
        if "(" in _TOLD.sub("", said):
            return False
    return bool(own)


def swallowing_call(language: str, node: Node, name: str, text: str) -> Mark | None:
    """`contextlib.suppress(Exception)`, `.catch(() => {})`."""
    line = node.start_point[0] + 1
    arguments = node.child_by_field_name("arguments")
    if arguments is None:
        return None
    given = text[arguments.start_byte : arguments.end_byte]
    if language == "python" and name in ("suppress", "contextlib.suppress"):
        return Mark(*(SILENT_BROAD if re.search(r"\b(?:Base)?Exception\b", given) else SILENT), line)
    if language == "python" and re.fullmatch(r"(?:\w+\.)?cast", name):
        return _python_cast(given, line)
    if name.endswith(".then") and len(arguments.named_children) == 2:
        second = arguments.named_children[1]
        if _CATCH_NOTHING.match(f"({squeezed(text[second.start_byte : second.end_byte])})"):
            return Mark(*SILENT_BROAD, line)
    if name.endswith(".catch") and _CATCH_NOTHING.match(squeezed(given)):
        return Mark(*SILENT_BROAD, line)
    return None


def _python_cast(given: str, line: int) -> Mark:
    silent = re.match(r"\(\s*[\"']?\s*(?:\w+\.)?(?:Any|object)\b", given)
    return Mark(*(CAST_ANY if silent else CAST), line)


Look = Callable[["Node", str], "tuple[str, str] | None"]
WIDE = ("wide_type", "a type that admits anything")


def _ts_as(node: Node, text: str) -> tuple[str, str] | None:
    whole = text[node.start_byte : node.end_byte]
    if re.search(r"\bas\s+const\s*\Z", whole):
        return None
    if re.search(r"\bas\s+(?:any|never)\s*\Z", whole) or re.search(r"\bas\s+unknown\s*\)?\s*as\s[^()]*\Z", whole):
        return CAST_ANY
    return None if re.search(r"\bas\s+unknown\s*\Z", whole) else CAST


def _ts_angle(node: Node, text: str) -> tuple[str, str] | None:
    silent = re.match(r"<\s*(?:any|never|unknown)\b", text[node.start_byte : node.end_byte])
    return CAST_ANY if silent else CAST


def _wide(words: str) -> Look:
    pattern = re.compile(rf"\A(?:{words})\Z")
    return lambda node, text: WIDE if pattern.match(text[node.start_byte : node.end_byte]) else None


def _python_type(node: Node, text: str) -> tuple[str, str] | None:
    return WIDE if re.search(r"\b(?:Any|object)\b", text[node.start_byte : node.end_byte]) else None


def _always(rule: str, what: str) -> Look:
    return lambda node, text: (rule, what)


_OF_CHARACTERS = re.compile(r"(?:std::)?(?:is[a-z]{5,6}|to(?:upper|lower))\s*\(\s*\(\s*unsigned\s+char\s*\)")


def _c_cast(node: Node, text: str) -> tuple[str, str] | None:
    value = node.child_by_field_name("value")
    if value is not None and value.type == "sizeof_expression":
        return None  # the compiler knows the number
    up = node.parent.parent if node.parent is not None and node.parent.type == "argument_list" else None
    if up is not None and _OF_CHARACTERS.match(text[up.start_byte : node.end_byte]):
        return None  # what these ask for is undefined without it
    void = re.match(r"\(\s*void\s*\)", text[node.start_byte : node.end_byte])
    return ("dummy_use", "a use that does nothing") if void else CAST


def _java_type(node: Node, text: str) -> tuple[str, str] | None:
    parent = node.parent.type if node.parent is not None else ""
    return (
        WIDE if text[node.start_byte : node.end_byte] == "Object" and parent != "object_creation_expression" else None
    )


def _tuple_asserted(node: Node, text: str) -> tuple[str, str] | None:
    first = node.named_children[0].type if node.named_children else ""
    return ("test_weakened", "an assertion that always holds") if first == "tuple" else None


def _ends_loop(node: Node, text: str) -> tuple[str, str] | None:
    """A break that stands in a loop under no condition."""
    up = node.parent
    while up is not None and up.type in (
        "block",
        "statement_block",
        "compound_statement",
        "statement_list",
        "do",
        "do_group",
    ):
        up = up.parent
    loops = (
        "for_statement",
        "while_statement",
        "for_in_statement",
        "enhanced_for_statement",
        "for_range_loop",
        "for",
        "while",
    )
    return ("code_disabled", "a loop that ends at once") if up is not None and up.type in loops else None


def _bare_name(node: Node, text: str) -> tuple[str, str] | None:
    """A statement that is nothing but a name, a list of values, or one turned into another."""
    inner = node.named_children
    if len(inner) != 1:
        return None
    only = inner[0]
    idle = only.type in _VALUES or (
        only.type in ("call", "call_expression") and _CONVERTS.match(text[only.start_byte : only.end_byte]) is not None
    )
    return ("dummy_use", "a use that does nothing") if idle else None


_VALUES = frozenset({"identifier", "list", "tuple", "set", "dictionary", "array", "expression_list"})
# Called for nothing but its value, or on an empty value that nobody keeps.
_CONVERTS = re.compile(
    r"(?:str|repr|bool|int|float|len|id|type|hash|list|tuple|set|dict|String|Boolean|Number|Array|Object|Symbol)\("
    r"|(?:\[\]|\{\}|\(\)|\(\[\]\)|(?:set|list|dict)\(\))\.\w+\("
)


_LOOPS: dict[str, Look] = {"expression_statement": _bare_name, "break_statement": _ends_loop}
_TYPESCRIPT: dict[str, Look] = {
    **_LOOPS,
    "as_expression": _ts_as,
    "type_assertion": _ts_angle,
    "non_null_expression": _always("unchecked", "a non-null assertion"),
    "predefined_type": _wide("any|unknown|object"),
    "type_identifier": _wide("Object|Function"),
}
_C: dict[str, Look] = {"cast_expression": _c_cast, **_LOOPS}
NODE_MARKS: dict[str, dict[str, Look]] = {
    "python": {"type": _python_type, "assert_statement": _tuple_asserted, **_LOOPS},
    "javascript": _LOOPS,
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "go": {
        **_LOOPS,
        "type_assertion_expression": _always("unchecked", "a type assertion"),
        "type_identifier": _wide("any"),
        "interface_type": lambda node, text: (
            WIDE if squeezed(text[node.start_byte : node.end_byte]) == "interface{}" else None
        ),
    },
    "rust": {
        "type_cast_expression": _always("unchecked", "a cast"),
        "unsafe_block": _always("unchecked", "an unsafe block"),
    },
    "java": {**_LOOPS, "cast_expression": _always("unchecked", "a cast"), "type_identifier": _java_type},
    "c": _C,
    "cpp": _C,
}
