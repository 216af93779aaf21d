"""Digests that say whether two executions, or two scenarios, are the same."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from racecheck.model import Buffer
from racecheck.storage.canonical import canonical_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from racecheck.model import Fault, Step, Value

DIGEST_SIZE = 8
"""Bytes of a digest. They tell apart what differs by accident, not by intent."""


def steps_digest(steps: Iterable[Step]) -> str:
    """Return a digest of what happened in an execution, as hex.

    It covers who took each step, the call with its arguments and all that came of it.
    Footprints are left out, because an execution has them only when asked to.
    """
    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for step in steps:
        # Fields are listed one by one, so that tokens outlive a new field of a step.
        # invariant: the same fields as those that `Step.same_call` compares.
        digest.update(
            canonical_bytes(
                (
                    step.actor,
                    step.call,
                    _values(step.args),
                    step.result,
                    _values(step.outputs),
                    _fault(step.fault),
                )
            )
        )
    return digest.hexdigest()


def shape_digest(shape: object) -> str:
    """Return a digest of what makes a scenario, as hex.

    Args:
        shape: All that a token depends on, as plain data: names and order of the
            actors, their operations, the parameters. Nothing that differs between
            machines or checkouts, such as an absolute path, and no source.
    """
    return hashlib.blake2b(canonical_bytes(shape), digest_size=DIGEST_SIZE).hexdigest()


def _values(values: Mapping[str, Value]) -> dict[str, object]:
    # The head of a buffer is for people; how much of it is kept must not matter.
    return {
        name: [value.length, value.digest] if isinstance(value, Buffer) else value
        for name, value in values.items()
    }


def _fault(fault: Fault | None) -> tuple[str, str, int] | None:
    return None if fault is None else (fault.kind, fault.errno, fault.length)
