"""Whether the programs that actors are to run are there at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.scenario.command import Command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from racecheck.model import Program
    from racecheck.scenario.actors import Actor


def check_found(
    actors: Iterable[Actor], programs: Iterable[Program], sandbox: Path
) -> None:
    """Refuse a command whose program is nowhere, and cannot come to be.

    An actor that fails to start would look like a subject that fails. What others may
    put into the sandbox while they run is left to the execution.

    Args:
        actors: The actors, set up, in the environment that they get.
        programs: What they run, in the same order.
        sandbox: The folder that actors can change.

    Raises:
        ScenarioError: There is one.
    """
    for actor, program in zip(actors, programs, strict=True):
        subject = actor.declaration.subject
        if not isinstance(subject, Command):
            continue
        search = os.environ.get("PATH", os.defpath)
        argv = program.argv
        if subject.env:
            _check(program, argv[0], search, sandbox)
            pairs, argv = argv[1 : len(subject.env) + 1], argv[len(subject.env) + 1 :]
            given = dict(pair.split("=", 1) for pair in pairs)
            search = given.get("PATH", search)
        _check(program, argv[0], search, sandbox)


def _check(program: Program, name: str, search: str, sandbox: Path) -> None:
    places, where = [Path(name)], ""
    if "/" not in name:
        places = [Path(f, name) for f in search.split(os.pathsep) if name]
        where = " on PATH"
    if not any(_may_be(place, sandbox) for place in places):
        raise ScenarioError(f"{program.name}: no program {name!r}{where}")


def _may_be(path: Path, sandbox: Path) -> bool:
    """Say whether a program is there, or is where one of the actors may make it."""
    if not path.is_absolute() or "\0" in str(path):
        return True
    if os.path.exists(path):  # noqa: PTH110  that of `Path` raises if it may not look
        return True
    real = Path(os.path.realpath(path))
    # What is in `/proc` differs from process to process.
    return any(real.is_relative_to(folder) for folder in (sandbox, "/proc"))
