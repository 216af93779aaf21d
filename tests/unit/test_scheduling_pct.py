"""PCT keeps the promise of its paper, also for actors that come late or poll."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from racecheck.errors import UsageError
from racecheck.model import Kind
from racecheck.scheduling import PCTScheduler, RandomWalkScheduler
from tests.unit.simulation import Execution, Op, after_end_of, execute_all, program

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from racecheck.model import Scheduler, Step

FIVE_EACH = program(a=" ".join(["write"] * 5), b=" ".join(["write"] * 5))
TEN_EACH = program(a=" ".join(["write"] * 10), b=" ".join(["write"] * 10))


def before(execution: Execution, actor: str, nth: int) -> int:
    """Count the other actor's steps before the n-th step (from 1) of an actor."""
    position = -1
    for _ in range(nth):
        position = execution.actors.index(actor, position + 1)
    return position + 1 - nth


def depth_1(execution: Execution) -> bool:
    """B begins only when A has ended: one constraint."""
    return before(execution, "b", 1) == 5


def depth_2(execution: Execution) -> bool:
    """B begins exactly between A's 2nd and 3rd step: two constraints."""
    return before(execution, "b", 1) == 2


def depth_3(execution: Execution) -> bool:
    """As before, and A's 3rd step comes exactly between B's 2nd and 3rd."""
    return depth_2(execution) and before(execution, "a", 3) == 2


@pytest.mark.parametrize(
    ("race", "depth", "executions"),
    [(depth_1, 1, 400), (depth_2, 2, 3000), (depth_3, 3, 15_000)],
)
def test_a_race_is_met_as_often_as_the_paper_promises(
    race: Callable[[Execution], bool], depth: int, executions: int
) -> None:
    # The bound is p = 1 / (n k**(d - 1)) with n = 2 actors and k = 10 steps: 1/2, 1/20
    # and 1/200. Of N executions at least N p meet the race on average: 200, 150 and 75.
    # The number that do is binomial, with a deviation of at most sqrt(N p): 14.1, 12.2
    # and 8.7. A scheduler that just keeps the bound stays below a mean less 5
    # deviations with 3e-7 each (normal approximation), about 1e-6 in all.
    mean = executions / (2 * 10 ** (depth - 1))
    pct = PCTScheduler(1, depth=depth, executions=executions)

    met = sum(race(execution) for execution in execute_all(FIVE_EACH, pct))

    assert met >= mean - 5 * mean**0.5


@pytest.mark.parametrize(("race", "depth"), [(depth_2, 1), (depth_3, 2)])
def test_a_race_is_not_met_with_less_depth_than_it_has(
    race: Callable[[Execution], bool], depth: int
) -> None:
    # Certain: there are too few change points for the switches that the race needs.
    pct = PCTScheduler(1, depth=depth, executions=3000)

    assert not any(race(execution) for execution in execute_all(FIVE_EACH, pct))


def test_pct_meets_at_once_what_a_random_walk_hardly_does() -> None:
    # B begins when A has taken its ten steps. PCT does so in half of 400 executions:
    # fewer than 150 are 5 deviations off, 3e-7. The walk would have to choose A ten
    # times in a row, which happens in 400 / 2**10 = 0.4 of 400 executions; more than 10
    # have a probability of 6e-13 (Poisson).
    walk = RandomWalkScheduler(1, executions=400)
    pct = PCTScheduler(1, depth=1, executions=400)

    def met(scheduler: Scheduler) -> int:
        return sum(
            before(execution, "b", 1) == 10
            for execution in execute_all(TEN_EACH, scheduler)
        )

    assert met(pct) >= 150
    assert met(walk) <= 10


def test_the_first_execution_has_no_change_points_but_with_a_guess() -> None:
    blind = execute_all(TEN_EACH, PCTScheduler(1, executions=1))
    assert blind[0].schedule.context_switches() == 1

    # All of the 19 places are change points, so whoever went loses the turn at the
    # first of them. Certain: initial priorities lie above all others.
    guess = execute_all(TEN_EACH, PCTScheduler(1, depth=20, executions=1, steps=20))
    assert guess[0].actors[0] != guess[0].actors[1]


