"""Whole messages between the process that explores and those that help it."""

from __future__ import annotations

import contextlib
import select
import socket
from collections import deque
from typing import Final

_HEAD: Final = 4
_AT_ONCE: Final = 1 << 18


class Channel:
    """One end of a connection.

    Both ends may be sending at the same time more than fits in between. So whoever
    sends takes in what comes meanwhile.

    Attributes:
        is_over: Whether the other end is gone.
    """

    def __init__(self, connection: socket.socket) -> None:
        """Take over a connection."""
        self.is_over = False
        self._connection = connection
        self._data = bytearray()
        self._messages: deque[bytes] = deque()

    @property
    def has_messages(self) -> bool:
        """Whether any message has come and was not received yet."""
        return bool(self._messages)

    def fileno(self) -> int:
        """Return the descriptor, to be waited for."""
        return self._connection.fileno()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def send(self, message: bytes) -> None:
        """Send a message; nothing happens if nobody is there any more."""
        left = memoryview(len(message).to_bytes(_HEAD, "big") + message)
        while left and not self.is_over:
            readable, writable, _ = select.select([self], [self], [])
            if readable:
                self._take_in()
            if writable and not self.is_over:
                left = left[self._send(left[:_AT_ONCE]) :]

    def receive(self, *, wait: bool) -> list[bytes]:
        """Return what has come, at least one message if asked to wait for that.

        There is none if the other end is gone.
        """
        while not self.is_over:
            patience = None if wait and not self._messages else 0
            if not select.select([self], [], [], patience)[0]:
                break
            self._take_in()
        found = list(self._messages)
        self._messages.clear()
        return found

    def _send(self, data: memoryview) -> int:
        """Send what there is room for; return how much that was."""
        try:
            with contextlib.suppress(BlockingIOError):
                # It would wait for room for all of it.
                return self._connection.send(data, socket.MSG_DONTWAIT)
        except OSError:
            self.is_over = True
        return 0

    def _take_in(self) -> None:
        try:
            data = self._connection.recv(_AT_ONCE)
        except OSError:
            data = b""
        self.is_over = not data
        self._data += data
        while len(self._data) >= _HEAD:
            size = _HEAD + int.from_bytes(self._data[:_HEAD], "big")
            if len(self._data) < size:
                break
            self._messages.append(bytes(self._data[_HEAD:size]))
            del self._data[:size]
