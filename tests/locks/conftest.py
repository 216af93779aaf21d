"""A program in C that waits for a lock with an alarm."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def waiter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled; see its source for what it does."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path_factory.mktemp("waiter") / "waiter"
    source = Path(__file__).with_name("waiter.c")
    subprocess.run([compiler, "-O2", "-Wall", "-o", program, source], check=True)
    return program
