"""Running one scenario's executions on a simulated machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from racecheck.errors import EngineError
from racecheck.explore.runner import Runner
from racecheck.explore.setting_up import prepared
from racecheck.invariants import Judge
from racecheck.model import ActorInfo, Schedule, Trace, Verdict
from racecheck.simulated import SimulatedExecution, Stage
from racecheck.simulated.state import KeptState

if TYPE_CHECKING:
    from racecheck.model import Scheduler
    from racecheck.scenario import Scenario

ENGINE: Final = "simulated"


class SimulatedRunner(Runner):
    """Runs a scenario on a simulated machine, as often as asked."""

    def __init__(self, stage: Stage, scenario: Scenario) -> None:
        """Set the scenario up, once for all executions.

        Raises:
            ScenarioError: Its setup raises, or its functions ask for what is not there.
            EngineError: It has actors that cannot be simulated.
        """
        self.scenario = scenario
        self.engine = ENGINE
        self.assumptions = scenario.simulation.assumptions
        self.platform = scenario.simulation.platform
        self.shape = scenario.shape(ENGINE)
        self.workdir = Path()
        self.spun = False
        self.ran_out = False
        self.broken_off = False
        self._stage = stage
        stage.adopt(scenario.functions())
        with stage.setting_up():
            self.programs = prepared(scenario, stage.box, stage.keep_as_initial)
        commands = [each.name for each in self.programs if each.argv]
        if commands:
            raise EngineError(
                f"{scenario.name}: programs cannot be simulated, only functions of "
                f"Python: {', '.join(commands)}"
            )
        self._judge = Judge(scenario.invariants)
        self._state = KeptState(scenario.functions())

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
        """See `Runner.run`; there are no processes to use again, and no outputs."""
        del outputs, record, reuse, repeats, compare
        execution = SimulatedExecution(
            self._stage,
            self.programs,
            seed=seed,
            max_steps=self.scenario.max_steps,
            max_cpu_s=self.scenario.max_cpu_s,
            footprints=footprints,
            fault_bounds=self.scenario.fault_bounds,
        )
        execution.run(scheduler, self._judge)
        self.broken_off = bool(execution.stuck)
        if execution.given_up:
            return None
        notes = list(execution.notes)
        if changed := self._state.changed():
            notes.append(
                "threads share what processes do not, and the subject has changed "
                + ", ".join(changed)
            )
        record_ = execution.record
        verdict, reason = self._judge.verdict()
        if notes:
            verdict, reason = Verdict.UNKNOWN, f"not simulated: {'; '.join(notes)}"
        elif verdict is Verdict.VIOLATED:
            reason = execution.stuck or reason
        elif execution.stuck:
            verdict, reason = Verdict.UNKNOWN, f"stuck: {execution.stuck}"
        return Trace(
            scenario=self.scenario.name,
            shape=self.shape,
            actors=tuple(
                ActorInfo(program.name, program.role, program.pid)
                for program in self.programs
            ),
            schedule=Schedule(seed, tuple(execution.decisions)),
            steps=tuple(record_.steps),
            operations=tuple(record_.operations),
            ends=tuple(record_.ends),
            verdict=verdict,
            reason=reason,
            violations=self._judge.violations,
            uncontrolled=tuple(notes),
        )
