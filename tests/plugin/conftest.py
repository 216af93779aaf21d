"""A project for each test of the plug-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.plugin.project import Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    return made
