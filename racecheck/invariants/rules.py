"""What invariants have in common: when they are asked, and what they do then.

`Rule` has nothing to say. `StateRule` judges files whenever they can have changed and
`OperationRule` judges each operation once; a subclass of these has one method to write.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final, TypeGuard

from racecheck.invariants.actors import Gate, actors_of
from racecheck.invariants.steps import may_have_changed
from racecheck.model import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from racecheck.model import History, Invariant, Operation, Step, View


_CHANGES: Final = (set, dict, list, Gate)
"""Types of attributes that change; those of any other type are replaced."""


class Rule:
    """An invariant that always holds; see `racecheck.model.Invariant`.

    Attributes:
        ends: Kinds of ends that can change what it says though no file has changed.
        needs_calls: Whether it judges by the calls that actors make, so that an engine
            which does not follow those cannot have it judged.
        has_judged: Whether there was anything to judge in the execution so far, as far
            as that is kept count of.
        is_noted: Whether what it asks of the history is noted as it does, and counts
            beside `ends`.
    """

    ends: frozenset[Kind] = frozenset()
    needs_calls = False
    is_noted = False
    has_judged = True

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """The name that verdicts, expectations and reports call it by."""
        return self._name

    def __repr__(self) -> str:
        return f"<invariant {self._name}>"

    def keep(self) -> Mapping[str, object]:
        """Return what it knows of the execution so far."""
        return {
            name: copy.copy(value) if isinstance(value, _CHANGES) else value
            for name, value in vars(self).items()
        }

    def resume(self, kept: Mapping[str, object]) -> None:
        """Go on from where `keep` was called, be it in an execution before this."""
        for name, value in kept.items():
            again = copy.copy(value) if isinstance(value, _CHANGES) else value
            setattr(self, name, again)

    def start(self, view: View) -> None:
        """Forget the last execution."""

    def after_step(self, view: View, history: History, step: Step) -> str | None:
        """Judge nothing."""

    def at_return(
        self, view: View, history: History, operation: Operation
    ) -> str | None:
        """Judge nothing."""

    def at_end(self, view: View, history: History) -> str | None:
        """Judge nothing."""


class StateRule(Rule):
    """An invariant about files as they are between two steps.

    Args:
        name: Its name.
        after: Who has to have succeeded before it is judged; None judges from the
            start, and includes how the box is before the first step.
    """

    def __init__(self, name: str, after: str | None = None) -> None:
        super().__init__(name)
        if after is not None:
            self.ends = frozenset({Kind.RETURN, Kind.EXIT})
        self._gate = Gate(after)
        self._broken_at_start: str | None = None

    @property
    def is_judged(self) -> bool:
        """Whether whoever had to succeed first has."""
        return self._gate.is_open

    def start(self, view: View) -> None:
        """Forget the last execution, and look at the box before the first step."""
        self._gate.shut()
        broken = self.begin(view)
        # There is no step to report it at, so the first one has to do.
        self._broken_at_start = broken and f"{broken} before the first step"

    def after_step(self, view: View, history: History, step: Step) -> str | None:
        """Judge the box if the step can have changed it."""
        opened = self._gate.opens(history)
        if not self._gate.is_open:
            return None
        if self._broken_at_start is not None:
            return self._broken_at_start
        if opened or may_have_changed(step):
            return self.judge(view)
        return None

    def at_return(
        self, view: View, history: History, operation: Operation
    ) -> str | None:
        """Judge the box if this is the success that was waited for."""
        # The next step may mend what is wrong, so this is the moment to look.
        return self.judge(view) if self._gate.opens(history, operation) else None

    def at_end(self, view: View, history: History) -> str | None:
        """Judge the box as it is left."""
        self._gate.opens(history)
        if not self._gate.is_open:
            return None
        return self._broken_at_start or self.judge(view)

    def begin(self, view: View) -> str | None:
        """Forget the last execution, and judge the box before the first step."""
        raise NotImplementedError

    def judge(self, view: View) -> str | None:
        """Say what is wrong with the files as they are."""
        raise NotImplementedError


class OperationRule(Rule):
    """An invariant about operations, each judged once.

    They are judged as they end, so that a violation has a place. Those that nobody was
    told of until the end are judged there: every operation counts.

    Args:
        name: Its name.
        who: Actor or role that it is about; None means all of them.
    """

    def __init__(self, name: str, who: str | None = None) -> None:
        super().__init__(name)
        self._who = who
        self._judged: set[tuple[str, int]] = set()

    def start(self, view: View) -> None:  # noqa: ARG002 - it is about no file
        """Forget the last execution."""
        self._judged.clear()

    def at_return(
        self, view: View, history: History, operation: Operation
    ) -> str | None:
        """Judge an operation, if it is one of those that this is about."""
        del view
        if self._who is not None and operation.actor not in actors_of(
            history, self._who
        ):
            return None
        self._judged.add((operation.actor, operation.index))
        return self.judge(operation, history)

    def at_end(self, view: View, history: History) -> str | None:
        """Judge the operations that have not been."""
        if self._who is not None:
            actors_of(history, self._who)
        for operation in history.operations:
            if (operation.actor, operation.index) not in self._judged:
                broken = self.at_return(view, history, operation)
                if broken is not None:
                    return broken
        return None

    def judge(self, operation: Operation, history: History) -> str | None:
        """Say what is wrong with how it ended."""
        raise NotImplementedError


def is_shipped(invariant: Invariant) -> TypeGuard[Rule]:
    """Return whether an invariant is one of those here, and no subclass of one.

    What somebody else's class keeps in its attributes, and what it depends on, is
    known of by nobody.
    """
    package = type(invariant).__module__.partition(".")[0]
    return isinstance(invariant, Rule) and package == Rule.__module__.partition(".")[0]
