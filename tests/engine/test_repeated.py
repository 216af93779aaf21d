"""Guards that what an execution has in common with the last one is rightly relied on.

A search that takes what is known of the steps that it repeats has to see what one sees
that finds everything out anew: the same steps with the same footprints, and the same
said of them by each invariant.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.engine import Machine
from racecheck.engine.repeated import NotRepeatedError, Repeated
from racecheck.explore.explorer import explore
from racecheck.explore.runner import Runner
from racecheck.invariants import invariant, temp_files_bounded
from racecheck.invariants.rules import Rule
from racecheck.model import Coverage, Decision, Kind, Step, Verdict
from racecheck.scenario import Budget, Scenario, load, select
from racecheck.scheduling.dpor import DPORScheduler
from tests.engine.lab import in_child

if TYPE_CHECKING:
    from racecheck.invariants.judge import Judge
    from racecheck.model import History, ScenarioResult, Trace, View

SCENARIOS = Path(__file__).parents[2] / "scenarios"
NAMES = (
    "overlay/builders_of_two_files/two/faulty",
    "overlay/two_jobs/proposed",
    "overlay/killed/marked_first",
    "overlay/marked/proposed",
    "overlay/rebuilt/proposed",
    "ensure_symlink/absent/filelock",
    "ensure_symlink/stale_link/flock",
)
EXECUTIONS = 25


class Told:
    """Counts the steps that a judge is told of."""

    def __init__(self, judge: Judge) -> None:
        self.steps = 0
        self._on_step = judge.on_step
        judge.on_step = self._count  # type: ignore[method-assign,assignment]

    def _count(self, *args: object) -> object:
        self.steps += 1
        return self._on_step(*args)  # type: ignore[arg-type]


def searched(
    scenario: Scenario, *, repeats: bool, compare: bool = False
) -> tuple[list[Trace | None], int]:
    """Return the first executions of a search, and how many steps were judged."""

    def body() -> tuple[list[Trace | None], int]:
        traces: list[Trace | None] = []
        with Machine(max_cpu_s=scenario.max_cpu_s) as machine:
            runner = Runner(machine, scenario)
            # They would see it first.
            runner.habits = None
            told = Told(runner._judge)
            search = DPORScheduler()
            while len(traces) < EXECUTIONS:
                seed = search.start_execution()
                if seed is None:
                    break
                trace = runner.run(
                    search,
                    seed,
                    footprints=True,
                    reuse=True,
                    repeats=repeats,
                    compare=compare,
                )
                traces.append(trace)
        return traces, told.steps

    return in_child(body)


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_search_sees_the_same_with_what_is_known(name: str) -> None:
    ((_, scenario),) = [
        (each.name, each.scenario) for each in select(load([SCENARIOS]), [name])
    ]

    anew, all_steps = searched(scenario, repeats=False)
    known, judged = searched(scenario, repeats=True)
    compared, again = searched(scenario, repeats=True, compare=True)

    assert len(anew) > 5
    assert known == anew
    assert judged < all_steps
    # Whoever compares has judged everything, and found nothing that differs.
    assert compared == anew
    assert again == all_steps


def counting(shared: mmap.mmap, *, writes: bool) -> Scenario:
    """Return two writers that write, or are looked at, otherwise every time."""

    def count() -> int:
        shared[0] = (shared[0] + 1) % 251
        return shared[0]

    def looks(view: View, history: History) -> bool:
        del history
        found = {view.exists(name) for name in ("a", f"a{0 if writes else count()}")}
        return bool(found)

    made = Scenario("counting", invariants=[invariant(looks)])

    @made.writer(count=2)
    def write(box: Path) -> None:
        (box / "a").write_text(str(count()) if writes else "a")
        (box / "b").write_text("the same")

    return made


@pytest.mark.processes
def test_a_step_that_is_another_one_is_noticed() -> None:
    with mmap.mmap(-1, 1) as shared, pytest.raises(AssertionError, match="NotRepeated"):
        searched(counting(shared, writes=True), repeats=True)


class Nested(Rule):
    """Remembers names in a container within a container."""

    def __init__(self) -> None:
        super().__init__("nested")
        self.seen: dict[str, set[str]] = {"names": set()}

    def start(self, view: View) -> None:
        del view
        self.seen = {"names": set()}

    def after_step(self, view: View, history: History, step: Step) -> str | None:
        del view, history
        self.seen["names"] |= {step.actor} if step.kind is Kind.WRITE else set()
        return None

    def at_end(self, view: View, history: History) -> str | None:
        del view
        wrote = {each.actor for each in history.steps if each.kind is Kind.WRITE}
        return None if self.seen["names"] == wrote else f"{self.seen} not {wrote}"


@pytest.mark.processes
def test_a_rule_of_somebody_else_is_told_of_every_step() -> None:
    scenario = Scenario("nested", invariants=[Nested()])

    @scenario.writer(count=2)
    def write(box: Path) -> None:
        (box / "a").write_text("a")
        (box / "b").write_text("b")

    _, all_steps = searched(scenario, repeats=False)
    traces, judged = searched(scenario, repeats=True)

    assert judged == all_steps
    assert [each.violations for each in traces if each] == [()] * len(traces)


@pytest.mark.processes
def test_a_footprint_that_is_another_one_is_noticed_by_who_compares() -> None:
    with mmap.mmap(-1, 1) as shared, pytest.raises(AssertionError, match="NotRepeated"):
        searched(counting(shared, writes=False), repeats=True, compare=True)


@pytest.mark.processes
def test_an_exploration_begins_anew_where_nothing_known_holds() -> None:
    class Changing(Runner):
        tried = 0

        def run(self, *args: object, **options: object) -> Trace | None:
            if options.get("repeats") and self.repeats:
                self.tried += 1
                if self.tried == 7:
                    raise NotRepeatedError
            return super().run(*args, **options)  # type: ignore[arg-type]

    scenario = Scenario("writers", invariants=[temp_files_bounded("*.tmp")])

    @scenario.writer(count=2)
    def write(box: Path) -> None:
        (box / "a").write_text("a")
        (box / "b").write_text("b")

    def explored(kind: type[Runner]) -> ScenarioResult:
        def body() -> ScenarioResult:
            with Machine() as machine:
                return explore(
                    kind(machine, scenario),
                    seed=0,
                    budget=Budget(executions=500),
                    scheduler_name="dpor",
                    on_progress=lambda _: None,
                )

        return in_child(body)

    usual, changed = explored(Runner), explored(Changing)

    assert usual.verdict is Verdict.PASSED
    assert usual.coverage is Coverage.COMPLETE
    assert changed.executions == usual.executions > 7
    assert changed.bounds == usual.bounds


def step(index: int, actor: str) -> Step:
    return Step(index, actor, 0, "stat", Kind.STAT, {"path": "a"}, 0)


def test_samples_in_between_change_nothing() -> None:
    repeated = Repeated()

    assert not repeated.begin(0), "nobody knows yet that it is used again"
    assert repeated.begin(0)
    repeated.add(Decision("one"), step(0, "one"), "kept")
    for seed in range(1000, 1010):
        assert not repeated.begin(seed)
    assert repeated.begin(0)

    assert repeated.find(Decision("one")) == step(0, "one")
    repeated.repeat(step(0, "one"), whole=True)
    assert repeated.kept == "kept"
    assert repeated.find(Decision("two")) is None


def test_nothing_is_known_of_what_comes_after_another_decision() -> None:
    repeated = Repeated()
    repeated.begin(0)
    repeated.begin(0)
    for index, actor in enumerate("abc"):
        repeated.add(Decision(actor), step(index, actor), actor)

    repeated.begin(0)
    repeated.repeat(step(0, "a"), whole=True)
    assert repeated.find(Decision("c")) is None
    repeated.part()
    repeated.add(Decision("c"), step(1, "c"), "other")

    repeated.begin(0)
    repeated.repeat(step(0, "a"), whole=True)
    assert repeated.find(Decision("b")) is None
    assert repeated.find(Decision("c")) == step(1, "c")
    repeated.repeat(step(1, "c"), whole=True)
    assert repeated.kept == "other"
    assert repeated.find(Decision("c")) is None


def test_another_step_than_the_known_one_is_refused() -> None:
    repeated = Repeated()
    repeated.begin(0)
    repeated.begin(0)
    repeated.add(Decision("a"), step(0, "a"), "kept")

    repeated.begin(0)
    with pytest.raises(NotRepeatedError):
        repeated.repeat(step(0, "b"), whole=False)
    assert not repeated.is_alike
