"""Whole images: what a reader can open is complete at every moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.invariants.arguments import (
    check_function,
    check_name,
    check_pattern,
    check_who,
    has_magic,
)
from racecheck.invariants.rules import StateRule
from racecheck.invariants.wording import amount, complaint

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import Invariant, View

    Validate = Callable[[bytes], object]


def whole_images(
    path: str,
    validate: Validate,
    *,
    name: str = "whole_images",
    after: str | None = None,
) -> Invariant:
    """Require that whatever can be opened at a path is whole, at every step.

    A missing file is fine: readers have to cope with that, and `never_missing` is there
    for those that cannot.

    Args:
        path: Path in the box, or a pattern for several; `*` stays within one folder.
        validate: Judges all bytes of a file. None and True mean that it is whole, and
            anything else says what is wrong: False, text, a refusal from an enum. It
            has to answer the same for the same bytes.
        name: Name of the invariant, for a scenario that has several.
        after: Actor or role that has to have succeeded once before this is judged.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    check_function(
        validate, of="whole_images", what="validate", takes=("the bytes of a file",)
    )
    if after is not None:
        check_who(after, of="whole_images", what="after")
    return _WholeImages(
        check_name(name),
        check_pattern(path, of="whole_images", what="path"),
        Images(validate),
        after,
    )


class Images:
    """What a function says of files, asked again only once their bytes have changed."""

    def __init__(self, validate: Validate) -> None:
        self._validate = validate
        self._last: dict[str, tuple[bytes, str | None]] = {}

    def clear(self) -> None:
        """Forget all answers."""
        self._last.clear()

    def problem(self, path: str, data: bytes) -> str | None:
        """Say what is wrong with the bytes found at a path."""
        last = self._last.get(path)
        # Compared as they are: a digest would cost more than the comparison does.
        if last is None or last[0] != data:
            last = (bytes(data), complaint(self._validate(data), "not whole"))
            self._last[path] = last
        if last[1] is None:
            return None
        return (
            f"expected a whole image at {path!r}, "
            f"but found {amount(len(data), 'byte')}: {last[1]}"
        )


class _WholeImages(StateRule):
    def __init__(self, name: str, path: str, images: Images, after: str | None) -> None:
        super().__init__(name, after)
        self._path = path
        self._images = images

    def begin(self, view: View) -> str | None:
        self._images.clear()
        self.has_judged = False
        return self.judge(view) if self._gate.is_open else None

    def judge(self, view: View) -> str | None:
        for path in self._paths(view):
            data = view.read(path)
            if data is not None:
                self.has_judged = True
                problem = self._images.problem(path, data)
                if problem is not None:
                    return problem
        return None

    def _paths(self, view: View) -> list[str]:
        if not has_magic(self._path):
            return [self._path]
        # The pattern itself is a path too: `model[fp8].img` does not match itself.
        return [self._path, *view.glob(self._path)]
