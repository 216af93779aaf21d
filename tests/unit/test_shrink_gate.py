"""The shrinker adopts what is simpler and still fails, and keeps within its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.explore.passes import Turn
from racecheck.explore.shrink import Shrinker, sort_key
from racecheck.explore.traces import broken
from racecheck.explore.trials import Trials
from racecheck.model import (
    Decision,
    Fault,
    FaultKind,
    Kind,
    PlannedFault,
    Schedule,
)
from tests.unit.small_orders import order_of, renamed, run
from tests.unit.small_programs import Next, Small, Steps, World
from tests.unit.small_races import RACES, deadlock, disk_full, lost_update

if TYPE_CHECKING:
    from racecheck.model import Trace

ENOSPC = Fault(FaultKind.ERRNO, errno="ENOSPC")


TWO = renamed(lost_update(2), "a", "b")
EARLY = renamed(RACES["polled too early"].program, "poll", "write")


def schedule(order: str, faults: dict[int, Fault] | None = None) -> Schedule:
    decisions = (Decision(a, (faults or {}).get(i)) for i, a in enumerate(order))
    return Schedule(0, tuple(decisions))


@pytest.mark.parametrize(
    ("simpler", "other"),
    [
        # Fewer faults count before all else.
        (schedule("ababab"), schedule("ab", {0: ENOSPC})),
        # Fewer switches count before fewer steps.
        (schedule("aaaabbbb"), schedule("aba")),
        (schedule("ab"), schedule("aab")),
        (schedule("abb"), schedule("baa")),
        (schedule("aaba"), schedule("abaa")),
    ],
)
def test_schedules_are_ordered_by_what_a_reader_has_to_follow(
    simpler: Schedule, other: Schedule
) -> None:
    assert sort_key(simpler, "ab") < sort_key(other, "ab")


def test_preemptions_count_before_steps() -> None:
    short, long = schedule("aba"), schedule("aaabbba")

    assert sort_key(short, "ab") < sort_key(long, "ab")
    assert sort_key(long, "ab") < sort_key(short, "ab", preemptions=1)


def test_actors_come_in_the_order_of_their_declaration_and_not_of_their_names() -> None:
    assert sort_key(schedule("ba"), "ba") < sort_key(schedule("ab"), "ba")


def test_tasks_come_after_the_first_of_their_actor() -> None:
    first = Schedule(0, (Decision("a"), Decision("a:1")))
    other = Schedule(0, (Decision("a:1"), Decision("a")))

    assert sort_key(first, "a") < sort_key(other, "a")


def turns(trace: Trace) -> tuple[Turn, ...]:
    return tuple(
        Turn(decision, step.kind)
        for decision, step in zip(trace.schedule.decisions, trace.steps, strict=True)
    )


def test_a_candidate_that_fails_and_is_simpler_is_adopted() -> None:
    shrinker = Shrinker(Trials(TWO.run, run(TWO, "ababab")), "lost")

    assert shrinker.consider(turns(run(TWO, "abbbaa")))
    assert order_of(shrinker.best.trace) == "abbbaa"


def test_a_candidate_that_is_no_simpler_is_not_even_run() -> None:
    trials = Trials(TWO.run, run(TWO, "abbbaa"))
    shrinker = Shrinker(trials, "lost")

    assert not shrinker.consider(turns(run(TWO, "abbaba")))
    assert trials.executions == 0


def test_a_candidate_that_passes_is_not_adopted_and_not_run_again() -> None:
    trials = Trials(TWO.run, run(TWO, "abbbaa"))
    shrinker = Shrinker(trials, "lost")

    assert not shrinker.consider(turns(run(TWO, "aaabbb")))
    assert not shrinker.consider(turns(run(TWO, "aaabbb")))
    assert trials.executions == 1
    assert order_of(shrinker.best.trace) == "abbbaa"


def test_another_invariant_that_is_broken_does_not_make_a_candidate_fail() -> None:
    def act(world: World) -> Steps:
        yield Next(Kind.READ)
        seen = world.number("n")
        yield Next(Kind.WRITE)
        if seen == 0 and world.number("n") == 0:
            world.fail("always")
        if seen < world.number("n"):
            world.fail("sometimes")
        world.files["n"] = world.number("n") + 1

    both = Small({"a": act, "b": act})
    trials = Trials(both.run, run(both, "abab"))

    assert order_of(Shrinker(trials, "always").shrink()) == "aabb"
    assert order_of(Shrinker(trials, "sometimes").shrink()) == "abba"


def test_what_is_adopted_is_what_happened_and_not_what_was_proposed() -> None:
    # Two turns of the second actor are missing, which it takes all the same.
    shrinker = Shrinker(Trials(TWO.run, run(TWO, "ababab")), "lost")
    whole = turns(run(TWO, "abbbaa"))

    assert shrinker.consider(whole[:2] + whole[4:])
    assert order_of(shrinker.best.trace) == "abbbaa"


def test_an_execution_that_needs_more_steps_than_it_had_is_followed_to_its_end() -> (
    None
):
    # The poller that looks once before the marker is there looks four times if it comes
    # first, and its run goes on until it has.
    trials = Trials(EARLY.run, run(EARLY, "pwpp"))
    candidate = sorted(turns(trials.outcomes[0].trace), key=lambda turn: turn.lane)

    outcome = trials.outcome(tuple(candidate))

    assert outcome is not None
    assert order_of(outcome.trace) == "pppppwww"


def test_shrinking_ends_with_its_executions() -> None:
    trials = Trials(TWO.run, run(TWO, "ababab"))

    Shrinker(trials, "lost", executions=1).shrink()

    assert trials.executions == 1


def test_what_one_invariant_has_tried_costs_another_nothing() -> None:
    trials = Trials(TWO.run, run(TWO, "ababab"))
    Shrinker(trials, "lost").shrink()
    spent = trials.executions

    assert order_of(Shrinker(trials, "lost", executions=0).shrink()) == "abbbaa"
    assert trials.executions == spent


def test_a_candidate_that_polls_for_ever_is_given_up() -> None:
    def poll(world: World) -> Steps:
        while "ready" not in world.files:
            yield Next(Kind.STAT)
        yield Next(Kind.EXIT)

    def write(world: World) -> Steps:
        yield Next(Kind.WRITE)
        world.files["ready"] = 1
        yield Next(Kind.EXIT)

    program = Small({"poll": poll, "write": write})
    trials = Trials(program.run, run(program, "ppww"))

    assert trials.outcome(trials.outcomes[0].turns[:1]) is None


def test_preemptions_are_counted_where_an_actor_could_have_gone_on() -> None:
    locks = renamed(deadlock("xy", "yx"), "a", "b")
    trials = Trials(locks.run, run(locks, "ab"))

    waiting = trials.outcome(turns(run(locks, "aaabbb")))
    stopped = Trials(TWO.run, run(TWO, "ababab")).outcome(turns(run(TWO, "abbbaa")))

    assert waiting is not None
    assert stopped is not None
    assert waiting.preemptions == 0
    assert stopped.preemptions == 1


def test_a_fault_that_is_not_needed_is_dropped() -> None:
    race = RACES["left behind"]
    program = renamed(race.program, "one", "two")
    trials = Trials(
        program.run, run(program, "oot", faults={1: Fault(FaultKind.CRASH)})
    )

    found = Shrinker(trials, race.invariant).shrink()

    assert [step.fault for step in found.steps] == [None] * len(found.steps)


def test_a_fault_that_is_needed_stays_where_it_is() -> None:
    program = renamed(disk_full(), "write", "read")
    trials = Trials(program.run, run(program, "wwwrwr", faults={1: ENOSPC}))

    found = Shrinker(trials, "empty").shrink()

    assert [step.kind for step in found.steps if step.fault] == [Kind.WRITE]
    assert order_of(found) == "wwwwrr"


def test_a_fault_of_the_plan_is_met_by_every_candidate() -> None:
    program = renamed(disk_full(), "write", "read")
    plan = [PlannedFault("write", ENOSPC, on="write")]
    found = run(program, "rr", plan=plan)
    trials = Trials(program.run, found, plan)
    assert broken(found) == []

    outcome = trials.outcome(turns(run(program, "wwwwrr")))

    assert outcome is not None
    assert [step.fault for step in outcome.trace.steps].count(ENOSPC) == 1
    assert all(turn.decision.fault is None for turn in outcome.turns)
    assert outcome.broken == {"empty"}


def test_a_fault_that_the_bounds_do_not_allow_in_another_place_is_not_injected() -> (
    None
):
    program = renamed(disk_full(), "write", "read")
    trials = Trials(program.run, run(program, "wwwwrr"))
    moved = list(trials.outcomes[0].turns)
    moved[2] = Turn(Decision("write", ENOSPC), Kind.RENAME)

    outcome = trials.outcome(tuple(moved))

    assert outcome is not None
    assert [step.fault for step in outcome.trace.steps] == [None] * 6


def test_all_that_candidates_broke_is_told() -> None:
    def act(world: World) -> Steps:
        yield Next(Kind.WRITE)
        world.files["n"] = world.number("n") + 1
        yield Next(Kind.READ)
        world.fail("same" if world.number("n") == 2 else "other")

    both = Small({"a": act, "b": act})
    trials = Trials(both.run, run(both, "abab"))
    assert trials.broken() == ["same"]

    Shrinker(trials, "same").shrink()

    assert trials.broken() == ["same", "other"]
