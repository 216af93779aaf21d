"""Guards that what is well formed but means nothing is refused as well.

Recordings of real executions are changed in a few values. Each is taken, or refused
with status 2 and one line; and what is taken gives a page.
"""

from __future__ import annotations

import itertools
import os
from functools import cache
from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from racecheck.api import Options, explore_all
from racecheck.errors import TokenError
from racecheck.scenario import Budget, load
from racecheck.storage.digest import DIGEST_SIZE
from racecheck.storage.envelope import seal, unseal
from racecheck.storage.trace_file import VERSION
from tests.fuzz.commands import BAD_INPUT, FUZZ, OK, modules_kept, refused_or_taken
from tests.fuzz.mutated import HUGE, Mutated, Place, Plain, fields, mutated

ROOT = Path(__file__).parents[2]
HEADER = b"racecheck trace %d\n" % VERSION
EXAMPLES = sorted((ROOT / "reports" / "examples").glob("*.trace"))
HEAD = 2 * DIGEST_SIZE
NUMBERS = itertools.count()
VIOLATED, NO_VERDICT = 1, 3


@cache
def parsed(path: Path) -> tuple[Plain, dict[Place, list[Place]]]:
    """Return what a trace file holds, as plain data, with its fields."""
    body = zstandard.decompress(path.read_bytes().removeprefix(HEADER))
    plain = msgspec.msgpack.decode(body)
    return plain, fields(plain)


def check_report(race: Plain) -> int:
    """Have a page and a text made of a race; return the status."""
    folder = Path(f"case-{next(NUMBERS)}")
    folder.mkdir()
    file = folder / "given.trace"
    file.write_bytes(HEADER + zstandard.compress(msgspec.msgpack.encode(race)))

    status = refused_or_taken("report", str(file), "-o", f"{folder}/page")
    assert refused_or_taken("report", "--markdown", str(file)) == status
    assert refused_or_taken("report", str(folder)) == status

    made = ["page", "given.html"] if status == OK else []
    assert set(os.listdir(folder)) == {"given.trace", *made}
    return status


def test_traces_as_they_are_give_pages() -> None:
    assert EXAMPLES
    for path in EXAMPLES:
        assert check_report(parsed(path)[0]) == OK


@FUZZ
@given(st.sampled_from(EXAMPLES).flatmap(lambda path: mutated(*parsed(path))))
def test_traces_with_other_values_are_taken_or_refused(race: Mutated) -> None:
    check_report(race.plain)


RACE = """
from pathlib import Path

from racecheck.invariants import no_lost_writes
from racecheck.scenario import Scenario

race = Scenario("race", invariants=[no_lost_writes()], max_steps=200)

@race.writer(count=2)
def save(box: Path) -> None:
    (box / "temp").write_text("text")
    (box / "temp").rename(box / "file")
"""


@pytest.fixture(scope="module")
def race(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The token of a race in `RACE`."""
    file = tmp_path_factory.mktemp("race") / "scenario.py"
    file.write_text(RACE)
    with modules_kept():
        (result,) = explore_all(load([file]), Options(budget=Budget(executions=20)))
    return result.findings[0].token


@st.composite
def others(draw: st.DrawFn, token: str) -> str:
    """Draw a token with other values than one has."""
    head, packed = unseal(token, HEAD)
    body = msgspec.msgpack.decode(packed)
    if draw(st.booleans()):
        # Faults at steps that are there, of every kind.
        count = len(body[3])
        steps = draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=3))
        kinds = st.tuples(
            st.integers(0, 6), st.sampled_from(["", "ENOSPC", "EINTR", "errorcode"])
        )
        body[4] = [
            [step, *draw(kinds), draw(st.sampled_from(HUGE) | st.integers(0, 9))]
            for step in sorted(steps)
        ]
    if draw(st.booleans()):
        # Lanes that are there, or are not, for a part of the steps.
        first = body[2][1]
        body[2][1:2] = [first - 1, draw(st.sampled_from([*HUGE, 2, 3, 4, 10])), 1]
    made = draw(mutated(body, fields(body))).plain if draw(st.booleans()) else body
    try:
        return seal(head, msgspec.msgpack.encode(made))
    except TokenError:
        return token


@pytest.mark.processes
@FUZZ
@given(st.data())
def test_tokens_with_other_values_are_replayed_or_refused(
    race: str, place: Path, data: st.DataObject
) -> None:
    (place / "scenario.py").write_text(RACE)
    token = data.draw(others(race))
    ran = (OK, VIOLATED, NO_VERDICT)

    status = refused_or_taken("replay", token, "scenario.py", taken=ran)
    exported = refused_or_taken("export", token, "scenario.py", "-o", "test_made.py")

    assert (exported == OK) == (status != BAD_INPUT)
    if exported == OK:
        compile((place / "test_made.py").read_text(), "test_made.py", "exec")
        (place / "test_made.py").unlink()
