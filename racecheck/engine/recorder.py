"""Records of an execution what a report shows beside its steps.

All of it is read while everybody stands still: stacks from the memory of the actors,
the rest from the box. So an execution that is recorded goes as one that is not.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from racecheck.engine.sources import lines_around, source
from racecheck.model import Detail, Frame, Held, Kind, Moment, Node, legible
from racecheck.model.contents import Contents

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from racecheck.engine.machine import Machine
    from racecheck.engine.stacks import Place
    from racecheck.engine.task import Task
    from racecheck.footprint import Names
    from racecheck.model import Step

_LINES_AROUND: Final = 3
_MOST_NODES: Final = 2000
_MOST_STACKS: Final = 10_000
_LONGEST_COMMAND: Final = 400
_MOST_PRINTED: Final = 1 << 16
# These change nothing that a look at the box can show.
_LOOKS: Final = frozenset(
    {
        Kind.READ,
        Kind.SEEK,
        Kind.STAT,
        Kind.ACCESS,
        Kind.READLINK,
        Kind.LISTING,
        Kind.GETCWD,
        Kind.DUP,
        Kind.GETXATTR,
    }
)


class _File(NamedTuple):
    """What a look at a file depends on: while it is equal, so is the file."""

    node: Node
    stamp: tuple[int, ...]


class Recorder:
    """Records one execution."""

    def __init__(self, machine: Machine, names: Names) -> None:
        """Begin.

        Args:
            machine: What executions share.
            names: Names of the inodes.
        """
        self._machine = machine
        self._names = names
        self._box = str(machine.sandbox.box)
        self._contents = Contents()
        self._files: dict[str, _File] = {}
        self._start: dict[str, Node] = {}
        self._moments: list[Moment] = []
        self._stacks: dict[tuple[int, ...], int] = {}
        self._frames: dict[Frame, int] = {}
        self._sources: dict[str, dict[int, str]] = {}
        self._programs: dict[str, int] = {}
        self._printed: dict[Path, int] = {}
        self._locks: tuple[Held, ...] = ()
        self._waiting: dict[str, str] = {}
        self._next = Moment()
        self._printed_first: dict[str, str] = {}
        self._left_out: dict[str, None] = {}

    def start(self) -> None:
        """Look at the box before the first step."""
        self._look()
        self._start = {path: file.node for path, file in self._files.items()}

    def begin(self) -> None:
        """Look at what was printed before the first step."""
        self._printed_first = dict(self._new_output())

    def before(self, task: Task) -> None:
        """Look at a task that is about to take a step."""
        stack, program = -1, -1
        if len(self._moments) >= _MOST_STACKS:
            self._leave_out(f"only the first {_MOST_STACKS} steps have stacks")
        elif task.process.foreign:
            program = self._program(task.process.proc)
        else:
            stack = self._stack(task)
        self._next = Moment(stack=stack, program=program)

    def after(self, step: Step, locks: Iterable[Held], waiting: dict[str, str]) -> None:
        """Look at what a step has done, and who holds and waits for what."""
        changed: dict[str, Node] = {}
        gone: tuple[str, ...] = ()
        if step.kind not in _LOOKS:
            before = {path: file.node for path, file in self._files.items()}
            self._look()
            changed = {
                path: file.node
                for path, file in self._files.items()
                if before.get(path) != file.node
            }
            gone = tuple(sorted(before.keys() - self._files.keys()))
        held = tuple(sorted(locks, key=_lock_order))
        self._moments.append(
            msgspec.structs.replace(
                self._next,
                changed=changed,
                gone=gone,
                locks=None if held == self._locks else held,
                printed=dict(self._new_output()),
                waiting=None if waiting == self._waiting else waiting,
            )
        )
        self._locks, self._waiting = held, waiting

    def detail(self) -> Detail:
        """Return what was recorded."""
        return Detail(
            moments=tuple(self._moments),
            stacks=tuple(self._stacks),
            frames=tuple(self._frames),
            sources=self._sources,
            programs=tuple(self._programs),
            printed=self._printed_first,
            start=self._start,
            contents=self._contents.kept,
            left_out="; ".join(self._left_out),
        )

    def _leave_out(self, what: str) -> None:
        self._left_out[what] = None

    # --- the box ----------------------------------------------------------------------

    def _look(self) -> None:
        found: dict[str, _File] = {}
        for path, status in _walk(self._box, ""):
            if len(found) >= _MOST_NODES:
                self._leave_out(f"only {_MOST_NODES} names of the box are shown")
                break
            name = legible(path)
            stamp = (
                status.st_dev,
                status.st_ino,
                status.st_mode,
                status.st_size,
                status.st_mtime_ns,
                status.st_ctime_ns,
            )
            known = self._files.get(name)
            # Files that are written to keep the same time for as long as a tick.
            if known is not None and known.stamp == stamp and known.node.content < 0:
                found[name] = known
                continue
            found[name] = _File(self._node(path, status, known), stamp)
        self._files = found

    def _node(self, path: str, status: os.stat_result, known: _File | None) -> Node:
        mode = stat.S_IMODE(status.st_mode)
        name = self._names.find(status) or ""
        whole = f"{self._box}/{path}"
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(whole).replace(f"{self._box}/", "")
            return Node("link", mode, name, target=legible(target))
        if stat.S_ISDIR(status.st_mode):
            return Node("folder", mode, name)
        if not stat.S_ISREG(status.st_mode):
            return Node("other", mode, name)
        base = known.node.content if known is not None else -1
        return Node("file", mode, name, self._content(whole, status.st_size, base))

    def _content(self, whole: str, size: int, base: int) -> int:
        try:
            with open(whole, "rb") as file:
                return self._contents.add(file.read(self._contents.most), size, base)
        except OSError:
            return -1

    # --- programs ---------------------------------------------------------------------

    def _stack(self, task: Task) -> int:
        try:
            thread = self._machine.registers.thread_pointer(task.tid)
        except OSError:
            # It does not stand at a stop, because it has none left.
            return -1
        numbers = []
        for place in _own(self._machine.stacks.read(task.process.memory, thread)):
            named = source(place.file)
            name = legible(named.name)
            frame = Frame(name, place.line, legible(place.function), named.library)
            numbers.append(self._frames.setdefault(frame, len(self._frames)))
            more = 0 if named.library else _LINES_AROUND
            lines = lines_around(place.file, place.line, more)
            self._sources.setdefault(name, {}).update(
                {number: legible(text) for number, text in lines.items()}
            )
        if not numbers:
            return -1
        return self._stacks.setdefault(tuple(numbers), len(self._stacks))

    def _program(self, process: int) -> int:
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                words = file.read().split(b"\0")[:-1]
        except OSError:
            return -1
        if not words:
            return -1
        first, *others = (os.fsdecode(word) for word in words)
        if first == sys.executable:
            first = "python"
        root = str(self._machine.sandbox.root)
        named = [
            source(word).name
            if os.path.isabs(word) and not word.startswith(root)
            else word
            for word in others
        ]
        text = shlex.join([os.path.basename(first), *named])
        for folder, shown in ((f"{self._box}/", ""), (self._box, ".")):
            text = text.replace(folder, shown)
        text = legible(text.replace(root, "$SANDBOX"))[:_LONGEST_COMMAND]
        return self._programs.setdefault(text, len(self._programs))

    def _new_output(self) -> Iterator[tuple[str, str]]:
        outputs = self._machine.sandbox.outputs
        for entry in sorted(os.scandir(outputs), key=lambda entry: entry.name):
            path = outputs / entry.name
            known = self._printed.get(path, 0)
            size = entry.stat().st_size
            if size > known:
                with path.open("rb") as file:
                    file.seek(known)
                    data = file.read(min(size - known, _MOST_PRINTED))
                text = data.decode(errors="backslashreplace")
                yield entry.name, text.replace(f"{self._box}/", "")
            self._printed[path] = size


def _own(stack: Sequence[Place]) -> Iterator[Place]:
    """Yield the places of a stack that belong to the actor's program."""
    inside = f"{os.path.dirname(__file__)}/"
    for place in stack:
        if place.file.startswith(inside):
            return
        yield place


def _walk(box: str, folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield all below a folder, as far as it can be looked at, sorted."""
    try:
        names = sorted(os.listdir(f"{box}/{folder}"))
    except OSError:
        return
    for name in names:
        path = f"{folder}/{name}" if folder else name
        try:
            status = os.lstat(f"{box}/{path}")
        except OSError:
            continue
        yield path, status
        if stat.S_ISDIR(status.st_mode):
            yield from _walk(box, path)


def _lock_order(lock: Held) -> tuple[object, ...]:
    return (lock.step, lock.lane, lock.path, lock.type, lock.start, lock.end)
