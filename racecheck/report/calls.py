"""One step as a short text: the call, its paths, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model import FaultKind, Kind, show, show_result
from racecheck.report.printable import cut, cut_path, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from racecheck.model import Fault, Step, Value

_PATHS = frozenset({"path", "oldpath", "newpath", "target"})
_FILES = frozenset({"fd", "oldfd", "newfd", "infd", "outfd"})
_DIRECTORIES = frozenset({"dirfd", "olddirfd", "newdirfd"})
# Flags that nearly every program sets, and that say nothing about other processes.
_DULL_FLAGS = frozenset({"O_CLOEXEC", "O_LARGEFILE", "O_NOCTTY", "AT_NO_AUTOMOUNT"})
_TOLD_OUTPUTS = {Kind.READLINK: "target", Kind.LISTING: "names"}
_WIDTHS = (40, 28, 20, 14)


class OpenFiles:
    """What the descriptors of each actor were opened as, to tell them by name."""

    def __init__(self) -> None:
        self._paths: dict[tuple[str, int], str] = {}

    def label(self, actor: str, descriptor: Value) -> tuple[str, str]:
        """Return a descriptor, and what it was opened as or nothing."""
        if not isinstance(descriptor, int):
            return show(descriptor), ""
        return str(descriptor), self._paths.get((actor, descriptor), "")

    def follow(self, step: Step) -> None:
        """Take note of what a step opened, copied or closed."""
        if step.failed:
            return
        actor, args = step.actor, step.args
        if step.kind is Kind.OPEN and isinstance(args.get("path"), str):
            self._paths[actor, step.result] = str(args["path"])
        elif step.kind is Kind.DUP and isinstance(args.get("oldfd"), int):
            _, path = self.label(actor, args["oldfd"])
            self._paths[actor, step.result] = path
        elif step.kind is Kind.CLOSE and isinstance(args.get("fd"), int):
            first = args["fd"]
            last = args.get("last", first)
            for key in list(self._paths):
                if key[0] == actor and _within(key[1], first, last):
                    del self._paths[key]


def describe_call(step: Step, files: OpenFiles, width: int) -> str:
    """Return a step in at most `width` characters: `rename(a.tmp, a) = ENOENT`.

    What it gives up for want of room is folders first, then arguments, and the result
    last of all.
    """
    head = f"{printable(step.call)}("
    tail = f") = {show_result(step.result)}{_told(step)}{mark_fault(step.fault)}"
    arguments = ""
    for limit in (1000, *_WIDTHS):
        arguments = ", ".join(_arguments(step, files, limit))
        if len(head) + len(arguments) + len(tail) <= width:
            return f"{head}{arguments}{tail}"
    room = width - len(head) - len(tail)
    return cut(f"{head}{cut(arguments, max(room, 3))}{tail}", width)


def mark_fault(fault: Fault | None) -> str:
    """Return what marks a step in which something was made to go wrong."""
    if fault is None or fault.kind is FaultKind.CRASH:
        return ""
    return f" [fault: {printable(str(fault))}]"


def _arguments(step: Step, files: OpenFiles, limit: int) -> Iterable[str]:
    for name, value in step.args.items():
        if name in _DIRECTORIES:
            if value != "cwd" and step.args.get(name.replace("dirfd", "path")):
                yield f"at {_file(step, files, value, limit)}"
        elif name in _FILES:
            yield _file(step, files, value, limit)
        elif name in _PATHS:
            yield cut_path(printable(show(value)), limit)
        elif name == "flags":
            flags = _flags(show(value))
            if flags:
                yield flags
        # What a file is created with matters where somebody looks at modes.
        elif name != "mode" or step.kind is not Kind.OPEN:
            yield cut(printable(show(value)), limit)


def _file(step: Step, files: OpenFiles, value: Value, limit: int) -> str:
    number, path = files.label(step.actor, value)
    return f"{number}:{cut_path(printable(path), limit)}" if path else number


def _flags(text: str) -> str:
    """Return flags without their common prefix: `WRONLY|CREAT|TRUNC`."""
    told = [flag for flag in text.split("|") if flag not in _DULL_FLAGS and flag != "0"]
    return printable("|".join(flag.removeprefix("O_") for flag in told))


def _told(step: Step) -> str:
    """Return what a call gave back, where that is more than its result says."""
    value = step.outputs.get(_TOLD_OUTPUTS.get(step.kind, ""))
    if not isinstance(value, str):
        return ""
    return f" {cut(printable(' '.join(value.splitlines())), 30)}"


def _within(descriptor: int, first: Value, last: Value) -> bool:
    return (
        isinstance(first, int) and isinstance(last, int) and first <= descriptor <= last
    )
