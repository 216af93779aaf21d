"""Threads that a scenario's module or its setup has started in the worker."""

from __future__ import annotations

import threading
from pathlib import Path


def started() -> tuple[str, ...]:
    """Return the names of this process's threads, without the one that asks.

    Those of libraries, such as the workers of a BLAS, have the names that the kernel
    knows them by.
    """
    own = threading.get_native_id()
    known = {thread.native_id: thread.name for thread in threading.enumerate()}
    found = []
    for folder in Path("/proc/self/task").iterdir():
        number = int(folder.name)
        if number == own:
            continue
        try:
            name = (folder / "comm").read_text().strip()
        except OSError:
            # It has ended meanwhile.
            continue
        found.append(known.get(number) or name)
    return tuple(sorted(found))


def assumption(names: tuple[str, ...]) -> str:
    """Return what an answer has to say where there are such threads."""
    return (
        f"actors do without the threads that import or setup started: "
        f"{', '.join(dict.fromkeys(names))}"
    )
