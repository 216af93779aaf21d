"""Guards what invariants add to footprints: every state that one can see is seen.

An invariant tells apart orders that the actors cannot tell apart. The rule by which it
does that is tried beside weaker ones on the smallest programs that these fail on. It is
not enough for a test that the rule fails on none: the weaker ones have to.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import pytest

from racecheck.engine import Machine
from racecheck.footprint import conflicts
from racecheck.invariants import Judge, invariant
from racecheck.model import EMPTY, Footprint, Resource, Write
from tests.engine.lab import in_child
from tests.footprint.stage import Onlooker, Stage
from tests.orders.every import every_order, search
from tests.orders.small import Small

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.engine import Observer
    from racecheck.model import History, Step, View

    Value = Callable[[View], str]

pytestmark = pytest.mark.processes


def names(view: View) -> str:
    return f"{view.exists('x') + view.exists('y')} names"


def content(view: View) -> str:
    return str(view.read("x"))


def is_whole(value: str) -> bool:
    """Judge a content: both letters from one writer."""
    return value[2] == value[3]


class Case(NamedTuple):
    """Programs with what an invariant sees of them.

    Attributes:
        name: What they are about.
        value: What it sees.
        box: What fills the box.
        programs: What each actor does.
    """

    name: str
    value: Value
    box: str
    programs: tuple[str, ...]


ONE_GOES = Case(
    "one goes and one comes",
    names,
    "fill y a",
    ("unlink y", "open x WRONLY|CREAT 0"),
)
OLD_FILE = Case(
    "the old file is written to",
    content,
    "fill x AA; fill t BB",
    ("rename t x", "open x WRONLY 0; write 0 1"),
)
NEW_FILE = Case(
    "the new file is written to twice",
    content,
    "fill x AA; fill t BB",
    ("open t WRONLY 0; write 0 1; write 0 1", "rename t x"),
)
CASES = (ONE_GOES, OLD_FILE, NEW_FILE)

WEAK = (
    ("nothing", ONE_GOES),
    ("verdict", OLD_FILE),
    ("own resource", OLD_FILE),
    ("own resource", NEW_FILE),
    ("read before", NEW_FILE),
    ("read after", OLD_FILE),
)
STRONG = ("read before and after", "all", "judge")


class Watching(Onlooker):
    """Looks at a value after each step, and adds to footprints by some rule."""

    def __init__(self, value: Value, rule: str, seen: set[str]) -> None:
        """Prepare for one execution.

        Args:
            value: What to look at.
            rule: Which steps get what.
            seen: Where to note the values.
        """
        self._value = value
        self._rule = rule
        self._seen = seen
        self._now = ""
        self._reads: set[Resource] = set()

    def start(self, view: View, history: History | None) -> None:
        """Look before the first step."""
        del history
        self._look(view)

    def on_step(self, view: View, history: History, step: Step) -> Footprint:
        """Look after a step."""
        del history
        value, reads = self._now, self._reads
        self._look(view)
        touched = Footprint((), step.footprint.writes)
        if self._rule == "nothing":
            return EMPTY
        if self._rule == "verdict":
            visible = is_whole(value) != is_whole(self._now)
        else:
            visible = conflicts(touched, Footprint(tuple(reads)))
        if not visible and self._rule != "all":
            return EMPTY
        added = {
            "own resource": set[Resource](),
            "read before": reads,
            "read after": self._reads,
        }.get(self._rule, reads | self._reads)
        own = Write(Resource("invariant", "value"))
        return Footprint(tuple(sorted(added)), (own,))

    def _look(self, view: View) -> None:
        view.forget_seen()
        self._now = self._value(view)
        self._reads = set(view.seen)
        self._seen.add(self._now)


def judging(value: Value, seen: set[str]) -> Judge:
    """Return what judges a scenario, with an invariant that notes the values."""

    @invariant
    def look(view: View, history: History) -> None:
        del history
        seen.add(value(view))

    return Judge([look])


def onlooker(case: Case, rule: str, seen: set[str]) -> Observer:
    if rule == "judge":
        return judging(case.value, seen)
    return Watching(case.value, rule, seen)


def unseen(case: Case, rule: str) -> list[set[str]]:
    """Return the values that the search does not see, whoever it tries first."""

    def body() -> list[set[str]]:
        with Machine() as machine:
            stage = Stage(machine)
            return [
                missed(stage, Small.of(case.box, *programs), case, rule, carry_on)
                for programs in itertools.permutations(case.programs)
                for carry_on in (True, False)
            ]

    return in_child(body)


def missed(
    stage: Stage,
    small: Small,
    case: Case,
    rule: str,
    carry_on: bool,  # noqa: FBT001
) -> set[str]:
    every: set[str] = set()
    seen: set[str] = set()
    stage.prepare(small.fill(), small.functions())
    every_order(
        stage,
        limit=2000,
        is_private=small.is_private,
        look=lambda: onlooker(case, "nothing", every),
    )
    search(stage, carry_on=carry_on, look=lambda: onlooker(case, rule, seen))
    assert seen <= every
    return every - seen


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
@pytest.mark.parametrize("rule", STRONG, ids=lambda rule: rule.replace(" ", "-"))
def test_every_state_is_seen(rule: str, case: Case) -> None:
    assert not any(unseen(case, rule))


@pytest.mark.parametrize(
    ("rule", "case"),
    WEAK,
    ids=[f"{rule}, {case.name}".replace(" ", "-") for rule, case in WEAK],
)
def test_less_than_that_misses_a_state(rule: str, case: Case) -> None:
    # Whether it does depends on who is tried first.
    assert any(unseen(case, rule))
