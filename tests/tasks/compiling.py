"""Compiles the programs in C of this folder, for tests and benchmarks."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def compiled(name: str, folder: Path) -> Path | None:
    """Compile a program into a folder, once; None where there is no compiler.

    Args:
        name: Name of its source, without the suffix.
        folder: Where to put it.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    program = folder / name
    if not program.exists():
        source = Path(__file__).with_name(f"{name}.c")
        options = ["-O2", "-Wall", "-Werror", "-pthread"]
        subprocess.run([compiler, *options, "-o", program, source], check=True)
    return program
