"""Workers of runs side by side are on processors of their own, if there are enough."""

from __future__ import annotations

import os

import pytest

from racecheck.explore.processors import Processors

# No machine has these, so that other tests use none of them.
FIRST, SECOND, THIRD = USABLE = (90_001, 90_002, 90_003)


@pytest.fixture(autouse=True)
def _usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(USABLE))


def test_two_runs_take_different_ones() -> None:
    one, other = Processors(), Processors()
    try:
        taken = [*one.take(1), *other.take(2)]
    finally:
        one.give_back()
        other.give_back()

    assert sorted(taken) == list(USABLE)


def test_the_same_in_another_process() -> None:
    one = Processors()
    reading, writing = os.pipe()
    (ours,) = one.take(1)
    pid = os.fork()
    if pid == 0:
        try:
            theirs = Processors().take(2)
            os.write(writing, ",".join(map(str, theirs)).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    try:
        theirs = list(map(int, os.read(reading, 100).split(b",")))
        assert sorted([ours, *theirs]) == list(USABLE)
        # It has ended, and with it what it had taken.
        second = Processors()
        assert sorted(second.take(2)) == sorted(theirs)
        second.give_back()
    finally:
        one.give_back()
        os.close(reading)
        os.close(writing)


def test_what_is_given_back_can_be_taken() -> None:
    one, other = Processors(), Processors()
    taken = one.take(3)
    one.give_back()

    assert sorted(other.take(3)) == sorted(taken) == list(USABLE)
    other.give_back()


def test_where_there_are_not_enough_each_is_used_by_several() -> None:
    one, other = Processors(), Processors()
    try:
        taken = one.take(7)
        assert sorted(map(taken.count, USABLE)) == [2, 2, 3]
        assert sorted(other.take(3)) == list(USABLE)
    finally:
        one.give_back()
        other.give_back()


def test_the_one_of_an_idle_worker_comes_first() -> None:
    one, other = Processors(), Processors()
    try:
        assert one.take(1, [SECOND, FIRST]) == [SECOND]
        # Unless somebody uses it, or it is not for this process any more.
        assert other.take(1, [SECOND, 90_009, THIRD]) == [THIRD]
    finally:
        one.give_back()
        other.give_back()
