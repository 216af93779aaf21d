"""Whether the engines work here, each tried with a scenario of two actors."""

from __future__ import annotations

import importlib.util
import os
import time
from typing import TYPE_CHECKING, Final

from racecheck.api import Options, explore
from racecheck.doctor.observation import Observation, State
from racecheck.errors import RacecheckError
from racecheck.invariants import no_unexpected_errors
from racecheck.model import Verdict
from racecheck.scenario import Scenario, errno
from racecheck.scenario.budget import Budget

if TYPE_CHECKING:
    from pathlib import Path

_SLEEP_S: Final = 3600
_OVERLAP_S: Final = 0.2
_ENOSPC: Final = 28
_MICROSECONDS: Final = 1_000_000


def write_and_sleep(box: Path) -> str:
    """Write a file, be refused once, and sleep for an hour."""
    before = time.time()
    (box / "shared").write_text("text")
    time.sleep(_SLEEP_S)
    refused = ""
    try:
        (box / f"own.{os.getpid()}").write_text("text")
    except OSError as error:
        refused = str(error.errno)
    return f"{refused} {time.time() - before >= _SLEEP_S}"


def read(box: Path) -> None:
    """Read what the other writes, if it is there."""
    if (box / "shared").exists():
        (box / "shared").read_text()


def read_slowly(box: Path) -> None:
    """Take long enough for another to do it at the same time."""
    time.sleep(_OVERLAP_S)
    read(box)


def _scenario() -> Scenario:
    made = Scenario(
        "doctor",
        invariants=[no_unexpected_errors()],
        faults=[errno("ENOSPC", "write", on="write", occurrence=2)],
    )
    made.writer(write_and_sleep, name="write", succeeds=f"{_ENOSPC} True".__eq__)
    made.reader(read, name="read")
    return made


def process(workdir: Path | None) -> Observation:
    """Explore a small scenario in all orders: calls fail, time passes, actors end."""
    options = Options(workdir=workdir, budget=Budget(executions=200))
    start = time.monotonic()
    try:
        result = explore(_scenario(), options)
    except RacecheckError as error:
        found, _, advice = str(error).partition(": ")
        return Observation("process engine", State.REFUSED, found, advice, needed=True)
    seconds = time.monotonic() - start
    if result.verdict is not Verdict.PASSED:
        reason = result.reason or ", ".join(each.message for each in result.findings)
        found = f"a scenario that has to pass was {result.verdict}: {reason}"
        return Observation("process engine", State.REFUSED, found, needed=True)
    each = result.seconds / result.steps * _MICROSECONDS
    found = (
        f"{result.executions} executions in {seconds:.1f} s, {each:.0f} us a step with "
        f"its processes, on one of {len(os.sched_getaffinity(0))} processors"
    )
    return Observation("process engine", State.FINE, found, needed=True)


def stress(workdir: Path | None) -> Observation:
    """Let the scenario run freely a few times."""
    made = Scenario("doctor", invariants=[no_unexpected_errors()])
    made.reader(read_slowly, name="read", count=2)
    options = Options(engine="stress", workdir=workdir, budget=Budget(executions=3))
    try:
        result = explore(made, options)
    except RacecheckError as error:
        return Observation("stress engine", State.REFUSED, str(error))
    if result.verdict is not Verdict.PASSED:
        return Observation("stress engine", State.REFUSED, result.reason)
    return Observation("stress engine", State.FINE, "works")


def simulated() -> Observation:
    """Look whether what the simulation needs is installed."""
    if importlib.util.find_spec("pyfakefs") is None:
        advice = "pip install pyfakefs"
        return Observation("simulated engine", State.LIMITED, "no pyfakefs", advice)
    return Observation("simulated engine", State.FINE, "pyfakefs is installed")
