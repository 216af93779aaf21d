"""The shape of a scenario: what a token of one of its executions is bound to."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from racecheck.scenario.command import Command
from racecheck.scenario.operations import Script

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from racecheck.scenario.actors import Actor

_NBYTES = 8


def digest(
    name: str, actors: Iterable[Actor], ids: Mapping[str, str], machine: str = ""
) -> str:
    """Return a digest of a scenario's name, actors, operations and parameters.

    The source of functions is no part of it, so that a token can show that a fix
    works, and no invariant is, since they do not change what the actors do. It is the
    same in every checkout and on every machine.
    """
    shape = [
        name,
        [
            [
                actor.name,
                actor.declaration.role,
                actor.pid,
                actor.declaration.repeat,
                actor.declaration.after,
                _argv(actor.declaration.subject),
                # Only where there is one, so that older tokens keep their meaning.
                *filter(None, [actor.declaration.clock_offset_s]),
                *filter(None, [_operations(actor.declaration.subject)]),
            ]
            for actor in actors
        ],
        sorted(ids.items()),
        # Only where one is simulated.
        *filter(None, [machine]),
    ]
    text = json.dumps(shape, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=_NBYTES).hexdigest()


def _operations(subject: object) -> list[object]:
    if not isinstance(subject, Script):
        return []
    return [
        [each.invocation.name, [_value(value) for value in each.invocation.arguments]]
        for each in subject.operations
    ]


def _value(value: object) -> object:
    """Return what a value is called that is the same in every process."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, bytes):
        return hashlib.blake2b(value, digest_size=_NBYTES).hexdigest()
    if isinstance(value, Sequence):
        return [_value(each) for each in value]
    return str(getattr(value, "__name__", type(value).__name__))


def _argv(subject: object) -> list[str]:
    if not isinstance(subject, Command):
        return []
    # What a shell is told to do is the subject's source, and may be mended.
    return [_portable(subject.argv[0])]


def _portable(word: str) -> str:
    """Leave out of a word where things lie on this machine."""
    if word == sys.executable:
        return "python"
    path = PurePath(word)
    return path.name if path.is_absolute() else word
