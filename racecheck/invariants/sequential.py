"""Linearizable and serializable: operations at a time do what a model does in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from racecheck.errors import ScenarioError
from racecheck.invariants.actors import actors_of
from racecheck.invariants.arguments import check_name, check_who
from racecheck.invariants.models import Model, calls_of
from racecheck.invariants.ordering import Found, Limit, linear_order, serial_order
from racecheck.invariants.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.invariants.models import Call, Factory
    from racecheck.model import History, Invariant, View

    Search = Callable[[Sequence[Call], Model, Limit], Found]

MOST_TRIES: Final = 100_000
MOST_SECONDS: Final = 10.0
_MOST_TOLD: Final = 8


def linearizable(
    model: Factory,
    *,
    who: str = "",
    tries: int = MOST_TRIES,
    seconds: float = MOST_SECONDS,
    name: str = "linearizable",
) -> Invariant:
    """Require that each operation seems to happen at one moment while it runs.

    The operations, in an order that keeps to who ended before whom began, have to
    return and raise what the model does. One that a crash or a fault has ended may have
    taken effect or not.

    Args:
        model: Makes the model: a class with a method for each operation, called with
            the operation's arguments; `dict` for a cache with `get` and `pop`.
        who: Actor or role whose operations are meant; all of them if empty.
        tries: Calls of the model after which there is no verdict.
        seconds: Time after which there is none.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    return _Sequential(
        check_name(name), model, who, (tries, seconds), linear_order, in_time=True
    )


def serializable(
    model: Factory,
    *,
    who: str = "",
    tries: int = MOST_TRIES,
    seconds: float = MOST_SECONDS,
    name: str = "serializable",
) -> Invariant:
    """Require that actors do what they would do one after another, in some order.

    All operations of an actor together are taken as one. Arguments and what is compared
    are as for `linearizable`; time is no matter.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    return _Sequential(
        check_name(name), model, who, (tries, seconds), serial_order, in_time=False
    )


class _Sequential(Rule):
    """Asks at the end of an execution whether an order explains its operations.

    Attributes:
        in_time: Whether it matters which operation ended before which began, so that
            these steps must not be taken as exchangeable.
    """

    def __init__(
        self,
        name: str,
        model: Factory,
        who: str,
        limits: tuple[int, float],
        search: Search,
        *,
        in_time: bool,
    ) -> None:
        super().__init__(name)
        if not callable(model):
            raise ScenarioError(
                f"the model of {name} is a class, or a function that makes one, "
                f"not {model!r}"
            )
        if who:
            check_who(who, of=name, what="who")
        if limits[0] < 1 or limits[1] <= 0:
            raise ScenarioError(f"the limits of {name} allow nothing: {limits}")
        self.in_time = in_time
        # Who ended before whom began is told by steps.
        self.needs_calls = in_time
        self._model = Model(model)
        self._who = who
        self._limits = limits
        self._search = search

    def at_end(self, view: View, history: History) -> str | None:
        """Judge all operations together."""
        del view
        everybody = frozenset(program.name for program in history.programs)
        names = actors_of(history, self._who) if self._who else everybody
        calls = calls_of(history, names)
        found = self._search(calls, self._model, Limit(*self._limits))
        if found.explains:
            return None
        # By identity, since two calls can be equal.
        told = {id(call) for call in found.order}
        rest = [call.shown for call in calls if id(call) not in told]
        done = [call.shown for call in found.order]
        return (
            f"expected an order in which the model does the same, but after "
            f"{_listed(done) or 'nothing'} there is none for {_listed(rest)}"
        )


def _listed(shown: list[str]) -> str:
    more = len(shown) - _MOST_TOLD
    parts = shown[:_MOST_TOLD] + ([f"{more} more"] if more > 0 else [])
    return "; ".join(parts)
