"""No silent loss: a write that reports success has left an image behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.errors import EngineError
from racecheck.invariants.actors import actors_of
from racecheck.invariants.arguments import (
    check_function,
    check_name,
    check_path,
    check_who,
)
from racecheck.invariants.images import Images
from racecheck.invariants.rules import Rule
from racecheck.invariants.wording import happened

if TYPE_CHECKING:
    from racecheck.invariants.images import Validate
    from racecheck.model import History, Invariant, Operation, View


def no_silent_loss(
    path: str,
    validate: Validate,
    *,
    role: str = "writer",
    name: str = "no_silent_loss",
) -> Invariant:
    """Require that a whole image is at a path whenever a write reports success.

    It need not be the image of that write; a later one may have replaced it. Faults
    excuse nothing here: a write that met one may fail, but not claim to have succeeded.

    Args:
        path: Path in the box.
        validate: Judges all bytes of a file, as for `whole_images`.
        role: Role or actor whose operations are the writes.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    check_function(
        validate, of="no_silent_loss", what="validate", takes=("the bytes of a file",)
    )
    return _NoSilentLoss(
        check_name(name),
        check_path(path, of="no_silent_loss"),
        Images(validate),
        check_who(role, of="no_silent_loss", what="role"),
    )


class _NoSilentLoss(Rule):
    def __init__(self, name: str, path: str, images: Images, role: str) -> None:
        super().__init__(name)
        self._path = path
        self._images = images
        self._role = role
        self._judged: set[tuple[str, int]] = set()

    def start(self, view: View) -> None:  # noqa: ARG002 - only returns are judged
        self._images.clear()
        self._judged.clear()
        self.has_judged = False

    def at_return(
        self, view: View, history: History, operation: Operation
    ) -> str | None:
        if operation.actor not in actors_of(history, self._role):
            return None
        self._judged.add((operation.actor, operation.index))
        if not operation.succeeded:
            return None
        self.has_judged = True
        data = view.read(self._path)
        if data is None:
            problem: str | None = (
                f"expected a whole image at {self._path!r}, but found none"
            )
        else:
            problem = self._images.problem(self._path, data)
        return problem and f"{problem}, as {happened(operation)}"

    def at_end(self, view: View, history: History) -> str | None:
        del view
        names = actors_of(history, self._role)
        for operation in history.operations:
            if (
                operation.succeeded
                and operation.actor in names
                and (operation.actor, operation.index) not in self._judged
            ):
                # What was at the path when it returned can no longer be found out.
                raise EngineError(
                    f"{self._name} was not asked when {happened(operation)}"
                )
        return None
