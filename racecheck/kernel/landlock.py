"""A second wall around the sandbox: Landlock, where the kernel has it.

See landlock(7). A process that restricts itself may change files only below the folders
it names, and so may all that it starts, for ever. Reading is left free. What Landlock
does not handle (modes, owners, times and attributes of files) only the tracer refuses.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
from typing import TYPE_CHECKING, Final

from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from collections.abc import Collection

# Numbers and bits of linux/landlock.h; the calls have one number on all processors.
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_ASK_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38

_WRITE_FILE: Final = 1 << 1
_REMOVE_DIR: Final = 1 << 4
_REMOVE_FILE: Final = 1 << 5
_MAKE_REG: Final = 1 << 8
_MAKE_BLOCK: Final = 1 << 11
_MAKE: Final = 0b1111111 << 6
_REFER: Final = 1 << 13
_TRUNCATE: Final = 1 << 14
_SCOPE_SIGNAL: Final = 1 << 1

_WITH_REFER: Final = 2
_WITH_TRUNCATE: Final = 3
_WITH_SCOPES: Final = 6

_ATTRIBUTES = struct.Struct("=QQQ")
_RULE = struct.Struct("=Qi")
_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """Return the version of Landlock's interface here; 0 if there is none."""
    try:
        return ptrace.system_call(_CREATE_RULESET, 0, 0, _ASK_VERSION)
    except OSError:
        return 0


def confines() -> bool:
    """Say whether `confine` has an effect here.

    The first version forbids to rename from one folder to another wherever it is, and
    programs would meet errors that they do not meet elsewhere.
    """
    return version() >= _WITH_REFER


def confine(
    folders: Collection[str], files: Collection[str] = (), shared: Collection[str] = ()
) -> bool:
    """Let this process and all it starts change files in some places only.

    Args:
        folders: Where all may be done, but for making block devices. Nodes of
            character devices can be whiteouts of an overlay.
        files: Files that may be written: devices, for instance.
        shared: Folders in which files, but nothing else, may be made and removed.

    Returns:
        Whether this kernel does that.

    Raises:
        OSError: It should, and refuses.
    """
    known = version()
    if known < _WITH_REFER:
        return False
    write = _WRITE_FILE | (_TRUNCATE if known >= _WITH_TRUNCATE else 0)
    handled = write | _REMOVE_DIR | _REMOVE_FILE | _MAKE | _REFER
    scopes = _SCOPE_SIGNAL if known >= _WITH_SCOPES else 0
    # A kernel that does not know the fields at the end takes zeroes there.
    attributes = ctypes.create_string_buffer(_ATTRIBUTES.pack(handled, 0, scopes))
    ruleset = ptrace.system_call(
        _CREATE_RULESET, ctypes.addressof(attributes), _ATTRIBUTES.size, 0
    )
    try:
        for folder in folders:
            _allow(ruleset, folder, handled & ~_MAKE_BLOCK)
        for folder in shared:
            _allow(ruleset, folder, write | _MAKE_REG | _REMOVE_FILE)
        for file in files:
            _allow(ruleset, file, write)
        if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        ptrace.system_call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                rights &= _WRITE_FILE | _TRUNCATE
            rule = ctypes.create_string_buffer(_RULE.pack(rights, place))
            address = ctypes.addressof(rule)
            ptrace.system_call(_ADD_RULE, ruleset, _PATH_BENEATH, address, 0)
        finally:
            os.close(place)
