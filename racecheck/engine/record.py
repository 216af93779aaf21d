"""What has happened in an execution so far, for engines that trace no system calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from racecheck.model import EMPTY, ActorEnd, Ending, Kind, Operation, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.engine.actor import Report
    from racecheck.model import Fault, Footprint, Program, Value


class Record:
    """The history of one execution; see `History`.

    Attributes:
        programs: The actors, in the order of their declaration.
        steps: The steps so far.
        operations: The operations that have ended.
        ends: The actors that have ended.
    """

    def __init__(
        self, programs: Sequence[Program], open_files: Callable[[str], Sequence[str]]
    ) -> None:
        """Begin a history.

        Args:
            programs: The actors.
            open_files: Says which files an actor has open.
        """
        self.programs = tuple(programs)
        self.steps: list[Step] = []
        self.operations: list[Operation] = []
        self.ends: list[ActorEnd] = []
        self._open_files = open_files
        self._live: set[str] = set()
        self._made: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._faults: dict[str, int] = {}

    def live(self, role: str) -> int:
        """See `History.live`."""
        return sum(
            program.role == role and program.name in self._live
            for program in self.programs
        )

    def open_files(self, actor: str) -> Sequence[str]:
        """See `History.open_files`."""
        return self._open_files(actor)

    def made(self, actor: str) -> int:
        """Return how many operations of an actor have ended."""
        return self._made.get(actor, 0)

    def has_succeeded(self, name: str) -> bool:
        """Say whether an operation of an actor has, or of one declared as this."""
        return any(
            operation.succeeded
            and name in (operation.actor, re.sub(r"-\d+$", "", operation.actor))
            for operation in self.operations
        )

    def begin(self, actor: str) -> None:
        """Take note that an actor has started."""
        self._live.add(actor)

    def step(
        self,
        actor: str,
        call: str,
        kind: Kind,
        args: dict[str, Value],
        *,
        result: int = 0,
        outputs: dict[str, Value] | None = None,
        fault: Fault | None = None,
        footprint: Footprint = EMPTY,
    ) -> Step:
        """Record a step and return it."""
        step = Step(
            index=len(self.steps),
            actor=actor,
            operation=self.made(actor),
            call=call,
            kind=kind,
            args=args,
            result=result,
            outputs=outputs or {},
            fault=fault,
            footprint=footprint,
        )
        self.steps.append(step)
        self._first.setdefault(actor, step.index)
        self._faults[actor] = self._faults.get(actor, 0) + (fault is not None)
        return step

    def forget_last(self) -> None:
        """Take the last step back, which was nobody's and told nothing."""
        step = self.steps.pop()
        if self._first.get(step.actor) == step.index:
            del self._first[step.actor]

    def returned(self, program: Program, report: Report) -> Operation:
        """Take note of an operation that has returned or raised."""
        return self._close(
            program,
            report.ending,
            succeeded=report.succeeded,
            expected=report.expected,
            value=msgspec.msgpack.decode(report.value),
            shown=report.shown,
            exception=report.exception,
            frames=report.frames,
        )

    def ended(
        self, program: Program, status: int, *, crashed: bool = False, stuck: str = ""
    ) -> Operation | None:
        """Take note of an actor that has ended.

        Args:
            program: What it ran.
            status: Exit status, or minus the number of the signal that killed it.
            crashed: Whether racecheck killed it as a fault.
            stuck: Why racecheck broke it off, or empty.

        Returns:
            The operation that ends with it, if it was in one or had some left.
        """
        self._live.discard(program.name)
        self.ends.append(ActorEnd(program.name, status, crashed))
        if self.made(program.name) >= (1 if program.argv else program.repeat):
            return None
        if crashed:
            return self._close(program, Ending.CRASHED, succeeded=False)
        if stuck:
            return self._close(program, Ending.UNFINISHED, succeeded=False, shown=stuck)
        succeeded = bool(program.argv) and (
            program.succeeds(status) if program.succeeds is not None else status == 0
        )
        return self._close(
            program,
            Ending.EXITED,
            succeeded=succeeded,
            value=status,
            shown=f"exit status {status}",
            status=status,
        )

    def _close(
        self, program: Program, ending: Ending, *, succeeded: bool, **fields: object
    ) -> Operation:
        name = program.name
        first = self._first.pop(name, None)
        operation = Operation(
            actor=name,
            role=program.role,
            index=self.made(name),
            ending=ending,
            succeeded=succeeded,
            faults=self._faults.pop(name, 0),
            first=first,
            last=None if first is None else self.steps[-1].index,
        )
        operation = msgspec.structs.replace(operation, **fields)
        self.operations.append(operation)
        self._made[name] = operation.index + 1
        return operation
