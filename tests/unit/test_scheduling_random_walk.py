"""A random walk is uniform over actors, repeatable, and can be shared out."""

from __future__ import annotations

from collections import Counter

import pytest

from racecheck.scheduling import RandomWalkScheduler
from tests.unit.simulation import execute, execute_all, program

RACE = program(a="open write close", b="open write close", c="open read close")


def test_every_enabled_actor_is_equally_likely() -> None:
    # Two actors of two steps each. While both are enabled each is chosen with 1/2, so
    # the orders that leave one alone after two steps (aabb, bbaa) have 1/4 each and the
    # other four 1/8 each. Of 4,000 executions an order of probability p is met
    # 4000 p times, with a standard deviation of sqrt(4000 p (1 - p)), which is below
    # 27.4 for both. A scheduler that is right is off by 164 (6 deviations) with a
    # probability of 2e-9 for each of the six orders, which is 1.2e-8 in all.
    walk = RandomWalkScheduler(1, executions=4000)

    orders = Counter(
        execution.actors
        for execution in execute_all(program(a="open close", b="open close"), walk)
    )

    assert set(orders) == {"aabb", "abab", "abba", "baab", "baba", "bbaa"}
    for order, count in orders.items():
        expected = 1000 if order in {"aabb", "bbaa"} else 500
        assert abs(count - expected) < 164, order


def test_three_actors_are_equally_likely_to_go_first() -> None:
    # 3000 draws of probability 1/3: mean 1000, deviation 25.8, limit 6 deviations.
    walk = RandomWalkScheduler(2, executions=3000)

    firsts = Counter(execution.actors[0] for execution in execute_all(RACE, walk))

    assert all(abs(firsts[actor] - 1000) < 155 for actor in "abc")


def test_the_same_seed_makes_the_same_executions() -> None:
    once = execute_all(RACE, RandomWalkScheduler(7, executions=20))
    again = execute_all(RACE, RandomWalkScheduler(7, executions=20))

    assert once == again


def test_another_seed_makes_other_executions() -> None:
    # Two walks agree on a schedule of this program with at most 1/2**5, as at least
    # five of the nine choices are among two or more; on ten of them with 2**-50.
    once = execute_all(RACE, RandomWalkScheduler(7, executions=10))
    other = execute_all(RACE, RandomWalkScheduler(8, executions=10))

    assert [e.actors for e in once] != [e.actors for e in other]
    assert {e.seed for e in once}.isdisjoint(e.seed for e in other)


def test_the_executions_do_not_depend_on_how_they_are_shared_out() -> None:
    whole = execute_all(RACE, RandomWalkScheduler(7, executions=20))

    shares = [
        execute_all(RACE, RandomWalkScheduler(7, executions=20, first=n, stride=3))
        for n in range(3)
    ]

    assert [len(share) for share in shares] == [7, 7, 6]
    assert [shares[k % 3][k // 3] for k in range(20)] == whole


def test_one_execution_can_be_made_alone() -> None:
    whole = execute_all(RACE, RandomWalkScheduler(7, executions=20))

    assert execute(RACE, RandomWalkScheduler(7, first=13)) == whole[13]


def test_it_ends_at_its_limit_and_stays_there() -> None:
    walk = RandomWalkScheduler(7, executions=1)

    assert walk.start_execution() is not None
    assert walk.start_execution() is None
    assert walk.start_execution() is None


def test_every_execution_has_random_bytes_of_its_own() -> None:
    # 100 of 2**32 seeds: two are equal with a probability of about 100**2 / 2**33,
    # which is 1.2e-6.
    executions = execute_all(RACE, RandomWalkScheduler(7, executions=100))

    assert len({execution.seed for execution in executions}) == 100


@pytest.mark.parametrize(("first", "stride"), [(-1, 1), (0, 0)])
def test_a_share_that_makes_no_sense_is_refused(first: int, stride: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        RandomWalkScheduler(7, first=first, stride=stride)
