"""What a race is, in sentences: the same in pages, texts and annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from racecheck.model import Verdict, lane_of
from racecheck.report.calls import OpenFiles, describe_call
from racecheck.report.diagnosis import Diagnosis, diagnose
from racecheck.report.places import Place, place_of
from racecheck.report.printable import printable
from racecheck.report.racing import Racing, racing_pair

if TYPE_CHECKING:
    from racecheck.model import Trace

_ROOM = 90
_NOBODY = "No two steps of different actors have to do with it."


@dataclass(frozen=True, slots=True)
class Act:
    """One of the steps that a race is made of.

    Attributes:
        index: Which step.
        lane: Who took it.
        call: The call with its result.
        place: Where in its program, if that is known.
    """

    index: int
    lane: str
    call: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class Story:
    """What a race is, in sentences.

    Attributes:
        verdict: The verdict with the invariant, and what was expected and found.
        cause: What made it so.
        first: The racing step that came first, or None if there is no pair.
        second: The other, or the one that broke the invariant by itself.
        relied: The step of the second one's actor that the first came after.
        what: What both touch.
        diagnosis: The kind of race, if it is a known one.
    """

    verdict: str
    cause: str
    first: Act | None
    second: Act | None
    relied: Act | None
    what: str
    diagnosis: Diagnosis | None

    @property
    def acts(self) -> list[tuple[str, Act]]:
        """The steps that it is made of, in their order, each with what it is in it."""
        if self.second is None:
            return []
        if self.first is None:
            return [("This step", self.second)]
        if self.relied is None:
            return [("This came first", self.first), ("And then this", self.second)]
        return [
            ("First", self.relied),
            ("Then another came between", self.first),
            ("And the first went on as if nothing had", self.second),
        ]


def tell(trace: Trace, invariant: str, message: str) -> Story:
    """Return what a race is.

    Args:
        trace: The execution.
        invariant: The invariant that it breaks, or `deadlock`.
        message: What was expected and what was found.
    """
    verdict = f"{invariant} is violated: {message}"
    if trace.verdict is Verdict.DEADLOCKED and invariant == "deadlock":
        verdict = f"deadlock: {message}"
    known = diagnose(trace, invariant)
    pair = racing_pair(trace, invariant)
    if known is not None:
        what = pair.what if pair is not None else ""
        pair = Racing(known.first, known.second, known.relied, what)
    if pair is None:
        return _alone(trace, invariant, printable(verdict), known)
    acts = acts_of(trace, [pair.first, pair.second, pair.relied])
    first, second = acts[pair.first], acts[pair.second]
    relied = acts[pair.relied] if pair.relied is not None else None
    if known is not None:
        cause = known.sentence
    elif trace.verdict is Verdict.DEADLOCKED:
        cause = (
            f"Step {first.index} of {first.lane} and step {second.index} of "
            f"{second.lane} took {pair.what}, and then nobody could go on."
        )
    else:
        cause = _cause(first, second, relied, pair)
    return Story(
        printable(verdict),
        printable(cause),
        first,
        second,
        relied,
        printable(pair.what),
        known,
    )


def _alone(
    trace: Trace, invariant: str, verdict: str, known: Diagnosis | None
) -> Story:
    """Return the story of a violation that takes no second actor."""
    broken = [
        each.step
        for each in trace.violations
        if each.invariant == invariant and each.step is not None
    ]
    if not broken:
        return Story(verdict, _NOBODY, None, None, None, "", known)
    act = acts_of(trace, [broken[0]])[broken[0]]
    cause = (
        f"Step {act.index} of {act.lane} breaks it by itself, whatever the others did "
        "before."
    )
    return Story(verdict, cause, None, act, None, "", known)


def acts_of(trace: Trace, indices: list[int | None]) -> dict[int, Act]:
    """Return some steps as acts, by their indices."""
    files = OpenFiles()
    found = {}
    wanted = {index for index in indices if index is not None}
    for step in trace.steps:
        if step.index in wanted:
            found[step.index] = Act(
                step.index,
                printable(lane_of(step.actor, step.task)),
                describe_call(step, files, _ROOM),
                place_of(trace, step.index),
            )
        files.follow(step)
    return found


def _cause(first: Act, second: Act, relied: Act | None, pair: Racing) -> str:
    if relied is not None:
        return (
            f"Step {first.index} of {first.lane} came between step {relied.index} of "
            f"{second.lane} and its step {second.index}, which relies on nobody doing "
            f"so: all three touch {pair.what}."
        )
    return (
        f"Step {second.index} of {second.lane} came after step {first.index} of "
        f"{first.lane}, and in the other order it would have had another effect: both "
        f"touch {pair.what}."
    )
