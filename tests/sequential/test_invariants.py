"""Guards `linearizable` and `serializable` in scenarios, against real processes."""

from __future__ import annotations

import fcntl
from typing import TYPE_CHECKING

import pytest

import racecheck
from racecheck.model import Coverage, Verdict

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def add(self, much: int) -> int:
        self.count += much
        return self.count

    def add_locked(self, much: int) -> int:
        return self.add(much)


def add(box: Path, much: int) -> int:
    """Raise the counter, as nobody should."""
    file = box / "count"
    count = int(file.read_bytes() or b"0") + much
    file.write_bytes(b"%d" % count)
    return count


def add_locked(box: Path, much: int) -> int:
    with (box / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return add(box, much)


def empty(box: Path) -> None:
    (box / "count").write_bytes(b"0")
    (box / "lock").write_bytes(b"")


def adders(function: object) -> list[racecheck.Declaration]:
    assert callable(function)
    return [
        racecheck.writer(racecheck.operation(function, much=much)) for much in (1, 2)
    ]


@pytest.mark.parametrize("rule", [racecheck.linearizable, racecheck.serializable])
def test_an_update_that_is_lost_fits_no_order(rule: object) -> None:
    assert callable(rule)
    invariants = [rule(Counter)]
    with pytest.raises(racecheck.RaceFoundError) as caught:
        racecheck.check(adders(add), invariants=invariants, setup=empty)
    (finding,) = caught.value.findings
    assert "there is none for" in finding.message
    assert "add(2) returned 2" in finding.message
    values = [each.value for each in caught.value.trace.operations]
    assert sorted(map(str, values)) == ["1", "2"]
    result = racecheck.check(adders(add_locked), invariants=invariants, setup=empty)
    assert result.coverage is Coverage.COMPLETE


def put(box: Path, name: str) -> None:
    (box / name).write_bytes(b"new")


def both(box: Path) -> list[bool]:
    """Look at two files one after the other, so that it sees no one moment."""
    return [(box / name).exists() for name in "ab"]


class Names:
    def __init__(self) -> None:
        self.names: set[str] = set()

    def put(self, name: str) -> None:
        self.names.add(name)

    def both(self) -> list[bool]:
        return [name in self.names for name in "ab"]


def test_time_decides_even_where_no_steps_conflict() -> None:
    # b is put after a has been, by another process. To see only b, the reader has to
    # look at a before it is there and at b when it is: no moment has only b.
    actors = [
        racecheck.writer(racecheck.operation(put, name="a"), name="first"),
        racecheck.writer(
            racecheck.operation(put, name="b"), name="second", after="first"
        ),
        racecheck.reader(both),
    ]
    with pytest.raises(racecheck.RaceFoundError) as caught:
        racecheck.check(actors, invariants=[racecheck.linearizable(Names)])
    assert [False, True] in [each.value for each in caught.value.trace.operations]
    ends = [step.actor for step in caught.value.trace.steps if step.call == "return"]
    assert ends.index("first") < ends.index("second")
    # As whole actors in any order, b alone can come before.
    result = racecheck.check(actors, invariants=[racecheck.serializable(Names)])
    assert result.verdict is Verdict.PASSED


def stale(box: Path, key: str) -> int | None:
    """Return what the copy says, which the writer brings up to date too late."""
    return int((box / f"copy-{key}").read_bytes() or b"0") or None


def put_late(box: Path, key: str) -> None:
    (box / key).write_bytes(b"1")


def test_an_end_and_a_beginning_are_not_exchanged() -> None:
    # The reader never reads what the writer writes, so that no two of their steps
    # conflict. Only that it begins after the writer has ended makes it wrong.
    class Cell:
        def __init__(self) -> None:
            self.value: int | None = None

        def put_late(self, key: str) -> None:
            del key
            self.value = 1

        def stale(self, key: str) -> int | None:
            del key
            return self.value

    def copies(box: Path) -> None:
        (box / "copy-a").write_bytes(b"0")

    with pytest.raises(racecheck.RaceFoundError) as caught:
        racecheck.check(
            [
                racecheck.writer(racecheck.operation(put_late, key="a")),
                racecheck.reader(racecheck.operation(stale, key="a")),
            ],
            setup=copies,
            invariants=[racecheck.linearizable(Cell)],
        )
    actors = [step.actor for step in caught.value.trace.steps]
    assert actors == sorted(actors)  # The reader has the later name.


def test_what_cannot_be_judged_is_no_pass() -> None:
    class Deaf:
        """Knows no operation."""

    with pytest.raises(racecheck.NoVerdictError, match="has no operation 'add'"):
        racecheck.check(
            adders(add_locked)[:1] + adders(add)[1:],
            invariants=[racecheck.serializable(Deaf)],
            setup=empty,
        )
    with pytest.raises(racecheck.NoVerdictError, match="gave up after 1 calls"):
        racecheck.check(
            adders(add_locked),
            invariants=[racecheck.linearizable(Counter, tries=1)],
            setup=empty,
        )


def test_a_crash_leaves_it_open_whether_it_took_effect() -> None:
    result = racecheck.check(
        adders(add_locked),
        invariants=[racecheck.linearizable(Counter)],
        setup=empty,
        # Written in place, the number can be torn, which is another matter.
        faults=[racecheck.crash("add_locked", on="close")],
    )
    assert result.verdict is Verdict.PASSED
