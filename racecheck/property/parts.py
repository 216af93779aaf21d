"""What workloads are made of: operations with arguments, payloads, faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from racecheck.errors import ScenarioError
from racecheck.scenario import crashes, errnos, operation, short_writes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import SearchStrategy

    from racecheck.model import FaultBound, PlannedFault
    from racecheck.scenario import Planned

_FILLING: Final = b"="
_STAMPS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def operations(
    *functions: Callable[..., object], **arguments: object
) -> SearchStrategy[Planned]:
    """Draw an operation: one of the functions, with drawn arguments.

    Args:
        *functions: The functions; the first is the simplest.
        **arguments: Values, or strategies of values.

    Raises:
        ScenarioError: There is no function.
    """
    if not functions:
        raise ScenarioError("operations needs a function")
    for function in functions:
        # Tells of a bad name now rather than when the first example is drawn.
        operation(function, **arguments)
    drawn = st.fixed_dictionaries(
        {
            name: value if isinstance(value, st.SearchStrategy) else st.just(value)
            for name, value in arguments.items()
        }
    )
    return st.builds(
        lambda function, given: operation(function, **given),
        st.sampled_from(functions),
        drawn,
    )


def payloads(
    *, min_size: int = 1, max_size: int = 64, stamped: bool = False
) -> SearchStrategy[bytes]:
    """Draw what is written: bytes of some size, each like the other or stamped.

    Identical payloads of one size are equal, as the images of one pack are. Stamped
    ones are made of a letter that tells whose they are, so that mixed ones show.

    Args:
        min_size: The fewest bytes, with which shrinking ends.
        max_size: The most bytes.
        stamped: Whether they differ.
    """
    sizes = st.integers(min_size, max_size)
    stamps = st.sampled_from([bytes([each]) for each in _STAMPS])
    return st.builds(
        lambda stamp, size: stamp * size,
        stamps if stamped else st.just(_FILLING),
        sizes,
    )


def fault_plans(
    *,
    max_crashes: int = 1,
    errors: Sequence[tuple[str, str]] = (("ENOSPC", "write"),),
    short: bool = True,
    most: int = 1,
) -> SearchStrategy[tuple[PlannedFault | FaultBound, ...]]:
    """Draw what may go wrong anywhere: crashes, failing calls, short writes.

    Nothing going wrong is the simplest plan.

    Args:
        max_crashes: Crashes of one execution at the most.
        errors: Names of errors, each with the calls that may fail so.
        short: Whether writes may be short.
        most: How many kinds of faults there are at once.
    """
    kinds: list[FaultBound] = [crashes(most) for most in range(1, max_crashes + 1)]
    kinds += [errnos(name, on) for name, on in errors]
    kinds += [short_writes()] if short else []
    if not kinds:
        return st.just(())
    chosen = st.lists(
        st.sampled_from(kinds),
        max_size=most,
        # Two bounds on one thing would be a contradiction.
        unique_by=lambda bound: (bound.fault.kind, bound.fault.errno, bound.on),
    )
    return chosen.map(tuple)
