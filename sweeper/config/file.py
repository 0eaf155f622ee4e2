"""Finds, reads and merges the configuration: command line > SWEEPER_* variables > file > defaults.

Variables: `SWEEPER_<SECTION>__<KEY>` (SWEEPER_LIMITS__USD_PER_DAY, SWEEPER_SWEEP__RUFF__SLOTS; a character of a
sweep's name that is no letter or digit is written `_`), and the short names of SHORT. A value is text where the key
takes text, else TOML (`4`, `["a", "b"]`); an empty one counts as not set. Unknown keys are errors with a suggestion.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from sweeper.config.models import Config
from sweeper.config.plain import opened
from sweeper.errors import ConfigError

PLACES = ("sweeper.toml", ".github/sweeper.toml")
SHORT = {
    "SWEEPER_SLOTS": "limits.slots",
    "SWEEPER_SANDBOX": "sandbox.backend",
    "SWEEPER_LEDGER": "ledger.url",
}
NOT_CONFIGURATION = frozenset(
    {"SWEEPER_CACHE", "SWEEPER_CONFIG", "SWEEPER_DEBUG", "SWEEPER_REQUIRE_SANDBOXES", "SWEEPER_STATE"}
)
# What decides how much is done at once or in one go, not what a unit's result is.
NOT_IN_DIGEST = frozenset({"slots", "max_rounds"})

Path_ = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The effective configuration. `path`: the file, if any; `digest`: sha256 of its bytes, "" without one.

    `ignored`: SWEEPER_* variables that mean nothing here; worth one line of warning.
    """

    config: Config
    path: Path | None = None
    digest: str = ""
    ignored: tuple[str, ...] = ()


def load(
    repo_top: Path, *, explicit: Path | None = None, environ: Mapping[str, str], overrides: Mapping[str, Any]
) -> Loaded:
    """The configuration of the repository at `repo_top`.

    `explicit`: the file of --config. `overrides`: from the command line, dotted key -> value; a value may be a
    table; None means not given. Raises ConfigError naming the file, variable or option, the key and the value.
    """
    path, tree, raw = _file(repo_top, explicit or (Path(given) if (given := environ.get("SWEEPER_CONFIG")) else None))
    origins: dict[Path_, str] = {(): str(path) if path else "the configuration"}
    ignored = []
    for name in sorted(environ):
        if not name.startswith("SWEEPER_") or not environ[name] or name in NOT_CONFIGURATION:
            continue
        dotted = SHORT.get(name)
        if dotted is None and "__" not in name:
            ignored.append(name)
            continue
        keys = tuple(dotted.split(".")) if dotted else _keys(name, tree)
        _put(tree, keys, _value(keys, environ[name]), name)
        origins[keys] = name
    for dotted, value in overrides.items():
        if value is not None:
            keys = tuple(dotted.split("."))
            _put(tree, keys, value, "the command line")
            origins[keys] = "the command line"
    try:
        config = Config.model_validate(tree)
    except ValidationError as problem:
        raise _explain(problem, tree, origins) from None
    return Loaded(config, path, hashlib.sha256(raw).hexdigest() if path else "", tuple(ignored))


def place(top: Path) -> Path | None:
    """The file that a configuration is read from; None if there is none. Raises ConfigError for one that is none."""
    return _file(top, None)[0]


def credential(environ: Mapping[str, str], name: str) -> str | None:
    """A credential of the environment; one that is empty or blank is missing."""
    return environ.get(name, "").strip() or None


