"""What a machine may refuse, and another user, for tests of what is said then."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from racecheck.kernel.numbers import numbers
from racecheck.kernel.registers import registers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
NOBODY = 65534

# BPF: load a word, jump if equal, return; see seccomp(2).
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def python_of_nobody() -> tuple[str, str] | None:
    """Return an interpreter that any user can run, and the path that it needs."""
    packages = [
        str(Path(spec.origin).parents[1])
        for name in ("dill", "msgspec", "zstandard")
        if (spec := importlib.util.find_spec(name)) and spec.origin
    ]
    path = os.pathsep.join(dict.fromkeys([str(ROOT), *packages]))
    code = "import racecheck.api, msgspec, zstandard, dill"
    here = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, shutil.which(here, path="/usr/bin:/usr/local/bin")):
        if python is None:
            continue
        try:
            done = subprocess.run(
                [python, "-c", code],
                env={"PYTHONPATH": path},
                cwd="/",
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
                capture_output=True,
                check=False,
            )
        except PermissionError:
            continue
        if done.returncode == 0:
            return python, path
    return None


def become_nobody() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    assert os.getresuid() == (NOBODY,) * 3


def refuse(*calls: str) -> Callable[[], None]:
    """Return what makes calls fail with EPERM from then on, as a container may do."""
    libc = ctypes.CDLL(None, use_errno=True)
    lines = [(_LOAD, 0, 0, 4), (_JUMP_EQUAL, 1, 0, registers().audit_arch)]
    lines += [(_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, 0)]
    for call in calls:
        lines += [(_JUMP_EQUAL, 0, 1, numbers()[call]), (_RETURN, 0, 0, _ERRNO | 1)]
    lines.append((_RETURN, 0, 0, _ALLOW))
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(lines), ctypes.addressof(buffer))

    def install() -> None:
        assert len(buffer) == len(code)
        assert libc.prctl(38, 1, 0, 0, 0) == 0
        assert libc.prctl(22, 2, header, 0, 0) == 0

    return install


@contextlib.contextmanager
def heeding_signals() -> Iterator[None]:
    """Have what is started meanwhile heed the signals that end a program.

    What is started in the background, or with nohup, ignores some of these, and so
    would whatever it starts.
    """
    ignored = [
        number
        for number in (signal.SIGINT, signal.SIGHUP)
        if signal.getsignal(number) is signal.SIG_IGN
    ]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
