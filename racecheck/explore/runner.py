"""Running one scenario's executions, each giving a trace with its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from racecheck.engine import Execution, companions
from racecheck.engine.repeated import Repeated
from racecheck.explore import threads
from racecheck.explore.habits import Habits
from racecheck.explore.setting_up import set_up
from racecheck.invariants import Judge
from racecheck.model import ActorInfo, Schedule, Trace, Verdict

if TYPE_CHECKING:
    from racecheck.engine import Machine
    from racecheck.invariants.watch import Watch
    from racecheck.model import Scheduler
    from racecheck.scenario import Scenario


@dataclass(frozen=True, slots=True)
class _Judged:
    verdict: Verdict
    reason: str


ASSUMPTIONS: Final = (
    "each system call is atomic",
    "a crash is the end of a process, not a loss of power",
    "a folder's listing is sorted by name",
    "steps take no time",
)
"""What every answer of the process engine takes for granted."""


class Runner:
    """Runs a scenario on a machine, as often as asked; bound to one worker process.

    Attributes:
        engine: Name of the engine.
        platform: What machine is simulated, if one is.
        assumptions: What every answer takes for granted.
        workdir: Where its box lies.
        repeats: Whether what is known of an execution is relied on in the next one.
        habits: What actors of explored executions did; None if that does not matter.
        spun: Whether an actor was held up in any execution because it looked in vain.
        broken_off: Whether the last execution was broken off at a bound, so that there
            is no telling how it would have gone on.
        ran_out: Whether it was for what an actor took of processor time or of the
            machine.
    """

    def __init__(self, machine: Machine, scenario: Scenario) -> None:
        """Set the scenario up, once for all executions.

        Raises:
            ScenarioError: Its setup raises, or its functions ask for what is not there.
        """
        self.scenario = scenario
        self.engine = "process"
        self.platform = ""
        self.assumptions: tuple[str, ...] = ASSUMPTIONS
        self.shape = scenario.shape(self.engine)
        self.spun = False
        self.broken_off = False
        self.ran_out = False
        self.workdir = machine.sandbox.folder.parent
        self._machine = machine
        machine.tmp_on_other_mount = scenario.tmp_on_other_mount
        machine.move_in()
        self.programs = set_up(scenario, machine.sandbox)
        companions.refuse(f"{scenario.name}: setup", machine.processes)
        # A fork has none of them, and a process is used again only where it is known to
        # be as it was.
        self._threads = threads.started()
        if self._threads:
            self.assumptions = (*ASSUMPTIONS, threads.assumption(self._threads))
        self.repeats = True
        self.habits: Habits | None = Habits()
        self._repeated = Repeated()
        self._actors = tuple(
            ActorInfo(program.name, program.role, program.pid)
            for program in self.programs
        )
        self._judge = Judge(scenario.invariants)
        self._fineness = self.watch.fineness
        machine.serve(self.programs)

    @property
    def watch(self) -> Watch:
        """What the invariants make of footprints."""
        return self._judge.watch

    @property
    def judging(self) -> tuple[str, ...]:
        """The invariants that had something to judge in the last execution."""
        return self._judge.judging

    @property
    def actors(self) -> tuple[str, ...]:
        """Names of the actors, in the order of their declaration."""
        return tuple(program.name for program in self.programs)

    def run(
        self,
        scheduler: Scheduler,
        seed: int,
        *,
        footprints: bool = False,
        outputs: bool = False,
        record: bool = False,
        reuse: bool = False,
        repeats: bool = False,
        compare: bool = False,
    ) -> Trace | None:
        """Run one execution.

        Args:
            scheduler: Decides who goes next; its execution has been started.
            seed: What its `start_execution` returned.
            footprints: Whether the steps get footprints.
            outputs: Whether the trace gets what the actors printed.
            record: Whether it gets what a report shows beside the steps.
            reuse: Whether actors may run in processes that were used before.
            repeats: Whether what it has in common with the last one need not be found
                out again; see `racecheck.engine.repeated`.
            compare: Whether to find it out all the same, and compare.

        Returns:
            The execution, or None if the scheduler gave it up.

        Raises:
            NotRepeatedError: It is not as the last one, though it had to be.
            StateKeptError: An actor did not do what it did in the same situation.
        """
        repeats = repeats and footprints and not (record or outputs)
        if self._fineness != self.watch.fineness:
            # Footprints are other ones.
            self._fineness = self.watch.fineness
            self._repeated.forget()
        execution = Execution(
            self._machine,
            self.programs,
            seed=seed,
            max_steps=self.scenario.max_steps,
            footprints=footprints,
            record=record,
            reuse=reuse and not self._threads,
            fault_bounds=self.scenario.fault_bounds,
            repeated=self._repeated if repeats and self.repeats else None,
            compare=compare,
        )
        execution.run(scheduler, self._judge)
        if repeats and self.habits is not None:
            self.habits.learn(seed, execution.steps)
        self.spun = self.spun or execution.spun
        # Who waits for ever is at an end.
        self.broken_off = bool(execution.stuck) and not execution.waiting
        self.ran_out = bool(self._machine.watchdog.reason)
        if execution.given_up:
            return None
        judged = self._verdict(execution)
        return Trace(
            scenario=self.scenario.name,
            shape=self.shape,
            actors=self._actors,
            schedule=Schedule(seed, tuple(execution.decisions)),
            steps=tuple(execution.steps),
            operations=tuple(execution.operations),
            ends=tuple(execution.ends),
            verdict=judged.verdict,
            reason=judged.reason,
            violations=self._judge.violations,
            uncontrolled=tuple(execution.notes.uncontrolled),
            unordered=tuple(execution.notes.unordered),
            outputs=self._machine.sandbox.read_outputs(self.actors) if outputs else {},
            detail=execution.detail,
        )

    def _verdict(self, execution: Execution) -> _Judged:
        verdict, reason = self._judge.verdict()
        uncontrolled = f"uncontrolled: {'; '.join(execution.notes.uncontrolled)}"
        if execution.notes.altered:
            # What is broken then may be so because a call was refused.
            return _Judged(Verdict.UNKNOWN, uncontrolled)
        if execution.waiting and not execution.notes.uncontrolled:
            waiting = "; ".join(execution.waiting)
            return _Judged(Verdict.DEADLOCKED, f"waiting for ever: {waiting}")
        if verdict is Verdict.VIOLATED:
            return _Judged(verdict, execution.stuck or reason)
        if execution.notes.uncontrolled:
            return _Judged(Verdict.UNKNOWN, uncontrolled)
        if execution.stuck:
            return _Judged(Verdict.UNKNOWN, f"stuck: {execution.stuck}")
        return _Judged(verdict, reason)
