"""A program in C that lets time pass, linked in two ways."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="session")
def sleeper(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Compile the program, with an option of the compiler's or none."""
    made: dict[str, Path] = {}

    def compiled(option: str) -> Path:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler")
        if option not in made:
            program = tmp_path_factory.mktemp("sleeper") / "sleeper"
            source = Path(__file__).with_name("sleeper.c")
            options = ["-O2", "-Wall", *filter(None, [option])]
            subprocess.run([compiler, *options, "-o", program, source], check=True)
            made[option] = program
        return made[option]

    return compiled
