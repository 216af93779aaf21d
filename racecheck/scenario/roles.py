"""The role decorators: `@scenario.writer`, bare or with options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack, overload

from racecheck.scenario.actors import ActorOptions, Declaration, S, declare

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.scenario.actors import Given


class RoleDecorator:
    """Adds what it decorates to a scenario, as an actor of one role.

    The decorated value comes back as it is, so that it can be called by anybody else
    too. Options are those of `ActorOptions`.
    """

    def __init__(self, role: str, declarations: list[Declaration]) -> None:
        self._role = role
        self._declarations = declarations

    @overload
    def __call__(self, subject: S, /, **options: Unpack[ActorOptions]) -> S: ...

    @overload
    def __call__(self, /, **options: Unpack[ActorOptions]) -> Callable[[S], S]: ...

    def __call__(
        self, subject: Given | None = None, /, **options: Unpack[ActorOptions]
    ) -> object:
        """Declare the subject, or return what declares the one it is put on."""
        if subject is not None:
            self._declarations.append(declare(self._role, subject, options))
            return subject

        def decorate(decorated: S) -> S:
            self._declarations.append(declare(self._role, decorated, options))
            return decorated

        return decorate


def writer(subject: Given, /, **options: Unpack[ActorOptions]) -> Declaration:
    """Say that an actor is a writer; options are those of `ActorOptions`."""
    return declare("writer", subject, options, anonymous="writer")


def reader(subject: Given, /, **options: Unpack[ActorOptions]) -> Declaration:
    """Say that an actor is a reader; options are those of `ActorOptions`."""
    return declare("reader", subject, options, anonymous="reader")


def evictor(subject: Given, /, **options: Unpack[ActorOptions]) -> Declaration:
    """Say that an actor is an evictor; options are those of `ActorOptions`."""
    return declare("evictor", subject, options, anonymous="evictor")


def actor(subject: Given, /, **options: Unpack[ActorOptions]) -> Declaration:
    """Give an actor of no special role options, those of `ActorOptions`."""
    return declare("actor", subject, options, anonymous="actor")
