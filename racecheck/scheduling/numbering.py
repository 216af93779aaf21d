"""Which executions a scheduler makes, and the random numbers that each of them gets.

Everything random in an execution derives from the seed of the exploration and the
number of the execution, never from the executions before it. So any one of them can be
made alone, and it does not matter how they are shared out among processes.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEEDS = 1 << 32
_BLOCK = 64


class Numbers:
    """The numbers of executions that are made in one place, one after the other."""

    def __init__(self, first: int, stride: int, executions: int | None) -> None:
        self._next = first
        self._stride = stride
        self._end = executions

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> int:
        if self._end is not None and self._next >= self._end:
            raise StopIteration
        self._next += self._stride
        return self._next - self._stride


def execution_numbers(first: int, stride: int, executions: int | None) -> Iterator[int]:
    """Count from `first` in steps of `stride`, up to but without `executions`.

    Args:
        first: Number of the first execution, from 0.
        stride: Distance to the next one: the number of processes that share the work.
        executions: Size of the whole exploration; None stands for no limit.
    """
    if first < 0 or stride < 1:
        raise ValueError(f"first {first} must be 0 or more, stride {stride} 1 or more")
    return Numbers(first, stride, executions)


def block_of(number: int) -> int:
    """Return which block of executions a number belongs to.

    What a scheduler learns counts from the next block on. So those of one block can be
    made side by side. The first are short, since most is learned from the first few.
    """
    return number.bit_length() if number < _BLOCK else _BLOCK + number // _BLOCK


class Drawing:
    """Random numbers of one execution.

    Of all the methods of `random.Random` only `random` is promised to give the same
    numbers under every version of Python, so there is no other. To another process
    it goes as how many were drawn, which is shorter than the generator's state.
    """

    def __init__(self, text: str, drawn: int = 0) -> None:
        """Begin, or go on where so many numbers were drawn."""
        self._text = text
        self._drawn = drawn
        self._random = Random(text)
        for _ in range(drawn):
            self._random.random()

    def __reduce__(self) -> tuple[type[Drawing], tuple[str, int]]:
        return Drawing, (self._text, self._drawn)

    def random(self) -> float:
        """Draw a number from 0 up to but without 1."""
        self._drawn += 1
        return self._random.random()


def execution_random(scheduler: str, seed: int, number: int) -> Drawing:
    """Return the random numbers of one execution.

    Args:
        scheduler: Name of the scheduler, so that two with one seed are not in step.
        seed: Seed of the exploration.
        number: Number of the execution.
    """
    return Drawing(f"{scheduler} {seed} {number}")


def draw_below(random: Drawing, bound: int) -> int:
    """Draw a number from 0 to `bound - 1`, each as likely as the others."""
    # For bounds as small as these the rounding favours no number by more than one part
    # in 2**20.
    return int(random.random() * bound)


def draw_seed(random: Drawing) -> int:
    """Draw the seed of an execution's random bytes, small to keep tokens short."""
    return draw_below(random, _SEEDS)
