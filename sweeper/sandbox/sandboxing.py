"""What all sandboxes of a fire have in common: the backend, their limits, and where they print to."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sweeper.sandbox.contract import Backend, Clocks, Limits, Name, Snapshot, Spec

GRACE = 600.0  # seconds after its own clock must have ended a sandbox, anybody may remove it
STREAMS = ("stdout", "stderr")  # the files of a sandbox's folder of logs


@dataclass(frozen=True, slots=True)
class Sandboxing:
    """Everything of a spec that does not change from one sandbox of a fire to the next. `logs` is a folder."""

    backend: Backend
    logs: Path
    limits: Limits = field(default_factory=Limits)
    fire: str = ""

    def spec(self, name: Name, snapshot: Snapshot, argv: tuple[str, ...], **more: Any) -> Spec:
        folder = self.logs / str(name)
        folder.mkdir(parents=True, exist_ok=True)
        more.setdefault("limits", self.limits)
        clocks: Clocks = more.setdefault("clocks", Clocks())
        return Spec(
            name=name,
            snapshot=snapshot,
            argv=argv,
            stdout=folder / STREAMS[0],
            stderr=folder / STREAMS[1],
            fire=self.fire,
            deadline=time.time() + clocks.wall + GRACE,
            **more,
        )

    def drop_logs(self, name: Name) -> None:
        folder = os.path.join(self.logs, str(name))
        try:
            for stream in STREAMS:
                os.unlink(os.path.join(folder, stream))
            os.rmdir(folder)
        except OSError:  # something else lies there, or less
            shutil.rmtree(folder, ignore_errors=True)
