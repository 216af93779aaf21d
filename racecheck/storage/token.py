"""Tokens: one execution as a short text that `racecheck replay` takes.

`encode` makes the text and `decode` reads it. A token names no actor and no file: it
holds who went on, by number, what kind of call that was, and what went wrong there. It
is data and nothing in it is ever run.
"""

from __future__ import annotations

import errno as errno_names
import itertools
import re
from typing import TYPE_CHECKING

import msgspec

from racecheck.errors import TokenError
from racecheck.model import (
    Decision,
    Fault,
    FaultKind,
    Kind,
    Schedule,
    from_lane,
    lane_of,
)
from racecheck.storage.codes import FAULT_CODES, KIND_CODES
from racecheck.storage.digest import DIGEST_SIZE, steps_digest
from racecheck.storage.envelope import seal, unseal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from racecheck.model import Trace

_HEX = re.compile(rf"[0-9a-f]{{{2 * DIGEST_SIZE}}}")
_KINDS = {code: kind for kind, code in KIND_CODES.items()}
_FAULTS = {code: kind for kind, code in FAULT_CODES.items()}


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """One execution, in a form that only its scenario is needed to repeat.

    Attributes:
        scenario: Full name of the scenario.
        shape: Digest of the scenario's actors, operations and parameters, as hex.
        seed: Seed of the execution's random bytes.
        actors: Who took each step, as an index into the scenario's actors.
        kinds: Kind of each step.
        faults: The steps that met a fault, as index and fault, in order.
        digest: Digest of the steps, as hex. A replay with the same one did the same.
    """

    scenario: str
    shape: str
    seed: int
    actors: tuple[int, ...]
    kinds: tuple[Kind, ...]
    faults: tuple[tuple[int, Fault], ...] = ()
    digest: str

    def __post_init__(self) -> None:
        """Refuse what no execution can be, be it made or decoded."""
        if not (_HEX.fullmatch(self.shape) and _HEX.fullmatch(self.digest)):
            raise TokenError(
                f"a token needs two digests of {2 * DIGEST_SIZE} hex digits, found"
                f" {self.shape!r} and {self.digest!r}"
            )
        if len(self.kinds) != len(self.actors):
            raise TokenError(
                f"a token needs a kind for each step, found {len(self.kinds)} kinds for"
                f" {len(self.actors)} steps"
            )
        last = -1
        for index, fault in self.faults:
            if not last < index < len(self.actors):
                raise TokenError(f"a token has a fault out of place, at step {index}")
            _check_fault(index, fault)
            last = index

    @classmethod
    def of(cls, trace: Trace) -> Token:
        """Return the token of an execution.

        Raises:
            TokenError: The trace has not one step for each decision.
        """
        indices = {actor.name: index for index, actor in enumerate(trace.actors)}
        decisions = trace.schedule.decisions
        return cls(
            scenario=trace.scenario,
            shape=trace.shape,
            seed=trace.schedule.seed,
            actors=tuple(
                _lane_number(decision.actor, indices) for decision in decisions
            ),
            kinds=tuple(step.kind for step in trace.steps),
            faults=tuple(
                (index, decision.fault)
                for index, decision in enumerate(decisions)
                if decision.fault is not None
            ),
            digest=steps_digest(trace.steps),
        )

    def schedule(self, actors: Sequence[str]) -> Schedule:
        """Return the decisions, given the names of the scenario's actors in order.

        Raises:
            TokenError: The token knows of more actors than there are names.
        """
        if self.actors and not actors:
            raise TokenError(f"the token has actors, but {self.scenario!r} has none")
        faults = dict(self.faults)
        decisions = (
            Decision(_lane(number, actors), faults.get(index))
            for index, number in enumerate(self.actors)
        )
        return Schedule(self.seed, tuple(decisions))


