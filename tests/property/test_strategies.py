"""Guards what workloads are drawn from, and what comes of those that show nothing."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

import racecheck
from racecheck.errors import ScenarioError
from racecheck.model import Ending
from racecheck.property import (
    Drawn,
    actors,
    boxes,
    evictors,
    fault_plans,
    operations,
    payloads,
    readers,
    workloads,
    writers,
)
from racecheck.scenario import Workload, crashes, errnos, short_writes
from racecheck.scenario.leftovers import FileLeft, FolderLeft, LinkLeft, Nothing
from tests.property.finding import falsified, quick

if TYPE_CHECKING:
    from racecheck.scenario import Me
    from racecheck.scenario.leftovers import Setup

IMAGE = b"0123456789"
NAMES = {
    "Workload": Workload,
    "FileLeft": FileLeft,
    "FolderLeft": FolderLeft,
    "LinkLeft": LinkLeft,
    "crashes": crashes,
    "errnos": errnos,
    "evictor": racecheck.evictor,
    "operation": racecheck.operation,
    "reader": racecheck.reader,
    "short_writes": short_writes,
    "writer": racecheck.writer,
}


def put(box: Path, key: str, data: bytes) -> None:
    temp = box / f"{key}.tmp"
    temp.write_bytes(data)
    temp.rename(box / key)


def put_own(box: Path, me: Me, key: str, data: bytes) -> None:
    temp = box / f"{key}.tmp.{me.name}"
    temp.write_bytes(data)
    temp.rename(box / key)


def get(box: Path, key: str) -> bytes:
    return (box / key).read_bytes()


def sweep(box: Path) -> int:
    found = list(box.glob("*.tmp*"))
    for temp in found:
        temp.unlink(missing_ok=True)
    return len(found)


KEYS = st.sampled_from("ab")
PUTS = operations(put, key=KEYS, data=payloads(stamped=True))
ANY = workloads(
    writers(PUTS),
    readers(operations(get, key=KEYS)),
    evictors(sweep),
    box=boxes("a", image=IMAGE),
    faults=fault_plans(max_crashes=2, errors=[("ENOSPC", "write"), ("EIO", "rename")]),
    same_pid=st.booleans(),
)


@settings(deadline=None)
@given(ANY)
def test_a_workload_is_shown_as_it_is_written(workload: Drawn) -> None:
    names = {**NAMES, "put": put, "get": get, "sweep": sweep}
    again = eval(repr(workload), names)  # noqa: S307  what is shown is the test
    assert (again.setup, again.same_pid) == (workload.setup, workload.same_pid)
    assert again.faults == workload.faults
    made, read = workload.scenario("name"), again.scenario("name")
    # Names tell apart what is equal otherwise, and are not shown.
    assert [each.declaration.role for each in made.actors] == [
        each.declaration.role for each in read.actors
    ]
    made.check()


@settings(deadline=None)
@given(ANY)
def test_there_are_always_two_actors(workload: Drawn) -> None:
    assert len(workload.operations) >= 2
    assert 1 <= workload.count("writer") <= 3
    assert workload.count("evictor") <= 1
    assert set(workload.operations) <= {1, 2}


@settings(deadline=None)
@given(boxes("a/b", image=IMAGE))
def test_boxes_hold_what_they_say(setup: Setup) -> None:
    with TemporaryDirectory() as folder:
        setup(box=Path(folder))
        paths = Path(folder).rglob("*")
        found = sorted(str(each.relative_to(folder)) for each in paths)
    match setup:
        case Nothing():
            assert found == []
        case FolderLeft(path, files):
            assert found == ["a", path, *[f"{path}/file-{n}" for n in range(files)]]
        case FileLeft(path) | LinkLeft(path):
            assert found == ["a", path]
            assert path in ("a/b", "a/b.tmp.77", "a/b.tmp.1001", "a/b.lock")
        case _:
            pytest.fail(f"unexpected {setup!r}")


@pytest.mark.parametrize("state", ["good", "torn", "temps", "link", "folder"])
def test_a_state_can_be_asked_for(state: str) -> None:
    drawn: list[Setup] = []

    @settings(database=None)
    @given(boxes("a", image=IMAGE, states=[state]))
    def draw(setup: Setup) -> None:
        drawn.append(setup)

    draw()
    sizes = {len(each.data) for each in drawn if isinstance(each, FileLeft)}
    kinds = {type(each) for each in drawn}
    assert kinds <= {FileLeft, LinkLeft, FolderLeft}
    if state == "torn":
        assert max(sizes) < len(IMAGE)
    if state == "good":
        assert sizes == {len(IMAGE)}


@given(payloads(min_size=2, max_size=9), payloads(max_size=3, stamped=True))
def test_payloads_are_of_one_kind_or_stamped(plain: bytes, stamped: bytes) -> None:
    assert plain == b"=" * len(plain)
    assert 2 <= len(plain) <= 9
    assert len(set(stamped)) == 1
    assert stamped[0] in range(ord("A"), ord("Z") + 1)


@settings(deadline=None)
@given(ANY, st.integers(1, 3))
def test_workloads_compose_with_other_strategies(workload: Drawn, most: int) -> None:
    assume(workload.count("reader") <= most)
    assert workload.budget == 100


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ScenarioError, match="needs a group"):
        workloads()
    with pytest.raises(ScenarioError, match=r"what writers\(...\) and such return"):
        workloads(put)  # type: ignore[arg-type]
    with pytest.raises(ScenarioError, match="needs a function"):
        operations()
    with pytest.raises(ScenarioError, match="no state 'wet'"):
        boxes("a", states=["wet"])
    with pytest.raises(ScenarioError, match="has to be a possibility"):
        writers(put, at_least=2, at_most=1)
    with pytest.raises(ScenarioError, match="no option 'rises'"):
        readers(get, rises=OSError)  # type: ignore[call-arg]
    with pytest.raises(ScenarioError, match="cannot be given 'box'"):
        operations(put, box=Path())


@pytest.mark.processes
def test_both_levels_are_shrunk() -> None:
    def whole(data: bytes) -> bool:
        return len(set(data)) == 1

    @quick()
    @given(workloads(writers(PUTS), readers(operations(get, key=KEYS), raises=OSError)))
    def keys_are_whole(workload: Drawn) -> None:
        racecheck.check(workload, invariants=[racecheck.whole_images("b", whole)])

    error = falsified(keys_are_whole)
    # Any two of one key will do, and of all keys and bytes the simplest are left.
    write = "operation(put, key='{}', data=b'A')"
    assert error.about == f"Workload.of([writer({write.format('a')}, count=2)])"
    assert error.findings[0].context_switches == 2


@pytest.mark.processes
def test_faults_are_drawn_and_only_those_that_matter_stay() -> None:
    puts = operations(put_own, key="a", data=b"1")
    drawn = workloads(
        writers(puts, operations=1, raises=OSError),
        faults=fault_plans(max_crashes=1, errors=[], short=True),
    )

    @quick()
    @given(drawn)
    def nothing_is_left(workload: Drawn) -> None:
        bounded = racecheck.temp_files_bounded("a.tmp.*", per_crash=0)
        racecheck.check(workload, invariants=[bounded])

    error = falsified(nothing_is_left)
    assert error.about.endswith("count=2)], faults=[crashes()])")
    assert Ending.CRASHED in [each.ending for each in error.trace.operations]


@pytest.mark.processes
def test_actors_that_never_meet_show_nothing() -> None:
    def alone(me: Me) -> str:
        return me.name

    @quick(3)
    @given(workloads(actors(alone)))
    def nothing_happens(workload: Drawn) -> None:
        racecheck.check(workload)

    with pytest.raises(Unsatisfiable):
        nothing_happens()


@pytest.mark.processes
def test_a_subject_that_differs_diverges_and_is_not_flaky() -> None:
    def differ(box: Path) -> None:
        letters = Path("/proc/sys/kernel/random/uuid").read_text()[:6]
        (box / f"answer.{letters}").write_text("42")
        put(box, "answer", b"42")

    @quick(3)
    @given(workloads(writers(differ, operations=1)))
    def it_holds(workload: Drawn) -> None:
        racecheck.check(workload)

    with pytest.raises(racecheck.NoVerdictError, match="diverged: step 0: recorded"):
        it_holds()
