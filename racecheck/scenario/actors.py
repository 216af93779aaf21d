"""Who acts: what a role decorator was given, and the actors that come of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict, TypeVar

from racecheck.errors import ScenarioError
from racecheck.scenario.arguments import check_runs, is_whole, matches, meant
from racecheck.scenario.command import Command
from racecheck.scenario.operations import Planned, Script, name_of

Subject = Callable[..., object] | Command | Script
"""What an actor runs."""

Given = Callable[..., object] | Command | Script | Planned | Sequence[object]
"""What people write for it: also one operation, or several in a list."""

S = TypeVar("S", bound=Given)

FIRST_PID = 1001

_FARTHEST_S = 1_000_000_000

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class ActorOptions(TypedDict, total=False):
    """The options of a role decorator.

    Attributes:
        name: Name of the actor; the function's own if not given.
        count: How many actors do this.
        repeat: Operations in a row of each.
        after: Name of another declaration, or of one actor, whose first operation has
            to return before this one starts.
        raises: Exceptions that are documented behaviour and no error.
        succeeds: Says of a return value whether it means success.
        same_pid: Give all actors of the role that say so one process id, as
            containers on one volume can have.
        clock_offset_s: How far the clock of the actor's host is ahead of the others',
            in whole seconds, below 0 if it is behind. Files get their times from the
            volume, whose clock is right.
    """

    name: str
    count: int
    repeat: int
    after: str
    raises: type[BaseException] | Sequence[type[BaseException]]
    succeeds: Callable[[object], bool]
    same_pid: bool
    clock_offset_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What one use of a role decorator says; the fields are those of its options."""

    subject: Subject
    role: str
    name: str
    count: int = 1
    repeat: int = 1
    after: str | None = None
    raises: tuple[type[BaseException], ...] = ()
    succeeds: Callable[[object], bool] | None = None
    same_pid: bool = False
    clock_offset_s: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """One actor of a scenario, before it has a box.

    Attributes:
        name: Its name: that of the declaration, with a number if there are several.
        index: Which of those it is, from 0.
        pid: The process id that it is shown.
        host: Name of the host whose process ids it shares.
        declaration: What it was declared as.
    """

    name: str
    index: int
    pid: int
    host: str
    declaration: Declaration


def declare(
    role: str, given: Given, options: ActorOptions, *, anonymous: str = ""
) -> Declaration:
    """Check what a role decorator was given.

    Args:
        role: The role.
        given: What the actor runs.
        options: The options.
        anonymous: Name of what has none.

    Raises:
        ScenarioError: An option is unknown, or has a value that makes no sense.
    """
    unknown = [key for key in options if key not in ActorOptions.__annotations__]
    if unknown:
        raise ScenarioError(
            f"{role} has no option {unknown[0]!r}"
            f"{meant(unknown[0], ActorOptions.__annotations__)}"
        )
    subject = Script.of(given) or given
    name = options.get("name", _name_of(subject) or anonymous)
    if not matches(_NAME, name):
        raise ScenarioError(
            f"a {role} needs a name of letters, digits, '_', '.' and '-', not {name!r}"
            "; give it as name='...'"
        )
    if not (isinstance(subject, Command | Script) or callable(subject)):
        raise ScenarioError(f"{role} takes a function or a command, not {subject!r}")
    declaration = Declaration(
        subject=subject,
        role=role,
        name=name,
        count=_count(name, "count", options.get("count", 1)),
        repeat=_count(name, "repeat", options.get("repeat", 1)),
        after=options.get("after"),
        raises=_exceptions(name, options.get("raises", ())),
        succeeds=options.get("succeeds"),
        same_pid=options.get("same_pid", False),
        clock_offset_s=_offset(name, options.get("clock_offset_s", 0)),
    )
    if isinstance(subject, Command):
        _check_command(declaration)
    elif not isinstance(subject, Script):
        check_runs(subject, f"{role} {name!r}")
    if not (declaration.succeeds is None or callable(declaration.succeeds)):
        raise ScenarioError(f"succeeds of {name!r} is a function of the return value")
    return declaration


