"""The curve of a race: its shares are the probabilities of a random walk."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from racecheck.errors import ReplayDivergedError
from racecheck.explore.curve import curve
from racecheck.model import Fault, FaultKind, PlannedFault, Share
from tests.unit.small_orders import renamed, run
from tests.unit.small_races import deadlock, disk_full, index_and_blob, lost_update

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.explore.runner import Runner
    from racecheck.model import Scheduler, Trace
    from tests.unit.small_programs import Small

NO_SPACE = Fault(FaultKind.ERRNO, errno="ENOSPC")


class FakeScenario:
    def __init__(self, faults: Sequence[PlannedFault]) -> None:
        self.faults = faults


class FakeRunner:
    """Runs a small program, and counts."""

    def __init__(self, program: Small, faults: Sequence[PlannedFault] = ()) -> None:
        self.scenario = FakeScenario(faults)
        self.executions = 0
        self.ran_out = False
        self._program = program

    def run(
        self, scheduler: Scheduler, seed: int, *, reuse: bool = False
    ) -> Trace | None:
        del reuse
        self.executions += 1
        return self._program.run(scheduler, seed)

    @property
    def runner(self) -> Runner:
        """Itself, as what it stands for."""
        return cast("Runner", self)


def test_each_share_is_the_probability_of_a_random_walk() -> None:
    # Two read a number and write it back. Whoever is first has read; then the other
    # reads with 1/2, which is certain to lose one, or the first writes, which is
    # certain not to. Of 400 that is 200, deviation 10, limit 6 deviations: 2e-9 each.
    program = renamed(lost_update(2), "a", "b")
    fake = FakeRunner(program)

    shares = curve(fake.runner, run(program, "abbbaa"), "lost", samples=400)

    assert [share.step for share in shares] == [0, 1, 2, 3, 4, 5, 6]
    assert [share.total for share in shares] == [400] * 7
    assert abs(shares[0].failing - 200) < 60
    assert abs(shares[1].failing - 200) < 60
    assert {share.failing for share in shares[2:]} == {400}
    assert fake.executions == 7 * 400


def test_a_curve_starts_low_and_ends_with_certainty() -> None:
    # The reader has to come to its window of one step when the other is in its own, 26
    # steps before its end. With 1e-3 or less at the start, 2 of 20 have 2e-4.
    program = renamed(index_and_blob(26), "publish", "fetch")
    trace = run(program, "f" * 27 + "ppff")

    shares = curve(FakeRunner(program).runner, trace, "dangling")

    assert shares[0].failing <= 1
    assert shares[-1] == Share(30, 20, 20)
    after = [share.failing for share in shares if share.step >= 29]
    assert after == [20] * len(after)


def test_it_ends_with_the_step_that_broke_it() -> None:
    program = renamed(index_and_blob(2), "publish", "fetch")
    trace = run(program, "ffrpprrppp".replace("r", "f"))
    (violation,) = trace.violations

    shares = curve(FakeRunner(program).runner, trace, "dangling", samples=1)

    assert violation.step is not None
    assert [share.step for share in shares] == [*range(violation.step + 2)]


def test_a_deadlock_has_a_curve() -> None:
    program = renamed(deadlock("xy", "yx"), "a", "b")

    shares = curve(FakeRunner(program).runner, run(program, "ab"), "deadlock")

    assert [share.step for share in shares] == [0, 1, 2]
    assert shares[-1].failing == 20


def test_context_switches_come_before_other_points() -> None:
    program = renamed(lost_update(2, before=10), "a", "b")
    trace = run(program, "a" * 5 + "b" * 13 + "a" * 8)

    shares = curve(FakeRunner(program).runner, trace, "lost", samples=1, points=6)

    assert [share.step for share in shares] == [0, 5, 7, 18, 20, 26]


def test_there_are_no_more_points_than_asked_for() -> None:
    program = renamed(lost_update(2, before=10), "a", "b")
    trace = run(program, "ab" * 13)

    for most in range(2, 30):
        shares = curve(
            FakeRunner(program).runner, trace, "lost", samples=1, points=most
        )
        assert len(shares) == min(most, 27)
        assert [shares[0].step, shares[-1].step] == [0, 26]


def test_planned_faults_are_met_in_every_execution() -> None:
    # Without the fault of the plan none fails; with it, all in which the reader comes
    # after the writer, which is certain when only the reader is left.
    program = renamed(disk_full(), "write", "read")
    plan = [PlannedFault("write", NO_SPACE, on="write")]
    trace = run(program, "wwwwrr", plan=plan)

    shares = curve(FakeRunner(program, plan).runner, trace, "empty")

    assert [share for share in shares if share.step >= 4] == [
        Share(4, 20, 20),
        Share(5, 20, 20),
    ]


def test_the_same_seed_gives_the_same_curve() -> None:
    program = renamed(lost_update(2), "a", "b")
    trace = run(program, "abbbaa")

    def made(seed: int) -> list[Share]:
        return curve(FakeRunner(program).runner, trace, "lost", seed=seed)

    assert made(1) == made(1)
    # Both walks of 20 have the same two shares with less than 0.18**2.
    assert any(made(1) != made(seed) for seed in range(2, 8))


def test_a_subject_that_does_not_follow_is_told() -> None:
    program = renamed(lost_update(2), "a", "b")
    other = renamed(lost_update(2, before=1), "a", "b")

    with pytest.raises(ReplayDivergedError, match="a to go on"):
        curve(FakeRunner(program).runner, run(other, "aaaabbbb"), "lost")


def test_executions_that_are_too_long_give_no_curve() -> None:
    program = renamed(lost_update(2), "a", "b")
    fake = FakeRunner(program)
    trace = run(program, "abbbaa")
    enough = 7 * 20 * len(trace.steps)

    assert len(curve(fake.runner, trace, "lost", steps=enough)) == 7
    made, fake.executions = fake.executions, 0
    assert curve(fake.runner, trace, "lost", steps=enough // 2) == []
    assert 0 < fake.executions < made


def test_an_execution_that_runs_into_a_limit_gives_no_curve() -> None:
    program = renamed(lost_update(2), "a", "b")
    fake = FakeRunner(program)
    fake.ran_out = True

    assert curve(fake.runner, run(program, "abbbaa"), "lost") == []
    assert fake.executions == 1
