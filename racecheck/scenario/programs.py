"""From declared actors to programs: each with its arguments for one execution."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.model import Invocation, Program
from racecheck.scenario.arguments import RESERVED, bind, check
from racecheck.scenario.command import Command
from racecheck.scenario.me import Me
from racecheck.scenario.operations import Script, Turns, name_of

if TYPE_CHECKING:
    from racecheck.scenario.actors import Actor


def check_programs(actors: Iterable[Actor], available: Collection[str]) -> None:
    """Refuse an actor's function with a parameter that nothing provides.

    Raises:
        ScenarioError: There is one.
    """
    for actor in actors:
        subject = actor.declaration.subject
        if isinstance(subject, Script):
            subject.check({"me", *available}, _owner(actor))
        elif not isinstance(subject, Command):
            check(subject, {"me", *available}, _owner(actor))


def make_programs(
    actors: Iterable[Actor], provided: Mapping[str, object]
) -> tuple[Program, ...]:
    """Return what each actor runs.

    Args:
        actors: The actors.
        provided: Everything there is for them by name, but for `me`.

    Raises:
        ScenarioError: A function has a parameter that nothing provides.
    """
    return tuple(_program(actor, provided) for actor in actors)


def state_arguments(state: object, taken: Collection[str]) -> dict[str, object]:
    """Return what `setup` returned as arguments by name.

    Args:
        state: What it returned.
        taken: Names that have a meaning already.

    Raises:
        ScenarioError: It is a dict with a key that is taken or is no name.
    """
    if not isinstance(state, Mapping):
        return {"state": state}
    for key in state:
        if not isinstance(key, str) or not key.isidentifier():
            raise ScenarioError(f"setup returned the key {key!r}, which is no name")
        if key in RESERVED or key in taken:
            raise ScenarioError(f"setup returned the key {key!r}, which is taken")
    return dict(state)


def _program(actor: Actor, provided: Mapping[str, object]) -> Program:
    declaration = actor.declaration
    subject = declaration.subject
    if isinstance(subject, Command):
        values = _texts(provided) | {"name": actor.name, "index": str(actor.index)}
        return Program(
            name=actor.name,
            role=declaration.role,
            pid=actor.pid,
            host=actor.host,
            clock_offset_s=declaration.clock_offset_s,
            arguments={},
            argv=subject.fill(values),
            after=declaration.after,
            succeeds=subject.succeeds,
        )
    me = Me(actor.name, declaration.role, actor.index)
    function: Callable[..., object]
    arguments: Mapping[str, object] = {}
    turns: Turns | None = None
    provided = {**provided, "me": me}
    if isinstance(subject, Script):
        function = turns = subject.bound(provided, _owner(actor))
        invocations = tuple(each.invocation for each in subject.operations)
    else:
        function, arguments = subject, bind(subject, provided, _owner(actor))
        invocations = (Invocation(name_of(subject)),)

    def reseed(seed: int) -> None:
        me.reseed(seed)
        if turns is not None:
            turns.begin()

    return Program(
        name=actor.name,
        role=declaration.role,
        pid=actor.pid,
        host=actor.host,
        clock_offset_s=declaration.clock_offset_s,
        function=function,
        arguments=arguments,
        repeat=declaration.repeat * len(invocations),
        after=declaration.after,
        raises=declaration.raises,
        succeeds=declaration.succeeds,
        invocations=invocations,
        reseed=reseed,
    )


def _owner(actor: Actor) -> str:
    declaration = actor.declaration
    owner = f"{declaration.role} {declaration.name!r}"
    function = getattr(declaration.subject, "__name__", declaration.name)
    return owner if function == declaration.name else f"{owner} (function {function!r})"


def _texts(provided: Mapping[str, object]) -> dict[str, str]:
    """Return the values that have a place in a command line."""
    texts = {}
    for name, value in provided.items():
        if isinstance(value, str | int | float | PurePath):
            texts[name] = str(value)
        elif callable(value):
            texts[name] = getattr(value, "__name__", str(value))
    return texts
