"""Whether an execution ran to its end, without which it proves nothing."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.invariants.actors import actors_of
from racecheck.invariants.wording import amount, happened
from racecheck.model import Ending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.model import ActorEnd, History, Program


def unended(history: History) -> Iterator[str]:
    """Say of each actor that neither ended nor was crashed where it is stuck."""
    stuck: set[str] = set()
    for operation in history.operations:
        if operation.ending is Ending.UNFINISHED:
            stuck.add(operation.actor)
            yield f"{happened(operation)}{_last_step(history, operation.actor)}"
    ended = {end.actor: end for end in history.ends}
    for program in history.programs:
        name = program.name
        if name in stuck or _held_back(program, history):
            continue
        if name not in ended:
            yield f"{name} never ended{_last_step(history, name)}"
        elif _was_put_down(ended[name], history):
            yield f"{name} had to be killed at its end{_last_step(history, name)}"


def cut_short(history: History) -> Iterator[str]:
    """Say of each actor that left before all its operations were made.

    One that raised is not told of: how many operations it makes then is not for here
    to say, and that it raised is for the invariants.
    """
    crashed = {end.actor for end in history.ends if end.crashed}
    for program in history.programs:
        made = [each for each in history.operations if each.actor == program.name]
        if (
            program.name in crashed
            or len(made) >= program.repeat
            or (made and made[-1].ending is not Ending.RETURNED)
            or _held_back(program, history)
        ):
            continue
        yield (
            f"{program.name} made {len(made)} of its "
            f"{amount(program.repeat, 'operation')}"
        )


def _was_put_down(end: ActorEnd, history: History) -> bool:
    """Say whether an actor was killed that had no operation left to die in.

    Engines kill what hangs. Where that is an operation it is left unfinished, but
    after the last one (in `atexit`, in a thread) only the signal tells of it.
    """
    if end.crashed or end.status != -signal.SIGKILL:
        return False
    return not any(
        operation.actor == end.actor and operation.ending is Ending.EXITED
        for operation in history.operations
    )


def _held_back(program: Program, history: History) -> bool:
    """Say whether an actor waits, rightly, for one that never succeeded."""
    if program.after is None or any(
        step.actor == program.name for step in history.steps
    ):
        return False
    try:
        awaited = actors_of(history, program.after)
    except ScenarioError:
        return False
    return not any(
        operation.actor in awaited and operation.succeeded
        for operation in history.operations
    )


def _last_step(history: History, actor: str) -> str:
    for step in reversed(history.steps):
        if step.actor == actor:
            return f"; its last step was {step.index}: {step}"
    return ""
