"""Scenarios: who acts on the subject, what goes wrong, and what must hold."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from racecheck.errors import ScenarioError
from racecheck.model import FaultBound, PlannedFault, Simulation
from racecheck.scenario import arguments, checks
from racecheck.scenario.actors import Actor, Declaration, check_names, expand
from racecheck.scenario.budget import Budget
from racecheck.scenario.operations import Script
from racecheck.scenario.programs import check_programs, make_programs, state_arguments
from racecheck.scenario.roles import RoleDecorator
from racecheck.scenario.shape import digest
from racecheck.scenario.variants import combine, names, tags_of

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import Invariant, Program
    from racecheck.scenario.variants import Expected, Variant

F = TypeVar("F", bound=Callable[..., object])

_NAME = re.compile(r"[A-Za-z0-9_.+=-]+(/[A-Za-z0-9_.+=-]+)*")


class Scenario:
    """A subject with its actors, planned faults, invariants and bounds.

    Actors are declared with the role decorators, bare or with options:

        head_image = Scenario("head_image/two_writers", invariants=[no_lost_writes()])

        @head_image.writer(count=2)
        def serve(box: Path) -> None:
            write_head_image(box / "head.img", CODES, SCALES)

    Functions get what they ask for by name: `box` (the folder of the execution), `me`
    (a `Me`), what `setup` returned (its keys if that is a dict, else all of it as
    `state`), and the parameters of the variant.

    Attributes:
        name: Full name, parts separated by `/`; that of a variant ends in its id.
        invariants: What must hold.
        faults: What goes wrong, by plan.
        fault_bounds: What may go wrong anywhere, and how often.
        expect: Names of the invariants that are broken, and `deadlock`; empty for a
            scenario that passes.
        tags: Further words to find it by, such as the questions that it answers.
        same_pid: Whether all actors have one process id.
        tmp_on_other_mount: Whether the folder for temporary files (`TMPDIR`) is on
            another mount than the box, so that renames between the two fail.
        max_steps: Steps of one execution at which the actor that takes them is stuck.
        max_cpu_s: CPU time of an actor between two steps at which it is stuck.
        budget: How long an exploration of it may go on, if it says so itself.
        engine: Name of the engine that runs it unless another is asked for.
        simulation: The machine on which the simulated engine runs it.
        parameters: The variant's values, by parameter.
        ids: What those values are called, by parameter.
    """

    def __init__(
        self,
        name: str,
        *,
        invariants: Iterable[Invariant] = (),
        faults: Iterable[PlannedFault | FaultBound] = (),
        setup: Callable[..., object] | None = None,
        same_pid: bool = False,
        tmp_on_other_mount: bool = False,
        max_steps: int = 10_000,
        max_cpu_s: float = 10.0,
        expect: Expected = frozenset(),
        tags: str | Iterable[str] = (),
        budget: Budget | int | str | None = None,
        engine: str | Simulation = "process",
    ) -> None:
        if not arguments.matches(_NAME, name):
            raise ScenarioError(
                f"a scenario's name is made of letters, digits and '_.+=-', parts "
                f"separated by '/', not {name!r}"
            )
        self.name = name
        self.expect = names(expect)
        self.same_pid = same_pid
        self.tmp_on_other_mount = tmp_on_other_mount
        self.max_steps = max_steps
        self.max_cpu_s = max_cpu_s
        self.simulation = Simulation()
        self.engine = ""
        if isinstance(engine, Simulation):
            self.engine, self.simulation = "simulated", engine
        else:
            self.engine = engine
        with checks.about(name):
            self.invariants = checks.invariants_of(invariants)
            given = checks.faults_of(faults)
            self.tags = tags_of(tags)
            self.faults = tuple(f for f in given if isinstance(f, PlannedFault))
            self.fault_bounds = tuple(f for f in given if isinstance(f, FaultBound))
            checks.check_expect(self.expect, self.invariants)
            checks.check_engine(self.engine)
            checks.check_limit("max_steps", max_steps)
            checks.check_limit("max_cpu_s", max_cpu_s)
            self.budget = None if budget is None else Budget.from_value(budget)
        self.parameters: Mapping[str, object] = {}
        self.ids: Mapping[str, str] = {}
        self._declarations: list[Declaration] = []
        self._variants: tuple[Variant, ...] = ()
        self._setup: Callable[..., object] | None = None
        if setup is not None:
            self.setup(setup)

    @property
    def writer(self) -> RoleDecorator:
        """Declare an actor that writes what others read."""
        return RoleDecorator("writer", self._declarations)

    @property
    def reader(self) -> RoleDecorator:
        """Declare an actor that only reads."""
        return RoleDecorator("reader", self._declarations)

    @property
    def evictor(self) -> RoleDecorator:
        """Declare an actor that removes what others wrote."""
        return RoleDecorator("evictor", self._declarations)

    @property
    def actor(self) -> RoleDecorator:
        """Declare an actor of no special role."""
        return RoleDecorator("actor", self._declarations)

    def declare(self, *declarations: Declaration) -> None:
        """Add actors that were declared elsewhere, with `racecheck.writer` and such."""
        for each in declarations:
            if not isinstance(each, Declaration):
                raise ScenarioError(f"{self.name}: {each!r} declares no actor")
            self._declarations.append(each)

    def setup(self, function: F) -> F:
        """Let a function fill the box before the actors start, as a decorator.

        It gets `box` and the variant's parameters by name. What it returns is there
        for the actors by name: the keys of a dict, or anything else as `state`.
        """
        if self._setup is not None:
            raise ScenarioError(f"{self.name}: has a setup already")
        if not callable(function):
            raise ScenarioError(
                f"{self.name}: setup takes a function, not {function!r}"
            )
        arguments.check_runs(function, f"{self.name}: setup")
        self._setup = function
        return function

    def over(
        self,
        *,
        expect: Mapping[str, Expected] | Expected | None = None,
        tags: Mapping[str, Expected] | Expected | None = None,
        **parameters: Iterable[object],
    ) -> None:
        """Make a scenario of each combination of parameters.

        A value is called by its `__name__` or its text, or by its key where the values
        are a mapping; a combination by those joined with `-`. That is the last part of
        the variant's name: `head_image/two_writers/write_shared`.

        Args:
            expect: The invariants that are broken: one set for all variants, or a set
                by variant id. Variants that it leaves out expect what the scenario
                does.
            tags: Further words to find variants by, besides those of the scenario: one
                set for all, or a set by variant id.
            **parameters: The values that actors and setup get, by parameter.
        """
        if self._variants:
            raise ScenarioError(f"{self.name}: over was called before")
        with checks.about(self.name):
            self._variants = combine(parameters, expect, tags)
        for variant in self._variants:
            with checks.about(f"{self.name}/{variant.id}"):
                checks.check_expect(variant.expect or (), self.invariants)

    def variants(self) -> tuple[Scenario, ...]:
        """Return the scenarios to run: one a combination, or itself alone."""
        if not self._variants:
            return (self,)
        return tuple(self._variant(variant) for variant in self._variants)

    @property
    def actors(self) -> tuple[Actor, ...]:
        """The actors, in the order of their declaration."""
        return expand(self._declarations, same_pid=self.same_pid)

    def check(self) -> None:
        """Refuse a scenario that could not run.

        Raises:
            ScenarioError: It has no actor, two of one name, an `after` or a fault of
                an actor that is not there, or a parameter that nothing provides.
                What `setup` will return is known only when it has run; until then any
                parameter may come of it.
        """
        actors = self.actors
        with checks.about(self.name):
            if not actors:
                raise ScenarioError("has no actor, so nothing would run")
            check_names(self._declarations, actors)
            checks.check_fault_actors(
                (*self.faults, *self.fault_bounds), [actor.name for actor in actors]
            )
            if self._setup is not None:
                arguments.check(self._setup, {"box", *self.parameters}, "setup")
            else:
                check_programs(actors, {"box", *self.parameters})

    def prepare(self, box: Path) -> object:
        """Fill the box with what `setup` puts there, and return what it returned."""
        if self._setup is None:
            return None
        with checks.about(self.name):
            provided = {"box": box, **self.parameters}
            keywords = arguments.bind(self._setup, provided, "setup")
        # Outside, so that what the function raises itself stays as it is.
        return self._setup(**keywords)

    def programs(self, box: Path, state: object) -> tuple[Program, ...]:
        """Return what each actor runs.

        `after` is handed on as it was declared: the name of one actor, or of a
        declaration with several, where the first operation of any of them will do.

        Args:
            box: The folder of the execution.
            state: What `prepare` returned.

        Raises:
            ScenarioError: A function has a parameter that nothing provides.
        """
        with checks.about(self.name):
            provided = {"box": box, **self.parameters}
            if self._setup is not None:
                provided.update(state_arguments(state, provided))
            return make_programs(self.actors, provided)

    def functions(self) -> list[Callable[..., object]]:
        """Return the functions that it is made of: setup, actors' and parameters."""
        found = [] if self._setup is None else [self._setup]
        for declaration in self._declarations:
            subject = declaration.subject
            if isinstance(subject, Script):
                found += [each.function for each in subject.operations]
            elif callable(subject):
                found.append(subject)
        return [*found, *filter(callable, self.parameters.values())]

    def shape(self, engine: str = "") -> str:
        """Return a digest of name, actors, operations and parameters.

        Tokens are bound to it. It does not depend on the source of functions, nor on
        where anything lies.

        Args:
            engine: Name of the engine; empty stands for its own. What is simulated has
                other calls, so that its tokens are no others'.
        """
        machine = ""
        if (engine or self.engine) == "simulated":
            machine = self.simulation.mark()
        return digest(self.name, self.actors, self.ids, machine)

    def _variant(self, variant: Variant) -> Scenario:
        scenario = copy.copy(self)
        scenario.name = f"{self.name}/{variant.id}"
        scenario.parameters = variant.parameters
        scenario.ids = variant.ids
        if variant.expect is not None:
            scenario.expect = variant.expect
        scenario.tags = self.tags | variant.tags
        # Declared on its own from here on, as are those of the others.
        scenario._declarations = list(self._declarations)  # noqa: SLF001  # a copy
        scenario._variants = ()  # noqa: SLF001  # a copy
        return scenario

    def __repr__(self) -> str:
        return f"Scenario({self.name!r})"
