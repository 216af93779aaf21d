"""Guards that it makes no difference how many processes share an exploration.

What one process would do in turn is made ahead by others, and counts only if it is what
would have been done. So results are equal to the last token, whoever is at work.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import msgspec
import pytest

from racecheck.api import Options, explore
from racecheck.engine import Machine
from racecheck.explore.explorer import explore as explore_here
from racecheck.explore.runner import Runner
from racecheck.explore.team import Team
from racecheck.invariants import no_lost_writes, temp_files_bounded, whole_images
from racecheck.model import Coverage, ScenarioResult, Verdict
from racecheck.scenario import Budget, Scenario, crashes
from tests.engine.lab import in_child

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from racecheck.explore.made import Made
    from racecheck.model import Scheduler
    from racecheck.scenario import Me

pytestmark = [pytest.mark.processes, pytest.mark.slow]

TEXT = "42\n"


def cache(*, own: bool, readers: int = 1, faults: bool = False) -> Scenario:
    """Return writers and readers of a file, with or without temp names of their own."""
    made = Scenario(
        "cache",
        faults=[crashes(1)] if faults else [],
        invariants=[
            no_lost_writes(),
            whole_images("answer", lambda data: data == TEXT.encode()),
            *([temp_files_bounded("answer.*")] if own else []),
        ],
    )

    @made.writer(count=2)
    def save(box: Path, me: Me) -> None:
        temp = box / (f"answer.{me.name}" if own else "answer.tmp")
        temp.write_text(TEXT)
        temp.rename(box / "answer")

    @made.reader(count=readers, raises=FileNotFoundError)
    def load(box: Path) -> str:
        return (box / "answer").read_text()

    return made


class Counting(Team):
    """A team that counts what it gave, and loses its helpers if it is asked to."""

    found = 0
    lose_at = -1

    def find(self, scheduler: Scheduler) -> Made | None:
        made = super().find(scheduler)
        self.found += made is not None
        if self.found == self.lose_at:
            # Once: whoever waits for any child may have found them dead the next time.
            self.lose_at = -1
            for helper in self._helpers:
                os.kill(helper.pid, signal.SIGKILL)
        return made


class Late(Counting):
    """A team whose helpers do nothing until somebody waits for them."""

    def _fork(self, cpu: int, workdir: Path) -> None:
        super()._fork(cpu, workdir)
        self._send(signal.SIGSTOP)

    def _receive(self, *, wait: bool) -> None:
        if wait:
            self._send(signal.SIGCONT)
        super()._receive(wait=wait)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._send(signal.SIGCONT)
        super().__exit__(kind, error, trace)

    def _send(self, number: signal.Signals) -> None:
        for helper in self._helpers:
            os.kill(helper.pid, number)


def explored(
    scenario: Scenario,
    helpers: int,
    *,
    scheduler: str = "dpor",
    executions: int = 1000,
    lose_at: int = -1,
    kind: type[Counting] = Counting,
) -> tuple[ScenarioResult, int]:
    """Explore with helpers; return the result, and how much they did of it."""
    cpu = min(os.sched_getaffinity(0))

    def body() -> tuple[ScenarioResult, int]:
        with Machine() as machine:
            runner = Runner(machine, scenario)
            folder = machine.sandbox.folder.parent
            with kind(runner, 0, folder) as team:
                team.lose_at = lose_at
                for _ in range(helpers):
                    team._fork(cpu, folder)
                result = explore_here(
                    runner,
                    seed=3,
                    budget=Budget(executions=executions),
                    scheduler_name=scheduler,
                    on_progress=lambda _: None,
                    team=team,
                )
        return msgspec.structs.replace(result, seconds=0.0), team.found

    return in_child(body)


@pytest.mark.parametrize("scheduler", ["pct", "pos", "mixed", "random"])
def test_samples_are_the_same_however_they_are_split(scheduler: str) -> None:
    (alone, none), *others = [
        explored(cache(own=True), helpers, scheduler=scheduler, executions=40)
        for helpers in (0, 1, 2)
    ]

    assert none == 0
    assert alone.coverage is Coverage.SAMPLED
    for result, found in others:
        assert result == alone
        assert found > 10


@pytest.mark.parametrize("faults", [False, True], ids=["plain", "crashes"])
def test_a_search_is_the_same_however_it_is_split(*, faults: bool) -> None:
    scenario = cache(own=True, readers=1 if faults else 2, faults=faults)

    (alone, _), *others = [explored(scenario, helpers) for helpers in (0, 1, 2)]

    assert (alone.verdict, alone.coverage) == (Verdict.PASSED, Coverage.COMPLETE)
    assert alone.executions > 20
    for result, found in others:
        assert result == alone
        assert found > 10


@pytest.mark.parametrize("scheduler", ["dpor", "mixed"])
def test_what_is_found_is_the_same_to_the_last_token(scheduler: str) -> None:
    (alone, _), *others = [
        explored(cache(own=False), helpers, scheduler=scheduler, executions=30)
        for helpers in (0, 1, 2)
    ]

    assert alone.verdict is Verdict.VIOLATED
    assert all(finding.confirmed for finding in alone.findings)
    for result, _ in others:
        assert result == alone


@pytest.mark.parametrize("scheduler", ["pos", "random"])
def test_helpers_that_begin_late_are_given_what_is_still_to_come(
    scheduler: str,
) -> None:
    (alone, _), *others = [
        explored(
            cache(own=True), helpers, scheduler=scheduler, executions=40, kind=Late
        )
        for helpers in (0, 1, 2)
    ]

    for result, found in others:
        assert result == alone
        assert found > 10


def test_helpers_that_die_change_nothing() -> None:
    scenario = cache(own=True, readers=2)

    alone, _ = explored(scenario, 0)
    result, found = explored(scenario, 2, lose_at=5)

    assert result == alone
    assert 5 <= found < alone.executions


def test_jobs_are_given_to_the_only_scenario_that_there_is() -> None:
    results = [
        explore(cache(own=True), Options(jobs=jobs, seed=3)) for jobs in (1, 2, 3)
    ]

    alone, *others = [msgspec.structs.replace(each, seconds=0.0) for each in results]
    assert alone.coverage is Coverage.COMPLETE
    assert others == [alone, alone]
