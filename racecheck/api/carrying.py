"""Carrying a scenario to a worker that has to know nothing of where it was written."""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import warnings
from fnmatch import fnmatchcase
from importlib.machinery import PathFinder
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Final

from racecheck.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from racecheck.scenario import Scenario

_MAIN: Final = "__main__"
_OF_TESTS: Final = ("test_*.py", "*_test.py", "conftest.py")


def pickled(scenario: Scenario) -> bytes:
    """Return a scenario in a form that another process can load.

    Functions and classes of modules that the worker can import travel by name, all
    others by value: those of closures and notebook cells, and those of test files, so
    that neither pytest nor what else tests import burdens the worker.

    Raises:
        ScenarioError: Something in it cannot be carried.
    """
    try:
        return _dumps(scenario, by_value=True)
    except Exception:  # noqa: BLE001  a pickle can fail in any way
        # What tests have in their globals may be nothing to carry, but importable.
        try:
            return _dumps(scenario, by_value=False)
        except Exception as error:
            raise ScenarioError(
                f"{scenario.name} cannot be carried to another process: {error}"
            ) from error


def _dumps(scenario: Scenario, *, by_value: bool) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        # What it warns of is either well or fails.
        warnings.simplefilter("ignore")
        _pickler()(file, by_value=by_value).dump(scenario)
    return file.getvalue()


@functools.cache
def _pickler() -> type:
    import dill  # noqa: PLC0415  large, and only needed here

    class Pickler(dill.Pickler):  # type: ignore[misc]  # it has no types
        """Takes functions and classes of some modules as if they were a script's."""

        def __init__(self, file: io.BytesIO, *, by_value: bool) -> None:
            super().__init__(file, recurse=True)
            self._by_value = by_value

        def save(self, obj: object, save_persistent_id: bool = True) -> None:  # noqa: FBT001, FBT002  as it is called
            if isinstance(obj, FunctionType | type):
                name = obj.__module__
                if name != _MAIN and _travels_by_value(name, tests=self._by_value):
                    with _as_of_main(obj):
                        super().save(obj, save_persistent_id)
                    return
            super().save(obj, save_persistent_id)

    return Pickler


@contextlib.contextmanager
def _as_of_main(obj: FunctionType | type) -> Iterator[None]:
    name = obj.__module__
    try:
        obj.__module__ = _MAIN
    except (AttributeError, TypeError):  # A class written in C.
        yield
        return
    try:
        yield
    finally:
        obj.__module__ = name


@functools.cache
def _travels_by_value(name: str | None, *, tests: bool) -> bool:
    """Say whether what is of a module is taken as it is, rather than imported."""
    file = getattr(sys.modules.get(name or ""), "__file__", None)
    if name is None or file is None:
        return False
    is_test = any(fnmatchcase(Path(file).name, pattern) for pattern in _OF_TESTS)
    return (tests and is_test) or not _is_importable(name, file)


def _is_importable(name: str, file: str) -> bool:
    """Say whether a worker, which has the same path, finds the module by its name."""
    path: Sequence[str] | None = sys.path
    parts = name.split(".")
    origin = None
    for depth in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: depth + 1]), path)
        if spec is None:
            return False
        origin, path = spec.origin, spec.submodule_search_locations
    return origin == file
