"""One call in any test: explore what some actors do, and raise if they race."""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from racecheck import suite
from racecheck.api.checking import Check
from racecheck.api.exploring import explore, replay_one
from racecheck.errors import UsageError
from racecheck.explore.options import ENGINES, SCHEDULERS, Options
from racecheck.scenario import Budget, Scenario, Workload, read_settings
from racecheck.scenario import crashes as crashes_anywhere
from racecheck.scenario.config import MAX_SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import FrameType

    from racecheck.model import FaultBound, Invariant, PlannedFault, ScenarioResult
    from racecheck.scenario import Declaration
    from racecheck.scenario.actors import Given

T = TypeVar("T")

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.+=-]+")
_UNNAMED: Final = "check"
_OPTIONS: Final = ("seed", "budget", "scheduler", "engine", "workdir", "fresh")


def check(
    actors: Iterable[Given | Declaration] | Workload | Scenario,
    *,
    invariants: Iterable[Invariant] = (),
    crashes: int = 0,
    faults: Iterable[PlannedFault | FaultBound] = (),
    setup: Callable[..., object] | None = None,
    same_pid: bool = False,
    name: str = "",
    seed: int | None = None,
    budget: Budget | int | str | None = None,
    scheduler: str | None = None,
    engine: str | None = None,
    require: str = "",
    max_steps: int = 10_000,
    max_cpu_s: float = 10.0,
    workdir: Path | None = None,
    fresh: bool | None = None,
    token: str = "",
) -> ScenarioResult:
    """Explore what actors do with a box they share, and raise if an invariant breaks.

    Options of the test run (`--racecheck-seed`, ...) come before what is configured,
    that before arguments, and those before marks on the test.

    Args:
        actors: Functions, commands or operations, one an actor, or what
            `racecheck.writer` and such say of them; or a whole workload, to which the
            arguments up to `same_pid` add; or a scenario, which says these itself.
        invariants: What must hold, besides that nobody raises or hangs.
        crashes: How many crashes one execution may have, anywhere.
        faults: What else goes wrong, by plan or anywhere.
        setup: Fills the box before the actors start.
        same_pid: Whether all actors have one process id.
        name: What the check is called; the function that makes it, unless given.
        seed: Seed of the exploration.
        budget: How long it may go on: executions, or a time such as `30s`.
        scheduler: Who decides which actor goes on.
        engine: What runs the actors: `process`, `simulated` or `stress`.
        require: `complete` to accept nothing less as a pass.
        max_steps: Steps of one execution at which the actor that takes them is stuck.
        max_cpu_s: CPU time of an actor between two steps at which it is stuck.
        workdir: Folder for the boxes, or None for the default.
        fresh: Whether each execution starts all its processes anew.
        token: An execution to replay instead of exploring.

    Returns:
        What the exploration says, with how much it covers.

    Raises:
        RaceFoundError: An invariant does not hold, or actors wait for each other.
        NoVerdictError: It neither passed nor failed.
        RacecheckError: It cannot be run; the class says whose fault that is.
    """
    __tracebackhide__ = True
    if require not in ("", "complete"):
        raise UsageError(f"require is 'complete' or nothing, not {require!r}")
    own = {
        "seed": seed,
        "budget": budget,
        "scheduler": scheduler,
        "engine": engine,
        "workdir": workdir,
        "fresh": fresh,
    }
    observe: Callable[[ScenarioResult], object] | None = None
    about = ""
    if isinstance(actors, Scenario):
        if invariants or crashes or faults or setup or same_pid or name:
            raise UsageError("a scenario says by itself what is checked of it")
        scenario = actors
        if len(scenario.variants()) > 1:
            names = ", ".join(each.name for each in scenario.variants())
            raise UsageError(f"{scenario.name} has variants; check one: {names}")
        (scenario,) = scenario.variants()
    else:
        workload = actors if isinstance(actors, Workload) else Workload.of(actors)
        workload = workload.plus(
            setup=setup,
            faults=(*faults, *([crashes_anywhere(crashes)] if crashes else [])),
            same_pid=same_pid,
        )
        if budget is None:
            own["budget"] = workload.budget
        observe = workload.observe
        about = repr(workload) if isinstance(actors, Workload) else ""
        scenario = workload.scenario(
            name or _caller(sys._getframe(1)),  # noqa: SLF001  as inspect and logging do
            invariants=invariants,
            max_steps=max_steps,
            max_cpu_s=max_cpu_s,
        )
    options = options_of(own)
    return Check(
        scenario=scenario,
        explore=partial(explore, scenario, options),
        replay=partial(replay_one, scenario=scenario, options=options),
        require=require,
        token=token,
        observe=observe,
        about=about,
        workdir=options.workdir,
    ).run()


def _caller(frame: FrameType | None) -> str:
    """Return what a check is called that a function makes: its name.

    Neither the file nor the folder is part of it, so that both can be renamed.
    """
    name = frame.f_code.co_qualname if frame is not None else ""
    name = name.replace("<locals>.", "").replace("<module>", "")
    return _NOT_IN_NAMES.sub("", name).strip(".") or _UNNAMED


def options_of(own: Mapping[str, object]) -> Options:
    """Return the options of a check.

    Args:
        own: What its arguments say, None or nothing where they say nothing.
    """
    around = suite.current()
    marks = around.marks if around is not None else {}
    unknown = sorted(marks.keys() - set(_OPTIONS))
    if unknown:
        raise UsageError(
            f"the mark racecheck has no option {unknown[0]!r}; "
            f"it has: {', '.join(sorted(_OPTIONS))}"
        )
    settings = read_settings(_folder(), os.environ)

    def first(*values: T | None) -> T | None:
        return next((value for value in values if value is not None), None)

    told = {key: first(own.get(key), marks.get(key)) for key in _OPTIONS}
    seed = first(around and around.seed, settings.seed or None, told["seed"], 0)
    budget = first(around and around.budget, settings.budget, told["budget"])
    scheduler = first(told["scheduler"], SCHEDULERS[0])
    if scheduler not in SCHEDULERS:
        raise UsageError(
            f"there is no scheduler {scheduler!r}; there are: {', '.join(SCHEDULERS)}"
        )
    engine = told["engine"] or ""
    if engine not in ("", *ENGINES):
        raise UsageError(
            f"there is no engine {engine!r}; there are: {', '.join(ENGINES)}"
        )
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise UsageError(f"a seed is a whole number from 0 on, not {seed!r}")
    if seed > MAX_SEED:
        raise UsageError(f"a seed is at most {MAX_SEED}")
    workdir = told["workdir"]
    return Options(
        seed=seed,
        budget=None if budget is None else Budget.from_value(budget),  # type: ignore[arg-type]  # it refuses others
        scheduler=str(scheduler),
        engine=str(engine),
        workdir=None if workdir is None else Path(str(workdir)),
        fresh=bool(told["fresh"]),
        quick=around is not None and around.quick,
    )


def _folder() -> Path:
    try:
        return Path.cwd()
    except OSError:
        return Path("/")
