"""Whatever ruff itself takes for a suppression, the policy sees."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from sweeper.policy.suppressions import added

BEFORE = "import os\n"
HEADS = ("#", "# ", "#\t", "##", "#  ", "#: ", "#!", "# x # ", "# x ", "#\u00a0", "#\u3000", "# (")
WORDS = (
    "noqa", "NOQA", "NoQa", "noqa:", "noqa:F401", "noqa: F401", "noqa : F401", "noqa:F401,E501", "noqa F401",
    "noqa:  F401", "noqa:\tF401", "noqa;F401", "noqa-F401", "noqa#F401", "noqaF401", "noqa: F", "no qa",
    "ruff: noqa", "ruff:noqa", "ruff : noqa", "ruff:  noqa:F401", "RUFF: NOQA", "ruff=noqa", "flake8: noqa",
    "flake8:noqa", "flake8: noqa: F401", "flake8=noqa", "FLAKE8: noqa", "flake8 : noqa", "ruff: ignore",
    "ruff: ignore[F401]", "ruff:ignore[F401]", "ruff: Ignore[F401]", "ruff: ignore [F401]", "ruff : ignore[F401]",
    "ruff:ignore[unused-import]", "ruff: disable[F401]", "ruff: disable [F401]", "ruff : disable[F401]",
    "ruff: file-ignore", "ruff: file-ignore[F401]", "ruff:file-ignore[F401]", "ruff : file-ignore[F401]",
    "ruff: file-ignore[ F401 , E501 ]", "ruff: file-ignore[\tF401]",
)  # fmt: skip


@pytest.mark.parametrize("options", [[], ["--preview"]])
def test_d07_whatever_ruff_takes_for_a_suppression_is_caught(tmp_path: Path, options: list[str]) -> None:
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    assert ruff is not None
    comments = [head + word for head, word in product(HEADS, WORDS)]
    texts = [f"import os  {c}\n" for c in comments] + [f"{c}\nimport os\n" for c in comments]
    for number, text in enumerate(texts):
        (tmp_path / f"c{number:05}.py").write_text(text)
    arguments = ["check", "--isolated", "--no-cache", "--select", "F401", "--output-format", "json", *options]
    ran = subprocess.run([ruff, *arguments, str(tmp_path)], capture_output=True, text=True, check=False)
    found = {Path(finding["filename"]).name for finding in json.loads(ran.stdout)}
    suppressed = [text for number, text in enumerate(texts) if f"c{number:05}.py" not in found]
    assert len(suppressed) > 100, "ruff knows these"
    assert [text for text in suppressed if not list(added("a.py", BEFORE.encode(), text.encode()))] == []
