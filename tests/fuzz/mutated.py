"""Real recordings with a few of their values changed, each for one of the same type.

What comes of it is well formed, so that no decoder refuses it, and yet means nothing:
steps that are missing or out of order, actors nobody has heard of, numbers that lead
nowhere.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from racecheck.model import FaultKind, Kind, Verdict

HUGE = (-(2**63), -(2**31), -2, -1, 0, 1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**64 - 1)
STRANGE = ("", "nobody", "nobody:2", ":", "save-1:x", "save-1:99999999999", "\x00", "é")

# Texts that stand for one of a few things, with what else they can stand for.
WORDS = tuple(
    tuple(map(str, words))
    for words in (Kind, FaultKind, Verdict, ("file", "folder", "link", "other"))
)

Place = tuple[Any, ...]
Plain = Any
"""What JSON has, and bytes: numbers, texts, lists and mappings in each other."""


def fields(plain: Plain) -> dict[Place, list[Place]]:
    """Return where values lie in plain data, as the keys that lead there, by field.

    All steps have the same fields, and there are many of them: a value is to be drawn
    from each field as often as from any other.
    """
    found: dict[Place, list[Place]] = {}
    waiting: list[tuple[Place, Place, Any]] = [((), (), plain)]
    while waiting:
        name, place, value = waiting.pop()
        found.setdefault(name, []).append(place)
        if isinstance(value, dict):
            for key, each in value.items():
                named = key if isinstance(key, str) and key.isidentifier() else "*"
                waiting.append(((*name, named), (*place, key), each))
        elif isinstance(value, list):
            for number, each in enumerate(value):
                waiting.append(((*name, "*"), (*place, number), each))
    return found


@dataclass(frozen=True)
class Mutated:
    """Plain data with some values changed.

    Attributes:
        plain: The data.
        changes: What was changed, in order.
    """

    plain: Plain = field(repr=False)
    changes: tuple[tuple[Place, str], ...]


@st.composite
def mutated(draw: st.DrawFn, plain: Plain, known: dict[Place, list[Place]]) -> Mutated:
    """Draw plain data of which one to three values are others.

    Args:
        draw: Draws.
        plain: The data.
        known: What `fields` says of it.
    """
    changes = []
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(known[draw(st.sampled_from(list(known)))]))
        try:
            value = functools.reduce(_part, place, plain)
        except LookupError:
            # What was changed before has taken it away.
            continue
        other = draw(instead(value))
        plain = replaced(plain, place, other)
        # Large parts are not to be shown if it fails.
        changes.append((place, repr(other)[:200]))
    return Mutated(plain, tuple(changes))


def instead(value: object) -> st.SearchStrategy[object]:
    """Return what can stand where a value stands, as far as types go."""
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int):
        return st.sampled_from([*HUGE, value - 1, value + 1]) | st.integers(-1, 60)
    if isinstance(value, str):
        others = [word for words in WORDS if value in words for word in words]
        return st.sampled_from([*others, *STRANGE, value + value, value[:-1]])
    if isinstance(value, bytes):
        return st.sampled_from([b"", value + value, value[1:]])
    if isinstance(value, list) and value:
        return st.one_of(
            st.permutations(value) if len(value) <= 10 else st.just(value[::-1]),
            st.integers(0, len(value) - 1).map(lambda at: value[:at] + value[at + 1 :]),
            st.integers(0, len(value) - 1).map(lambda at: value[: at + 1] + value[at:]),
            st.tuples(*[st.integers(0, len(value) - 1)] * 2).map(
                lambda pair: _swapped(value, *pair)
            ),
            st.just([]),
        )
    if isinstance(value, dict) and value:
        return st.one_of(
            st.sampled_from(list(value)).map(
                lambda key: {each: value[each] for each in value if each != key}
            ),
            st.sampled_from(list(value)).map(
                lambda key: {
                    f"{each}?" if each == key else each: value[each] for each in value
                }
            ),
            st.just({}),
        )
    return st.just(value) | st.sampled_from([None, 0, -1, 2**40])


def replaced(plain: Plain, place: Place, value: object) -> Plain:
    """Return plain data with another value at a place; the rest is shared."""
    if not place:
        return value
    first, *rest = place
    copy = plain.copy()
    copy[first] = replaced(copy[first], tuple(rest), value)
    return copy


def _swapped(value: list[object], one: int, other: int) -> list[object]:
    copy = list(value)
    copy[one], copy[other] = copy[other], copy[one]
    return copy


def _part(value: Plain, key: Any) -> Plain:  # noqa: ANN401  of either
    if not isinstance(value, dict | list):
        raise KeyError(key)
    return value[key]
