"""Guards `progress`: whoever is neither done nor crashed is noticed."""

from __future__ import annotations

from racecheck.invariants import progress
from racecheck.model import ActorEnd, Ending, Kind, Verdict, Violation
from tests.unit.fakes import Play, program


def test_actors_that_all_end_pass() -> None:
    play = Play(progress())
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_actors_that_end_badly_end_all_the_same() -> None:
    play = Play(progress())
    play.raised("serve-1")
    play.operation("load", Ending.EXITED, status=-9)
    play.exit("load", -9)
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_crashed_actor_need_not_end() -> None:
    play = Play(progress())
    play.crash("serve-1")
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_an_operation_that_never_ends_is_told_with_its_last_step() -> None:
    play = Play(progress())
    play.step("serve-2", Kind.FLOCK, result=-11)
    play.step("load", Kind.READ)
    play.operation("serve-2", Ending.UNFINISHED, told=False)
    play.finish()
    assert play.judge.violations == (
        Violation(
            "progress",
            "expected every actor to end, but serve-2 operation 0 never ended; "
            "its last step was 0: flock() = EAGAIN",
        ),
    )


def test_an_actor_that_hangs_after_another_crashed_is_noticed() -> None:
    play = Play(progress())
    play.crash("serve-1")
    play.operation("serve-2", Ending.UNFINISHED, told=False)
    play.finish()
    assert play.messages == [
        "expected every actor to end, but serve-2 operation 0 never ended"
    ]


def test_an_actor_without_an_end_is_noticed() -> None:
    play = Play(progress(), programs=(program("w"),))
    play.operation("w")
    play.end()
    assert play.messages == ["expected every actor to end, but w never ended"]


def test_an_actor_that_had_to_be_killed_after_its_operations_is_noticed() -> None:
    play = Play(progress(), programs=(program("w"),))
    play.operation("w")
    play.step("w", Kind.FLOCK)
    play.history.ends.append(ActorEnd("w", -9))
    play.end()
    assert play.messages == [
        (
            "expected every actor to end, but w had to be killed at its end; "
            "its last step was 0: flock() = 0"
        )
    ]


def test_the_death_of_another_does_not_hide_that_an_actor_had_to_be_killed() -> None:
    play = Play(progress(), programs=(program("w"), program("x")))
    play.operation("w")
    play.operation("x", Ending.EXITED, status=-9)
    play.history.ends += [ActorEnd("w", -9), ActorEnd("x", -9)]
    play.end()
    assert play.messages == [
        "expected every actor to end, but w had to be killed at its end"
    ]


def test_an_operation_that_never_ends_is_told_with_the_reason_of_the_engine() -> None:
    play = Play(progress(), programs=(program("w"),))
    play.operation("w", Ending.UNFINISHED, told=False, shown="w went on")
    play.finish()
    assert play.messages == [
        "expected every actor to end, but w operation 0 never ended (w went on)"
    ]


def test_the_success_of_somebody_else_lets_nobody_start() -> None:
    late = program("late", "reader", after="serve-1")
    programs = (program("serve-1"), program("serve-2"), late)
    play = Play(progress(), programs=programs)
    play.crash("serve-1")
    play.operation("serve-2")
    play.exit("serve-2")
    play.end()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_an_actor_whose_forerunner_never_succeeded_does_not_have_to_start() -> None:
    late = program("late", "reader", after="serve")
    play = Play(progress(), programs=(program("serve-1"), late))
    play.crash("serve-1")
    play.end()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_an_actor_whose_forerunner_succeeded_has_to_start() -> None:
    late = program("late", "reader", after="serve")
    play = Play(progress(), programs=(program("serve-1"), late))
    play.operation("serve-1")
    play.exit("serve-1")
    play.end()
    assert play.messages == ["expected every actor to end, but late never ended"]


def test_an_actor_that_has_started_has_to_end_whoever_it_was_to_wait_for() -> None:
    late = program("late", "reader", after="serve-1")
    play = Play(progress(), programs=(program("serve-1"), late))
    play.crash("serve-1")
    play.step("late", Kind.READ)
    play.end()
    assert len(play.messages) == 1


def test_an_actor_that_waits_for_nobody_there_is_has_to_end() -> None:
    play = Play(progress(), programs=(program("late", after="nobody"),))
    play.end()
    assert play.messages == ["expected every actor to end, but late never ended"]
