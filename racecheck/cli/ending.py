"""How a command ends early: asked to by a signal, or because nobody listens."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn

from racecheck.errors import EndRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_STDOUT: Final = 1
_UNWRITABLE: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EBADF, errno.EROFS}
)


class AskedToEndError(EndRequestError):
    """The process was asked to end by a signal.

    Attributes:
        signal: Which one.
    """

    def __init__(self, number: int) -> None:
        self.signal = signal.Signals(number)
        super().__init__(self.signal.name)

    @property
    def exit_code(self) -> int:
        """What a shell says of who was ended by the signal."""
        return 128 + self.signal


@contextmanager
def ends_when_asked() -> Iterator[None]:
    """Have these signals raise `AskedToEndError`, as Ctrl-C does its error.

    Signals that the caller has told to be ignored, as `nohup` does, stay ignored. Where
    there are no signals to be handled, off the main thread, nothing happens.
    """
    before = {}
    try:
        for number in _SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, _raise)
    except ValueError:
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    for each in _SIGNALS:
        # All is being put away now, and who asks again is to wait for that.
        signal.signal(each, signal.SIG_IGN)
    raise AskedToEndError(number)


def cannot_write(error: Exception) -> bool:
    """Say whether an error is that of standard output, which takes no more."""
    return (
        isinstance(error, OSError)
        and error.filename is None
        and error.errno in _UNWRITABLE
    )


def end_as_unread() -> NoReturn:
    """End as programs do whose reader has gone, such as `head`: quietly, by SIGPIPE."""
    # Python would complain once more when it flushes the rest at its end.
    drop_output()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)
    # It may be blocked.
    os._exit(128 + signal.SIGPIPE)


def drop_output() -> None:
    """Have what is still to be written to standard output go nowhere."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
