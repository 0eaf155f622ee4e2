"""What the policy knows of each language's grammar: which nodes are comments, strings, definitions, blocks."""

from __future__ import annotations

from dataclasses import dataclass

from sweeper.policy.comments import suffix_of


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


@dataclass(frozen=True, slots=True)
class Language:
    """`module`, `function`: where the grammar is. `definitions`: node type -> function, class or value.

    `contents`: nodes that are a string's content, without its quotes. `blocks`: their named children are statements.
    `calls`: node type -> the field that names what is called. `handlers`: nodes that catch an error.
    `guards`: nodes that stop with an error. `exits`: statements after which a block's rest never runs. `apart`: what
    a statement of a module or a class says does not depend on what stands beside it, where everything parses.
    """

    name: str
    module: str
    function: str
    comments: frozenset[str]
    contents: frozenset[str]
    blocks: frozenset[str]
    definitions: dict[str, str]
    calls: dict[str, str]
    handlers: frozenset[str] = frozenset()
    guards: frozenset[str] = frozenset()
    exits: frozenset[str] = frozenset()
    apart: bool = False


_JS_DEFINITIONS = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "function",
    "variable_declarator": "value",
    "field_definition": "value",
}
_TS_DEFINITIONS = {
    **{kind: role for kind, role in _JS_DEFINITIONS.items() if kind != "field_definition"},
    "abstract_class_declaration": "class",
    "interface_declaration": "class",
    "type_alias_declaration": "class",
    "enum_declaration": "class",
    "public_field_definition": "value",
    "function_signature": "function",
}


def _javascript(name: str, module: str, function: str, definitions: dict[str, str]) -> Language:
    return Language(
        name,
        module,
        function,
        comments=_set("comment html_comment"),
        contents=_set("string_fragment regex_pattern escape_sequence jsx_text"),
        blocks=_set("program statement_block class_body switch_case switch_default"),
        definitions=definitions,
        calls={"call_expression": "function", "new_expression": "constructor"},
        handlers=_set("catch_clause"),
        guards=_set("throw_statement"),
        exits=_set("return_statement throw_statement"),
        apart=True,
    )


_C_CONTENTS = _set("string_content char_literal escape_sequence raw_string_content system_lib_string character")
_C_DEFINITIONS = {
    "function_definition": "function",
    "struct_specifier": "class",
    "enum_specifier": "class",
    "union_specifier": "class",
    "preproc_def": "value",
    "preproc_function_def": "value",
}

