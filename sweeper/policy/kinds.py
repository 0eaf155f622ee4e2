"""What is to be done about each kind of node of a syntax tree; most say nothing by themselves."""

from __future__ import annotations

from functools import cache

from sweeper.policy.languages import LANGUAGES
from sweeper.policy.marks import NODE_MARKS

COMMENT, CONTENT, BLOCK, SPEAKS, WRAPS = 1, 2, 4, 8, 16
SPAN = COMMENT | CONTENT

ANNOTATIONS = frozenset({"type", "type_annotation"})
# What a type that is a part of another one stands in.
WITHIN_TYPES = frozenset({"type_parameter", "union_type", "generic_type", "member_type", "constrained_type"})
CONDITIONS = frozenset({"if_statement", "if_expression", "if", "unless", "if_modifier", "unless_modifier"})
WRAPPERS = frozenset({"decorated_definition", "export_statement", "lexical_declaration", "template_declaration"})


@cache
def kinds_of(name: str) -> dict[str, int]:
    """Node type -> what is to be done about it, in the language of that name."""
    language = LANGUAGES[name]
    found: dict[str, int] = {}
    for names, flag in (
        (language.comments, COMMENT),
        (language.contents, CONTENT),
        (language.blocks, BLOCK),
        (WRAPPERS, WRAPS),
        ((*language.definitions, *language.calls, *language.handlers, *NODE_MARKS.get(name, {})), SPEAKS),
        (("assert_statement", *ANNOTATIONS, *CONDITIONS), SPEAKS),
    ):
        for kind in names:
            found[kind] = found.get(kind, 0) | flag
    return found
