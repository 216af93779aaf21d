"""Files in memory and a history that tests write, in place of those of an engine."""

from __future__ import annotations

import fnmatch
import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from racecheck.invariants import Judge
from racecheck.model import (
    ActorEnd,
    Ending,
    Fault,
    FaultKind,
    Frame,
    Kind,
    Operation,
    Place,
    Program,
    Resource,
    Step,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from racecheck.model import History, Invariant, View

ERRNO = Fault(FaultKind.ERRNO, errno="ENOSPC")
TEAR = Fault(FaultKind.TEAR, length=3)
STALL = Fault(FaultKind.STALL, length=7200)
_PATHS = ("path", "oldpath", "newpath", "file")
WHOLE = b"whole image"
TORN = b"whole"


def validate(data: bytes) -> str | None:
    """Find only one image whole."""
    return None if data == WHOLE else "SHORT"


@dataclass
class FakeView:
    """The files of a box; `None` as content makes a folder.

    Attributes:
        files: Path to content.
        links: Path to the text of a symbolic link, relative to its folder.
        reads: The paths that were read, in order.
        seen: The same as resources, since `forget_seen`.
        makers: Path to the actor that made it.
        identities: Path to which file is there, where that is not the one of the path.
        meant: Which files the last step's paths meant.
        places: Where they led.
    """

    files: dict[str, bytes | None] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    seen: set[Resource] = field(default_factory=set)
    makers: dict[str, str] = field(default_factory=dict)
    identities: dict[str, str] = field(default_factory=dict)
    meant: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()

    def maker(self, path: str) -> str:
        return self.makers.get(path, "")

    def identity(self, path: str) -> str:
        return self.identities.get(path, path if self.exists(path) else "")

    def forget_seen(self) -> None:
        self.seen.clear()

    def read(self, path: str) -> bytes | None:
        self.reads.append(path)
        self.seen.add(Resource("data", path))
        return self.files.get(self._followed(path))

    def readlink(self, path: str) -> str | None:
        return self.links.get(path)

    def exists(self, path: str) -> bool:
        return any(
            known == path or known.startswith(f"{path}/")
            for known in [*self.files, *self.links]
        )

    def glob(self, pattern: str) -> tuple[str, ...]:
        names = {*self.files, *self.links}
        for link in self.links:
            folder = f"{self._followed(link)}/"
            names |= {
                f"{link}/{name.removeprefix(folder)}"
                for name in names
                if name.startswith(folder)
            }
        for name in list(names):
            names.update(_folders_of(name))
        wanted = pattern.split("/")
        return tuple(
            sorted(
                name
                for name in names
                if len(name.split("/")) == len(wanted)
                and all(map(fnmatch.fnmatchcase, name.split("/"), wanted))
            )
        )

    def tree(self, path: str) -> dict[str, str]:
        folder = f"{self._followed(path)}/"
        found = {
            known: "folder" if content is None else f"file 644 {content.decode()}"
            for known, content in self.files.items()
            if known.startswith(folder)
        }
        for known, text in self.links.items():
            if known.startswith(folder):
                found[known] = f"link {text}"
        return found

    def _followed(self, path: str) -> str:
        while path in self.links:
            path = posixpath.normpath(
                posixpath.join(posixpath.dirname(path), self.links[path])
            )
        return path


def _folders_of(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[:length]) for length in range(1, len(parts))}


@dataclass
class FakeHistory:
    """What has happened, as a test says."""

    programs: list[Program] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    ends: list[ActorEnd] = field(default_factory=list)
    opened: dict[str, list[str]] = field(default_factory=dict)

    def open_files(self, actor: str) -> list[str]:
        return self.opened.get(actor, [])

    def live(self, role: str) -> int:
        ended = {end.actor for end in self.ends}
        return sum(
            program.role == role and program.name not in ended
            for program in self.programs
        )


def program(
    name: str, role: str = "writer", *, repeat: int = 1, after: str | None = None
) -> Program:
    return Program(
        name=name, role=role, pid=1, arguments={}, repeat=repeat, after=after
    )


TWO_WRITERS_AND_A_READER = (
    program("serve-1"),
    program("serve-2"),
    program("load", "reader"),
)


