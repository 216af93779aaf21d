"""Groups of actors of one role: what they do, how many they are, how much each does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from hypothesis import strategies as st

from racecheck.errors import ScenarioError
from racecheck.scenario import Planned, operation
from racecheck.scenario.actors import declare

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    from racecheck.scenario import Declaration
    from racecheck.scenario.actors import ActorOptions

    Work = Callable[..., object] | Planned | SearchStrategy[Planned]
    """What the actors of a group do: always the same, or something drawn."""


@dataclass(frozen=True, slots=True)
class Group:
    """Actors of one role; made by `writers` and such.

    Attributes:
        role: Their role.
        work: Draws an operation.
        at_least: How few there can be.
        at_most: How many there can be.
        operations: How many operations each makes at the most.
        options: Options of all of them, as of the role decorators.
    """

    role: str
    work: SearchStrategy[Planned]
    at_least: int
    at_most: int
    operations: int
    options: ActorOptions

    def actor(self) -> SearchStrategy[Declaration]:
        """Draw one of the actors."""
        work = st.lists(self.work, min_size=1, max_size=self.operations)
        return work.map(
            lambda made: declare(self.role, made, self.options, anonymous=self.role)
        )


def writers(
    work: Work,
    *,
    at_least: int = 1,
    at_most: int = 3,
    operations: int = 2,
    **options: Unpack[ActorOptions],
) -> Group:
    """Say what writers do; there are one to three of them, unless said otherwise.

    Args:
        work: What they do: a function, an operation, or a strategy of operations.
        at_least: How few there can be.
        at_most: How many there can be.
        operations: How many operations each makes at the most.
        **options: Options of all of them, those of `ActorOptions`.

    Raises:
        ScenarioError: A number or an option makes no sense.
    """
    return _group("writer", work, at_least, at_most, operations, options)


def readers(
    work: Work,
    *,
    at_least: int = 0,
    at_most: int = 2,
    operations: int = 2,
    **options: Unpack[ActorOptions],
) -> Group:
    """Say what readers do; there are none to two of them. As `writers` otherwise."""
    return _group("reader", work, at_least, at_most, operations, options)


def evictors(
    work: Work,
    *,
    at_least: int = 0,
    at_most: int = 1,
    operations: int = 1,
    **options: Unpack[ActorOptions],
) -> Group:
    """Say what evictors do; there is none or one. As `writers` otherwise."""
    return _group("evictor", work, at_least, at_most, operations, options)


def actors(
    work: Work,
    *,
    at_least: int = 1,
    at_most: int = 3,
    operations: int = 2,
    **options: Unpack[ActorOptions],
) -> Group:
    """Say what actors of no special role do; as `writers` otherwise."""
    return _group("actor", work, at_least, at_most, operations, options)


def _group(
    role: str,
    work: Work,
    at_least: int,
    at_most: int,
    operations: int,
    options: ActorOptions,
) -> Group:
    if not 0 <= at_least <= at_most or at_most < 1 or operations < 1:
        raise ScenarioError(
            f"{role}s are between {at_least} and {at_most}, with up to {operations} "
            "operations each; there has to be a possibility"
        )
    drawn = work if isinstance(work, st.SearchStrategy) else st.just(_planned(work))
    # Tells of a bad option now rather than when the first example is drawn.
    declare(role, [operation(lambda: None)], options, anonymous=role)
    return Group(role, drawn, at_least, at_most, operations, options)


def _planned(work: Callable[..., object] | Planned) -> Planned:
    return work if isinstance(work, Planned) else operation(work)
