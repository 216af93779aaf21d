"""Property-based concurrency verification for programs that share directories.

What people need most is here, and imported only when it is asked for: `check` and
`explore`, what scenarios are made of, and every invariant.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from racecheck.api import Options as Options
    from racecheck.api import RaceFoundError as RaceFoundError
    from racecheck.api import check as check
    from racecheck.api import explore as explore
    from racecheck.api import explore_all as explore_all
    from racecheck.api import regression as regression
    from racecheck.api import replay as replay
    from racecheck.errors import NoVerdictError as NoVerdictError
    from racecheck.errors import RacecheckError as RacecheckError
    from racecheck.invariants import *  # noqa: F403  all that there are
    from racecheck.scenario import Declaration as Declaration
    from racecheck.scenario import Scenario as Scenario
    from racecheck.scenario import Workload as Workload
    from racecheck.scenario import actor as actor
    from racecheck.scenario import command as command
    from racecheck.scenario import crash as crash
    from racecheck.scenario import crashes as crashes
    from racecheck.scenario import errno as errno
    from racecheck.scenario import errnos as errnos
    from racecheck.scenario import evictor as evictor
    from racecheck.scenario import operation as operation
    from racecheck.scenario import reader as reader
    from racecheck.scenario import short_write as short_write
    from racecheck.scenario import short_writes as short_writes
    from racecheck.scenario import stall as stall
    from racecheck.scenario import stalls as stalls
    from racecheck.scenario import writer as writer

_INVARIANTS: Final = "racecheck.invariants"
_PLACES: Final = {
    "racecheck.api": (
        "Options RaceFoundError check explore explore_all regression replay"
    ),
    "racecheck.errors": "NoVerdictError RacecheckError",
    "racecheck.scenario": (
        "Declaration Scenario Workload actor command crash crashes errno errnos "
        "evictor operation reader short_write short_writes stall stalls writer"
    ),
}
_HOMES: Final = {
    name: home for home, names in _PLACES.items() for name in names.split()
}


if not TYPE_CHECKING:  # To a type checker it would mean that any name is there.

    def __getattr__(name: str) -> object:
        """Import what is asked for the first time."""
        home = _HOMES.get(name)
        if home is None:
            # Packages of its own are asked for as attributes too, before they are
            # imported; workers, which have to stay slim, do so.
            own = name.startswith("_") or importlib.util.find_spec(f"racecheck.{name}")
            if own or name not in importlib.import_module(_INVARIANTS).__all__:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            home = _INVARIANTS
        value = getattr(importlib.import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    invariants = importlib.import_module(_INVARIANTS).__all__
    return sorted({*globals(), *_HOMES, *invariants})
