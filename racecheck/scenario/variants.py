"""Variants: one scenario for each combination of parameters, without copies of it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeAlias

from racecheck.errors import ScenarioError
from racecheck.scenario.arguments import RESERVED, matches, meant

Expected: TypeAlias = str | Iterable[str]
"""Names of the invariants that are broken, as people write them: one, or several."""

_ById: TypeAlias = dict[str, frozenset[str]] | frozenset[str] | None
"""A set by variant id, one for all variants, or none."""

_NAME = re.compile(r"\S+")
_ID = re.compile(r"[A-Za-z0-9_.+=-]+")


@dataclass(frozen=True, slots=True)
class Variant:
    """One combination of parameters.

    Attributes:
        id: What it is called, after the scenario's own name.
        parameters: The values, by parameter.
        ids: What the values are called, by parameter.
        expect: The invariants that are broken; None leaves the scenario's own.
        tags: Words to find it by, besides those of the scenario.
    """

    id: str
    parameters: dict[str, object]
    ids: dict[str, str]
    expect: frozenset[str] | None
    tags: frozenset[str]


def combine(
    parameters: Mapping[str, Iterable[object]],
    expect: Mapping[str, Expected] | Expected | None,
    tags: Mapping[str, Expected] | Expected | None = None,
) -> tuple[Variant, ...]:
    """Return a variant for each combination, in the order of the values.

    Args:
        parameters: The values of each parameter, as a list or, with names of one's own
            for them, as a mapping.
        expect: The invariants that are broken: in every variant, or by variant id.
        tags: Words to find variants by: each of them, or by variant id.

    Raises:
        ScenarioError: A value has no usable name, or `expect` or `tags` no variant.
    """
    if not parameters:
        raise ScenarioError("over needs a parameter, such as over(write=[...])")
    choices = [_named(name, values) for name, values in parameters.items()]
    expected = _by_id(expect, names)
    tagged = _by_id(tags, tags_of)
    variants: dict[str, Variant] = {}
    for combination in itertools.product(*(choice.items() for choice in choices)):
        ids = [value_id for value_id, _ in combination]
        variant_id = "-".join(ids)
        if variant_id in variants:
            raise ScenarioError(f"over gives two variants the name {variant_id!r}")
        variants[variant_id] = Variant(
            variant_id,
            dict(zip(parameters, (value for _, value in combination), strict=True)),
            dict(zip(parameters, ids, strict=True)),
            _of(expected, variant_id),
            _of(tagged, variant_id) or frozenset(),
        )
    _check_ids("expect", expected, variants)
    _check_ids("tags", tagged, variants)
    return tuple(variants.values())


def names(value: Expected) -> frozenset[str]:
    """Return a set of names from one name or several.

    Raises:
        ScenarioError: It is neither.
    """
    if isinstance(value, str):
        return frozenset({value})
    try:
        found = frozenset(value)
    except TypeError:
        found = frozenset({""})
    if not all(matches(_NAME, name) for name in found):
        raise ScenarioError(f"expect holds names of invariants, not {value!r}")
    return found


def tags_of(value: str | Iterable[str]) -> frozenset[str]:
    """Return a set of tags from one tag or several.

    Raises:
        ScenarioError: One is no word that a command line can take.
    """
    try:
        found = frozenset({value} if isinstance(value, str) else value)
    except TypeError:
        found = frozenset({""})
    if not all(matches(_ID, tag) for tag in found):
        raise ScenarioError(
            f"tags are words of letters, digits and '_.+=-', not {value!r}"
        )
    return found


def _named(parameter: str, values: Iterable[object]) -> dict[str, object]:
    if parameter in RESERVED:
        raise ScenarioError(f"{parameter!r} has a meaning already; call it otherwise")
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ScenarioError(f"over takes a list of values, not {parameter}={values!r}")
    pairs = (
        list(values.items())
        if isinstance(values, Mapping)
        else [(_id(value), value) for value in values]
    )
    if not pairs:
        raise ScenarioError(f"over has no value for {parameter!r}")
    named: dict[str, object] = {}
    for value_id, value in pairs:
        if not isinstance(value_id, str) or not _ID.fullmatch(value_id):
            raise ScenarioError(
                f"{value!r} gives {parameter!r} no usable name; name the values, as in "
                f"over({parameter}={{'fast': ...}})"
            )
        if value_id in named:
            raise ScenarioError(f"two values of {parameter!r} are called {value_id!r}")
        named[value_id] = value
    return named


def _id(value: object) -> str:
    if isinstance(value, PurePath):
        return value.name
    return str(getattr(value, "__name__", value))


def _by_id(
    value: Mapping[str, Expected] | Expected | None,
    read: Callable[[Expected], frozenset[str]],
) -> _ById:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {variant_id: read(each) for variant_id, each in value.items()}
    return read(value)


def _of(value: _ById, variant_id: str) -> frozenset[str] | None:
    return value.get(variant_id) if isinstance(value, dict) else value


def _check_ids(option: str, value: _ById, variants: Mapping[str, Variant]) -> None:
    for variant_id in value if isinstance(value, dict) else ():
        if variant_id not in variants:
            raise ScenarioError(
                f"{option} names a variant {variant_id!r} that there is none of"
                f"{meant(variant_id, variants)}; variants: {', '.join(variants)}"
            )
