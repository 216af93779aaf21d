"""What goes wrong in a scenario by plan, each at a chosen call of a chosen actor."""

from __future__ import annotations

import errno as errno_names
import re

from racecheck.errors import ScenarioError
from racecheck.kernel.rows import ROWS
from racecheck.model import Fault, FaultKind, Kind, PlannedFault
from racecheck.scenario.arguments import is_whole, matches, meant

_ACTOR = re.compile(r"\S+")
# What a step can be called; a fault on anything else would never come.
_CALLS = frozenset({*map(str, Kind), *(row.name for row in ROWS)})
# Not `errorcode`, in which an alias such as EWOULDBLOCK has no entry of its own.
_ERRNOS = frozenset(name for name in vars(errno_names) if name.startswith("E"))


def crash(
    actor: str, *, on: str = "", occurrence: int = 1, after_bytes: int | None = None
) -> PlannedFault:
    """Kill an actor before one of its calls, or in the middle of a write.

    Args:
        actor: Name of the actor, with its number where there are several (`serve-1`).
        on: Name of a call or of a kind; empty stands for any step of the actor.
        occurrence: Which of the steps that match, from 1.
        after_bytes: How much of a write still lands; `on` is then `write` unless given,
            and can be `copy`.
    """
    if after_bytes is None:
        return _planned(actor, Fault(FaultKind.CRASH), on, occurrence)
    _check_length(after_bytes)
    return _planned(
        actor, Fault(FaultKind.TEAR, length=after_bytes), on or "write", occurrence
    )


def errno(name: str, actor: str, *, on: str, occurrence: int = 1) -> PlannedFault:
    """Make a call of an actor fail without being made.

    Args:
        name: Name of the error, such as `ENOSPC`.
        actor: Name of the actor, with its number where there are several (`serve-1`).
        on: Name of a call or of a kind.
        occurrence: Which of the steps that match, from 1.
    """
    check_errno(name)
    if not on:
        raise ScenarioError(f"{name} needs `on`, the name of the call that fails")
    return _planned(actor, Fault(FaultKind.ERRNO, errno=name), on, occurrence)


def short_write(
    actor: str, length: int, *, on: str = "write", occurrence: int = 1
) -> PlannedFault:
    """Let a write of an actor transfer only its first bytes, and return that number.

    Args:
        actor: Name of the actor, with its number where there are several (`serve-1`).
        length: How many bytes are transferred at the most.
        on: Name of a call or of a kind.
        occurrence: Which of the steps that match, from 1.
    """
    _check_length(length)
    return _planned(actor, Fault(FaultKind.SHORT, length=length), on, occurrence)


def stall(
    actor: str, seconds: int, *, on: str = "", occurrence: int = 1
) -> PlannedFault:
    """Hold an actor up before one of its calls, until so much virtual time has passed.

    The others go on meanwhile, and what they wait for comes in its order: a timeout of
    60 seconds ends before a stall of 3600 does. So a stall is how a live process that
    is slower than a timeout, a lease or a sweep is put to the test. It takes no real
    time. Waiting for one that is held up is all that lets time pass, so that others
    that never wait are done before the stall ends.

    Args:
        actor: Name of the actor, with its number where there are several (`serve-1`).
        seconds: How long it is held up, in whole seconds.
        on: Name of a call or of a kind; empty stands for any step of the actor.
        occurrence: Which of the steps that match, from 1.
    """
    if not is_whole(seconds, 1):
        raise ScenarioError(f"a stall takes whole seconds, 1 or more, not {seconds!r}")
    return _planned(actor, Fault(FaultKind.STALL, length=seconds), on, occurrence)


def check_errno(name: str) -> None:
    """Refuse what is no name of an error.

    Raises:
        ScenarioError: It is none.
    """
    if name not in _ERRNOS:
        raise ScenarioError(f"{name!r} is no error name, such as 'ENOSPC'")


def check_call(on: str) -> None:
    """Refuse what is neither a call nor a kind; empty stands for all of them.

    Raises:
        ScenarioError: It is none.
    """
    if on and on not in _CALLS:
        raise ScenarioError(f"{on!r} is no name of a call{meant(on, _CALLS)}")


def _planned(actor: str, fault: Fault, on: str, occurrence: int) -> PlannedFault:
    if not matches(_ACTOR, actor):
        raise ScenarioError(f"a fault needs the name of an actor, not {actor!r}")
    check_call(on)
    if not is_whole(occurrence, 1):
        raise ScenarioError(f"occurrence counts from 1, and is {occurrence!r}")
    return PlannedFault(actor, fault, on, occurrence)


def _check_length(length: int) -> None:
    if not is_whole(length, 0):
        raise ScenarioError(f"a length in bytes is 0 or more, not {length!r}")
