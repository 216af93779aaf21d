"""How traces name files of source, and what is written in them."""

from __future__ import annotations

import functools
import linecache
import os
import sys
import sysconfig
from pathlib import PurePath
from typing import Final, NamedTuple

_MARKS: Final = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini")
_REPOSITORIES: Final = (".git", ".hg")


class Source(NamedTuple):
    """A file of source.

    Attributes:
        name: What it is called, free of this machine: from the folder of its project,
            or from where it is imported.
        library: Whether it is no part of the subject's project.
    """

    name: str
    library: bool


@functools.cache
def source(file: str) -> Source:
    """Return what traces call a file of source."""
    if not os.path.isabs(file):
        # Of what was never a file, such as the modules that Python begins with.
        return Source(file, library=file.startswith("<frozen "))
    for folder in _library_folders():
        if file.startswith(folder):
            return Source(file[len(folder) :], library=True)
    root = _project(file) or _imported_from(file) or os.path.dirname(file)
    return Source(PurePath(os.path.relpath(file, root)).as_posix(), library=False)


def lines_around(file: str, line: int, more: int) -> dict[int, str]:
    """Return lines of a file by their numbers: some before one, and some after."""
    numbers = range(max(1, line - more), line + more + 1)
    every = linecache.getlines(file)
    return {
        number: every[number - 1].rstrip("\n")
        for number in numbers
        if number <= len(every)
    }


@functools.cache
def _library_folders() -> tuple[str, ...]:
    """Return where modules are installed, the longest path first."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {sysconfig.get_path(name) for name in names}
    folders.add(os.path.dirname(os.__file__))
    folders.update(
        path
        for path in sys.path
        if os.path.basename(path) in {"site-packages", "dist-packages"}
    )
    # This package belongs to no subject either, wherever it is.
    folders.add(
        os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + "/racecheck"
    )
    whole = {folder for folder in folders if folder}
    whole |= {os.path.realpath(folder) for folder in whole}
    ordered = sorted(whole, key=lambda folder: (-len(folder), folder))
    return tuple(f"{folder}/" for folder in ordered)


def _project(file: str) -> str:
    """Return the folder of the project that a file belongs to, or nothing."""
    folder = os.path.dirname(file)
    found = ""
    while len(folder) > 1:
        if any(os.path.exists(f"{folder}/{mark}") for mark in _REPOSITORIES):
            return folder
        if not found and any(os.path.exists(f"{folder}/{mark}") for mark in _MARKS):
            found = folder
        folder = os.path.dirname(folder)
    return found


def _imported_from(file: str) -> str:
    """Return the longest folder of the import path that a file is in, or nothing."""
    folders = [path for path in sys.path if path and file.startswith(f"{path}/")]
    return max(folders, key=len, default="")