def expand(declarations: Sequence[Declaration], *, same_pid: bool) -> tuple[Actor, ...]:
    """Return the actors, in the order of their declaration.

    Args:
        declarations: What the role decorators said.
        same_pid: Whether all actors have one process id.
    """
    actors: list[Actor] = []
    first_pids: dict[str, int] = {}
    for declaration in declarations:
        for index in range(declaration.count):
            several = declaration.count > 1
            name = f"{declaration.name}-{index + 1}" if several else declaration.name
            pid, host = FIRST_PID + len(actors), ""
            if same_pid or declaration.same_pid:
                group = "" if same_pid else declaration.role
                # Equal ids are only possible on two hosts or in two containers, so
                # that one of these cannot signal the other either.
                host = name if group in first_pids else ""
                pid = first_pids.setdefault(group, pid)
            if declaration.clock_offset_s and not host:
                # Those whose clocks agree can be on one host, and no others.
                host = f"{declaration.clock_offset_s:+d} s"
            actors.append(
                Actor(
                    name=name, index=index, pid=pid, host=host, declaration=declaration
                )
            )
    return tuple(actors)


def check_names(declarations: Sequence[Declaration], actors: Sequence[Actor]) -> None:
    """Refuse names that are taken twice, and an order that nobody can follow.

    Raises:
        ScenarioError: Two actors have one name, or `after` names no other actor or
            leads back to where it started.
    """
    bases = [declaration.name for declaration in declarations]
    numbered = [a.name for a in actors if a.name != a.declaration.name]
    names = Counter([*bases, *numbered])
    for name, uses in names.items():
        if uses > 1:
            raise ScenarioError(
                f"two actors are called {name!r}; give one of them a name='...'"
            )
    base_of = {actor.name: actor.declaration.name for actor in actors}
    base_of.update({name: name for name in bases})
    waits_for: dict[str, str] = {}
    for declaration in declarations:
        if declaration.after is None:
            continue
        if declaration.after not in base_of:
            raise ScenarioError(
                f"{declaration.name!r} starts after {declaration.after!r}, which is no "
                f"actor{meant(declaration.after, base_of)}; "
                f"actors: {', '.join(sorted(base_of))}"
            )
        waits_for[declaration.name] = base_of[declaration.after]
    for start, follows in waits_for.items():
        # The start itself ends the walk, and so does a circle that it only leads to.
        seen = {start}
        while follows in waits_for and follows not in seen:
            seen.add(follows)
            follows = waits_for[follows]  # noqa: PLW2901  # walks on from there
        if follows == start:
            raise ScenarioError(f"{start!r} can never start: `after` leads back to it")


def _name_of(subject: object) -> str:
    if isinstance(subject, Script):
        return subject.name
    return name_of(subject) if callable(subject) else ""


def _check_command(declaration: Declaration) -> None:
    if declaration.repeat != 1:
        raise ScenarioError(
            f"{declaration.name!r} is a command, which runs once; "
            "repeat is for functions, count for several processes"
        )
    if declaration.raises or declaration.succeeds is not None:
        raise ScenarioError(
            f"{declaration.name!r} is a command, whose exit status tells how it ended; "
            "say which mean success with command(..., success=...)"
        )


def _count(name: str, option: str, value: int) -> int:
    if not is_whole(value, 1):
        raise ScenarioError(f"{option} of {name!r} is 1 or more, not {value!r}")
    return value


def _offset(name: str, value: int) -> int:
    # Neither before 1970 nor after what programs can show as a date.
    if not is_whole(value, -_FARTHEST_S) or value > _FARTHEST_S:
        raise ScenarioError(
            f"clock_offset_s of {name!r} is a number of whole seconds, up to "
            f"{_FARTHEST_S} either way, not {value!r}"
        )
    return value


def _exceptions(
    name: str, value: type[BaseException] | Sequence[type[BaseException]]
) -> tuple[type[BaseException], ...]:
    classes = (value,) if isinstance(value, type) else tuple(value)
    for each in classes:
        if not _is_exception(each):
            raise ScenarioError(f"raises of {name!r} holds exceptions, not {each!r}")
    return classes


def _is_exception(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)
