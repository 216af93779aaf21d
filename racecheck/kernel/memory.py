"""Reading and writing the memory of a stopped process."""

from __future__ import annotations

import errno
import os
import sys

_TOP = 1 << 63
_STRING = 256
_ENCODING = sys.getfilesystemencoding()
_LONGEST_STRING = 1 << 17


class Memory:
    """The memory of one process, through a kept `/proc/PID/mem`.

    It is bound to the address space that the process had when it was opened: after an
    exec it has to be opened anew.
    """

    __slots__ = ("_descriptor", "pid")

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._descriptor = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)

    def read(self, address: int, length: int) -> bytes:
        """Return up to `length` bytes; fewer where the mapping ends.

        Raises:
            OSError: Nothing is mapped at `address`.
        """
        if address >= _TOP:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        return os.pread(self._descriptor, length, address)

    def string(self, address: int) -> str:
        """Return the C string at `address`, undecodable bytes as surrogates.

        Raises:
            OSError: Nothing is mapped there, or the string has no end.
        """
        data = self.read(address, _STRING)
        end = data.find(b"\0")
        while end < 0:
            more = self.read(address + len(data), 4096)
            if not more or len(data) > _LONGEST_STRING:
                raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
            end = more.find(b"\0")
            if end >= 0:
                end += len(data)
            data += more
        return data[:end].decode(_ENCODING, "surrogateescape")

    def write(self, address: int, data: bytes | bytearray) -> None:
        """Store bytes, also where the process itself could not.

        Raises:
            OSError: Nothing is mapped at `address`.
        """
        if address >= _TOP:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        os.pwrite(self._descriptor, data, address)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._descriptor)
