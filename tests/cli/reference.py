"""The references in the docs, made from the commands and the models: `python -m tests.cli.reference` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from sweeper.cli.group import COMMANDS
from sweeper.config import models as config
from sweeper.config import quantities

TOP = Path(__file__).resolve().parents[2]
README, CONFIGURATION = TOP / "README.md", TOP / "docs" / "configuration.md"
WORDS: dict[Any, str] = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def commands() -> str:
    rows = [f"| `{name}` | {said} |" for name, (_, said) in COMMANDS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def configuration() -> str:
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    rows += [f"| `{key}` | {kind} | {default} | {said} |" for key, kind, default, said in keys(config.Config, "")]
    return "\n".join(rows)


def keys(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in model.model_fields.items():
        inner = nested(field.annotation)
        if inner is None:
            yield prefix + name, kind(field.annotation, field), default(field), said(field)
        elif get_origin(field.annotation) is dict:
            yield from keys(inner, f"{prefix}{name}.NAME.")
        elif get_origin(field.annotation) is list:
            yield from keys(inner, f"{prefix}{name}[].")
        else:
            yield from keys(inner, f"{prefix}{name}.")


def nested(annotation: Any) -> type[BaseModel] | None:
    for candidate in (annotation, *get_args(annotation)[-1:]):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def kind(annotation: Any, field: FieldInfo | None = None) -> str:
    metadata = (*getattr(annotation, "__metadata__", ()), *(field.metadata if field else ()))
    validators = {getattr(each, "func", None) for each in metadata}
    if quantities.parse_seconds in validators:
        return 'time: seconds, or `"10m"`'
    if quantities.parse_bytes in validators:
        return 'size: bytes, or `"2GiB"`'
    origin, args = get_origin(annotation), get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        return kind(args[0])
    if origin is Literal:
        return " or ".join(f'`"{value}"`' for value in args if value)
    if origin in (Union, UnionType):
        kinds = [kind(each) for each in args if each is not type(None)]
        return " or ".join(dict.fromkeys(each for each in kinds if each))
    if origin is list:
        return f"list of {kind(args[0])}"
    if origin is dict:
        return f"table of {kind(args[1])}"
    return WORDS[annotation]


def default(field: FieldInfo) -> str:
    value = field.default
    if value is PydanticUndefined:
        return "required"
    if value is None or value in ("", [], {}):
        return ""
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def said(field: FieldInfo) -> str:
    return " ".join((field.description or "").split()).replace("|", "\\|")


def with_references(page: Path) -> str:
    """The page's text with its reference as it should be."""
    name, made = {README: ("commands", commands), CONFIGURATION: ("configuration", configuration)}[page]
    pattern = rf"(<!-- {name}:[^\n]*-->\n).*?(<!-- /{name} -->)"
    text, count = re.subn(
        pattern, lambda found: f"{found[1]}{made()}\n{found[2]}", page.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert count == 1, f"{page.name} has no place for the {name}"
    return text


if __name__ == "__main__":
    for page in (README, CONFIGURATION):
        page.write_text(with_references(page), encoding="utf-8")
