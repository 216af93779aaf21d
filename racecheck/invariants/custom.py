"""Invariants that users write: a function of the files and of what has happened."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, overload

from racecheck.errors import ScenarioError
from racecheck.invariants.arguments import check_function, check_name
from racecheck.invariants.asking import Asked, asked_of
from racecheck.invariants.rearranged import Rearranged
from racecheck.invariants.rules import Rule
from racecheck.invariants.steps import may_have_changed
from racecheck.invariants.watch import ALL_ENDS
from racecheck.invariants.wording import complaint
from racecheck.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import History, Operation, Step, View

_ENDS = frozenset({Kind.RETURN, Kind.EXIT})
"""Steps that change no file, but what the history says."""


@overload
def invariant(rule: Callable[[View, History], object]) -> CustomInvariant: ...


@overload
def invariant(
    *, in_any_order: bool
) -> Callable[[Callable[[View, History], object]], CustomInvariant]: ...


def invariant(
    rule: Callable[[View, History], object] | None = None,
    *,
    in_any_order: bool = False,
) -> CustomInvariant | Callable[[Callable[[View, History], object]], CustomInvariant]:
    """Make an invariant of a function; use it as a decorator.

    The function is given the files as they are and what has happened so far, and is
    asked after each step that can have changed either, and at the end. None and True
    mean that it holds, and anything else says what is wrong. Its name is that of the
    function.

    Args:
        rule: The function.
        in_any_order: Whether it goes by what each actor has done and not by who came
            first, and once broken stays so. Then orders that differ only for the
            history need not be told apart.

    Raises:
        ScenarioError: It is no function of two arguments, or has no name.
    """
    if rule is None:
        return functools.partial(_made, in_any_order=in_any_order)
    return _made(rule, in_any_order=in_any_order)


def _made(
    rule: Callable[[View, History], object], *, in_any_order: bool
) -> CustomInvariant:
    check_function(rule, of="invariant", what="rule", takes=("view", "history"))
    name = getattr(rule, "__name__", None)
    if name == "<lambda>":
        name = None
    return CustomInvariant(check_name(name), rule, in_any_order=in_any_order)


class CustomInvariant(Rule):
    """An invariant made of a function, which can still be called as one."""

    # The function may ask for anything that has happened.
    ends = ALL_ENDS

    def __init__(
        self,
        name: str,
        rule: Callable[[View, History], object],
        *,
        in_any_order: bool = False,
    ) -> None:
        super().__init__(name)
        self.is_noted = not in_any_order
        functools.update_wrapper(self, rule)
        self._rule = rule
        self._asked = False
        self._asks_for_steps = False

    def __call__(self, view: View, history: History) -> object:
        """Return what the function returns."""
        return self._rule(view, history)

    def start(self, view: View) -> None:  # noqa: ARG002 - there is no history yet
        """Forget the last execution."""
        self._asked = False
        self._asks_for_steps = False

    def after_step(self, view: View, history: History, step: Step) -> str | None:
        """Judge if the step can have changed a file or what the history says."""
        # The first step is looked at whatever it is, for the sake of the start.
        if (
            self._asked
            and not self._asks_for_steps
            and not may_have_changed(step)
            and step.kind not in _ENDS
        ):
            return None
        self._asked = True
        return self._judge(view, history)

    def at_return(
        self, view: View, history: History, operation: Operation
    ) -> str | None:
        """Judge with the operation among those that have ended."""
        del operation
        return self._judge(view, history)

    def at_end(self, view: View, history: History) -> str | None:
        """Judge the files as they are left.

        Raises:
            ScenarioError: It goes by the order of what has happened, and said that it
                does not.
        """
        broken = self._judge(view, history)
        if self.is_noted or broken is not None:
            return broken
        if self._judge(view, Rearranged(history)) is not None:
            raise ScenarioError(
                f"{self.name} is to hold in any order, but holds in this one and not "
                f"if actors come one after another"
            )
        return None

    def _judge(self, view: View, history: History) -> str | None:
        broken = complaint(self._rule(view, history), "does not hold")
        # While it does not ask for them, no step changes what it says by itself.
        self._asks_for_steps = asked_of(history) is Asked.STEPS
        return broken
