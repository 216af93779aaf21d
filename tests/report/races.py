"""Races made up for pages: of any length, and with names of the worst kind."""

from __future__ import annotations

from racecheck.model import (
    ActorEnd,
    ActorInfo,
    Buffer,
    Decision,
    Detail,
    Ending,
    Fault,
    FaultKind,
    Finding,
    Footprint,
    Frame,
    Held,
    Kind,
    Moment,
    Node,
    Operation,
    Race,
    Resource,
    Schedule,
    Share,
    Step,
    Trace,
    Verdict,
    Violation,
    Write,
    lane_of,
)
from racecheck.model.contents import Contents

ACTORS = ("save-1", "save-2", "load")
TOKEN = "rc1-TzY4CWoxIG-UL0uEzUOSt5u6LDGvuDy1iGEWAxsjCwMzIysT1xEZRj5WVmYWEM"  # noqa: S105  no secret
ODD_NAMES = (
    "</script><script>document.title='taken'</script>",
    "\"quotes\" & 'more' <b>",
    "two\nlines\r\x00",
    "abc\u202egnp.exe\u2066",
    "x" * 255,
    "{{ 7 * 7 }}",
    "caf\u00e9 \u65e5\u672c\u8a9e \U0001f600",
)


def race(trace: Trace, *, original: Trace | None = None) -> Race:
    """Return a race that shows a trace."""
    (violation, *_) = trace.violations
    return Race(
        finding=Finding(
            invariant=violation.invariant,
            message=violation.message,
            token=TOKEN,
            steps=len(trace.steps),
            context_switches=trace.schedule.context_switches(),
            found_steps=len((original or trace).steps),
            found_context_switches=(original or trace).schedule.context_switches(),
            confirmed=True,
            execution=9,
            trace=trace,
            original=original,
            curve=(Share(0, 3, 20), Share(4, 9, 20), Share(len(trace.steps), 20, 20)),
        ),
        expected=(violation.invariant,),
        about={"python": "CPython 3.11.7", "engine": "process"},
    )


def long_race(count: int) -> Race:
    """Return a race of so many steps in which files and locks change all the time."""
    return race(long_trace(count))


def long_trace(count: int, *, odd: bool = False) -> Trace:
    """Return an execution of so many steps, or more by a few.

    Args:
        count: How many.
        odd: Whether files have names of the worst kind.
    """
    contents = Contents()
    steps: list[Step] = []
    moments: list[Moment] = []
    held: dict[str, str] = {}
    tree: dict[str, Node] = {}
    known: dict[str, int] = {}
    for index in range(count):
        actor = ACTORS[index // 7 % 3]
        name = ODD_NAMES[index % len(ODD_NAMES)] if odd else f"folder/file-{index % 9}"
        kind = (Kind.OPEN, Kind.WRITE, Kind.WRITE, Kind.FLOCK, Kind.RENAME)[index % 5]
        changed: dict[str, Node] = {}
        locks = None
        gone: tuple[str, ...] = ()
        if kind in (Kind.OPEN, Kind.WRITE):
            data = f"{index}\n".encode() * (index % 5) + bytes([index % 256])
            number = contents.add(data, len(data), known.get(name, -1))
            known[name] = number
            changed[name] = tree[name] = Node("file", 0o644, f"{actor}#{index}", number)
        elif kind is Kind.FLOCK:
            if held.pop(actor, None) is None:
                held[actor] = name
            locks = tuple(
                Held(lane, path, "flock", exclusive=True, start=0, end=0, step=index)
                for lane, path in sorted(held.items())
            )
        elif name in tree:
            changed["moved"] = tree["moved"] = tree.pop(name)
            gone = (name,)
        steps.append(_step(index, actor, kind, name))
        moments.append(
            Moment(
                stack=index % 2,
                changed=changed,
                gone=gone,
                locks=locks,
                printed={actor: f"{name} at {index}\n"} if index % 50 == 0 else {},
            )
        )
    last = count - 1
    return Trace(
        scenario="made_up/long/shared",
        shape="00112233445566aa",
        actors=tuple(
            ActorInfo(name, "writer", 1001 + number)
            for number, name in enumerate(ACTORS)
        ),
        schedule=Schedule(
            0,
            tuple(
                Decision(lane_of(step.actor, step.task), step.fault) for step in steps
            ),
        ),
        steps=tuple(steps),
        operations=(
            Operation(
                actor=steps[last].actor,
                role="writer",
                index=0,
                ending=Ending.RAISED,
                succeeded=False,
                shown="FileNotFoundError: " + ODD_NAMES[0],
                exception="builtins.FileNotFoundError",
                first=0,
                last=last,
            ),
        ),
        ends=(ActorEnd("load", -9, crashed=True),),
        verdict=Verdict.VIOLATED,
        violations=(
            Violation("whole_images", f"expected {ODD_NAMES[1]}", step=last),
            Violation("no_lost_writes", "expected every write to succeed", step=None),
        ),
        outputs={"load": ODD_NAMES[0]},
        detail=Detail(
            moments=tuple(moments),
            stacks=((0, 1), (1,)),
            frames=(
                Frame("pathlib.py", 1044, "Path.open", library=True),
                Frame("made_up/writers.py", 7, "publish"),
            ),
            sources={
                "made_up/writers.py": {
                    number: f"    line_{number}('</script>')" for number in range(4, 11)
                },
                "pathlib.py": {1044: "    return io.open(self, mode)"},
            },
            printed={"load": "begins\n"},
            start={"folder": Node("folder", 0o755, "folder")},
            contents=contents.kept,
        ),
    )


def odd_race() -> Race:
    """Return a race with names that a page must not take for anything but text."""
    return race(long_trace(28, odd=True), original=long_trace(40, odd=True))


def _step(index: int, actor: str, kind: Kind, name: str) -> Step:
    entry = Resource("entry", ".", name)
    fault = None
    if index % 11 == 5:
        fault = Fault(FaultKind.ERRNO, errno="ENOSPC")
    elif index % 23 == 21:
        fault = Fault(FaultKind.CRASH)
    args: dict[str, int | str | Buffer | None] = {"path": name}
    if kind is Kind.WRITE:
        args = {"fd": 3, "file": name, "data": Buffer(9, "00" * 8, b"")}
    elif kind is Kind.RENAME:
        args = {"oldpath": name, "newpath": "moved"}
    elif kind is Kind.FLOCK:
        args = {"fd": 3, "file": name, "command": "LOCK_EX"}
    return Step(
        index=index,
        actor=actor,
        operation=0,
        call=str(kind),
        kind=Kind.CRASH if fault and fault.kind is FaultKind.CRASH else kind,
        args=args,
        result=-28 if fault is not None else 0,
        fault=fault,
        footprint=Footprint((entry,), (Write(entry),)),
        task=1 if index % 13 == 0 else 0,
    )
