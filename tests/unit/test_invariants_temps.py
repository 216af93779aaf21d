"""Guards `temp_files_bounded`: litter is counted at every step and at the end."""

from __future__ import annotations

import pytest

from racecheck.invariants import temp_files_bounded
from racecheck.model import ActorEnd, Ending, Kind, Verdict, Violation
from tests.unit.fakes import TEAR, Play, program

TEMPS = "head.img.tmp.*"


def litter(play: Play, *names: str) -> None:
    """Put temporary files there, and these only."""
    for path in play.view.glob(TEMPS):
        del play.view.files[path]
    play.view.files.update({f"head.img.tmp.{name}": b"" for name in names})


def test_a_temporary_file_for_each_live_writer_passes() -> None:
    play = Play(temp_files_bounded(TEMPS))
    litter(play, "1", "2")
    play.step()
    litter(play)
    play.step()
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_one_more_than_there_are_live_writers_is_told() -> None:
    play = Play(temp_files_bounded(TEMPS))
    play.step()
    litter(play, "1", "2", "3")
    play.step("serve-2", Kind.OPEN)
    assert play.judge.violations == (
        Violation(
            "temp_files_bounded",
            "expected at most 2 temporary files (1 each for 2 live writers, "
            "1 each for 0 crashes), but found 3: "
            "head.img.tmp.1, head.img.tmp.2, head.img.tmp.3",
            1,
            "serve-2",
        ),
    )


def test_what_a_writer_leaves_behind_is_found_as_it_exits() -> None:
    play = Play(temp_files_bounded(TEMPS))
    litter(play, "1", "2")
    play.step()
    play.exit("serve-1")
    assert play.messages == [
        (
            "expected at most 1 temporary file (1 each for 1 live writer, "
            "1 each for 0 crashes), but found 2: head.img.tmp.1, head.img.tmp.2"
        )
    ]


def test_what_is_left_without_a_crash_is_found_at_the_end() -> None:
    play = Play(temp_files_bounded(TEMPS), programs=(program("w"),))
    play.finish()
    litter(play, "1")
    play.end()
    assert play.messages == [
        (
            "expected at most 0 temporary files (1 each for 0 live writers, "
            "1 each for 0 crashes), but found 1: head.img.tmp.1"
        )
    ]


def test_a_writer_that_failed_through_a_fault_has_to_clean_up() -> None:
    play = Play(temp_files_bounded(TEMPS))
    litter(play, "1")
    play.raised("serve-1", faults=1)
    play.finish()
    assert len(play.messages) == 1


def test_a_writer_that_died_by_itself_has_no_excuse() -> None:
    play = Play(temp_files_bounded(TEMPS), programs=(program("w"),))
    litter(play, "1")
    play.operation("w", Ending.EXITED, status=-11)
    play.exit("w", -11)
    assert len(play.messages) == 1


def test_a_crash_may_leave_one_file_for_ever() -> None:
    play = Play(temp_files_bounded(TEMPS))
    litter(play, "1")
    play.step()
    play.crash("serve-1")
    play.finish()
    assert play.judge.verdict() == (Verdict.PASSED, "")


def test_what_a_process_that_died_between_two_steps_leaves_is_found_at_once() -> None:
    play = Play(temp_files_bounded(TEMPS), programs=(program("w"), program("x")))
    litter(play, "1", "2")
    play.step("w")
    play.history.ends.append(ActorEnd("w", -11))
    play.operation("w", Ending.EXITED, status=-11)
    litter(play)
    play.step("x", Kind.UNLINK)
    assert len(play.messages) == 1


def test_a_writer_that_returns_may_still_have_its_file() -> None:
    play = Play(temp_files_bounded(TEMPS, per_writer=0))
    litter(play, "1")
    play.operation("serve-1")
    assert play.messages == []


def test_a_torn_write_is_one_crash() -> None:
    play = Play(temp_files_bounded(TEMPS))
    litter(play, "1", "2")
    play.history.ends.append(ActorEnd("serve-1", -9, crashed=True))
    play.step("serve-1", fault=TEAR)
    play.finish()
    assert len(play.messages) == 1
    assert "1 each for 1 crash" in play.messages[0]


def test_a_crash_excuses_no_more_than_it_says() -> None:
    play = Play(temp_files_bounded(TEMPS, per_crash=0))
    litter(play, "1")
    play.crash("serve-1")
    play.exit("serve-2")
    assert len(play.messages) == 1


def test_a_crash_of_a_reader_excuses_nothing() -> None:
    play = Play(temp_files_bounded(TEMPS))
    litter(play, "1")
    play.crash("load")
    play.finish()
    assert len(play.messages) == 1


def test_a_crash_is_forgotten_in_the_next_execution() -> None:
    rule = temp_files_bounded(TEMPS)
    Play(rule).crash("serve-1")
    play = Play(rule)
    litter(play, "1")
    play.finish()
    assert len(play.messages) == 1


def test_writers_may_have_several_where_they_say_so() -> None:
    play = Play(temp_files_bounded(TEMPS, per_writer=2))
    litter(play, "1", "2", "3", "4")
    play.step()
    assert play.messages == []
    litter(play, "1", "2", "3", "4", "5")
    play.step()
    assert len(play.messages) == 1


def test_a_writer_that_hangs_is_alive_at_the_end() -> None:
    play = Play(temp_files_bounded(TEMPS))
    litter(play, "1")
    play.operation("serve-1", Ending.UNFINISHED, told=False)
    play.operation("load", Ending.UNFINISHED, told=False)
    play.end()
    assert play.messages == []
    assert play.judge.verdict()[0] is Verdict.UNKNOWN


def test_it_does_not_look_after_steps_that_change_nothing() -> None:
    play = Play(temp_files_bounded(TEMPS))
    litter(play, "1", "2", "3")
    play.step("load", Kind.READ)
    assert play.messages == []


@pytest.mark.parametrize("role", ["serve", "writers"])
def test_a_role_that_nobody_has_gives_no_verdict(role: str) -> None:
    play = Play(temp_files_bounded(TEMPS, role=role))
    play.step()
    play.finish()
    assert play.judge.verdict()[0] is Verdict.UNKNOWN
    assert (
        f"'{role}' is no role of this scenario; roles: reader, writer"
        in play.judge.errors[0]
    )
