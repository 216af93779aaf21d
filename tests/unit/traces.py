"""Traces made by hand, for tests of what is told about them."""

from __future__ import annotations

from racecheck.model import (
    ActorEnd,
    ActorInfo,
    Buffer,
    Coverage,
    Decision,
    Ending,
    Finding,
    Kind,
    Operation,
    ScenarioResult,
    Schedule,
    Step,
    Trace,
    Value,
    Verdict,
    Violation,
)

CREATE = "O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC"
DATA = Buffer(4096, "00" * 8, b"head")
ERROR = "FileNotFoundError: [Errno 2] No such file or directory"
FIRST, SECOND = "serve-1", "serve-2"


def step(
    index: int, actor: str, call: str, kind: Kind, result: int = 0, **args: Value
) -> Step:
    return Step(
        index=index,
        actor=actor,
        operation=0,
        call=call,
        kind=kind,
        args=args,
        result=result,
    )


def opened(index: int, actor: str, path: str) -> Step:
    return step(
        index,
        actor,
        "openat",
        Kind.OPEN,
        3,
        dirfd="cwd",
        path=path,
        flags=CREATE,
        mode="0644",
    )


def renamed(index: int, actor: str, result: int = 0) -> Step:
    return step(
        index,
        actor,
        "rename",
        Kind.RENAME,
        result,
        oldpath="head.img.tmp",
        newpath="head.img",
    )


def ended(actor: str, ending: Ending, **fields: object) -> Operation:
    values = {"role": "writer", "index": 0, "succeeded": False, **fields}
    return Operation(actor=actor, ending=ending, **values)  # type: ignore[arg-type]  # checked by use


def trace(**fields: object) -> Trace:
    """Return two writers that share a temp name, with some fields replaced."""
    steps = (
        opened(0, FIRST, "head.img.tmp"),
        step(1, FIRST, "write", Kind.WRITE, 4096, fd=3, data=DATA),
        opened(2, SECOND, "head.img.tmp"),
        step(3, FIRST, "close", Kind.CLOSE, fd=3),
        renamed(4, FIRST),
        step(5, FIRST, "return", Kind.RETURN),
        step(6, FIRST, "exit_group", Kind.EXIT, status=0),
        step(7, SECOND, "write", Kind.WRITE, 4096, fd=3, data=DATA),
        renamed(8, SECOND, -2),
        step(9, SECOND, "return", Kind.RETURN),
    )
    operations = (
        ended(FIRST, Ending.RETURNED, succeeded=True, shown="True", first=0, last=5),
        ended(SECOND, Ending.RAISED, shown=ERROR, first=2, last=9),
    )
    violations = (
        Violation(
            "no_silent_loss", "expected a whole image, but found 0 bytes", 5, FIRST
        ),
        Violation("no_lost_writes", "expected each write to succeed", None),
    )
    values: dict[str, object] = {
        "scenario": "head_image/two_writers/write_shared",
        "shape": "00",
        "actors": (ActorInfo(FIRST, "writer", 1001), ActorInfo(SECOND, "writer", 1002)),
        "schedule": Schedule(7, tuple(Decision(each.actor) for each in steps)),
        "steps": steps,
        "operations": operations,
        "ends": (ActorEnd(FIRST, 0), ActorEnd(SECOND, 1)),
        "verdict": Verdict.VIOLATED,
        "violations": violations,
        "outputs": {FIRST: "", SECOND: "Traceback\nFileNotFoundError\n"},
    }
    return Trace(**{**values, **fields})  # type: ignore[arg-type]  # checked by use


def finding(invariant: str = "no_lost_writes", **fields: object) -> Finding:
    values: dict[str, object] = {
        "invariant": invariant,
        "message": "expected each write to succeed",
        "token": f"rc1-{invariant}",
        "steps": 10,
        "context_switches": 3,
        "confirmed": True,
        "execution": 2,
        "trace": trace(),
    }
    return Finding(**{**values, **fields})  # type: ignore[arg-type]  # checked by use


def result(name: str = "head_image/two", **fields: object) -> ScenarioResult:
    """Return what an exploration that found nothing says, with fields replaced."""
    values: dict[str, object] = {
        "name": name,
        "engine": "process",
        "verdict": Verdict.PASSED,
        "reason": "",
        "expected": (),
        "as_expected": True,
        "coverage": Coverage.SAMPLED,
        "assumptions": ("calls are atomic",),
        "bounds": {"max_steps": 10_000},
        "scheduler": "mixed",
        "seed": 0,
        "executions": 1000,
        "steps": 10_000,
        "seconds": 2.5,
        "findings": (),
    }
    return ScenarioResult(**{**values, **fields})  # type: ignore[arg-type]  # checked by use
