"""Random histories, and the answer for each by trying every order there is."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from racecheck.invariants.models import NEVER, Call, Model
from racecheck.model import Invocation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random


class Register:
    """One value."""

    def __init__(self) -> None:
        self.value = 0

    def read(self) -> int:
        return self.value

    def write(self, value: int) -> None:
        self.value = value

    def swap(self, old: int, new: int) -> bool:
        if self.value != old:
            return False
        self.value = new
        return True


class Queue:
    """First in, first out; taking from an empty one raises."""

    def __init__(self) -> None:
        self.items: list[int] = []

    def put(self, item: int) -> None:
        self.items.append(item)

    def take(self) -> int:
        return self.items.pop(0)


class Cache(dict[str, int]):
    """A dict whose entries can be put as well."""

    def put(self, key: str, value: int) -> None:
        self[key] = value


def _register(random: Random) -> Invocation:
    return random.choice(
        [
            Invocation("read"),
            Invocation("write", (random.randrange(3),)),
            Invocation("swap", (random.randrange(3), random.randrange(3))),
        ]
    )


def _queue(random: Random) -> Invocation:
    return random.choice(
        [Invocation("put", (random.randrange(3),)), Invocation("take")]
    )


def _cache(random: Random) -> Invocation:
    key = random.choice("ab")
    return random.choice(
        [
            Invocation("get", (key,)),
            Invocation("put", (key, random.randrange(3))),
            Invocation("pop", (key,)),
        ]
    )


MODELS: dict[str, tuple[type, Callable[[Random], Invocation]]] = {
    "register": (Register, _register),
    "queue": (Queue, _queue),
    "cache": (Cache, _cache),
}


def history(random: Random, model: str, most: int = 6) -> list[Call]:
    """Return a history that was possible, or one in which a result was changed."""
    factory, invoke = MODELS[model]
    count = random.randint(1, most)
    actors = [f"actor-{number}" for number in range(random.randint(1, 3))]
    # Each call gets a beginning, a moment at which it happens, and an end, so that
    # those of one actor do not overlap.
    free = dict.fromkeys(actors, 0.0)
    calls: list[tuple[float, Call]] = []
    for _ in range(count):
        actor = random.choice(actors)
        start = free[actor] + random.random()
        end = start + 2 * random.random()
        free[actor] = end + 0.001
        calls.append(
            (
                random.uniform(start, end),
                Call(invoke(random), int(start * 1e6), int(end * 1e6), actor=actor),
            )
        )
    state = factory()
    made = []
    for _, call in sorted(calls, key=lambda each: each[0]):
        exception, value = "", None
        try:
            value = getattr(state, call.invocation.name)(*call.invocation.arguments)
        except Exception as error:  # noqa: BLE001  it is an outcome
            exception = type(error).__name__
        made.append(replace(call, value=value, exception=exception))
    if random.random() < 0.7:
        index = random.randrange(len(made))
        value = random.choice([None, 0, 1, 2, True, False])
        made[index] = replace(made[index], value=value, exception="")
    if random.random() < 0.3:
        index = random.randrange(len(made))
        made[index] = replace(made[index], is_known=False, end=NEVER)
    random.shuffle(made)
    return made


def linear_by_force(calls: Sequence[Call], model: Model) -> bool:
    """Say whether any order explains the calls, by trying all of them."""
    return any(
        _keeps_to_time(order) and _explains(order, model)
        for kept in _choices(calls)
        for order in itertools.permutations(kept)
    )


def serial_by_force(calls: Sequence[Call], model: Model) -> bool:
    """Say whether any order of actors explains the calls, by trying all of them."""
    actors = sorted({call.actor for call in calls})
    return any(
        _explains(
            [call for actor in order for call in kept if call.actor == actor], model
        )
        for kept in _choices(calls)
        for order in itertools.permutations(actors)
    )


def _choices(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Yield the calls with and without those that may not have taken effect."""
    options = [[True] if call.is_known else [True, False] for call in calls]
    for chosen in itertools.product(*options):
        yield list(itertools.compress(calls, chosen))


def _keeps_to_time(order: Sequence[Call]) -> bool:
    return not any(
        later.end < earlier.start for earlier, later in itertools.combinations(order, 2)
    )


def _explains(order: Sequence[Call], model: Model) -> bool:
    state: object | None = model.start()
    for call in order:
        state = model.apply(state, call)
        if state is None:
            return False
    return True
