"""What a subject keeps between calls: threads share it, and processes do not."""

from __future__ import annotations

import os
import reprlib
import sys
import sysconfig
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_LIBRARIES: Final = tuple(
    os.path.realpath(path)
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
    if (path := sysconfig.get_paths().get(name))
)
_PLAIN: Final = reprlib.Repr()
_PLAIN.maxstring = _PLAIN.maxother = _PLAIN.maxlong = 200


class KeptState:
    """What the globals of the subject's modules hold, looked at again and again.

    Modules of the subject are those of the actors' functions and what those modules
    import, but for libraries. Functions, classes and modules are left out.
    """

    def __init__(self, functions: Iterable[Callable[..., object]]) -> None:
        self._namespaces = list(_namespaces(functions))
        self._before = self._look()

    def changed(self) -> list[str]:
        """Return the names of what has changed since the last look."""
        before, self._before = self._before, self._look()
        return sorted(
            name
            for name, state in self._before.items()
            if before.get(name, state) != state
        )

    def _look(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, namespace in self._namespaces:
            for key, value in list(namespace.items()):
                if key.startswith("__") or callable(value):
                    continue
                if not isinstance(value, ModuleType):
                    found[f"{name}.{key}"] = f"{type(value).__name__} {_shown(value)}"
        return found


def _namespaces(
    functions: Iterable[Callable[..., object]],
) -> Iterator[tuple[str, dict[str, object]]]:
    pending = [
        namespace
        for function in functions
        if (namespace := getattr(function, "__globals__", None)) is not None
    ]
    seen: set[int] = set()
    while pending:
        namespace = pending.pop()
        if id(namespace) in seen or not _is_subject(namespace):
            continue
        seen.add(id(namespace))
        yield str(namespace.get("__name__", "subject")), namespace
        for value in list(namespace.values()):
            if isinstance(value, ModuleType):
                pending.append(vars(value))
            elif callable(value):
                module = sys.modules.get(getattr(value, "__module__", None) or "")
                if module is not None:
                    pending.append(vars(module))


def _is_subject(namespace: dict[str, object]) -> bool:
    name = str(namespace.get("__name__", ""))
    if name.partition(".")[0] in ("racecheck", "builtins"):
        return False
    file = namespace.get("__file__")
    if not isinstance(file, str):
        return name not in sys.builtin_module_names
    return not os.path.realpath(file).startswith(_LIBRARIES)


def _shown(value: object) -> str:
    try:
        return _PLAIN.repr(value)
    except Exception as error:  # noqa: BLE001  a subject's repr may do anything
        return type(error).__name__
