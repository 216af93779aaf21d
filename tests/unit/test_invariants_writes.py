"""Guards `no_lost_writes`: only a fault or a crash of its own excuses a write."""

from __future__ import annotations

import pytest

from racecheck.invariants import no_lost_writes
from racecheck.model import Ending, Kind, Verdict, Violation
from tests.unit.fakes import ERRNO, STALL, Play, program

LOST = "expected every write without a fault to succeed, but serve-1 operation 0 "


def test_writes_that_succeed_pass() -> None:
    play = Play(no_lost_writes())
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_write_that_raises_is_told_with_its_exception_and_place() -> None:
    play = Play(no_lost_writes())
    play.step()
    play.raised("serve-1")
    assert play.judge.violations == (
        Violation(
            "no_lost_writes",
            LOST + "raised FileNotFoundError: [Errno 2] head.img.tmp (image.py:33)",
            0,
            "serve-1",
        ),
    )


def test_a_write_that_raises_what_is_declared_is_lost_all_the_same() -> None:
    play = Play(no_lost_writes())
    play.raised("serve-1", expected=True)
    assert len(play.messages) == 1


def test_a_write_that_returns_failure_is_lost() -> None:
    play = Play(no_lost_writes())
    play.operation("serve-1", succeeded=False, value=False, shown="False")
    assert play.messages == [LOST + "returned False"]


def test_a_value_without_text_is_shown_all_the_same() -> None:
    play = Play(no_lost_writes())
    play.operation("serve-1", succeeded=False, value=0)
    assert play.messages == [LOST + "returned 0"]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (3, "exited with status 3"),
        (0, "exited with status 0"),
        (-11, "was killed by SIGSEGV"),
        (-99, "was killed by signal 99"),
        (None, "ended its process"),
    ],
)
def test_a_write_whose_process_ends_is_lost(status: int | None, told: str) -> None:
    play = Play(no_lost_writes())
    play.operation("serve-1", Ending.EXITED, status=status)
    assert play.messages == [LOST + told]


def test_a_command_that_exits_as_it_should_has_written() -> None:
    play = Play(no_lost_writes())
    play.operation("serve-1", Ending.EXITED, succeeded=True, status=0)
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_write_that_never_ends_is_lost_though_nobody_is_told_before_the_end() -> None:
    play = Play(no_lost_writes())
    play.operation("serve-1", Ending.UNFINISHED, told=False)
    play.end()
    assert play.judge.violations == (Violation("no_lost_writes", LOST + "never ended"),)


def test_all_writes_that_nobody_was_told_of_are_judged_at_the_end() -> None:
    play = Play(no_lost_writes())
    play.operation("serve-2", told=False)
    play.operation("serve-1", Ending.UNFINISHED, told=False)
    play.end()
    assert play.messages == [LOST + "never ended"]


def test_writes_judged_in_the_last_execution_are_judged_again_in_this_one() -> None:
    rule = no_lost_writes()
    Play(rule).operation("serve-1")
    play = Play(rule)
    play.operation("serve-1", Ending.UNFINISHED, told=False)
    play.end()
    assert play.messages == [LOST + "never ended"]


def test_a_write_with_a_fault_of_its_own_may_fail() -> None:
    play = Play(no_lost_writes())
    play.raised("serve-1", faults=1)
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_crashed_write_may_fail() -> None:
    play = Play(no_lost_writes())
    play.crash("serve-1")
    # However the engine counts: being crashed is enough.
    play.operation("serve-2", Ending.CRASHED, faults=0)
    play.finish()
    assert play.messages == []


def test_faults_of_a_reader_and_of_another_writer_excuse_nothing() -> None:
    play = Play(no_lost_writes())
    play.raised("load", faults=1)
    play.crash("serve-2")
    play.raised("serve-1")
    assert len(play.messages) == 1


def test_being_held_up_excuses_nothing() -> None:
    play = Play(no_lost_writes())
    play.step("serve-1", Kind.STALL, fault=STALL)
    play.raised("serve-1", faults=1)
    assert len(play.messages) == 1


def test_a_fault_beside_a_stall_is_an_excuse() -> None:
    play = Play(no_lost_writes(), programs=(program("w", repeat=2),))
    play.step("w", Kind.STALL, fault=STALL)
    play.step("w", result=-28, fault=ERRNO)
    play.raised("w", faults=2)
    assert play.messages == []


def test_stalls_of_others_do_not_take_an_excuse_away() -> None:
    play = Play(no_lost_writes(), programs=(program("w", repeat=2), program("x")))
    # The steps of a play all belong to first operations.
    play.step("x", Kind.STALL, fault=STALL)
    play.step("w")
    play.step("w", result=-28, fault=ERRNO)
    play.raised("w", faults=1)
    play.step("w", Kind.STALL, fault=STALL)
    play.raised("w", faults=1)
    assert play.messages == []


def test_a_fault_in_one_operation_does_not_excuse_the_next() -> None:
    play = Play(no_lost_writes(), programs=(program("w", repeat=2),))
    play.raised("w", faults=1)
    play.raised("w")
    assert len(play.messages) == 1
    assert "w operation 1 raised" in play.messages[0]


def test_readers_may_fail() -> None:
    play = Play(no_lost_writes())
    play.raised("load")
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_role_that_nobody_has_gives_no_verdict() -> None:
    play = Play(no_lost_writes(), programs=(program("a", "actor"),))
    play.end()
    assert play.judge.verdict()[0] is Verdict.UNKNOWN
    assert "'writer' is no actor and no role" in play.judge.errors[0]


def test_the_role_can_be_the_name_of_actors_that_were_declared_together() -> None:
    play = Play(no_lost_writes(role="serve"))
    play.raised("serve-2")
    assert len(play.messages) == 1


def test_a_name_that_is_a_role_too_stands_for_all_who_have_either() -> None:
    play = Play(no_lost_writes(), programs=(program("writer"), program("other")))
    play.raised("other")
    assert len(play.messages) == 1