class _Body(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What is compressed of a token.

    Attributes:
        scenario: Full name of the scenario.
        seed: Seed of the execution's random bytes.
        runs: An actor and the number of its steps in a row, in turn.
        kinds: The code of a kind for each step.
        faults: Index of the step, code, errno and length of each fault.
    """

    scenario: str
    seed: int
    runs: tuple[int, ...]
    kinds: bytes
    faults: tuple[tuple[int, int, str, int], ...]


def encode(token: Token) -> str:
    """Return a token as text.

    Raises:
        TokenError: The execution is too long, or its seed or name cannot be written.
    """
    body = _Body(
        token.scenario,
        token.seed,
        tuple(_to_runs(token.actors)),
        bytes(KIND_CODES[kind] for kind in token.kinds),
        tuple(
            (index, FAULT_CODES[fault.kind], fault.errno, fault.length)
            for index, fault in token.faults
        ),
    )
    try:
        packed = msgspec.msgpack.encode(body)
    except (OverflowError, UnicodeEncodeError) as error:
        raise TokenError(f"{token.scenario!r} gives no token: {error}") from None
    # Digests look random, and random bytes grow when they are compressed.
    return seal(bytes.fromhex(token.shape + token.digest), packed)


def decode(text: str) -> Token:
    """Read a token; blanks and line breaks in it are nothing.

    Raises:
        TokenError: It is no token, is not whole, or has another version.
    """
    head, packed = unseal(text, 2 * DIGEST_SIZE)
    try:
        body = msgspec.msgpack.decode(packed, type=_Body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise TokenError(f"the token is damaged: {error}") from None
    unknown = set(body.kinds) - _KINDS.keys()
    unknown |= {code for _, code, _, _ in body.faults} - _FAULTS.keys()
    if unknown:
        raise TokenError(f"the token has codes of a later version: {sorted(unknown)}")
    return Token(
        scenario=body.scenario,
        shape=head[:DIGEST_SIZE].hex(),
        seed=body.seed,
        actors=tuple(_from_runs(body.runs, len(body.kinds))),
        kinds=tuple(_KINDS[code] for code in body.kinds),
        faults=tuple(
            (index, Fault(_FAULTS[code], errno, length))
            for index, code, errno, length in body.faults
        ),
        digest=head[DIGEST_SIZE:].hex(),
    )


def check_shape(token: Token, name: str, shape: str) -> None:
    """Check that a token is of a scenario as it is.

    Raises:
        TokenError: It is of another scenario, or the scenario has changed.
    """
    if token.scenario != name:
        raise TokenError(f"the token is of {token.scenario!r}, not of {name!r}")
    if token.shape != shape:
        raise TokenError(
            f"the token is of {name!r} with other actors, operations or parameters"
            f" (shape {token.shape}) than it has (shape {shape})"
        )


# A lane is a number: that of its actor, and for each further task of that actor as many
# more as there are actors.


def _lane_number(lane: str, indices: Mapping[str, int]) -> int:
    actor, task = from_lane(lane)
    return indices[actor] + task * len(indices)


def _lane(number: int, actors: Sequence[str]) -> str:
    return lane_of(actors[number % len(actors)], number // len(actors))


def _to_runs(actors: Sequence[int]) -> Iterator[int]:
    for actor, run in itertools.groupby(actors):
        yield actor
        yield sum(1 for _ in run)


def _from_runs(runs: Sequence[int], steps: int) -> Iterator[int]:
    """Return the actor of each step, once it is sure how many there are."""
    actors, lengths = runs[::2], runs[1::2]
    if len(actors) != len(lengths) or min(runs, default=0) < 0 or sum(lengths) != steps:
        raise TokenError("the token is damaged: its steps and actors do not agree")
    for actor, length in zip(actors, lengths, strict=True):
        yield from itertools.repeat(actor, length)


def _check_fault(index: int, fault: Fault) -> None:
    """Refuse a fault that nothing could inject."""
    known = isinstance(getattr(errno_names, fault.errno, None), int)
    if fault.length < 0 or (fault.kind is FaultKind.ERRNO and not known):
        raise TokenError(f"a token has a fault that makes no sense at step {index}")
