"""What one execution was like, for the next one that begins in the same way.

An exhaustive search repeats most of each execution: all that comes before the step at
which it goes another way. From the same seed the same decisions lead to the same steps.
What these touch, and what the invariants made of them, is known then, and need not be
found out again. The steps are taken all the same, and held against those known.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from racecheck.engine.observer import Observer
    from racecheck.model import Decision, Step

_MOST_STEPS: Final = 2000
_SEEDS: Final = 4


class NotRepeatedError(Exception):
    """The same decisions from the same seed have led to another step."""


class _Known(NamedTuple):
    decision: Decision
    step: Step
    kept: object


class Repeated:
    """The steps of the last execution from a seed that was used before.

    Executions of other seeds in between, such as samples, change nothing.
    """

    def __init__(self) -> None:
        self._seen: deque[int] = deque(maxlen=_SEEDS)
        self._seed: int | None = None
        self._known: list[_Known] = []
        self._length = 0
        self._is_alike = False

    def forget(self) -> None:
        """Forget the last execution."""
        self._known.clear()
        self._length = 0
        self._is_alike = False

    def begin(self, seed: int) -> bool:
        """Begin an execution; say whether it is worth while to take note of it."""
        self._length = 0
        if seed != self._seed:
            if seed not in self._seen:
                self._seen.append(seed)
                return False
            self._seed = seed
            self._known.clear()
        self._is_alike = bool(self._known)
        return True

    @property
    def is_alike(self) -> bool:
        """Whether the execution has gone as the last one so far."""
        return self._is_alike

    @property
    def kept(self) -> object:
        """What was kept after the last step that is known; None before the first."""
        return self._known[self._length - 1].kept if self._length else None

    def find(self, decision: Decision) -> Step | None:
        """Return the step that a decision will lead to; None if that is not known."""
        if self._is_alike and self._length < len(self._known):
            known = self._known[self._length]
            if known.decision == decision:
                return known.step
        return None

    def part(self) -> None:
        """Forget what comes next: the present execution goes another way."""
        self._is_alike = False
        del self._known[self._length :]

    def repeat(self, step: Step, *, whole: bool) -> None:
        """Take note that a known step was taken.

        Args:
            step: The step as it was now.
            whole: Whether it has its footprint.

        Raises:
            NotRepeatedError: It is another one.
        """
        known = self._known[self._length].step
        same = (
            step == known
            if whole
            else step.same_call(known)
            and (step.kind, step.operation, step.task)
            == (known.kind, known.operation, known.task)
        )
        if not same:
            self.forget()
            raise NotRepeatedError(f"step {step.index}: {step} and not {known}")
        self._length += 1

    def add(self, decision: Decision, step: Step, kept: object) -> None:
        """Take note of a step that was not known, and of what is to be kept with it."""
        if self._length == len(self._known) < _MOST_STEPS:
            self._known.append(_Known(decision, step, kept))
            self._length += 1


class Following:
    """One execution, as far as it goes as the one before it did."""

    def __init__(self, repeated: Repeated | None, *, compare: bool) -> None:
        """Prepare.

        Args:
            repeated: What is known of the one before it; None if nothing is to be.
            compare: Whether to find everything out anew, and compare.
        """
        self._repeated = repeated
        self._compare = compare

    def begin(self, seed: int, observer: Observer) -> None:
        """Begin, with an observer that has looked at the start."""
        if self._repeated is not None and (
            observer.keep() is None or not self._repeated.begin(seed)
        ):
            self._repeated = None

    def known(self, decision: Decision, observer: Observer) -> Step | None:
        """Return the step that is to come, unless that is to be found out.

        An observer that was not told of those before it knows of them from then on.
        """
        if self._repeated is None or self._compare:
            return None
        known = self._repeated.find(decision)
        if known is None:
            self.resume(observer)
            self._repeated.part()
        return known

    def resume(self, observer: Observer) -> None:
        """Let the observer know what it was not told because it was known."""
        if self._repeated is None or self._compare or not self._repeated.is_alike:
            return
        if self._repeated.kept is not None:
            observer.resume(self._repeated.kept)

    def check(self, step: Step) -> None:
        """Hold a step that was known against the one that was taken.

        Raises:
            NotRepeatedError: It is another one.
        """
        if self._repeated is not None:
            self._repeated.repeat(step, whole=False)

    def remember(self, decision: Decision, step: Step, observer: Observer) -> None:
        """Take note of a step that was found out.

        Raises:
            NotRepeatedError: It was known, and is another one.
        """
        if self._repeated is None:
            return
        if self._repeated.find(decision) is not None:
            self._repeated.repeat(step, whole=True)
        else:
            self._repeated.part()
            self._repeated.add(decision, step, observer.keep())
