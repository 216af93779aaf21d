"""The judge of one execution: asks each invariant at its times and keeps the answers.

Call `start` before the first step, `on_step` after each, `on_return` as each operation
ends, however it ends, and `on_end` once every actor has ended or can go no further.
Then `violations`, `errors` and `verdict` say what came of it. An execution that was
abandoned before that has no end to judge, and no pass.
"""

from __future__ import annotations

import os
import posixpath
import traceback
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from racecheck.errors import PASSING, ScenarioError
from racecheck.invariants.asking import asked_of, noting
from racecheck.invariants.completeness import cut_short, unended
from racecheck.invariants.rules import Rule, is_shipped
from racecheck.invariants.watch import Watch
from racecheck.invariants.wording import (
    LONGEST_MESSAGE,
    complaint,
    one_line,
    safe_repr,
)
from racecheck.model import Verdict, Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from racecheck.model import (
        Footprint,
        History,
        Invariant,
        Operation,
        Step,
        View,
    )

_METHODS = ("start", "after_step", "at_return", "at_end")


class _Kept(NamedTuple):
    """What a `Judge` knows of an execution that changes with its steps."""

    violations: dict[str, Violation]
    failed: dict[str, str]
    watch: object
    rules: list[Mapping[str, object]]


class Judge:
    """Drives invariants through one execution after another.

    Args:
        invariants: What has to hold; each with a name of its own.

    Attributes:
        watch: What the invariants make of footprints.
        errors: A line for each invariant that raised. It is not asked again until the
            next execution, because nothing it says then can be relied on.

    Raises:
        ScenarioError: One is no invariant, or two have one name.
    """

    def __init__(self, invariants: Iterable[Invariant]) -> None:
        self._invariants = {_name_of(each): each for each in _checked(invariants)}
        # Most have nothing to say at most times, and there are more steps than else.
        self._at_steps = _overriding("after_step", self._invariants)
        self._at_returns = _overriding("at_return", self._invariants)
        self._rules = [each for each in self._invariants.values() if is_shipped(each)]
        self._can_keep = len(self._rules) == len(self._invariants)
        self.watch = Watch()
        self._violations: dict[str, Violation] = {}
        self._failed: dict[str, str] = {}
        self._started = False
        self._ended = False
        self._incomplete: tuple[str, ...] = ()

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The invariants found false, in the order in which they were."""
        return tuple(self._violations.values())

    @property
    def errors(self) -> list[str]:
        """A line for each invariant that raised, in the order in which they did."""
        return list(self._failed.values())

    @property
    def judging(self) -> tuple[str, ...]:
        """The invariants that had something to judge in the execution so far.

        Where nobody keeps count of that, they are taken to have had.
        """
        return tuple(
            name
            for name, each in self._invariants.items()
            if getattr(each, "has_judged", True)
        )

    def start(self, view: View, history: History | None = None) -> None:
        """Forget the last execution, and look at the box before the first step.

        Args:
            view: The box.
            history: What footprints are wanted for; without it they stay empty.
        """
        self._violations.clear()
        self._failed.clear()
        self._started = True
        self._ended = False
        self._incomplete = ()
        self.watch.clear()
        self._ask(self._invariants, lambda each, _: each.start(view))
        if history is not None:
            self.watch.look(self._invariants.values(), view, history)

    def on_step(self, view: View, history: History, step: Step) -> Footprint:
        """Judge the box after a step.

        Returns:
            What this adds to the step's footprint: see `Watch`.
        """
        if self._at_steps:
            self._ask(
                self._at_steps,
                lambda each, told: each.after_step(view, told, step),
                history,
                step=step.index,
                actor=step.actor,
                view=view,
            )
        return self.watch.after(step, view, history)

    def on_return(
        self, view: View, history: History, operation: Operation
    ) -> Footprint:
        """Judge an operation as it ends, and the box at that moment.

        Returns:
            What this adds to the footprint of the step that ended it.
        """
        self._ask(
            self._at_returns,
            lambda each, told: each.at_return(view, told, operation),
            history,
            step=history.steps[-1].index if history.steps else None,
            actor=operation.actor,
            view=view,
        )
        return self.watch.after_return(history)

    def keep(self) -> object:
        """Return what is known of the execution so far.

        None if there is an invariant that does not know how; those shipped do.
        """
        if not self._can_keep:
            return None
        return _Kept(
            dict(self._violations),
            dict(self._failed),
            self.watch.keep(),
            [each.keep() for each in self._rules],
        )

    def resume(self, kept: object) -> None:
        """Go on from where `keep` was called, be it in an execution before this."""
        assert isinstance(kept, _Kept)  # noqa: S101  it comes from `keep`
        self._violations = dict(kept.violations)
        self._failed = dict(kept.failed)
        self.watch.resume(kept.watch)
        for rule, known in zip(self._rules, kept.rules, strict=True):
            rule.resume(known)

    def on_end(self, view: View, history: History) -> None:
        """Judge the whole execution."""
        self._ask(self._invariants, lambda each, told: each.at_end(view, told), history)
        self._incomplete = tuple(chain(unended(history), cut_short(history)))
        self._ended = self._started

    def verdict(self) -> tuple[Verdict, str]:
        """Return what the invariants say, and why that is no verdict if it is none.

        A violation counts whatever else went wrong. A pass does not: it needs something
        to judge, every answer, and an execution in which every actor ran to its end.
        """
        failed = "; ".join(self.errors)
        if self._violations:
            return Verdict.VIOLATED, failed
        if failed:
            return Verdict.UNKNOWN, failed
        if not self._ended:
            return Verdict.UNKNOWN, "the execution was not judged to its end"
        if not self._invariants:
            return Verdict.UNKNOWN, "there is no invariant to judge by"
        if self._incomplete:
            return Verdict.UNKNOWN, "; ".join(self._incomplete)
        return Verdict.PASSED, ""

    def _ask(
        self,
        whom: Mapping[str, Invariant],
        question: Callable[[Invariant, Any], object],
        history: History | None = None,
        step: int | None = None,
        actor: str | None = None,
        view: View | None = None,
    ) -> None:
        own = os.getpid()
        for name, each in whom.items():
            if name in self._violations or name in self._failed:
                continue
            if view is not None:
                view.forget_seen()
            told = None if history is None else noting(history, each)
            try:
                answer = complaint(
                    question(each, told), "does not hold", LONGEST_MESSAGE
                )
            except PASSING:
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it is, no verdict
                self._failed[name] = f"{name} raised {_shown(error)}"
            else:
                if answer is not None:
                    self._violations[name] = Violation(name, answer, step, actor)
            if told is not None:
                self.watch.asked(name, asked_of(told))
            if view is not None and view.seen:
                self.watch.saw(name, view.seen)
        if os.getpid() != own:
            # What an invariant has forked is not to go on as a second judge.
            os._exit(1)


def _overriding(
    method: str, invariants: Mapping[str, Invariant]
) -> dict[str, Invariant]:
    """Return those for which a method is more than the one that says nothing."""
    nothing = getattr(Rule, method)
    return {
        name: each
        for name, each in invariants.items()
        if getattr(getattr(each, method), "__func__", None) is not nothing
    }


def _checked(invariants: Iterable[Invariant]) -> list[Invariant]:
    found = list(invariants)
    for each in found:
        if isinstance(each, type) or not all(
            callable(getattr(each, method, None)) for method in _METHODS
        ):
            raise ScenarioError(_no_invariant(each))
    for name, uses in Counter(map(_name_of, found)).items():
        if uses > 1:
            raise ScenarioError(
                f"two invariants are called {name!r}; give one of them a name='...'"
            )
    return found


def _no_invariant(found: object) -> str:
    name = getattr(found, "__name__", None)
    if name is None or not callable(found):
        return f"{safe_repr(found)} is no invariant"
    if str(found.__module__).startswith("racecheck."):
        return f"{name} is no invariant yet; call it, as in {name}()"
    return f"{name} is no invariant yet; make it one with @invariant"


def _name_of(found: object) -> str:
    name = getattr(found, "name", None)
    if not isinstance(name, str) or not name:
        raise ScenarioError(f"{safe_repr(found)} is an invariant without a name")
    return name


def _shown(error: BaseException) -> str:
    """Return an exception with the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({posixpath.basename(frames[-1].filename)}:{frames[-1].lineno})"
    return one_line(safe_repr(error)) + where
