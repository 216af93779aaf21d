"""The least that a controlled process costs: a tracer that steps and does nothing else.

It shares no code with racecheck. `start` forks children under a filter for the calls of
`calls.cycles`; `step_through` takes them from one such call to the next, waiting for
both stops of each, until they have ended.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from itertools import cycle
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_libc = ctypes.CDLL(None, use_errno=True)
_ptrace = _libc.ptrace
_ptrace.restype = ctypes.c_long
_ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)

_CONT, _SYSCALL, _SEIZE, _GET_SYSCALL_INFO = 7, 24, 0x4206, 0x420E
_OPTIONS = 0x1 | 0x80 | 0x100000  # TRACESYSGOOD, TRACESECCOMP, EXITKILL
_WALL = 0x40000000
_SECCOMP_STOP = 7 << 16 | 5 << 8 | 0x7F
_EXIT_STOP = 0x85 << 8 | 0x7F

# Which arguments of the traced calls are paths: openat, write, close, stat in its two
# spellings, rename, unlink.
_PATHS: dict[str, dict[int, tuple[int, ...]]] = {
    "x86_64": {257: (1,), 1: (), 3: (), 4: (0,), 262: (1,), 82: (0, 1), 87: (0,)},
    "aarch64": {56: (1,), 64: (), 57: (), 79: (1,), 38: (1, 3), 276: (1, 3), 35: (1,)},
}
_LONGEST_PATH = 256

_info = ctypes.create_string_buffer(88)
_info_address = ctypes.addressof(_info)
_entry_from = struct.Struct("=24xQ6Q").unpack_from
_exit_from = struct.Struct("=24xq").unpack_from


class Child(NamedTuple):
    """A traced process: its id, and a descriptor of its memory if that is read."""

    pid: int
    memory: int


class Stepped(NamedTuple):
    """What `step_through` has seen: all steps, and the time of those before an end.

    Attributes:
        steps: Steps of all children.
        first: Time at which all stood at their first call.
        last: Time at which a child had made its last call.
        timed: Steps between these two.
    """

    steps: int
    first: float
    last: float
    timed: int


class Filter:
    """A seccomp filter that traces the calls of `calls.cycles`, and only those."""

    def __init__(self) -> None:
        numbers = sorted(_PATHS[platform.machine()])
        lines = [(0x20, 0, 0, 0)]
        lines += [
            (0x15, len(numbers) - place, 0, number)
            for place, number in enumerate(numbers)
        ]
        lines += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x7FF00000)]
        code = b"".join(struct.pack("=HBBI", *line) for line in lines)
        self._code = ctypes.create_string_buffer(code, len(code))
        self._header = ctypes.create_string_buffer(
            struct.pack("@HP", len(lines), ctypes.addressof(self._code))
        )

    def install(self) -> None:
        """Put the calling process under the filter."""
        if _libc.prctl(38, 1, 0, 0, 0) or _libc.prctl(22, 2, self._header, 0, 0):
            _fail()


def start(work: Callable[[], None], filter_: Filter, *, reading: bool) -> Child:
    """Fork a child that does some work under the filter, and let it go."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(write)
            if os.read(read, 1) == b"g":
                filter_.install()
                work()
        finally:
            os._exit(0)
    os.close(read)
    _request(_SEIZE, pid, _OPTIONS)
    os.write(write, b"g")
    os.close(write)
    return Child(pid, os.open(f"/proc/{pid}/mem", os.O_RDONLY) if reading else -1)


def step_through(
    children: Sequence[Child], order: Sequence[int], *, reading: bool
) -> Stepped:
    """Step started children to their ends.

    Args:
        children: The children.
        order: Who is next, as places among those that are left; repeated for ever.
        reading: Whether to read each call's number and arguments, its paths and its
            result, as any tracer has to that shows what was called.
    """
    paths = _PATHS[platform.machine()]
    waitpid, pread, clock = os.waitpid, os.pread, perf_counter
    alive = [
        child for child in children if waitpid(child.pid, _WALL)[1] == _SECCOMP_STOP
    ]
    steps = timed = 0
    last = 0.0
    first = clock()
    for place in cycle(order):
        pid, memory = child = alive[place % len(alive)]
        if reading:
            _ptrace(_GET_SYSCALL_INFO, pid, 88, _info_address)
            fields = _entry_from(_info)
            for index in paths[fields[0]]:
                pread(memory, _LONGEST_PATH, fields[1 + index])
        _ptrace(_SYSCALL, pid, 0, 0)
        if waitpid(pid, _WALL)[1] != _EXIT_STOP:
            _fail()
        if reading:
            _ptrace(_GET_SYSCALL_INFO, pid, 88, _info_address)
            _exit_from(_info)
        _ptrace(_CONT, pid, 0, 0)
        steps += 1
        if waitpid(pid, _WALL)[1] != _SECCOMP_STOP:
            if not timed:
                # Its last step is not timed, since the child's end comes with it.
                timed = steps - 1
            if memory >= 0:
                os.close(memory)
            alive.remove(child)
            if not alive:
                break
        elif not timed:
            last = clock()
    return Stepped(steps, first, last, timed)


def _request(request: int, pid: int, data: int) -> None:
    if _ptrace(request, pid, 0, data) == -1:
        _fail()


def _fail() -> None:
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))
