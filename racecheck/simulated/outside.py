"""What a simulated actor finds around its files: time, random numbers, and limits.

Time is virtual, as under the process engine, and random numbers repeat. Whatever would
reach the real machine is refused: an actor must not change real files because some way
to them was overlooked.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from racecheck.simulated.acting import acting
from racecheck.simulated.interception import random_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

_SECOND: Final = 1_000_000_000

_REFUSED: Final = frozenset(
    {
        "os.chflags",
        "os.chmod",
        "os.chown",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.link",
        "os.lockf",
        "os.mkdir",
        "os.posix_spawn",
        "os.putenv",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.system",
        "os.truncate",
        "os.utime",
        "fcntl.fcntl",
        "fcntl.flock",
        "fcntl.ioctl",
        "fcntl.lockf",
        "mmap.__new__",
        "subprocess.Popen",
        "socket.bind",
        "socket.connect",
    }
)
_WRITES: Final = 0o3  # O_WRONLY or O_RDWR
_CREATES: Final = 0o100

_done: list[bool] = []


def surround() -> None:
    """Take over time, random numbers and what leads outside, once a process."""
    if _done:
        return
    _done.append(True)
    for name in ("time", "monotonic", "perf_counter"):
        _replace(time, name, lambda now: now / _SECOND)
        _replace(time, f"{name}_ns", lambda now: now)
    real_sleep = time.sleep

    def sleep(seconds: float) -> None:
        actor = acting()
        if actor is None:
            real_sleep(seconds)
        else:
            actor.sleep(seconds)

    vars(time)["sleep"] = sleep
    vars(random)["_urandom"] = random_bytes
    names: Any = tempfile._RandomNameSequence  # type: ignore[attr-defined]  # its numbers come from the system
    own = names.rng.fget
    names.rng = property(
        lambda self: actor.random if (actor := acting()) else own(self)
    )
    start = threading.Thread.start

    def begin(self: threading.Thread) -> None:
        actor = acting()
        if actor is not None:
            actor.refuse("threads of an actor are not simulated")
            raise RuntimeError("threads of an actor are not simulated")
        start(self)

    threading.Thread.start = begin  # type: ignore[method-assign]  # see above
    sys.addaudithook(_watch)


def _replace(module: Any, name: str, value: Callable[[int], Any]) -> None:
    real = getattr(module, name)

    def ask() -> Any:
        actor = acting()
        return real() if actor is None else value(actor.now())

    ask.__name__ = name
    setattr(module, name, ask)


def _watch(event: str, args: tuple[Any, ...]) -> None:
    """Refuse what would leave the simulation."""
    actor = acting()
    if actor is None:
        return
    if event == "open":
        # Modules are read from the real machine, and nothing is written there.
        _, _, flags = args
        if not isinstance(flags, int) or not flags & (_WRITES | _CREATES):
            return
    elif event not in _REFUSED:
        return
    what = f"{event} on the real machine"
    actor.refuse(what)
    raise PermissionError(f"{what} is not for a simulated actor")
