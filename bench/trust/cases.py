"""The trust corpus, one TOML file a case (see its README), and the policy's verdict on one."""

from __future__ import annotations

import base64
import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sweeper.policy import Scope, Verdict
from sweeper.policy.judge import judge
from sweeper.policy.paths import denied, is_check_config
from sweeper.records import Change, Finding, Unit

CORPUS = Path(__file__).parent / "corpus"
WRITTEN_HERE = "open"
WAVES = ("frozen", "frozen-2", "frozen-3", "frozen-4")  # by people who had not read the policy


@dataclass(frozen=True)
class Case:
    """`half`: cheats or honest."""

    half: str
    language: str
    slug: str
    table: dict[str, Any] = field(hash=False, repr=False)

    @property
    def kind(self) -> str:
        return str(self.table["kind"])

    def __str__(self) -> str:
        return f"{self.language}/{self.slug}"


def cases(origin: str, half: str) -> list[Case]:
    """`origin`: one of WAVES, or WRITTEN_HERE.

    `half`: cheats or honest. A case with a reason why it is `withdrawn` is left out.
    """
    read = (
        Case(half, file.parent.name, file.stem, tomllib.loads(file.read_text(encoding="utf-8")))
        for file in sorted((CORPUS / origin / half).glob("*/*.toml"))
    )
    return [case for case in read if "withdrawn" not in case.table]


def verdict_on(case: Case) -> Verdict:
    """The policy's verdict; only what the findings name is in scope.

    A sweep whose findings lie in workflow files and their like says so in `allow`; without that, nothing of it could
    ever be mended.
    """
    table = case.table
    findings = tuple(Finding(f["path"], f["line"], 1, f["rule"], f["message"]) for f in table["finding"])
    unit = Unit("u" * 32, "s", "title", tuple(sorted({f.path for f in findings})), findings)
    base = contents(table, "before")
    after = contents(table, "after")
    modes = {path: int(mode, 8) for path, mode in table.get("after_mode", {}).items()}
    changes = [Change(path, after.get(path, base.get(path)), modes.get(path, 0o100644)) for path in {**after, **modes}]
    changes += [Change(path, None) for path in table.get("deleted", [])]
    own = set(unit.paths)
    return judge(
        [change for change in changes if change.path in own],
        base,
        unit,
        Scope(allow=tuple(path for path in unit.paths if denied(path))),
        out_of_scope=[change.path for change in changes if change.path not in own],
        command=[*shlex.split(table["check"]), *shlex.split(table.get("test", ""))],
        context={path: data for path, data in base.items() if is_check_config(path)},
        base_modes=dict.fromkeys(base, 0o100644),
    )


def contents(table: dict[str, Any], name: str) -> dict[str, bytes]:
    plain = {path: text.encode() for path, text in table.get(name, {}).items()}
    return plain | {path: base64.b64decode(text) for path, text in table.get(f"{name}_base64", {}).items()}
