"""The programs in C, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tasks.compiling import compiled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Compile a program of this folder, by the name of its source."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_(name: str) -> Path:
        program = compiled(name, folder)
        if program is None:
            pytest.skip("no C compiler")
        return program

    return compile_