def digest(config: Config, sweep: str) -> str:
    """sha256 over what decides this sweep's results: equal digests may share a run. Raises KeyError."""
    parts = {
        "sweep": config.sweep[sweep].model_dump(mode="json", exclude=set(NOT_IN_DIGEST)),
        "name": sweep,
        "backend": config.sandbox.backend,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def json_schema() -> dict[str, Any]:
    """The JSON Schema of sweeper.toml, as it ships in sweeper.schema.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Config.model_json_schema(),
        "title": "sweeper.toml",
    }


# --- the file ---


def _file(top: Path, explicit: Path | None) -> tuple[Path | None, dict[str, Any], bytes]:
    if explicit is not None:
        raw = _read(explicit)
        if raw is None:
            raise ConfigError(f"{explicit}: there is no such file", hint="give the path of a sweeper.toml, or none")
        tree = _parse(explicit, raw)
        if explicit.name == "pyproject.toml":
            return explicit, _section(explicit, tree) or {}, raw
        return explicit, tree, raw
    for place in PLACES:
        if (raw := _read(top / place)) is not None:
            return top / place, _parse(top / place, raw), raw
    path = top / "pyproject.toml"
    # Somebody else's broken pyproject.toml is no error of ours unless it speaks of us.
    if (
        (raw := _read(path)) is not None
        and b"sweeper" in raw
        and (section := _section(path, _parse(path, raw))) is not None
    ):
        return path, section, raw
    return None, {}, b""


def _read(path: Path) -> bytes | None:
    try:
        with opened(path) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise ConfigError(f"{path}: {problem.strerror}", hint="make it a readable file") from problem


def _parse(path: Path, raw: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        raise ConfigError(f"{path}: not UTF-8 at byte {problem.start}", hint="save it as UTF-8") from problem
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{path}: not TOML: {problem}", hint="see https://toml.io for the syntax") from problem


def _section(path: Path, tree: dict[str, Any]) -> dict[str, Any] | None:
    tool = tree.get("tool", {})
    section = tool.get("sweeper") if isinstance(tool, dict) else None
    if section is not None and not isinstance(section, dict):
        raise ConfigError(f"{path}: tool.sweeper = {_shown(section)}: expected a table", hint="write [tool.sweeper]")
    return section


# --- variables and overrides ---


def _keys(name: str, tree: Mapping[str, Any]) -> Path_:
    keys = name.removeprefix("SWEEPER_").lower().split("__")
    sweeps = tree.get("sweep")
    if keys[0] == "sweep" and len(keys) > 1 and isinstance(sweeps, dict):
        written = {re.sub(r"[^a-z0-9]", "_", sweep.lower()): sweep for sweep in sweeps}
        keys[1] = written.get(keys[1], keys[1])
    return tuple(keys)


def _value(keys: Path_, text: str) -> Any:
    if _takes_text(_annotation(keys)):
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _annotation(keys: Iterable[str]) -> Any:
    """The type that the models give to a dotted key; None for a key that they do not have."""
    here: Any = Config
    for key in keys:
        if isinstance(here, type) and issubclass(here, BaseModel):
            field = here.model_fields.get(key)
            here = field.annotation if field else None
        else:
            here = get_args(here)[1] if get_origin(here) is dict else None
    return here


def _takes_text(annotation: Any) -> bool:
    options = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return any(option is str or get_origin(option) in (Literal, Annotated) for option in options)


def _put(tree: dict[str, Any], keys: Path_, value: Any, origin: str) -> None:
    *parents, last = keys
    for key in parents:
        tree = tree.setdefault(key, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"{origin}: {'.'.join(keys)}: {key} is no table", hint="check the key's spelling")
    if isinstance(value, Mapping) and isinstance(tree.get(last), dict):
        for inner, item in value.items():
            _put(tree[last], (inner,), item, origin)
    else:
        tree[last] = value


# --- errors ---


def _explain(problem: ValidationError, tree: dict[str, Any], origins: Mapping[Path_, str]) -> ConfigError:
    messages: dict[str, dict[str, None]] = {}
    hints: dict[str, None] = {}
    for error in problem.errors(include_url=False):
        # A union adds its alternative's name to the place; the data tells where the real place ends.
        keys, value = _place(error["loc"], tree)
        dotted = _dotted(keys)
        origin = next(origins[keys[:n]] for n in range(len(keys), -1, -1) if keys[:n] in origins)
        what = error["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
        what = what.replace("a valid dictionary", "a table")
        if error["type"] == "extra_forbidden":
            head, what = f"{origin}: {dotted}", "unknown key"
            hints[_suggestion(keys)] = None
        elif error["type"] == "missing":
            head = f"{origin}: {_dotted((*keys, str(error['loc'][-1])))}"
            what = "is missing"
        else:
            head = f"{origin}: {dotted} = {_shown(value)}" if not isinstance(value, dict) else f"{origin}: {dotted}"
        messages.setdefault(head, {})[what] = None
    text = "\n".join(f"{head}: {' or '.join(said)}" for head, said in messages.items())
    return ConfigError(text, hint="\n".join(hints) or "correct the value, or leave the key out for its default")


def _place(loc: tuple[int | str, ...], tree: Any) -> tuple[Path_, Any]:
    keys: list[str] = []
    for part in loc:
        known: Any = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
        if part not in known:
            break
        tree = tree[part]
        keys.append(str(part))
    return tuple(keys), tree


def _dotted(keys: Iterable[str]) -> str:
    return ".".join(key if re.fullmatch(r"[\w-]+", key) else json.dumps(key) for key in keys)


def _suggestion(keys: Path_) -> str:
    """The same key of another table, the nearest key of the same one, or the nearest of any."""
    *parents, last = keys
    siblings = _fields(parents)
    everywhere = {dotted.rsplit(".", 1)[-1]: dotted for dotted in _all_keys(Config)}
    near = difflib.get_close_matches(last, siblings, n=1)
    elsewhere = difflib.get_close_matches(last, everywhere, n=1, cutoff=0.75)
    if near and last not in everywhere:
        return f"{'.'.join(keys)}: did you mean {'.'.join((*parents, near[0]))}?"
    if elsewhere:
        return f"{'.'.join(keys)}: did you mean {everywhere[elsewhere[0]]}?"
    return f"{'.'.join(keys)}: the keys here are {', '.join(sorted(siblings))}"


def _fields(keys: Iterable[str]) -> list[str]:
    here: Any = Config
    for key in keys:
        field = here.model_fields.get(key) if isinstance(here, type) and issubclass(here, BaseModel) else None
        here = field.annotation if field else get_args(here)[-1] if get_args(here) else None
    return list(here.model_fields) if isinstance(here, type) and issubclass(here, BaseModel) else []


def _all_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        args = get_args(inner)
        if args and isinstance(args[-1], type) and issubclass(args[-1], BaseModel):
            yield prefix + name
            yield from _all_keys(args[-1], f"{prefix}{name}.NAME." if get_origin(inner) is dict else f"{prefix}{name}.")
        elif isinstance(inner, type) and issubclass(inner, BaseModel):
            yield prefix + name
            yield from _all_keys(inner, f"{prefix}{name}.")
        else:
            yield prefix + name


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else text[:77] + "..."
