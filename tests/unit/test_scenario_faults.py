"""Guards the faults that a scenario plans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import pytest

from racecheck.errors import ScenarioError
from racecheck.model import Fault, FaultKind, PlannedFault
from racecheck.scenario import Scenario, crash, errno, short_write, stall

if TYPE_CHECKING:
    from collections.abc import Callable


def test_faults_are_planned_as_they_are_written() -> None:
    assert crash("w") == PlannedFault("w", Fault(FaultKind.CRASH))
    assert crash("w", on="rename", occurrence=2) == PlannedFault(
        "w", Fault(FaultKind.CRASH), "rename", 2
    )
    assert crash("w", after_bytes=10) == PlannedFault(
        "w", Fault(FaultKind.TEAR, length=10), "write"
    )
    assert errno("ENOSPC", "w", on="write") == PlannedFault(
        "w", Fault(FaultKind.ERRNO, errno="ENOSPC"), "write"
    )
    assert short_write("w", 3, occurrence=4) == PlannedFault(
        "w", Fault(FaultKind.SHORT, length=3), "write", 4
    )
    assert stall("w", 3600) == PlannedFault("w", Fault(FaultKind.STALL, length=3600))
    assert stall("w", 1, on="rename", occurrence=2) == PlannedFault(
        "w", Fault(FaultKind.STALL, length=1), "rename", 2
    )


def test_an_alias_of_an_error_is_a_name_too() -> None:
    assert errno("EWOULDBLOCK", "w", on="flock").fault.errno == "EWOULDBLOCK"


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (lambda: crash(""), "needs the name of an actor, not ''"),
        (lambda: crash("w", on="not a call"), "'not a call' is no name of a call"),
        (lambda: crash("w", on="wirte"), "of a call, did you mean 'write'?"),
        (lambda: crash("w", occurrence=0), "occurrence counts from 1, and is 0"),
        (lambda: crash("w", after_bytes=-1), "0 or more, not -1"),
        (lambda: errno("ENOPE", "w", on="write"), "'ENOPE' is no error name"),
        (lambda: errno("errorcode", "w", on="write"), "is no error name"),
        (lambda: errno("ENOSPC", "w", on=""), "ENOSPC needs `on`"),
        (lambda: stall("w", 0), "whole seconds, 1 or more, not 0"),
        (lambda: stall("w", cast("int", 0.5)), "whole seconds, 1 or more, not 0.5"),
        (lambda: stall("w", 1, on="sleeep"), "is no name of a call"),
    ],
)
def test_faults_that_make_no_sense_are_refused(
    plan: Callable[[], Any], message: str
) -> None:
    with pytest.raises(ScenarioError, match=re.escape(message)):
        plan()


def test_a_fault_of_an_actor_that_is_there_is_fine() -> None:
    scenario = Scenario("s", faults=[crash("serve-2"), crash("serve-1")])
    scenario.writer(lambda: None, name="serve", count=2)

    scenario.check()


def test_a_fault_of_an_unknown_actor_is_refused() -> None:
    scenario = Scenario("s", faults=[crash("serve-3")])
    scenario.writer(lambda: None, name="serve", count=2)

    with pytest.raises(ScenarioError) as caught:
        scenario.check()
    assert str(caught.value) == (
        "s: crash is planned for 'serve-3', which is no actor, "
        "did you mean 'serve-2'?; actors: serve-1, serve-2"
    )
