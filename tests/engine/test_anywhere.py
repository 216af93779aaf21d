"""Guards that faults are tried in every place, within their bounds and in all orders.

Each kind of fault has a race of its own that nothing else exposes: without the fault
all orders pass, with it the race is found, and the repaired program passes all orders
with the fault in every place.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import itertools
import os
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

from racecheck.api import Options, explore
from racecheck.footprint import dependence
from racecheck.invariants import (
    invariant,
    no_lost_writes,
    no_unexpected_errors,
    served,
)
from racecheck.model import Coverage, FaultKind, Verdict
from racecheck.scenario import (
    Budget,
    Scenario,
    crashes,
    errnos,
    short_writes,
    stalls,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from racecheck.model import FaultBound, History, ScenarioResult, Trace, View
    from racecheck.scenario import Me

pytestmark = [pytest.mark.processes, pytest.mark.slow]

TEXT = b"forty-two\n"


class Race(NamedTuple):
    """A race that one kind of fault exposes.

    Attributes:
        make: Makes its scenario with some faults, repaired or not.
        faults: What exposes it.
        kinds: The kinds of fault that are met then.
        broken: The invariant that it breaks.
        meet: What two actors have to meet on in what is found.
        bound: The fault with its bound, as the answer tells it.
    """

    make: Callable[..., Scenario]
    faults: FaultBound
    kinds: frozenset[FaultKind]
    broken: str
    meet: str
    bound: tuple[str, int]


# --- a crash inside a write, or between two, while a lock is held ---------------------


def in_place(faults: Sequence[FaultBound], *, fixed: bool) -> Scenario:
    """Return a writer and a reader that lock the file they share."""
    made = Scenario(
        "anywhere/crash",
        faults=faults,
        invariants=[served("load", lambda data: data in (None, TEXT) or repr(data))],
    )

    @made.setup
    def lock(box: Path) -> None:
        (box / "lock").touch()

    @made.writer(count=2)
    def save(box: Path, me: Me) -> None:
        target = box / (f"temp.{me.name}" if fixed else "file")
        with (box / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.write(number, TEXT)
            if fixed:
                os.rename(target, box / "file")

    @made.reader
    def load(box: Path) -> bytes | None:
        with (box / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            try:
                number = os.open(box / "file", os.O_RDONLY)
            except FileNotFoundError:
                return None
            return os.read(number, 100)

    return made


# --- an error whose handler takes away too much ---------------------------------------


def cleaning(faults: Sequence[FaultBound], *, fixed: bool) -> Scenario:
    """Return writers with temp names of their own that clean up after an error."""
    made = Scenario("anywhere/errno", faults=faults, invariants=[no_lost_writes()])

    @made.writer(count=2)
    def save(box: Path, me: Me) -> None:
        temp = box / f"temp.{me.name}"
        number = os.open(temp, os.O_WRONLY | os.O_CREAT)
        try:
            os.write(number, TEXT)
        except OSError:
            for name in [temp.name] if fixed else os.listdir(box):
                if name.startswith("temp."):
                    os.unlink(box / name)
            raise
        os.rename(temp, box / "file")

    return made


# --- a record that is appended in two pieces ------------------------------------------


@invariant
def whole_lines(view: View, history: History) -> str | None:
    """Require that records are whole once all have been written."""
    if len(history.operations) < len(history.programs):
        return None
    lines = (view.read("log") or b"").splitlines()
    wrong = [line for line in lines if line not in (b"aaaaaa", b"bbbbbb")]
    return f"found {wrong[0]!r}" if wrong else None


def appending(faults: Sequence[FaultBound], *, fixed: bool) -> Scenario:
    """Return two that append to a log."""
    made = Scenario("anywhere/short", faults=faults, invariants=[whole_lines])

    @made.setup
    def log(box: Path) -> None:
        (box / "log").touch()

    @made.writer(count=2)
    def append(box: Path, me: Me) -> None:
        number = os.open(box / "log", os.O_WRONLY | os.O_APPEND)
        if fixed:
            fcntl.flock(number, fcntl.LOCK_EX)
        left = b"ab"[me.index : me.index + 1] * 6 + b"\n"
        while left:
            left = left[os.write(number, left) :]
        os.close(number)

    return made


# --- a lock that was not got ----------------------------------------------------------


@invariant
def every_increment_counts(view: View, history: History) -> str | None:
    """Require that the counter has taken in every increment that has returned."""
    returned = sum(operation.succeeded for operation in history.operations)
    found = int(view.read("counter") or b"0")
    return None if found >= returned else f"{found} after {returned} increments"


def counting(faults: Sequence[FaultBound], *, fixed: bool) -> Scenario:
    """Return two that count under a lock, which they take by the C function."""
    made = Scenario(
        "anywhere/eintr", faults=faults, invariants=[every_increment_counts]
    )

    @made.setup
    def counter(box: Path) -> None:
        (box / "counter").write_bytes(b"0")
        (box / "lock").touch()

    @made.writer(count=2)
    def count(box: Path, me: Me) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        lock = os.open(box / "lock", os.O_RDONLY)
        # Python's own function tries again after a signal. C's does not.
        while libc.flock(lock, fcntl.LOCK_EX) and fixed:
            assert ctypes.get_errno() == errno.EINTR
        number = os.open(box / "counter", os.O_RDONLY)
        found = int(os.read(number, 10))
        temp = os.open(box / me.name, os.O_WRONLY | os.O_CREAT)
        os.write(temp, b"%d" % (found + 1))
        os.rename(box / me.name, box / "counter")
        os.close(lock)

    return made


# --- a temp file that gets old in the hands of its writer -----------------------------


def sweeping(faults: Sequence[FaultBound], *, fixed: bool) -> Scenario:
    """Return a writer, and somebody who removes what is older than a minute."""
    made = Scenario(
        "anywhere/stall",
        faults=faults,
        invariants=[no_lost_writes(), no_unexpected_errors()],
    )

    @made.writer
    def save(box: Path) -> None:
        number = os.open(box / "temp", os.O_WRONLY | os.O_CREAT)
        if fixed:
            fcntl.flock(number, fcntl.LOCK_EX)
        os.write(number, TEXT)
        os.rename(box / "temp", box / "file")

    @made.evictor(raises=(FileNotFoundError, BlockingIOError))
    def sweep(box: Path) -> None:
        time.sleep(70)
        number = os.open(box / "temp", os.O_RDONLY)
        if fixed:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(number).st_mtime > 60:
            os.unlink(box / "temp")

    return made


RACES = {
    "crash": Race(
        in_place,
        crashes(1),
        frozenset({FaultKind.CRASH, FaultKind.TEAR}),
        "served",
        "of save-1#",
        ("most crash", 1),
    ),
    "errno": Race(
        cleaning,
        errnos("ENOSPC", on="write"),
        frozenset({FaultKind.ERRNO}),
        "no_lost_writes",
        "name 'temp.save-",
        ("most ENOSPC", 1),
    ),
    "short": Race(
        appending,
        short_writes(),
        frozenset({FaultKind.SHORT}),
        "whole_lines",
        "of log",
        ("most short", 1),
    ),
    "eintr": Race(
        counting,
        errnos("EINTR", on="flock"),
        frozenset({FaultKind.ERRNO}),
        "every_increment_counts",
        "name 'counter'",
        ("most EINTR", 1),
    ),
    "stall": Race(
        sweeping,
        stalls(100, on="rename"),
        frozenset({FaultKind.STALL}),
        "no_lost_writes",
        "name 'temp'",
        ("most stall for 100 s", 1),
    ),
}


def explored(race: Race, *faults: FaultBound, fixed: bool) -> ScenarioResult:
    made = race.make(faults, fixed=fixed)
    return explore(made, Options(budget=Budget(executions=3000)))


def is_covered(name: str, result: ScenarioResult) -> bool:
    """Say whether nothing was left out that can be tried."""
    if name != "stall":
        return result.coverage is Coverage.COMPLETE
    # Sleeps end in the order of time, and no other moment is tried for them. So that is
    # not called complete, though the search has come to its end.
    assert result.coverage is Coverage.CUT
    assert result.executions < 3000
    return "time passes only when nobody else can go on" in result.assumptions


def met(trace: Trace) -> set[FaultKind]:
    """Return the kinds of faults that an execution met."""
    return {step.fault.kind for step in trace.steps if step.fault is not None}


def meetings(trace: Trace) -> set[str]:
    """Return on what actors met."""
    return {
        str(resource)
        for one, other in itertools.combinations(trace.steps, 2)
        if one.actor != other.actor
        for resource in dependence(one.footprint, other.footprint)
    }


@pytest.mark.parametrize("name", RACES)
def test_without_the_fault_there_is_no_race(name: str) -> None:
    result = explored(RACES[name], fixed=False)

    assert result.verdict is Verdict.PASSED, result.reason
    assert is_covered(name, result)


@pytest.mark.parametrize("name", RACES)
def test_the_fault_exposes_it(name: str) -> None:
    race = RACES[name]

    result = explored(race, race.faults, fixed=False)

    assert result.verdict is Verdict.VIOLATED, result.reason
    finding = next(each for each in result.findings if each.invariant == race.broken)
    assert finding.confirmed
    faults = met(finding.trace)
    assert faults
    assert faults <= race.kinds
    assert any(race.meet in each for each in meetings(finding.trace))


@pytest.mark.parametrize("name", RACES)
def test_what_is_repaired_passes_with_the_fault_in_every_place(name: str) -> None:
    race = RACES[name]

    result = explored(race, race.faults, fixed=True)
    without = explored(race, fixed=True)

    assert result.verdict is Verdict.PASSED, result.reason
    assert race.bound in result.bounds.items()
    assert result.executions > without.executions
    assert is_covered(name, result)
