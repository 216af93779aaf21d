"""The role decorators: `@scenario.writer`, bare or with options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack, overload

from racecheck.scenario.actors import ActorOptions, Declaration, S, declare

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.scenario.actors import Subject


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
        self, subject: Subject | None = None, /, **options: Unpack[ActorOptions]
    ) -> object:
        """Declare the subject, or return what declares the one it is put on."""
        if subject is not None:
            self._declarations.append(declare(self._role, subject, options))
            return subject

        def decorate(decorated: S) -> S:
            self._declarations.append(declare(self._role, decorated, options))
            return decorated

        return decorate
