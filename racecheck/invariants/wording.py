"""The words of messages: one line each, whatever a subject or a check returns."""

from __future__ import annotations

import posixpath
import signal
from enum import Enum
from typing import TYPE_CHECKING

from racecheck.errors import PASSING
from racecheck.model import Ending

if TYPE_CHECKING:
    from racecheck.model import Operation

_LONGEST_PART = 200
LONGEST_MESSAGE = 600


def complaint(
    answer: object, otherwise: str, longest: int = _LONGEST_PART
) -> str | None:
    """Return what a check has to say against what it was given.

    Args:
        answer: What the check returned. None and True mean that all is well; nothing
            else does, so that a check that answers by mistake is never a pass.
        otherwise: What is said where the answer has no words, as False has none.
        longest: How many characters of it are told.
    """
    if answer is None or answer is True:
        return None
    if answer is False:
        return otherwise
    if isinstance(answer, str):
        text = str(answer)
    elif isinstance(answer, Enum):
        text = answer.name
    elif isinstance(answer, BaseException):
        text = described(answer)
    else:
        text = safe_repr(answer)
    return one_line(text, longest) or otherwise


def one_line(text: str, longest: int = _LONGEST_PART) -> str:
    """Return text without line breaks, cut where nobody reads on."""
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def safe_repr(value: object) -> str:
    """Return the `repr` of a value, or its class where that fails."""
    try:
        return repr(value)
    except PASSING:
        raise
    except BaseException:  # noqa: BLE001 - a subject's own `repr` can raise anything
        return f"<{type(value).__name__}>"


def described(error: BaseException) -> str:
    """Return an exception as tracebacks end, without needing it to be well made."""
    try:
        text = str(error)
    except PASSING:
        raise
    except BaseException:  # noqa: BLE001 - as for `repr`
        text = ""
    kind = type(error).__name__
    return f"{kind}: {text}" if text else kind


def amount(number: int, noun: str) -> str:
    """Return `1 crash`, `2 crashes`, `3 writers`."""
    plural = f"{noun}es" if noun.endswith("sh") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def happened(operation: Operation) -> str:
    """Return who did what: `serve-1 operation 0 returned False`."""
    return f"{operation.actor} operation {operation.index} {_outcome(operation)}"


def ended_with(status: int) -> str:
    """Return how a process ended that has this status."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was killed by {name}"


def _outcome(operation: Operation) -> str:
    shown = one_line(operation.shown)
    match operation.ending:
        case Ending.RETURNED:
            return f"returned {shown or safe_repr(operation.value)}"
        case Ending.RAISED:
            return f"raised {shown or operation.exception}{_place(operation)}"
        case Ending.EXITED:
            if operation.status is None:
                return "ended its process"
            return ended_with(operation.status)
        case Ending.CRASHED:
            return "was crashed"
    return f"never ended ({shown})" if shown else "never ended"


def _place(operation: Operation) -> str:
    if not operation.frames:
        return ""
    innermost = operation.frames[-1]
    return f" ({posixpath.basename(innermost.file)}:{innermost.line})"
