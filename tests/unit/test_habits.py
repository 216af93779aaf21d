"""Guards that what an earlier execution left in a process shows, and nothing else."""

from __future__ import annotations

import pytest

from racecheck.explore.habits import Habits, StateKeptError
from racecheck.model import Footprint, Kind, Resource, Step, Write

FILE = Resource("times", "/file")


def step(
    actor: str,
    call: str,
    result: int = 0,
    *,
    kind: Kind = Kind.OTHER,
    footprint: Footprint | None = None,
    task: int = 0,
    **outputs: str,
) -> Step:
    return Step(
        index=0,
        actor=actor,
        operation=0,
        call=call,
        kind=kind,
        args={},
        result=result,
        outputs=dict(outputs),
        footprint=footprint or Footprint(),
        task=task,
    )


LOOK = step("b", "stat", -2, kind=Kind.STAT)


def test_another_call_after_the_same_answers_shows_state() -> None:
    habits = Habits()
    habits.learn(0, [step("a", "mkdir"), LOOK, step("b", "open")])

    # The same, where others did something else.
    habits.learn(0, [LOOK, step("b", "open"), step("a", "mkdir")])
    with pytest.raises(StateKeptError):
        habits.learn(0, [LOOK, step("b", "exit")])


@pytest.mark.parametrize(
    "other",
    [
        [step("b", "stat", 0, kind=Kind.STAT)],
        [step("b", "stat", -13, kind=Kind.STAT)],
        [step("b", "stat", -2, kind=Kind.STAT, read="x")],
        [LOOK, step("b", "write", task=1)],
        [LOOK, step("b", "crash", kind=Kind.CRASH)],
    ],
    ids=["result", "error", "output", "task", "crash"],
)
def test_other_answers_tasks_and_crashes_are_no_state(other: list[Step]) -> None:
    habits = Habits()
    habits.learn(0, [LOOK, step("b", "open")])

    habits.learn(0, [*other, step("b", "exit")] if len(other) == 1 else other)


def test_other_random_bytes_are_another_answer() -> None:
    habits = Habits()
    habits.learn(0, [LOOK, step("b", "open")])

    habits.learn(1, [LOOK, step("b", "exit")])


def test_times_that_others_have_changed_are_another_answer() -> None:
    touch = step("a", "utimes", footprint=Footprint((), (Write(FILE),)))
    found = step("b", "stat", kind=Kind.STAT, footprint=Footprint((FILE,), ()))
    habits = Habits()
    habits.learn(0, [found, step("b", "open")])

    habits.learn(0, [touch, found, step("b", "exit")])
    with pytest.raises(StateKeptError):
        habits.learn(0, [found, touch, step("b", "exit")])


def test_what_another_process_has_done_shows_it_as_well() -> None:
    ours, theirs = Habits(), Habits()
    ours.learn(0, [LOOK, step("b", "open")])

    # It was the other way from the first execution on, so that it knows nothing else.
    theirs.learn(0, [LOOK, step("b", "exit")])
    with pytest.raises(StateKeptError):
        ours.agree(theirs.latest)

    theirs.learn(0, [step("b", "stat", 0, kind=Kind.STAT), step("b", "exit")])
    ours.agree(theirs.latest)
    with pytest.raises(StateKeptError):
        ours.learn(0, [step("b", "stat", 0, kind=Kind.STAT), step("b", "open")])
