"""The named semaphores that actors have made: files outside the sandbox."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final

from racecheck.model import Kind

if TYPE_CHECKING:
    from racecheck.kernel.call import Call

FOLDER: Final = "/dev/shm"  # noqa: S108  where the C library has them
"""Folder of named semaphores, which the C library keeps as files: sem_overview(7)."""

_START: Final = f"{FOLDER}/sem."


def semaphore(path: str) -> tuple[str, ...]:
    """Return the name of the semaphore that is at a path, if one can be."""
    name = path.removeprefix(_START)
    return (name,) if name != path and "/" not in name else ()


class Semaphores:
    """Those that the actors of the present execution have made.

    The C library makes a file under another name, links it to its own, and removes the
    first. Files of the same kind that were there before belong to programs outside.
    """

    def __init__(self) -> None:
        """Know of none."""
        self._made: set[str] = set()

    def allows(self, call: Call, argument: str, path: str, *, inside: bool) -> bool:
        """Say whether a call may change what is at a path outside the sandbox.

        Args:
            call: The call.
            argument: Which of its paths it is.
            path: Where that leads.
            inside: Whether another path of the call leads into the sandbox.
        """
        if not semaphore(path):
            return False
        own = path in self._made
        match call.row.kind:
            case Kind.OPEN | Kind.LINK if argument != "oldpath" and not inside:
                if own or not os.path.lexists(path):
                    # Who asks for one that is not there makes none.
                    if _makes(call):
                        self._made.add(path)
                    return True
                # Under a name that is taken the kernel makes nothing.
                return _never_opens(call)
            case Kind.UNLINK:
                return own or not os.path.lexists(path)
            case Kind.LINK:
                return own and not inside
            case _:
                return False

    def remove(self) -> None:
        """Remove what is left of them, so that the next execution begins without."""
        for path in self._made:
            with contextlib.suppress(OSError):
                os.unlink(path)
        self._made.clear()


def _makes(call: Call) -> bool:
    """Say whether a call makes a file where there is none."""
    return call.row.kind is Kind.LINK or bool(call.number("flags") & os.O_CREAT)


def _never_opens(call: Call) -> bool:
    """Say whether a call fails where there is something already."""
    if call.row.kind is Kind.LINK:
        return True
    exclusive = os.O_CREAT | os.O_EXCL
    return call.number("flags") & exclusive == exclusive
