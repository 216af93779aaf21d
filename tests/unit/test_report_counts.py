"""Guards the lines that tell how the operations of actors went under stress."""

from __future__ import annotations

import pytest

from racecheck.model import Counts
from racecheck.report import counts_lines
from tests.unit.traces import result

STABLE = "the same numbers in every execution: something else than a race, perhaps"


@pytest.mark.parametrize(
    ("counts", "lines"),
    [
        ([("a", (40, 40), (0, 0))], ["a: none of 40 operations failed"]),
        (
            [("a", (40, 40, 40), (2, 5, 0))],
            ["a: of 40 operations, 2 5 0 failed (median 2, in 2 of 3 executions)"],
        ),
        (
            [("a", (2, 40), (1, 0))],
            ["a: of 2 to 40 operations, 1 0 failed (median 0.5, in 1 of 2 executions)"],
        ),
        (
            [("a", (1, 1, 1), (1, 1, 1)), ("b", (1, 1, 1), (0, 0, 0))],
            [
                "a: of 1 operation, 1 1 1 failed (median 1, in 3 of 3 executions)",
                "b: none of 1 operation failed",
                STABLE,
            ],
        ),
        (
            [(f"job-{number}", (1, 1), (number % 2, 0)) for number in range(1, 6)],
            [
                (
                    "job, 5 together: of 5 operations, 3 0 failed "
                    "(median 1.5, in 1 of 2 executions)"
                )
            ],
        ),
        (
            [("a", (1,) * 14, (0, 1) * 7)],
            [
                (
                    "a: of 1 operation, 0 1 0 1 0 1 0 1 0 1 0 1 ... failed "
                    "(median 0.5, in 7 of 14 executions)"
                )
            ],
        ),
    ],
)
def test_lines_tell_what_failed_in_each_execution(
    counts: list[tuple[str, tuple[int, ...], tuple[int, ...]]], lines: list[str]
) -> None:
    made = result(
        counts=tuple(
            Counts(actor=actor, operations=operations, failed=failed)
            for actor, operations, failed in counts
        )
    )

    assert list(counts_lines(made)) == lines


def test_other_engines_have_no_counts() -> None:
    assert list(counts_lines(result())) == []
