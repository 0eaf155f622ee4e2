"""Where the paths of findings that are handed in may start."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeper.cli.selection import _folder, _spellings


def test_a16_the_shells_own_spelling_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, link = tmp_path.resolve() / "real", tmp_path.resolve() / "link"
    top = real / "proj"
    (top / "web" / "src").mkdir(parents=True)
    link.symlink_to(real)
    for folder in ("", "web", "web/src"):
        monkeypatch.chdir(link / "proj" / folder)
        assert list(_spellings(top, str(link / "proj" / folder))) == [str(top), str(link / "proj")]
        assert list(_spellings(top, str(top / folder))) == [str(top)]
        assert _folder(top) == (folder or ".")
    for wrong in ("", "relative", "/nowhere", str(link)):
        assert list(_spellings(top, wrong)) == [str(top)]
    monkeypatch.chdir(tmp_path)
    assert _folder(top) == "."