LANGUAGES: dict[str, Language] = {
    language.name: language
    for language in (
        Language(
            "python",
            "tree_sitter_python",
            "language",
            comments=_set("comment"),
            contents=_set("string_content escape_sequence"),
            blocks=_set("module block"),
            definitions={"function_definition": "function", "class_definition": "class", "assignment": "value"},
            calls={"call": "function"},
            handlers=_set("except_clause"),
            guards=_set("raise_statement"),
            exits=_set("return_statement raise_statement"),
            apart=True,
        ),
        _javascript("javascript", "tree_sitter_javascript", "language", _JS_DEFINITIONS),
        _javascript("typescript", "tree_sitter_typescript", "language_typescript", _TS_DEFINITIONS),
        _javascript("tsx", "tree_sitter_typescript", "language_tsx", _TS_DEFINITIONS),
        Language(
            "go",
            "tree_sitter_go",
            "language",
            comments=_set("comment"),
            contents=_set("interpreted_string_literal_content raw_string_literal_content rune_literal escape_sequence"),
            blocks=_set("source_file statement_list block"),
            definitions={
                "function_declaration": "function",
                "method_declaration": "function",
                "type_spec": "class",
                "const_spec": "value",
                "var_spec": "value",
            },
            calls={"call_expression": "function"},
            exits=_set("return_statement"),
            apart=True,
        ),
        Language(
            "rust",
            "tree_sitter_rust",
            "language",
            comments=_set("line_comment block_comment"),
            contents=_set("string_content char_literal escape_sequence"),
            blocks=_set("source_file block declaration_list"),
            definitions={
                "function_item": "function",
                "struct_item": "class",
                "enum_item": "class",
                "trait_item": "class",
                "impl_item": "scope",
                "mod_item": "class",
                "const_item": "value",
                "static_item": "value",
                "type_item": "class",
                "macro_definition": "function",
            },
            calls={"call_expression": "function", "macro_invocation": "macro"},
            guards=_set("try_expression"),
            exits=_set("return_expression"),
        ),
        Language(
            "java",
            "tree_sitter_java",
            "language",
            comments=_set("line_comment block_comment"),
            contents=_set("string_fragment character_literal escape_sequence multiline_string_fragment"),
            blocks=_set("program block class_body interface_body constructor_body enum_body_declarations"),
            definitions={
                "class_declaration": "class",
                "interface_declaration": "class",
                "enum_declaration": "class",
                "record_declaration": "class",
                "annotation_type_declaration": "class",
                "method_declaration": "function",
                "constructor_declaration": "function",
                "field_declaration": "value",
            },
            calls={"method_invocation": "name", "object_creation_expression": "type"},
            handlers=_set("catch_clause"),
            guards=_set("throw_statement"),
            exits=_set("return_statement throw_statement"),
            apart=True,
        ),
        Language(
            "ruby",
            "tree_sitter_ruby",
            "language",
            comments=_set("comment"),
            contents=_set("string_content heredoc_content escape_sequence"),
            blocks=_set("program body_statement then else do block_body begin ensure"),
            definitions={
                "method": "function",
                "singleton_method": "function",
                "class": "class",
                "module": "class",
                "assignment": "value",
            },
            calls={"call": "method"},
            handlers=_set("rescue rescue_modifier"),
            exits=_set("return"),
        ),
        Language(
            "bash",
            "tree_sitter_bash",
            "language",
            comments=_set("comment"),
            contents=_set("string_content raw_string ansi_c_string heredoc_content heredoc_body"),
            blocks=_set("program compound_statement do_group if_statement elif_clause else_clause case_item"),
            definitions={"function_definition": "function"},
            calls={"command": "name"},
        ),
        Language(
            "c",
            "tree_sitter_c",
            "language",
            comments=_set("comment"),
            contents=_C_CONTENTS - {"raw_string_content"},
            blocks=_set("translation_unit compound_statement case_statement"),
            definitions=_C_DEFINITIONS,
            calls={"call_expression": "function"},
            exits=_set("return_statement"),
        ),
        Language(
            "cpp",
            "tree_sitter_cpp",
            "language",
            comments=_set("comment"),
            contents=_C_CONTENTS,
            blocks=_set("translation_unit compound_statement case_statement declaration_list field_declaration_list"),
            definitions={**_C_DEFINITIONS, "class_specifier": "class", "namespace_definition": "scope"},
            calls={"call_expression": "function"},
            handlers=_set("catch_clause"),
            guards=_set("throw_statement"),
            exits=_set("return_statement throw_statement"),
        ),
        Language(
            "yaml",
            "tree_sitter_yaml",
            "language",
            comments=_set("comment"),
            contents=frozenset(),
            blocks=frozenset(),
            definitions={},
            calls={},
        ),
    )
}

_SUFFIXES = {
    "python": "py pyi pyw",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "ruby": "rb rake gemspec ru rakefile gemfile",
    "bash": "sh bash bats ksh",
    "c": "c",
    "cpp": "cc cpp cxx c++ h hh hpp hxx ipp",
    "yaml": "yaml yml",
    "markdown": "md markdown mdx",
    "sql": "sql",
    "css": "css scss less",
}
_BY_SUFFIX = {suffix: name for name, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_SHEBANGS = (("python", "python"), ("node", "javascript"), ("ruby", "ruby"), ("bash", "bash"), ("sh", "bash"))


def language_of(path: str, text: str = "") -> str:
    """The name of a language: one of LANGUAGES, one that is read without a grammar, or "" for any other."""
    found = _BY_SUFFIX.get(suffix_of(path), "")
    if not found and text.startswith("#!"):
        first = text.split("\n", 1)[0]
        found = next((name for word, name in _SHEBANGS if word in first), "")
    return found
