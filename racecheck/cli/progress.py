"""How far an exploration is, on standard error: a live line, or a line now and then."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol

import click

from racecheck.report.printable import printable

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from rich.console import Console

    from racecheck.model import Progress

_LINE_EVERY_S = 10.0
_REFRESH_EVERY_S = 0.1
_MOST_LINES = 8


class ProgressDisplay(Protocol):
    """Something that shows how far explorations are, from entry to exit."""

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave nothing on the terminal that is not meant to stay."""
        ...

    def update(self, progress: Progress) -> None:
        """Take note of how far the exploration of a scenario is."""
        ...

    def write(self, text: str, *, done: str = "") -> None:
        """Write a result to standard output, and forget the scenario that is done."""
        ...


def display(count: int) -> ProgressDisplay:
    """Return what suits standard error.

    Args:
        count: How many scenarios there are.
    """
    # Python has no stream at all where the caller closed the descriptor.
    if sys.stderr is None or not sys.stderr.isatty():
        return LineDisplay(count)
    # Imported here because only a terminal needs it, and it takes its time.
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True)
    return (
        LineDisplay(count) if console.is_dumb_terminal else LiveDisplay(console, count)
    )


class LineDisplay:
    """Writes a line now and then, for logs."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._done = 0
        self._due = time.monotonic() + _LINE_EVERY_S

    def __enter__(self) -> Self:
        """Begin; there is nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """End; all lines are meant to stay."""

    def update(self, progress: Progress) -> None:
        """Write a line if the last one is a while ago."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _LINE_EVERY_S
            far = f"[{self._done} of {self._count}] " if self._count > 1 else ""
            click.echo(far + progress_line(progress), err=True)

    def write(self, text: str, *, done: str = "") -> None:
        """Write a result to standard output."""
        self._done += bool(done)
        click.echo(text)


class LiveDisplay:
    """Keeps a line a running scenario at the bottom of a terminal."""

    def __init__(self, console: Console, count: int) -> None:
        from rich.live import Live  # noqa: PLC0415  as in `display`

        # Drawn from `update` alone: a thread that draws would be in the way of the
        # processes that are started meanwhile. Standard output is none of its
        # business, it may be a file.
        self._live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._count = count
        self._done = 0
        self._running: dict[str, Progress] = {}
        self._due = 0.0

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the lines away."""
        self._live.stop()

    def update(self, progress: Progress) -> None:
        """Draw, unless that was done a moment ago."""
        self._running[progress.name] = progress
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _REFRESH_EVERY_S
            self._draw()

    def write(self, text: str, *, done: str = "") -> None:
        """Write a result above the lines."""
        if done:
            self._running.pop(done, None)
            self._done += 1
        self._live.update("", refresh=True)
        self._live.stop()
        click.echo(text)
        self._live.start()
        self._draw()

    def _draw(self) -> None:
        from rich.text import Text  # noqa: PLC0415  as in `display`

        lines = [progress_line(each) for each in self._running.values()]
        lines = [*lines[:_MOST_LINES], f"{self._done} of {self._count} scenarios done"]
        # As text, because names may hold what would pass for markup.
        text = Text("\n".join(lines), style="dim", no_wrap=True, overflow="ellipsis")
        self._live.update(text, refresh=True)


def progress_line(progress: Progress) -> str:
    """Return how far the exploration of a scenario is, as a line."""
    line = f"{printable(progress.name)}: {progress.executions} executions"
    if progress.seconds > 0:
        line += f", {progress.executions / progress.seconds:.0f}/s"
    if progress.found:
        line += f", found {', '.join(map(printable, progress.found))}"
    return line
