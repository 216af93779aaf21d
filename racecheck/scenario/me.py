"""What an actor is told of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


@dataclass(slots=True)
class Me:
    """The argument `me` of an actor's function.

    Attributes:
        name: Name of the actor.
        role: Its role.
        index: Which of the actors declared together it is, from 0.
        random: Random numbers of its own, the same in each replay.
    """

    name: str
    role: str
    index: int
    random: Random = field(default_factory=lambda: Random(0))

    def __post_init__(self) -> None:
        """Give each actor other numbers even where nobody reseeds."""
        self.reseed(0)

    def reseed(self, seed: int) -> None:
        """Start the random numbers anew, for an execution with this seed."""
        # The name goes in, so that two actors never draw the same temp name: that
        # would be a race that no two processes have.
        self.random.seed(f"{seed}/{self.name}")