class Play:
    """One execution, told step by step to a judge, in the order that engines keep.

    Attributes:
        view: The box, which a test changes before it tells of a step.
        history: What has been told so far.
        judge: Whom it is told.
    """

    def __init__(
        self,
        *invariants: Invariant,
        programs: tuple[Program, ...] = TWO_WRITERS_AND_A_READER,
        files: Mapping[str, bytes | None] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> None:
        self.view = FakeView(dict(files or {}), dict(links or {}))
        self.history = FakeHistory(list(programs))
        self.judge = Judge(invariants)
        # Both are what invariants get, so mypy has to find them fit.
        self._view: View = self.view
        self._history: History = self.history
        self.judge.start(self._view)

    @property
    def messages(self) -> list[str]:
        """The messages of the violations so far."""
        return [violation.message for violation in self.judge.violations]

    def step(
        self,
        actor: str = "serve-1",
        kind: Kind = Kind.WRITE,
        *,
        result: int = 0,
        fault: Fault | None = None,
        args: dict[str, Value] | None = None,
        names: str = "",
        operation: int = 0,
        **files: bytes | None,
    ) -> None:
        """Take a step; `head_img=b"..."` puts that there, and None removes it."""
        for name, content in files.items():
            path = name.replace("__", "/").replace("_", ".")
            if content is None:
                self.view.files.pop(path)
            else:
                self.view.files[path] = content
        given = [(args or {}).get(which) for which in _PATHS]
        self.view.places = tuple(
            Place(posixpath.dirname(path) or ".", posixpath.basename(path), path)
            for path in given
            if isinstance(path, str)
        )
        index = len(self.history.steps)
        outputs: dict[str, Value] = {"names": names} if names else {}
        taken = Step(
            index,
            actor,
            operation,
            str(kind),
            kind,
            args or {},
            result,
            outputs,
            fault=fault,
        )
        self.history.steps.append(taken)
        self.judge.on_step(self._view, self._history, taken)

    def operation(
        self,
        actor: str = "serve-1",
        ending: Ending = Ending.RETURNED,
        *,
        succeeded: bool | None = None,
        told: bool = True,
        **fields: object,
    ) -> Operation:
        """End an operation; only a return is a success unless it says so."""
        roles = {program.name: program.role for program in self.history.programs}
        ended = Operation(
            actor=actor,
            role=roles[actor],
            index=sum(each.actor == actor for each in self.history.operations),
            ending=ending,
            succeeded=ending is Ending.RETURNED if succeeded is None else succeeded,
            **fields,  # type: ignore[arg-type]  # they are those of Operation
        )
        self.history.operations.append(ended)
        if told:
            self.judge.on_return(self._view, self._history, ended)
        return ended

    def raised(
        self, actor: str = "serve-1", *, expected: bool = False, faults: int = 0
    ) -> None:
        """End an operation with FileNotFoundError."""
        self.operation(
            actor,
            Ending.RAISED,
            expected=expected,
            faults=faults,
            shown="FileNotFoundError: [Errno 2] head.img.tmp",
            exception="FileNotFoundError",
            frames=(Frame("a/serve.py", 3, "main"), Frame("a/image.py", 33, "write")),
        )

    def crash(self, actor: str) -> None:
        """Kill an actor in the middle of its operation."""
        self.history.ends.append(ActorEnd(actor, -9, crashed=True))
        self.step(actor, Kind.CRASH, fault=Fault(FaultKind.CRASH))
        self.operation(actor, Ending.CRASHED, faults=1)

    def exit(self, actor: str, status: int = 0) -> None:
        """End an actor's process."""
        self.history.ends.append(ActorEnd(actor, status))
        self.step(actor, Kind.EXIT)

    def end(self) -> None:
        """End the execution as it is."""
        self.judge.on_end(self._view, self._history)

    def finish(self) -> None:
        """Let everybody who has not ended do what is left and exit, then end."""
        hanging = {
            operation.actor
            for operation in self.history.operations
            if operation.ending is Ending.UNFINISHED
        }
        for each in self.history.programs:
            if any(end.actor == each.name for end in self.history.ends):
                continue
            if each.name in hanging:
                # Engines kill what hangs without making a step of it.
                self.history.ends.append(ActorEnd(each.name, -9))
                continue
            while (
                sum(done.actor == each.name for done in self.history.operations)
                < each.repeat
            ):
                self.operation(each.name)
            self.exit(each.name)
        self.end()
