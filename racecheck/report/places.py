"""Where in a program a step was taken: the line of the subject, and its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from racecheck.model import Frame, Trace


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step was taken.

    Attributes:
        frame: The innermost place in the subject's own code; in a library if there is
            no other; None for another program.
        text: The line of the source, or the command line of another program.
    """

    frame: Frame | None
    text: str

    def __str__(self) -> str:
        """Return it in a line: `writers.py:36 in publish`."""
        if self.frame is None:
            return self.text
        return f"{self.frame.file}:{self.frame.line} in {self.frame.function}"

    @property
    def where(self) -> str:
        """The file and the line, or nothing for another program."""
        return f"{self.frame.file}:{self.frame.line}" if self.frame is not None else ""


def stack_of(trace: Trace, index: int) -> tuple[Frame, ...]:
    """Return the Python stack of a step, innermost first, as far as it is known."""
    detail = trace.detail
    if detail is None or index >= len(detail.moments):
        return ()
    number = detail.moments[index].stack
    if not 0 <= number < len(detail.stacks):
        return ()
    return tuple(detail.frames[each] for each in detail.stacks[number])


def place_of(trace: Trace, index: int) -> Place | None:
    """Return where in its program a step was taken, or None if that is not known."""
    detail = trace.detail
    if detail is None or index >= len(detail.moments):
        return None
    stack = stack_of(trace, index)
    own = [frame for frame in stack if not frame.library] or stack
    if own:
        lines = detail.sources.get(own[0].file, {})
        return Place(own[0], lines.get(own[0].line, "").strip())
    program = detail.moments[index].program
    if 0 <= program < len(detail.programs):
        return Place(None, detail.programs[program])
    return None
