"""What may go wrong in a scenario anywhere: every place is explored, within a bound."""

from __future__ import annotations

from racecheck.errors import ScenarioError
from racecheck.model import Fault, FaultBound, FaultKind
from racecheck.scenario.arguments import is_whole
from racecheck.scenario.faults import check_call, check_errno


def crashes(most: int = 1, *, actor: str = "") -> FaultBound:
    """Kill actors: after each step that changed something, inside each write and copy.

    A crash after a step that changed nothing is the same as one before it, so that
    these are all the crashes there are.

    Args:
        most: How many crashes one execution may have.
        actor: Whose they are; empty stands for anybody's.
    """
    return FaultBound(Fault(FaultKind.CRASH), _most(most), actor=actor)


def errnos(name: str, on: str, most: int = 1, *, actor: str = "") -> FaultBound:
    """Make calls fail without being made, each occurrence in turn.

    Args:
        name: Name of the error, such as `ENOSPC`.
        on: Name of a call or of a kind.
        most: How many of them one execution may have.
        actor: Whose calls fail; empty stands for anybody's.
    """
    check_errno(name)
    check_call(on)
    if not on:
        raise ScenarioError(f"{name} needs `on`, the name of the calls that fail")
    return FaultBound(Fault(FaultKind.ERRNO, errno=name), _most(most), on, actor)


def short_writes(most: int = 1, *, on: str = "write", actor: str = "") -> FaultBound:
    """Let writes transfer only the first half of their bytes.

    Args:
        most: How many of them one execution may have.
        on: Name of a call or of a kind.
        actor: Whose writes they are; empty stands for anybody's.
    """
    check_call(on)
    return FaultBound(Fault(FaultKind.SHORT), _most(most), on, actor)


def stalls(seconds: int, most: int = 1, *, on: str = "", actor: str = "") -> FaultBound:
    """Hold actors up for some virtual time before any of their calls.

    Args:
        seconds: How long, in whole seconds.
        most: How many of them one execution may have.
        on: Name of a call or of a kind; empty stands for all.
        actor: Who is held up; empty stands for anybody.
    """
    if not is_whole(seconds, 1):
        raise ScenarioError(f"a stall takes whole seconds, 1 or more, not {seconds!r}")
    check_call(on)
    fault = Fault(FaultKind.STALL, length=seconds)
    return FaultBound(fault, _most(most), on, actor)


def _most(most: int) -> int:
    if not is_whole(most, 1):
        raise ScenarioError(f"a bound is a whole number, 1 or more, not {most!r}")
    return most
