"""One step as a short text: the call, its paths, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.model import FaultKind, Kind, show, show_result
from racecheck.report.printable import cut, cut_path, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from racecheck.model import Fault, Step, Value

_PATHS = frozenset({"path", "oldpath", "newpath", "target"})
# Descriptors, each with the argument that names the file it leads to.
_FILES = {
    "fd": "file",
    "oldfd": "oldfile",
    "newfd": "newfile",
    "infd": "infile",
    "outfd": "outfile",
}
_DIRECTORIES = {"dirfd": "path", "olddirfd": "oldpath", "newdirfd": "newpath"}
# Flags that nearly every program sets, and that say nothing about other processes.
_DULL_FLAGS = frozenset(
    {"0", "O_CLOEXEC", "O_LARGEFILE", "O_NOCTTY", "AT_NO_AUTOMOUNT", "AT_EMPTY_PATH"}
)
# Files keep mappings in the order of their keys, in which nobody would write a call.
_ORDER = (
    *("of", "before", "infd", "inoffset", "outfd", "outoffset", "fd", "oldfd", "newfd"),
    *("last", "target", "olddirfd", "oldpath", "newdirfd", "newpath", "dirfd", "path"),
    *("name", "value", "data", "command", "argument", "type", "count", "offset"),
    *("whence", "start", "length", "protection", "flags", "mode"),
)
_RANKS = {name: rank for rank, name in enumerate(_ORDER)}
_TARGET_FIRST = frozenset({"sendfile", "ioctl"})
_TOLD_OUTPUTS = {Kind.READLINK: "target", Kind.LISTING: "names"}
_LIBRARY_NAMES = {
    "newfstatat": "fstatat",
    "getdents64": "getdents",
    "pread64": "pread",
    "pwrite64": "pwrite",
}
_WIDTHS = (1000, *range(60, 13, -2))
_LEAST_TOLD = 12
_MOST_TOLD = 60


class OpenFiles:
    """What the descriptors of each actor were opened as, to tell them by name."""

    def __init__(self) -> None:
        self._paths: dict[tuple[str, int], str] = {}

    def name(self, actor: str, descriptor: Value) -> str:
        """Return what a descriptor was opened as, or nothing."""
        if not isinstance(descriptor, int):
            return ""
        return self._paths.get((actor, descriptor), "")

    def follow(self, step: Step) -> None:
        """Take note of what a step opened, copied or closed."""
        if step.failed:
            return
        actor, args = step.actor, step.args
        if step.kind is Kind.OPEN:
            self._paths[actor, step.result] = show(args.get("path"))
        elif step.kind is Kind.DUP:
            self._paths[actor, step.result] = self.name(actor, args.get("oldfd"))
        elif step.kind is Kind.CLOSE:
            first = args.get("fd")
            last = args.get("last", first)
            for key in list(self._paths):
                if key[0] == actor and _within(key[1], first, last):
                    del self._paths[key]


def describe_call(step: Step, files: OpenFiles, width: int) -> str:
    """Return a step in at most `width` characters: `rename(a.tmp, a) = ENOENT`.

    What it gives up for want of room is folders first, then arguments, and the result
    last of all.
    """
    head = f"{printable(_LIBRARY_NAMES.get(step.call, step.call))}("
    tail = f") = {show_result(step.result)}{mark_fault(step.fault)}"
    room = width - len(head) - len(tail)
    arguments = ""
    for limit in _WIDTHS:
        arguments = ", ".join(_arguments(step, files, limit))
        if len(arguments) <= room:
            break
    text = cut(f"{head}{cut(arguments, max(room, 3))}{tail}", width)
    told = _told(step)
    left = min(width - len(text) - 1, _MOST_TOLD)
    return f"{text} {cut(told, left)}" if told and left >= _LEAST_TOLD else text


def mark_fault(fault: Fault | None) -> str:
    """Return what marks a step in which something was made to go wrong."""
    if fault is None or fault.kind is FaultKind.CRASH:
        return ""
    return f" [fault: {printable(str(fault))}]"


def _arguments(step: Step, files: OpenFiles, limit: int) -> Iterable[str]:
    args = step.args
    for name in sorted(args, key=lambda name: _rank(step.call, name)):
        value = args[name]
        if name in _FILES:
            yield _file(step, files, value, args.get(_FILES[name]), limit)
        elif name in _DIRECTORIES:
            if value != "cwd":
                # With an empty path it is the descriptor itself that is meant.
                at = "at " if args.get(_DIRECTORIES[name]) else ""
                yield f"{at}{_file(step, files, value, None, limit)}"
        elif name in _PATHS:
            if value != "":
                yield cut_path(printable(show(value)), limit)
        elif name == "flags":
            yield from _flags(show(value))
        elif not _is_dull(step, name):
            yield cut(printable(show(value)), limit)


def _rank(call: str, name: str) -> tuple[int, str]:
    if name == "outfd" and call in _TARGET_FIRST:
        return (-1, name)
    return (_RANKS.get(name, len(_RANKS)), name)


def _is_dull(step: Step, name: str) -> bool:
    """Say whether an argument is told elsewhere, or tells nothing."""
    return (
        name in _FILES.values()
        or (name == "mode" and step.kind is Kind.OPEN)
        or (name == "count" and step.kind is Kind.LISTING)
    )


def _file(
    step: Step, files: OpenFiles, descriptor: Value, file: Value, limit: int
) -> str:
    name = show(file) if file else files.name(step.actor, descriptor)
    number = printable(show(descriptor))
    return f"{number}:{cut_path(printable(name), limit)}" if name else number


def _flags(text: str) -> Iterable[str]:
    """Return flags without their common prefix: `WRONLY|CREAT|TRUNC`."""
    told = [flag for flag in text.split("|") if flag not in _DULL_FLAGS]
    if told:
        short = (flag.removeprefix("O_").removeprefix("AT_") for flag in told)
        yield printable("|".join(short))


def _told(step: Step) -> str:
    """Return what a call gave back, where that is more than its result says."""
    value = step.outputs.get(_TOLD_OUTPUTS.get(step.kind, ""))
    return printable(" ".join(value.splitlines())) if isinstance(value, str) else ""


def _within(descriptor: int, first: Value, last: Value) -> bool:
    return (
        isinstance(first, int) and isinstance(last, int) and first <= descriptor <= last
    )
