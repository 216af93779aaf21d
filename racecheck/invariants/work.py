"""No redundant work: what a cache saves is not done after all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.invariants.actors import actors_of
from racecheck.invariants.arguments import (
    check_count,
    check_function,
    check_name,
    check_who,
)
from racecheck.invariants.rules import Rule
from racecheck.invariants.wording import happened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from racecheck.model import History, Invariant, Operation, View


def no_redundant_work(
    who: str,
    work: Callable[[object], int],
    *,
    most: int,
    least: int = 0,
    name: str = "no_redundant_work",
) -> Invariant:
    """Require that operations did the costly part no more often than they have to.

    Args:
        who: Actor or role whose operations are counted.
        work: Says of a returned value how often its operation did the work.
        most: How often it may be done in all.
        least: How often it has to be done in all, if all of them returned.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    of = "no_redundant_work"
    check_function(work, of=of, what="work", takes=("a returned value",))
    check_count(most, of=of, what="most")
    if check_count(least, of=of, what="least") > most:
        raise ScenarioError(f"least of {of} is {least}, more than {most}, its most")
    return _NoRedundantWork(
        check_name(name), check_who(who, of=of, what="who"), work, (least, most)
    )


class _NoRedundantWork(Rule):
    def __init__(
        self,
        name: str,
        who: str,
        work: Callable[[object], int],
        bounds: tuple[int, int],
    ) -> None:
        super().__init__(name)
        self._who = who
        self._work = work
        self._least, self._most = bounds

    def at_return(
        self, view: View, history: History, operation: Operation
    ) -> str | None:
        del view
        if operation.actor not in actors_of(history, self._who):
            return None
        ended = [*history.operations]
        if operation not in ended:
            ended.append(operation)
        return self._too_much(self._done(ended, history), happened(operation))

    def at_end(self, view: View, history: History) -> str | None:
        del view
        done = self._done(history.operations, history)
        if done < self._least and all(op.succeeded for op in history.operations):
            return (
                f"expected the work of {self._who} to be done {self._least} times or "
                f"more, but it was done {done} times"
            )
        return self._too_much(done, "that was the end")

    def _done(self, operations: Iterable[Operation], history: History) -> int:
        names = actors_of(history, self._who)
        done = 0
        for operation in operations:
            if operation.actor in names and operation.succeeded:
                count = self._work(operation.value)
                if not isinstance(count, int):
                    raise ScenarioError(f"work is counted by a number, not {count!r}")
                done += count
        return done

    def _too_much(self, done: int, since: str) -> str | None:
        if done <= self._most:
            return None
        return (
            f"expected the work of {self._who} to be done {self._most} times at the "
            f"most, but it was done {done} times when {since}"
        )
