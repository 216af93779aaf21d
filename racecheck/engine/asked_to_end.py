"""Being asked to end by SIGTERM, where no exception may come at any place."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NoReturn, Self

from racecheck.errors import WorkerEndError

if TYPE_CHECKING:
    from types import FrameType, TracebackType


class AskedToEnd:
    """Keeps in mind that the process was asked to end, while it is busy.

    An exception out of a signal handler could be taken for one of a judge's, or leave
    things half put away. So who is busy asks now and then, and ends by himself.

    Attributes:
        busy: Whether somebody asks; if not, the request is an exception at once.
        asked: Whether the process was asked to end.
    """

    def __init__(self) -> None:
        self.busy = False
        self.asked = False

    def __enter__(self) -> Self:
        signal.signal(signal.SIGTERM, self._end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the handler: this is the last that the process does."""

    def end(self) -> NoReturn:
        """End the process, as was asked."""
        raise WorkerEndError(1)

    def _end(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        # Who asked may ask again while all is being put away, which takes a moment.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.asked = True
        if not self.busy:
            self.end()
