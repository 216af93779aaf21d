"""Importing scenario files, with every mistake in them told in one line."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from racecheck.errors import PASSING, RacecheckError, ScenarioError
from racecheck.invariants.wording import described

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def import_file(file: Path) -> ModuleType:
    """Import a file under the name that its packages give it.

    The first folder above it without an `__init__.py` goes to the front of
    `sys.path`, as in pytest's `prepend` mode, so that the file and its neighbours can
    import each other by those names.

    Raises:
        ScenarioError: The file cannot be imported.
    """
    root, name = module_name(file)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    # Finders remember the listing of a folder, and this one may be younger.
    importlib.invalidate_caches()
    try:
        with _without_exit(file):
            module = importlib.import_module(name)
    except PASSING:
        raise
    # All else, because a script that ends itself is not to end racecheck, and a test
    # file that is skipped raises no `Exception` either.
    except BaseException as error:
        raise ScenarioError(_describe(error, file)) from error
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != file:
        raise ScenarioError(
            f"{short(file)} would be imported as {name!r}, which is "
            f"{short(Path(found)) if found else 'a module of Python itself'} already; "
            "rename one, or put an __init__.py beside it"
        )
    return module


@contextmanager
def _without_exit(file: Path) -> Iterator[None]:
    """Keep a file from ending the process, which would look like success."""

    def refuse(status: int) -> NoReturn:
        if os.getpid() != own:
            # What the file has forked ends as it likes.
            original(status)
        raise ScenarioError(f"os._exit({status!r}) while {short(file)} is imported")

    own, original = os.getpid(), os._exit
    os._exit = refuse
    try:
        yield
    finally:
        os._exit = original


def module_name(file: Path) -> tuple[Path, str]:
    """Return the folder to import a file from, and its dotted name there.

    Raises:
        ScenarioError: The name of the file cannot be that of a module.
    """
    if file.suffix != ".py":
        raise ScenarioError(f"{short(file)} is no Python file")
    parts = [file.stem]
    root = file.parent
    while (root / "__init__.py").exists() and root != root.parent:
        parts.insert(0, root.name)
        root = root.parent
    if any("." in part for part in parts):
        raise ScenarioError(f"{short(file)} has a dot in its module name")
    return root, ".".join(parts)


def short(file: Path) -> str:
    """Return a path as messages show it: from the current folder on, if below it."""
    try:
        return str(file.relative_to(Path.cwd()))
    except (OSError, ValueError):
        return str(file)


def _describe(error: BaseException, file: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename is not None:
        place = Path(error.filename)
        return f"{short(place)}:{error.lineno}: {type(error).__name__}: {error.msg}"
    known = isinstance(error, RacecheckError)
    what = " ".join((str(error) if known else described(error)).split())
    frames = [
        (Path(frame.filename), frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    own = [line for place, line in frames if place == file]
    if not own:
        return f"{short(file)}: {what}"
    place, line = frames[-1]
    origin = ""
    if place != file and not known:
        origin = f" (raised at {short(place)}:{line})"
    return f"{short(file)}:{own[-1]}: {what}{origin}"
