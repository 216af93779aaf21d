"""Traces: all that one execution left behind, enough to explain and repeat it."""

from __future__ import annotations

import msgspec

from racecheck.model.detail import Detail
from racecheck.model.history import ActorEnd, Operation
from racecheck.model.schedule import Schedule
from racecheck.model.step import Step
from racecheck.model.verdict import Verdict, Violation


class ActorInfo(msgspec.Struct, frozen=True):
    """Who acted: name, role, and the process id that it was shown."""

    name: str
    role: str
    pid: int


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """One execution.

    Attributes:
        scenario: Full name of the scenario.
        shape: Digest of its actors, operations and parameters.
        actors: Who acted, in the order of their declaration.
        schedule: The decisions, with the seed.
        steps: What happened, in order; as many as there are decisions.
        operations: The calls on the subject.
        ends: How each actor's process ended.
        verdict: What the invariants say of it.
        reason: Why there is no verdict, or what else needs saying; else empty.
        violations: The invariants found false, at most one of each.
        uncontrolled: What was not controlled or not decoded, each by name.
        unordered: What depended on the order of steps though it is no step.
        outputs: Standard output and error of each actor.
        detail: What was recorded beside the steps, if that was asked for.
    """

    scenario: str
    shape: str
    actors: tuple[ActorInfo, ...]
    schedule: Schedule
    steps: tuple[Step, ...]
    operations: tuple[Operation, ...] = ()
    ends: tuple[ActorEnd, ...] = ()
    verdict: Verdict = Verdict.UNKNOWN
    reason: str = ""
    violations: tuple[Violation, ...] = ()
    uncontrolled: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    outputs: dict[str, str] = {}
    detail: Detail | None = None
