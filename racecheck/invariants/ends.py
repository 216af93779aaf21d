"""What is there in the end: the same, whoever came last."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeAlias

from racecheck.errors import ScenarioError
from racecheck.invariants.actors import actors_of
from racecheck.invariants.arguments import (
    check_name,
    check_path,
    check_pattern,
    check_who,
)
from racecheck.invariants.rules import Rule
from racecheck.invariants.wording import amount

if TYPE_CHECKING:
    from racecheck.model import History, Invariant, View

Content: TypeAlias = bytes | str | None
"""What is at a path: the bytes of a file, `-> text` for a link, None for a folder."""


def identical(
    path: str, data: bytes, *, role: str = "writer", name: str = "identical"
) -> Invariant:
    """Require that a file has just these bytes in the end, if any write succeeded.

    Args:
        path: Path in the box.
        data: What a single undisturbed writer leaves there.
        role: Role or actor whose operations are the writes.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    if not isinstance(data, bytes):
        raise ScenarioError(f"identical compares with bytes, not {data!r}")
    of = "identical"
    return _Identical(
        check_name(name),
        check_who(role, of=of, what="role"),
        check_path(path, of=of),
        data,
    )


def converges(
    folder: str,
    contents: Mapping[str, Content],
    *,
    ignore: str = "",
    role: str = "writer",
    name: str = "converges",
) -> Invariant:
    """Require that a folder holds just this in the end, if any write succeeded.

    Args:
        folder: Path in the box.
        contents: All that is to be below it: path relative to the folder, and the bytes
            of a file, `-> text` for a link, or None for a folder.
        ignore: Names that are not looked at, such as `*.tmp.*`.
        role: Role or actor whose operations are the writes.
        name: Name of the invariant, for a scenario that has several.

    Raises:
        ScenarioError: An argument makes no sense.
    """
    of = "converges"
    if not isinstance(contents, Mapping):
        raise ScenarioError(f"converges compares with a mapping, not {contents!r}")
    for path, content in contents.items():
        check_path(path, of=of)
        if not isinstance(content, bytes | str | None):
            raise ScenarioError(f"converges compares with bytes, not {content!r}")
    if ignore:
        check_pattern(ignore, of=of)
    return _Converges(
        check_name(name),
        check_who(role, of=of, what="role"),
        check_path(folder, of=of),
        dict(contents),
        ignore,
    )


class _End(Rule):
    """What is judged at the end, unless nobody has succeeded."""

    def __init__(self, name: str, role: str) -> None:
        super().__init__(name)
        self._role = role

    def at_end(self, view: View, history: History) -> str | None:
        writers = actors_of(history, self._role)
        done = any(
            each.succeeded and each.actor in writers for each in history.operations
        )
        return self.judge(view) if done else None

    def judge(self, view: View) -> str | None:
        raise NotImplementedError


class _Identical(_End):
    def __init__(self, name: str, role: str, path: str, data: bytes) -> None:
        super().__init__(name, role)
        self._path = path
        self._data = data

    def judge(self, view: View) -> str | None:
        found = view.read(self._path)
        if found == self._data:
            return None
        expected = f"expected {self._path!r} as a single writer leaves it"
        if found is None:
            return f"{expected}, but found nothing"
        pairs = enumerate(self._data)
        other = [at for at, byte in pairs if found[at : at + 1] != bytes([byte])]
        place = other[0] if other else len(self._data)
        size = amount(len(found), "byte")
        return f"{expected}, but found {size} that differ from byte {place} on"


class _Converges(_End):
    def __init__(
        self,
        name: str,
        role: str,
        folder: str,
        contents: dict[str, Content],
        ignore: str,
    ) -> None:
        super().__init__(name, role)
        self._folder = folder
        self._contents = contents
        self._ignore = ignore

    def judge(self, view: View) -> str | None:
        found = {path: self._look(view, path) for path in self._paths(view)}
        if found == self._contents:
            return None
        path = min(
            path
            for path in {*found, *self._contents}
            if (path in found) != (path in self._contents)
            or found.get(path) != self._contents.get(path)
        )
        return (
            f"expected {self._folder!r} the same whoever came last, but {path!r} is "
            f"{_shown(found, path)} and should be {_shown(self._contents, path)}"
        )

    def _paths(self, view: View) -> list[str]:
        start = len(self._folder) + 1
        below = [path[start:] for path in view.tree(self._folder)]
        return [
            path
            for path in below
            if not (self._ignore and fnmatchcase(path.rpartition("/")[2], self._ignore))
        ]

    def _look(self, view: View, path: str) -> Content:
        whole = f"{self._folder}/{path}"
        text = view.readlink(whole)
        return view.read(whole) if text is None else f"-> {text}"


def _shown(contents: Mapping[str, Content], path: str) -> str:
    if path not in contents:
        return "missing"
    content = contents[path]
    if content is None:
        return "a folder"
    if isinstance(content, str):
        return f"a link {content}"
    return f"a file of {amount(len(content), 'byte')}"
