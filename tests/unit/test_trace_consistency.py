"""Guards that a trace whose parts contradict each other is refused, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from racecheck.errors import TraceFileError
from racecheck.model import (
    ActorEnd,
    ActorInfo,
    Content,
    Decision,
    Detail,
    Ending,
    Fault,
    FaultKind,
    Finding,
    Frame,
    Held,
    Kind,
    Moment,
    Node,
    Operation,
    Race,
    Schedule,
    Share,
    Step,
    Trace,
    Violation,
)
from racecheck.storage import read_trace, write_trace

if TYPE_CHECKING:
    from pathlib import Path


def step(index: int, actor: str = "one", **other: Any) -> Step:  # noqa: ANN401  its fields
    return replace(Step(index, actor, 0, "open", Kind.OPEN, {}, 3), **other)


DETAIL = Detail(
    moments=(
        Moment(stack=0),
        Moment(program=0, changed={"a": Node("file", 0, "a", 1)}),
    ),
    stacks=((0,),),
    frames=(Frame("a.py", 1, "f"),),
    programs=("true",),
    contents=(Content(-1, 0, 0, b"abc", 3), Content(0, 1, 2, b"d", 9)),
)
TRACE = Trace(
    scenario="made_up",
    shape="00112233445566aa",
    actors=(ActorInfo("one", "writer", 1), ActorInfo("two", "reader", 2)),
    schedule=Schedule(0, (Decision("one"), Decision("two:1"))),
    steps=(step(0), step(1, "two", task=1)),
    operations=(
        Operation("one", "writer", 0, Ending.RETURNED, succeeded=True, first=0, last=0),
    ),
    ends=(ActorEnd("one", 0),),
    violations=(Violation("whole", "expected …", step=1, actor="two"),),
    outputs={"one": "hello"},
    detail=DETAIL,
)


def race(trace: Trace = TRACE, **other: Any) -> Race:  # noqa: ANN401  its fields
    finding = Finding(
        invariant="whole",
        message="expected …",
        token="",
        steps=len(trace.steps),
        context_switches=trace.schedule.context_switches(),
        found_steps=len(TRACE.steps),
        found_context_switches=1,
        confirmed=True,
        execution=1,
        trace=trace,
        original=TRACE,
        curve=(Share(2, 1, 1),),
    )
    return Race(finding=replace(finding, **other))


def in_detail(**other: Any) -> Race:  # noqa: ANN401  its fields
    return race(replace(TRACE, detail=replace(DETAIL, **other)))


def held(lane: str, at: int) -> tuple[Moment, ...]:
    lock = Held(lane, "a", "flock", exclusive=True, start=0, end=0, step=at)
    return (Moment(locks=(lock,)), Moment())


def test_what_hangs_together_is_read(tmp_path: Path) -> None:
    write_trace(race(), tmp_path / "a.trace")

    assert read_trace(tmp_path / "a.trace") == race()


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        (race(steps=3), "it is told to have 3 steps and 1 context switches"),
        (race(found_steps=3), "it is told to have had 3 steps and 1 context switches"),
        (race(invariant="other"), "'other' is not broken"),
        (race(curve=(Share(3, 0, 1),)), "0 of 1 executions from step 3 on"),
        (race(curve=(Share(0, 0, 0),)), "0 of 0 executions from step 0 on"),
        (race(replace(TRACE, steps=TRACE.steps[:1])), "1 steps come of 2 decisions"),
        (race(replace(TRACE, steps=TRACE.steps[::-1])), "step 0 has the number 1"),
        (
            race(replace(TRACE, steps=(step(0, "three"), TRACE.steps[1]))),
            "step 0 is of 'three', none of the actors",
        ),
        (
            race(replace(TRACE, steps=(step(0, task=-1), TRACE.steps[1]))),
            "step 0 is of task -1, operation 0",
        ),
        (
            race(replace(TRACE, steps=(step(0, task=1), TRACE.steps[1]))),
            "step 0 is not what was decided",
        ),
        (
            race(
                replace(
                    TRACE,
                    steps=(
                        step(0, fault=Fault(FaultKind.SHORT, length=-1)),
                        TRACE.steps[1],
                    ),
                    schedule=Schedule(
                        0,
                        (
                            Decision("one", Fault(FaultKind.SHORT, length=-1)),
                            Decision("two:1"),
                        ),
                    ),
                )
            ),
            "step 0 has an impossible fault",
        ),
        (race(replace(TRACE, actors=TRACE.actors[:1] * 2)), "two actors have one name"),
        (
            race(replace(TRACE, operations=(replace(TRACE.operations[0], last=2),))),
            "an operation of 'one' has step 2",
        ),
        (
            race(replace(TRACE, operations=(replace(TRACE.operations[0], actor="x"),))),
            "an operation is of 'x', none of the actors",
        ),
        (
            race(replace(TRACE, violations=(Violation("whole", "", step=-1),))),
            "'whole' is broken at step -1",
        ),
        (
            race(replace(TRACE, violations=(Violation("whole", "", actor="x"),))),
            "'whole' is broken by 'x'",
        ),
        (
            race(replace(TRACE, ends=(ActorEnd("x", 0),))),
            "'x', who ends or prints, is none of the actors",
        ),
        (race(original=replace(TRACE, steps=())), "in the execution as it was found"),
        (in_detail(moments=()), "0 of 2 steps were recorded"),
        (in_detail(moments=(Moment(stack=1), Moment())), "step 0 has stack 1 or"),
        (in_detail(moments=(Moment(program=-2), Moment())), "or program -2"),
        (in_detail(moments=held("x:3", 0)), "'x', who has a lock at step 0, is none"),
        (in_detail(moments=held("one", 2)), "a lock was taken at step 2"),
        (in_detail(stacks=((1,),)), "stack 0 has frames that are not there"),
        (in_detail(stacks=((),)), "stack 0 has frames that are not there"),
        (in_detail(start={"a": Node("file", 0, "", 2)}), "with content 2 at the start"),
        (in_detail(start={"a": Node("door", 0, "")}), "'a' is 'door'"),
        (
            in_detail(contents=(Content(0, 0, 0, b"", 0), DETAIL.contents[1])),
            "content 0 comes of content 0",
        ),
        (
            in_detail(contents=(DETAIL.contents[0], Content(0, 2, 2, b"", 3))),
            "content 1 replaces 2 of 3 bytes from byte 2 on",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(
    broken: Race, found: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.trace"
    write_trace(broken, path)

    with pytest.raises(TraceFileError) as caught:
        read_trace(path)

    said = str(caught.value)
    assert said.startswith(f"{str(path)!r} is damaged: it contradicts itself: ")
    assert found in said
    assert "\n" not in said


def test_a_name_without_end_is_told_in_part(tmp_path: Path) -> None:
    write_trace(race(invariant="x" * 100_000), tmp_path / "a.trace")

    with pytest.raises(TraceFileError) as caught:
        read_trace(tmp_path / "a.trace")

    assert len(str(caught.value)) < 1000
