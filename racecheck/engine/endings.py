"""How operations and actors end, as an execution's history has it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from racecheck.engine.sources import source
from racecheck.model import ActorEnd, Ending, Fault, Frame, Operation

if TYPE_CHECKING:
    from racecheck.engine.actor import Report
    from racecheck.engine.execution import Execution
    from racecheck.engine.task import Actor


class Endings:
    """Keeps the ended operations and actors of one execution.

    Attributes:
        operations: The operations that have ended, in the order of their ends.
        ends: The actors that have ended.
    """

    def __init__(self, execution: Execution) -> None:
        self.operations: list[Operation] = []
        self.ends: list[ActorEnd] = []
        self._execution = execution

    def part(self) -> None:
        """Forget the execution, which has come to its end."""
        del self._execution

    def step_begins(self, actor: Actor, fault: Fault | None) -> None:
        """Take note that an actor is about to take a step."""
        if actor.first_step is None:
            actor.first_step = len(self._execution.steps)
        if fault is not None:
            actor.faults += 1

    def returned(self, actor: Actor, report: Report) -> None:
        """Take note of an operation that has returned or raised."""
        self._close(
            actor,
            report.ending,
            succeeded=report.succeeded,
            expected=report.expected,
            value=msgspec.msgpack.decode(report.value),
            shown=report.shown,
            exception=report.exception,
            frames=tuple(_named(frame) for frame in report.frames),
        )

    def ended(self, actor: Actor, status: int) -> None:
        """Take note of an actor that has ended, and of the operation that ends with it.

        Args:
            actor: The actor.
            status: Status of its first process, as `waitpid` gives it.
        """
        code = os.waitstatus_to_exitcode(status)
        actor.end = ActorEnd(actor.name, code, actor.crashed)
        self.ends.append(actor.end)
        program = actor.program
        if actor.operation >= (1 if program.argv else program.repeat):
            return
        broken_off = self._execution.broken_off
        if actor.crashed:
            self._close(actor, Ending.CRASHED, succeeded=False)
        elif broken_off:
            self._close(actor, Ending.UNFINISHED, succeeded=False, shown=broken_off)
        else:
            succeeded = bool(program.argv) and (
                program.succeeds(code) if program.succeeds is not None else code == 0
            )
            self._close(
                actor,
                Ending.EXITED,
                succeeded=succeeded,
                value=code,
                shown=f"exit status {code}",
                status=code,
            )

    def _close(
        self, actor: Actor, ending: Ending, *, succeeded: bool, **fields: object
    ) -> None:
        steps = self._execution.steps
        # A step that ends an operation is recorded after the operation; one that lets
        # an actor run to its death by itself, before.
        taken = min(len(self._execution.decisions), len(steps) + 1) - 1
        operation = Operation(
            actor=actor.name,
            role=actor.program.role,
            index=actor.operation,
            ending=ending,
            succeeded=succeeded,
            faults=actor.faults,
            first=actor.first_step,
            last=taken if actor.first_step is not None else None,
        )
        self.operations.append(msgspec.structs.replace(operation, **fields))
        actor.operation += 1
        actor.first_step = None
        actor.faults = 0


def _named(frame: Frame) -> Frame:
    """Return a place without what it is called on this machine alone."""
    named = source(frame.file)
    return Frame(named.name, frame.line, frame.function, named.library)
