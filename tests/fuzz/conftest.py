"""Where commands with bad input run."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.commands import SCENARIO

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of one's own, whatever is configured here."""
    (tmp_path / "scenario.py").write_text(SCENARIO)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.racecheck]\npaths = ["scenario.py"]'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in [name for name in os.environ if name.startswith("RACECHECK_")]:
        monkeypatch.delenv(name)
    return tmp_path
