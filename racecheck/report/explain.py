"""What raced, in a few lines of text: for terminals and for tests that fail."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from racecheck.report.printable import cut, printable
from racecheck.report.story import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.model import Trace
    from racecheck.report.story import Act


def explain(trace: Trace, invariant: str, message: str, *, width: int) -> str:
    """Return what made an execution break an invariant, and which code did.

    Args:
        trace: The execution.
        invariant: The invariant.
        message: What was expected and found.
        width: Characters to a line.
    """
    story = tell(trace, invariant, message)
    lines = textwrap.wrap(f"why: {story.cause}", width, subsequent_indent="     ")
    for _, act in story.acts:
        lines += _act(act, width)
    if story.diagnosis is not None:
        known = story.diagnosis
        text = f"{known.title}. {known.why}"
        lines += textwrap.wrap(
            text, width, initial_indent="     ", subsequent_indent="     "
        )
        if known.repair:
            lines += textwrap.wrap(
                f"repair: {known.repair}", width, subsequent_indent="        "
            )
        if known.recipe:
            lines.append(f"        {known.recipe}")
    return "\n".join(lines)


def _act(act: Act, width: int) -> Iterator[str]:
    yield cut(f"     step {act.index}, {act.lane}: {act.call}", width)
    if act.place is not None:
        yield cut(f"         {printable(str(act.place))}", width)
        if act.place.frame is not None and act.place.text:
            yield cut(f"             {printable(act.place.text)}", width)
