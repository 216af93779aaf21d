"""What the operations of each actor came to, over executions with different seeds."""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING, Final

from racecheck.model import Counts
from racecheck.report.printable import plural, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from racecheck.model import ScenarioResult

_MOST_SHOWN: Final = 12
_MOST_LINES: Final = 4
_FEW: Final = 3


def counts_lines(result: ScenarioResult) -> Iterator[str]:
    """Yield a line for each actor: how many of its operations failed, and how often.

    A race gives other numbers with other seeds. Those that are the same every time are
    a sign that something is broken that is no race, perhaps the test itself.
    """
    groups: dict[str, list[Counts]] = {}
    for counts in result.counts:
        groups.setdefault(_declared(counts.actor), []).append(counts)
    for name, group in groups.items():
        if len(group) > _MOST_LINES:
            yield _line(_together(f"{name}, {len(group)} together", group))
        else:
            yield from map(_line, group)
    failed = [each.failed for each in result.counts]
    if any(map(any, failed)) and all(map(_is_stable, failed)):
        yield "the same numbers in every execution: something else than a race, perhaps"


def _is_stable(numbers: tuple[int, ...]) -> bool:
    return len(numbers) >= _FEW and len(set(numbers)) == 1


def _declared(actor: str) -> str:
    return re.sub(r"-\d+$", "", actor)


def _together(name: str, group: list[Counts]) -> Counts:
    return Counts(
        actor=name,
        operations=tuple(
            map(sum, zip(*(each.operations for each in group), strict=True))
        ),
        failed=tuple(map(sum, zip(*(each.failed for each in group), strict=True))),
    )


def _line(counts: Counts) -> str:
    name = printable(counts.actor)
    least, most = min(counts.operations), max(counts.operations)
    made = plural(most, "operation")
    if least < most:
        made = f"{least} to {made}"
    failed = counts.failed
    bad = sum(map(bool, failed))
    if not bad:
        return f"{name}: none of {made} failed"
    shown = " ".join(map(str, failed[:_MOST_SHOWN]))
    more = " ..." if len(failed) > _MOST_SHOWN else ""
    return (
        f"{name}: of {made}, {shown}{more} failed "
        f"(median {median(failed):g}, in {bad} of {len(failed)} executions)"
    )
