"""Guards `no_unexpected_errors`: exceptions and statuses that nobody declared."""

from __future__ import annotations

import pytest

from racecheck.invariants import no_unexpected_errors
from racecheck.model import ActorEnd, Ending, Kind, Verdict, Violation
from tests.unit.fakes import ERRNO, STALL, Play


def test_operations_that_return_pass_whatever_they_return() -> None:
    play = Play(no_unexpected_errors())
    play.operation("serve-1", succeeded=False, shown="False")
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


@pytest.mark.parametrize("actor", ["serve-1", "load"])
def test_an_exception_that_is_not_declared_is_told(actor: str) -> None:
    play = Play(no_unexpected_errors())
    play.step(actor)
    play.raised(actor)
    assert play.judge.violations == (
        Violation(
            "no_unexpected_errors",
            "expected no error that its scenario does not declare, "
            f"but {actor} operation 0 raised "
            "FileNotFoundError: [Errno 2] head.img.tmp (image.py:33)",
            0,
            actor,
        ),
    )


def test_an_exception_without_text_and_place_is_told_by_its_class() -> None:
    play = Play(no_unexpected_errors())
    play.operation("load", Ending.RAISED, exception="json.JSONDecodeError")
    assert play.messages[0].endswith("load operation 0 raised json.JSONDecodeError")


def test_an_exception_that_is_declared_passes() -> None:
    play = Play(no_unexpected_errors())
    play.raised("serve-1", expected=True)
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_an_exception_in_an_operation_with_a_fault_passes() -> None:
    play = Play(no_unexpected_errors())
    play.raised("serve-1", faults=1)
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_fault_in_a_reader_does_not_excuse_a_writer() -> None:
    play = Play(no_unexpected_errors())
    play.raised("load", faults=1)
    play.raised("serve-1")
    assert len(play.messages) == 1


def test_an_exception_that_it_was_not_told_of_is_found_at_the_end() -> None:
    play = Play(no_unexpected_errors())
    play.operation("serve-1", Ending.RAISED, told=False, shown="KeyError: 'a'")
    play.end()
    assert len(play.messages) == 1


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (1, "exited with status 1"),
        (0, "exited with status 0"),
        (-6, "was killed by SIGABRT"),
    ],
)
def test_a_process_that_ends_within_an_operation_is_told(
    status: int, told: str
) -> None:
    play = Play(no_unexpected_errors())
    play.operation("serve-1", Ending.EXITED, status=status)
    assert play.messages == [
        (
            "expected no error that its scenario does not declare, "
            f"but serve-1 operation 0 {told}"
        )
    ]


def test_a_command_whose_status_means_success_passes_whatever_it_is() -> None:
    play = Play(no_unexpected_errors())
    play.operation("serve-1", Ending.EXITED, succeeded=True, status=3)
    play.exit("serve-1", 3)
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_process_that_ends_badly_after_its_operations_is_told() -> None:
    play = Play(no_unexpected_errors())
    play.operation("serve-1")
    play.exit("serve-1", -11)
    play.end()
    assert play.judge.violations == (
        Violation(
            "no_unexpected_errors",
            "expected each process to end with status 0, "
            "but serve-1 was killed by SIGSEGV",
        ),
    )


def test_a_process_that_was_crashed_has_an_excuse() -> None:
    play = Play(no_unexpected_errors())
    play.crash("serve-1")
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_process_that_met_a_fault_has_an_excuse() -> None:
    play = Play(no_unexpected_errors())
    play.operation("load")
    play.step("load", fault=ERRNO)
    play.exit("load", 1)
    play.finish()
    assert play.messages == []


def test_being_held_up_is_no_excuse() -> None:
    play = Play(no_unexpected_errors())
    play.step("load", Kind.STALL, fault=STALL)
    play.operation("load", faults=1)
    play.exit("load", 1)
    play.finish()
    assert len(play.messages) == 1
    play = Play(no_unexpected_errors())
    play.step("load", Kind.STALL, fault=STALL)
    play.raised("load", faults=1)
    assert len(play.messages) == 1


def test_a_process_that_was_crashed_between_operations_has_an_excuse() -> None:
    play = Play(no_unexpected_errors())
    play.operation("serve-1")
    play.history.ends.append(ActorEnd("serve-1", -9, crashed=True))
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_a_fault_in_another_process_is_no_excuse() -> None:
    play = Play(no_unexpected_errors())
    play.step("load", fault=ERRNO)
    play.operation("load", Ending.EXITED, faults=1, status=1)
    play.operation("serve-1")
    play.exit("serve-1", 1)
    play.finish()
    assert len(play.messages) == 1


def test_an_actor_that_was_killed_because_it_hung_is_for_progress_to_judge() -> None:
    play = Play(no_unexpected_errors())
    play.operation("serve-1", Ending.UNFINISHED, told=False)
    play.finish()
    assert play.messages == []
    assert play.judge.verdict() == (Verdict.UNKNOWN, "serve-1 operation 0 never ended")
