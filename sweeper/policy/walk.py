"""From a syntax tree to the outline of a source file."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from sweeper.policy.hollow import squeezed
from sweeper.policy.kinds import ANNOTATIONS, BLOCK, COMMENT, CONDITIONS, SPAN, SPEAKS, WITHIN_TYPES, WRAPS, kinds_of
from sweeper.policy.languages import LANGUAGES, Language
from sweeper.policy.marks import NODE_MARKS, Mark, handler, swallowing_call
from sweeper.policy.names import body_of, called, exported, is_public, is_test, name_of
from sweeper.policy.outline import Definition, Outline, blanked
from sweeper.policy.pieces import Pieces, Place
from sweeper.policy.trees import parse

if TYPE_CHECKING:
    from tree_sitter import Node

ASSERTION = re.compile(
    r"^expect\(.*\)\.|(?:^|[.>])(?:assert\w*|refute\w*|must_\w+|wont_\w+|EXPECT_\w+|ASSERT_\w+|CHECK\w*|REQUIRE\w*"
    r"|Error|Errorf|Fatal|Fatalf|Fail|FailNow|fail|should\w*)!?$|^(?:assert|require|expect)\.|^pytest\.(?:raises"
    r"|warns|fail)$"
    r"|^(?:to|not_to|to_not|verify)$",
    re.DOTALL,
)
_LOOPS = ("program", "module", "source_file", "translation_unit")


def outline(name: str, data: bytes, test_file: bool, pieces: Pieces | None = None) -> Outline | None:
    """The outline of `data` (line feeds only) in the language `name`; None without a tree.

    `pieces`: statements that were read already, of this version or of another one; what is new is added.
    """
    tree = parse(name, data)
    if tree is None:
        return None
    found = Outline(name, data.decode("latin-1"))
    _Walk(LANGUAGES[name], found, test_file, tree.root_node.has_error, pieces).run(tree.root_node)
    found.calls = Counter(found.called)
    found.code = blanked(found.text, sorted(found.comments + found.strings))
    found.definitions.sort(key=lambda one: one.start)
    return found


class _Walk:
    def __init__(
        self, language: Language, found: Outline, test_file: bool, broken: bool, pieces: Pieces | None
    ) -> None:
        self._language = language
        self._found = found
        self._test_file = test_file
        self._broken = broken
        self._marks = NODE_MARKS.get(language.name, {})
        self._kinds = kinds_of(language.name)
        # What does not parse is what it is by what stands around it.
        self._pieces = pieces if language.apart and not broken else None
        self._around = (language.name, test_file, exported(language.name, found.text))
        self._wrappers: dict[int, Node] = {}  # what belongs to a definition, by the definition's node
        self._seen: set[int] = set()  # where statements with an assertion start

    def run(self, root: Node) -> None:
        top = Definition("", "scope", True, self._test_file, 1, 0, root.end_point[0] + 1, 0, root.end_byte)
        self._found.top = top
        if self._pieces is None:
            self._walk(root, top)
            return
        statements = root.named_children
        self._block(statements, top)
        self._each(statements, top)

    def _each(self, statements: list[Node], owner: Definition) -> None:
        """Statements of a module or of a class in it, the last one first; what was read before is not read again."""
        assert self._pieces is not None
        found = self._found
        for node in reversed(statements):
            start, line = node.start_byte, node.start_point[0]
            text = found.text[start : node.end_byte]
            key = (
                self._around,
                owner.name,
                owner.kind,
                owner.public,
                owner.test,
                node.type,
                node.descendant_count,
                text,
            )
            if (piece := self._pieces.get(key)) is not None:
                piece.add(found, owner, start, line)
                continue
            before = Place.of(found, owner, start, line)
            self._walk(node, owner)
            self._pieces[key] = before.piece(found, owner)

    def _walk(self, root: Node, outer: Definition) -> None:
        kinds, broken = self._kinds, self._broken
        stack: list[tuple[Node, Definition]] = [(root, outer)]
        while stack:
            node, owner = stack.pop()
            kind = node.type
            said = kinds.get(kind, 0)
            if said & SPAN:
                spans = self._found.comments if said & COMMENT else self._found.strings
                spans.append((node.start_byte, node.end_byte))
                continue
            if broken and (node.is_error or node.is_missing):
                self._found.broken.append(node.start_point[0] + 1)
            children = node.children if broken else node.named_children
            if said:
                if said & WRAPS:
                    self._wrappers.update((child.id, node) for child in children)
                if said & SPEAKS:
                    owner = self._look(node, kind, owner)
                if said & BLOCK:
                    self._block(children, owner)
                    if owner.kind == "class" and self._apart(node, owner):
                        self._each(children, owner)
                        continue
            for child in children:
                stack.append((child, owner))

    def _apart(self, node: Node, owner: Definition) -> bool:
        """Whether a block is the body of an outermost class: in a deeper one a `break` is what stands around it."""
        if self._pieces is None or "." in owner.name or node.parent is None:
            return False
        return self._language.definitions.get(node.parent.type) == "class"

    def _look(self, node: Node, kind: str, owner: Definition) -> Definition:
        """What a node says by itself; whose the nodes below it are."""
        language, text = self._language, self._found.text
        if role := language.definitions.get(kind):
            owner = self._define(node, role, owner) or owner
        elif kind in language.calls:
            name = called(node, language, text)
            self._found.called.append(name)
            if (made := self._test_call(node, name, owner)) is not None:
                owner = made
            if (mark := swallowing_call(language.name, node, name, text)) is not None:
                self._found.marks.append(mark)
            if ASSERTION.search(name):
                self._assertion(node, owner)
        elif kind == "assert_statement":
            self._assertion(node, owner)
        elif kind in language.handlers:
            self._found.marks += handler(language.name, node, text, self._statements)
        if kind in ANNOTATIONS and (node.parent is None or node.parent.type not in WITHIN_TYPES):
            owner.annotations += 1
        elif kind in CONDITIONS and self._leaves(node):
            owner.guards += 1
        if (look := self._marks.get(kind)) is not None and (said := look(node, text)) is not None:
            self._found.marks.append(Mark(*said, node.start_point[0] + 1))
        return owner

    def _leaves(self, node: Node) -> bool:
        """Whether a condition guards what follows: all that it does is to leave."""
        done = node.child_by_field_name("consequence") or node.child_by_field_name("body")
        if done is None or node.child_by_field_name("alternative") is not None:
            return False
        while done.named_children and done.type in (*self._language.blocks, *_PLAIN):
            done = done.named_children[-1]
        return done.type in self._language.exits or done.type in ("continue_statement", "next")

    def _define(self, node: Node, role: str, owner: Definition) -> Definition | None:
        text = self._found.text
        name, role, body = name_of(node, role, self._language.name, text)
        if not name:
            return None
        local = owner.local or owner.kind in ("function", "test")
        if role == "value" and (local or owner.kind == "class"):
            return None
        outer = self._wrappers.get(node.id, node)
        made = Definition(
            f"{owner.name}.{name}" if owner.name else name,
            role,
            not local and owner.public and is_public(node, name, self._language.name, text),
            is_test(node, name, self._language.name, text, self._test_file) or (owner.test and owner.kind != "scope"),
            outer.start_point[0] + 1,
            node.start_point[0] + 1,
            node.end_point[0] + 1,
            outer.start_byte,
            node.end_byte,
            local=local,
        )
        if role == "function":
            body = body or body_of(node)
            made.has_body = body is not None
            made.statements = self._statements(body) if body is not None else ()
            for child in node.named_children:
                if child.type == "field_initializer_list":  # what a constructor does before its body
                    made.statements += tuple(
                        squeezed(text[one.start_byte : one.end_byte]) for one in child.named_children
                    )
        self._found.definitions.append(made)
        return made

    def _test_call(self, node: Node, name: str, owner: Definition) -> Definition | None:
        """`it("does x", () => ...)`: a definition by a call."""
        if self._language.name not in ("javascript", "typescript", "tsx", "ruby") or not _TEST_CALL.match(name):
            return None
        arguments = node.child_by_field_name("arguments")
        first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
        if first is None or "string" not in first.type:
            return None
        title = self._found.text[first.start_byte + 1 : first.end_byte - 1]
        block = node.child_by_field_name("block") or (arguments.named_children[-1] if arguments is not None else None)
        body = body_of(block) if block is not None else None
        line = node.start_point[0] + 1
        made = Definition(
            f"{owner.name}.{title}" if owner.name else title, "test", True, True,
            line, line, node.end_point[0] + 1, node.start_byte, node.end_byte,
        )  # fmt: skip
        made.has_body = body is not None and not _SUITE.match(name)
        made.statements = self._statements(body) if body is not None else ()
        self._found.definitions.append(made)
        return made

    def _statements(self, body: Node) -> tuple[str, ...]:
        """The outermost statements of a body, without blanks, comments and docstring."""
        children = body.named_children
        if len(children) == 1 and children[0].type in ("statement_list", "body_statement"):
            body, children = children[0], children[0].named_children
        if body.type not in self._language.blocks and body.type != "then":
            return (squeezed(self._found.text[body.start_byte : body.end_byte]),)
        texts = []
        for child in children:
            if child.type in self._language.comments or child.type in ("heredoc_body", "empty_statement"):
                continue
            inner = child.named_children
            if child.type == "expression_statement" and len(inner) == 1 and inner[0].type == "string":
                continue
            condition = "if:" if child.type in ("if_modifier", "unless_modifier") else ""
            texts.append(condition + squeezed(self._found.text[child.start_byte : child.end_byte]))
        return tuple(texts)

    def _block(self, children: list[Node], owner: Definition) -> None:
        comments, exits = self._language.comments, self._language.exits
        statements = [one for one in children if one.is_named and one.type not in comments]
        owner.size += len(statements)
        for before, after in pairwise(statements):
            inner = (
                before.named_children[0] if before.type == "expression_statement" and before.named_children else before
            )
            if inner.type in exits and after.type not in _REACHED:
                self._found.marks.append(
                    Mark("code_disabled", "statements that are never reached", after.start_point[0] + 1)
                )

    def _assertion(self, node: Node, owner: Definition) -> None:
        """The whole statement of an assertion, once."""
        top = node
        while (parent := top.parent) is not None and parent.type not in self._language.blocks:
            if parent.type in _CARRIERS or parent.type in _LOOPS:
                break
            top = parent
        if top.start_byte in self._seen:
            return
        self._seen.add(top.start_byte)
        text = self._found.text[top.start_byte : top.end_byte]
        outer = top.parent.parent if top.parent is not None else None
        if self._language.name in ("go", "c", "cpp"):
            while outer is not None and outer.type in ("block", "statement_list", "compound_statement"):
                outer = outer.parent
            condition = (
                outer.child_by_field_name("condition") if outer is not None and outer.type == "if_statement" else None
            )
            if condition is not None:
                text = self._found.text[condition.start_byte : condition.end_byte] + ":" + text
        owner.assertions.append((" ".join(text.split()), top.start_point[0] + 1))


_PLAIN = frozenset({"expression_statement", "then", "block", "statement_list"})
_TEST_CALL = re.compile(
    r"(?:f|x)?(?:it|test|specify|example|scenario|describe|context|suite|feature|RSpec\.describe)(?![\w])"
)
_SUITE = re.compile(r"(?:f|x)?(?:describe|context|suite|feature|RSpec\.describe)(?![\w])")
_CARRIERS = frozenset({
    "arrow_function", "function_expression", "lambda", "with_item", "with_clause", "do_block", "block",
    "body_statement",
    "function", "lambda_expression", "closure_expression", "func_literal", "statement_list", "block_body",
})  # fmt: skip
_REACHED = frozenset({
    "function_declaration", "class_declaration", "break_statement", "labeled_statement", "case_statement",
    "else_clause",
    "function_item", "generator_function_declaration", "rescue", "ensure", "else", "switch_default", "switch_case",
    "function_definition", "struct_item", "enum_item", "use_declaration", "const_item", "interface_declaration",
    "type_alias_declaration", "preproc_call", "attribute_item", "ERROR", "preproc_else", "case_item", "elif_clause",
})  # fmt: skip
