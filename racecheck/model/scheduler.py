"""The interface of everything that decides who goes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model.schedule import Decision, SchedulingPoint
    from racecheck.model.step import Step


class Scheduler(Protocol):
    """An oracle that decides which actor runs next.

    One scheduler lives across many executions, so it may learn from earlier ones. It
    sees actor names and pending calls and nothing else: it never touches a process, a
    file or the time, so every scheduler can be tested without starting one.
    """

    def start_execution(self) -> int | None:
        """Begin the next execution.

        Returns:
            The seed of that execution's random bytes, or None when there is nothing
            left to try.
        """
        ...

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision | None:
        """Decide who takes the next step.

        Args:
            enabled: The actors that can go on, in the order of their declaration;
                never empty.
            current: The actor that took the last step, or None at the start. It need
                not be enabled.

        Returns:
            A decision for one of the enabled actors, or None to give this execution
            up, since it would only repeat what is known.
        """
        ...

    def record(self, step: Step) -> None:
        """Take note of a step that was decided, as it was taken."""
        ...

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Take note of what came of the execution."""
        ...