def test_step_0_is_never_a_change_point() -> None:
    # With a guess of two steps the one change point lies before the second step, so
    # whoever goes first loses the turn there. Certain, whatever the seed.
    short = program(a="open write", b="open write")

    first = [
        execute_all(short, PCTScheduler(seed, depth=2, executions=1, steps=2))[0]
        for seed in range(50)
    ]

    assert {execution.actors for execution in first} == {"abba", "baab"}


def test_the_change_points_lie_anywhere_in_the_longest_execution_so_far() -> None:
    # Depth 2 has one change point among 19 places. Where B goes first (1/2), A's step
    # shows which it was. That one of the 19 is shown by none of 999 executions has a
    # probability of 19 (37/38)**999 = 5e-11.
    pct = PCTScheduler(1, depth=2, executions=1000)

    executions = execute_all(program(a="write", b=" ".join(["write"] * 19)), pct)

    assert {e.actors.index("a") for e in executions[1:]} == set(range(20))


def test_an_actor_that_appears_late_gets_a_priority_as_random_as_the_others() -> None:
    # C appears when A has ended, and B is running or not yet. Where B had the lower
    # priority at the start (1/2), the order of B and C is open: C is above B in 2/3 of
    # those cases by symmetry, since B is the lower of the two that were drawn.
    # So "aacc…" comes with 1/3: of 900 executions 300, deviation 14.1, limit 6 of them.
    late = {
        **program(a="open exit", b="open exit"),
        "c": [Op(Kind.OPEN, ready=after_end_of("a")), Op(Kind.EXIT)],
    }
    pct = PCTScheduler(1, depth=1, executions=900)

    executions = execute_all(late, pct)

    assert {e.actors for e in executions} == {"aaccbb", "aabbcc", "bbaacc"}
    overtaken = sum(e.actors == "aaccbb" for e in executions)
    assert abs(overtaken - 300) < 85


def test_an_actor_that_polls_does_not_keep_the_others_waiting_for_ever() -> None:
    # A stands for an actor that tries again and again what B would make succeed. With
    # the lower priority B gets its turn after ten tries, and not after all of them.
    # That 50 executions all have the same actor in front has a probability of 2**-49.
    polls = program(a=" ".join(["open"] * 300), b="write")
    pct = PCTScheduler(1, depth=1, executions=50, patience=10)

    executions = execute_all(polls, pct)

    assert {e.actors.index("b") for e in executions} == {0, 10}


def test_actors_that_all_poll_lose_their_turn_again_and_again() -> None:
    both = program(a=" ".join(["open"] * 30), b=" ".join(["open"] * 30))
    pct = PCTScheduler(1, depth=1, executions=20, patience=10)

    orders = {execution.actors for execution in execute_all(both, pct)}

    assert orders <= {("a" * 10 + "b" * 10) * 3, ("b" * 10 + "a" * 10) * 3}


def test_steps_that_only_one_actor_could_take_do_not_cost_it_its_turn() -> None:
    def fifteenth(steps: Sequence[Step]) -> bool:
        return len(steps) >= 15

    late = {
        **program(a=" ".join(["open"] * 20)),
        "b": [Op(Kind.OPEN, ready=fifteenth)],
    }
    pct = PCTScheduler(1, depth=1, executions=50, patience=10)

    # B has the higher priority or waits for A's end, the one or the other in 50
    # executions with all but 2**-49.
    assert {e.actors.index("b") for e in execute_all(late, pct)} == {15, 20}


def test_the_same_seed_makes_the_same_executions() -> None:
    once = execute_all(TEN_EACH, PCTScheduler(7, executions=20))

    assert once == execute_all(TEN_EACH, PCTScheduler(7, executions=20))
    assert once != execute_all(TEN_EACH, PCTScheduler(8, executions=20))


def test_with_the_length_known_the_executions_can_be_shared_out() -> None:
    whole = execute_all(TEN_EACH, PCTScheduler(7, executions=20, steps=20))

    shares = [
        execute_all(
            TEN_EACH, PCTScheduler(7, executions=20, steps=20, first=n, stride=2)
        )
        for n in range(2)
    ]

    assert [shares[k % 2][k // 2] for k in range(20)] == whole


@pytest.mark.parametrize("bounds", [{"depth": 0}, {"patience": 0}])
def test_bounds_that_make_no_sense_are_refused(bounds: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="must be 1 or more, found 0"):
        PCTScheduler(7, **bounds)
