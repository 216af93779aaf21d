"""The start of a worker process: made reproducible first, then given its work.

This file is run by path, without the package, in two stages. The first gives the
process what can only be had by an exec: no address randomisation, a fixed environment
of a fixed size. The second is told where to import from and serves.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
from importlib import machinery
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import io
    from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_ADDR_NO_RANDOMIZE = 0x0040000
_STACK_STRINGS = 8192
_LAST_STANDARD = 2
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_READY = "RACECHECK_WORKER"


def prepare(channel: int, cpu: int) -> None:
    """Become a process that is the same in every run, and go on as the second stage."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD:
        pass
    os.close(number)
    libc = ctypes.CDLL(None)
    if cpu >= 0:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {cpu})
    # Docker's default profile refuses this; then addresses differ between runs, and
    # only subjects that use them notice.
    current = libc.personality(0xFFFFFFFF)
    libc.personality(current | _ADDR_NO_RANDOMIZE)
    folder = os.path.dirname(sys.executable)  # noqa: PTH120  pathlib costs start-up time
    environment = {
        "PATH": f"{folder}:{_PATH}",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        _READY: "1",
    }
    argv = [sys.executable, "-P", "-s", __file__, str(channel)]
    # Arguments and environment lie above the stack: their size moves every address on
    # it, and some programs make names of those.
    strings = [*argv, *(f"{name}={value}" for name, value in environment.items())]
    used = sum(len(text) + 1 for text in strings) + len(sys.executable)
    environment["RACECHECK_PADDING"] = "." * (-used % _STACK_STRINGS)
    os.execve(sys.executable, argv, environment)  # noqa: S606  itself


def serve(channel: int) -> None:
    """Do what the caller asks for over the channel, until it closes it."""
    # Kept as small as the environment was: nothing of this is for actors.
    del os.environ[_READY], os.environ["RACECHECK_PADDING"]
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    connection = socket.socket(fileno=channel)
    with connection.makefile("rb", buffering=0) as stream:
        size = int.from_bytes(_exactly(stream, 4), "big")
        sys.path[:] = _exactly(stream, size).decode().split("\0")
    listing_again = import_without_listing()
    from racecheck.explore.worker import main  # noqa: PLC0415  the path is known now

    main(connection, listing_again)


class _Everything:
    """The names in a folder, as far as a finder is to know."""

    def __contains__(self, name: str) -> bool:
        return True


class _Finder(machinery.FileFinder):
    """Looks for each file that a module can be in, whatever else its folder has.

    Others list a folder first, which saves them calls. But a list is as long as the
    folder has names, and actors are forks of this process: where their objects lie
    would depend on each file that somebody puts beside the subject's.
    """

    def _fill_cache(self) -> None:
        self._path_cache = self._relaxed_path_cache = _Everything()


def import_without_listing() -> Callable[[], None]:
    """Have modules found without a look at what else is in their folders.

    Returns:
        Has those folders listed again that were not imported from until then, such as
        the box, where a list that is out of date can be the race.
    """
    before = list(sys.path_hooks)
    hook = _Finder.path_hook(
        (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
        (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES),
        (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
    )
    sys.path_hooks[:] = [*before[:-1], hook]
    sys.path_importer_cache.clear()

    def list_again() -> None:
        sys.path_hooks[:] = before

    return list_again


def _exactly(stream: io.RawIOBase, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = stream.read(size - len(data))
        if not more:
            sys.exit(0)
        data += more
    return data


if __name__ == "__main__":
    if _READY in os.environ:
        serve(int(sys.argv[1]))
    else:
        prepare(int(sys.argv[1]), int(sys.argv[2]))
