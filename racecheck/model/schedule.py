"""Decisions: who takes the next step, and what goes wrong in it."""

from __future__ import annotations

import itertools
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from racecheck.model.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence


class FaultKind(StrEnum):
    """What can be made to go wrong at a scheduling point."""

    CRASH = "crash"
    """The actor is killed before its call takes effect."""
    TEAR = "tear"
    """The first `length` bytes of a write land, then the actor is killed."""
    ERRNO = "errno"
    """The call is not made and fails with `errno`."""
    SHORT = "short"
    """The call transfers `length` bytes at the most."""
    STALL = "stall"
    """The actor is held up for `length` seconds of virtual time before its call."""


class Fault(msgspec.Struct, frozen=True):
    """One thing that goes wrong.

    Attributes:
        kind: What goes wrong.
        errno: Name of the error, such as `ENOSPC`, for `errno` faults.
        length: Bytes that are still transferred, for `tear` and `short` faults; seconds
            of virtual time, for `stall` faults.
    """

    kind: FaultKind
    errno: str = ""
    length: int = 0

    def __str__(self) -> str:
        """Return it as reports show it."""
        if self.kind is FaultKind.ERRNO:
            return self.errno
        if self.kind is FaultKind.CRASH:
            return "crash"
        if self.kind is FaultKind.STALL:
            return f"stall for {self.length} s"
        # Where a bound stands for all lengths there is none.
        return f"{self.kind} after {self.length} B" if self.length else str(self.kind)


class PlannedFault(msgspec.Struct, frozen=True):
    """A fault at a chosen call of a chosen actor.

    Attributes:
        actor: Name of the actor.
        fault: What goes wrong.
        on: Name of a call or of a kind; empty stands for any step of the actor.
        occurrence: Which of the actor's steps that match, from 1.
    """

    actor: str
    fault: Fault
    on: str = ""
    occurrence: int = 1


class FaultBound(msgspec.Struct, frozen=True):
    """A fault that may come anywhere, a bounded number of times in an execution.

    Attributes:
        fault: What goes wrong; a length that depends on the call is left open.
        most: How often, in one execution.
        on: Name of a call or of a kind; empty stands for any step.
        actor: Whose; empty stands for anybody's.
    """

    fault: Fault
    most: int = 1
    on: str = ""
    actor: str = ""


class Decision(msgspec.Struct, frozen=True):
    """Who takes the next step, and the fault that is met there, if any.

    Attributes:
        actor: Lane that takes it: the actor's name, or `NAME:2` for its other tasks.
        fault: The fault.
    """

    actor: str
    fault: Fault | None = None


class SchedulingPoint(msgspec.Struct, frozen=True):
    """An actor that could go on, and what it is about to do.

    Attributes:
        actor: Its lane: the actor's name, or `NAME:2` for its other tasks.
        kind: Kind of the pending call.
        call: Name of the pending call.
        size: Bytes that a pending write or copy wants to transfer, else 0.
        faults: What may go wrong here, besides nothing.
    """

    actor: str
    kind: Kind
    call: str
    size: int = 0
    faults: tuple[Fault, ...] = ()


class Schedule(msgspec.Struct, frozen=True):
    """The decisions of one execution, in order.

    Attributes:
        seed: Seed of the execution's random bytes (`getrandom`, `random`).
        decisions: One a step.
    """

    seed: int
    decisions: tuple[Decision, ...] = ()

    def context_switches(self) -> int:
        """Count the steps taken by another actor than the step before."""
        return context_switches([decision.actor for decision in self.decisions])


def lane_of(actor: str, task: int) -> str:
    """Return what schedules call a task of an actor; its first has the actor's name."""
    return f"{actor}:{task}" if task else actor


def from_lane(lane: str) -> tuple[str, int]:
    """Return the actor and the task that a lane stands for."""
    actor, _, task = lane.partition(":")
    return actor, int(task or 0)


def context_switches(actors: Sequence[str]) -> int:
    """Count the places where an actor follows a different one."""
    return sum(before != after for before, after in itertools.pairwise(actors))
