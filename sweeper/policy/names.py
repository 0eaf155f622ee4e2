"""Of a definition in a syntax tree: its name, its body, whether others may use it, whether it is a test."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from sweeper.policy.hollow import squeezed

if TYPE_CHECKING:
    from tree_sitter import Node

    from sweeper.policy.languages import Language

JAVASCRIPT = frozenset({"javascript", "typescript", "tsx"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_LISTS = re.compile(
    r"\bexport\s*\{[^}]*|\bmodule\.exports\s*=\s*\{[^}]*|\bmodule\.exports\s*=\s*\w+|\bexport\s+default\s+\w+|\bexports\.\w+"
)
_EXPORTS = re.compile(r"\bmodule\.exports\b|\bexports\.\w|\bexport\b")


def _text(node: Node | None, text: str) -> str:
    return text[node.start_byte : node.end_byte] if node is not None else ""


def name_of(node: Node, role: str, language: str, text: str) -> tuple[str, str, Node | None]:
    """(name, role, body if it is not the node's own); no name for what defines nothing of interest."""
    if language in JAVASCRIPT and node.type in ("variable_declarator", "field_definition", "public_field_definition"):
        value = node.child_by_field_name("value")
        name = _text(node.child_by_field_name("name") or node.child_by_field_name("property"), text)
        if value is not None and value.type in _FUNCTIONS:
            return name, "function", value.child_by_field_name("body")
        return name if re.fullmatch(r"[\w$#]+", name) else "", role, None
    if node.type == "assignment":
        name = _text(node.child_by_field_name("left"), text)
        return name if re.fullmatch(r"[A-Za-z_]\w*", name) and _constant(name, language) else "", role, None
    if language in ("c", "cpp") and node.type == "function_definition":
        return _c_function(node, text), role, None
    if language in ("c", "cpp") and role == "class" and node.child_by_field_name("body") is None:
        return "", role, None
    if language == "go" and node.type == "method_declaration":
        receiver = re.sub(r"^\(\s*(?:\w+\s+)?\*?|[\[)].*$", "", _text(node.child_by_field_name("receiver"), text))
        return f"{receiver}.{_text(node.child_by_field_name('name'), text)}", role, None
    if node.type == "impl_item":
        return re.sub(r"<.*", "", squeezed(_text(node.child_by_field_name("type"), text))), role, None
    if node.type == "field_declaration":
        declarator = node.child_by_field_name("declarator")
        return _text(declarator.child_by_field_name("name") if declarator else None, text), role, None
    return squeezed(_text(node.child_by_field_name("name"), text))[:200].replace("::", "."), role, None


def _constant(name: str, language: str) -> bool:
    return name[0].isupper() if language == "ruby" else True


def _c_function(node: Node, text: str) -> str:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    if declarator is None:
        return ""
    name = squeezed(_text(declarator.child_by_field_name("declarator"), text))
    if name.isupper() or name.startswith(("TEST", "BENCHMARK")):  # a macro that makes a test
        name += squeezed(_text(declarator.child_by_field_name("parameters"), text))
    return name.replace("::", ".")


def body_of(node: Node) -> Node | None:
    """The body of a function, method, closure or block."""
    return node.child_by_field_name("body")


def called(node: Node, language: Language, text: str) -> str:
    """What a call calls, without blanks: at most 200 characters of it."""
    name = squeezed(_text(node.child_by_field_name(language.calls[node.type]), text))
    receiver = node.child_by_field_name("receiver") if language.name == "ruby" else None
    if receiver is not None and receiver.type == "constant":
        name = f"{_text(receiver, text)}.{name}"
    return name[:200]


def is_public(node: Node, name: str, language: str, text: str) -> bool:
    """Whether code elsewhere may use it, as far as its own file tells."""
    short = name.rsplit(".", 1)[-1]
    if language in ("python", "ruby", "bash"):
        return not short.startswith("_") or short.startswith("__")
    if language in JAVASCRIPT:
        return _exported(node, short, text)
    if language == "go":
        return short[:1].isupper()
    if language == "rust":
        first = node.named_children[0].type if node.named_children else ""
        inherits = node.parent is not None and node.parent.parent is not None and _is_trait(node.parent.parent)
        return first == "visibility_modifier" or inherits or node.type == "impl_item"
    if language == "java":
        modifiers = node.named_children[0] if node.named_children else None
        return modifiers is None or modifiers.type != "modifiers" or "private" not in _text(modifiers, text).split()
    if language in ("c", "cpp"):
        return not re.search(r"\bstatic\b", text[node.start_byte : node.start_byte + 60].split("(")[0])
    return True


def _is_trait(node: Node) -> bool:
    return node.type == "trait_item" or (node.type == "impl_item" and node.child_by_field_name("trait") is not None)


def _exported(node: Node, name: str, text: str) -> bool:
    if name.startswith(("#", "_")):
        return False
    up: Node | None = node
    while up is not None and up.type not in ("export_statement", "class_body", "program", "statement_block"):
        up = up.parent
    if up is not None and up.type == "class_body":
        head = text[node.start_byte : node.start_byte + 40]
        return not re.match(r"\s*(?:private|protected)\b", head)
    if up is not None and up.type == "export_statement":
        return True
    listed = _listed(text)
    return listed is None or name in listed


def exported(language: str, text: str) -> frozenset[str] | None:
    """The names that a module lists as its exports somewhere in it; None where a language or this one has no list."""
    return _listed(text) if language in JAVASCRIPT else None


@lru_cache(maxsize=4)
def _listed(text: str) -> frozenset[str] | None:
    """The names in a module's lists of exports; None where it exports nothing: then it is a script."""
    if not _EXPORTS.search(text):
        return None
    return frozenset(word for listed in _LISTS.findall(text) for word in re.findall(r"[\w$]+", listed))


def is_test(node: Node, name: str, language: str, text: str, test_file: bool) -> bool:
    """Whether it is a test by its name or its marks. In a test file a helper is none, but its assertions count."""
    short = name.rsplit(".", 1)[-1]
    if language == "python":
        return test_file and short.lower().startswith("test")
    if language == "go":
        return test_file and short.startswith(("Test", "Benchmark", "Fuzz", "Example"))
    if language == "rust":
        before = node.prev_named_sibling
        while before is not None and before.type in ("attribute_item", "line_comment"):
            if re.search(r"\btest\b", _text(before, text)):
                return True
            before = before.prev_named_sibling
        return False
    if language == "java":
        head = node.named_children[0] if node.named_children else None
        return head is not None and head.type == "modifiers" and re.search(r"@\w*Test\b", _text(head, text)) is not None
    if language in ("c", "cpp"):
        return name.startswith(("TEST", "test_"))
    return test_file and short.lower().startswith("test")


_TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|e2e)/|(?:^|/)(?:test_[^/]*|conftest)\.py$|_(?:test|spec)\.\w+$"
    r"|\.(?:test|spec|e2e|cy)\.\w+$|(?:^|/)test[_-][^/]*\.\w+$|(?:Tests?|IT|Spec)\.(?:java|kt|scala|cs|swift)$|\.bats$",
)


def is_test_file(path: str) -> bool:
    return _TEST_PATH.search(path) is not None
