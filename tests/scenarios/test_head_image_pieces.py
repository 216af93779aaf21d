"""The pieces of head-image writers, evictors and sweepers: each does what it says."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.scenario import Scenario
from scenarios.eviction.evictors import CAP_NBYTES, EVICTORS, Eviction, excess_but
from scenarios.eviction.sweepers import (
    SWEEPERS,
    WINDOW_S,
    empty_all,
    sweep_all,
    sweep_others,
)
from scenarios.head_image import guards, temp_names
from scenarios.head_image.image import Key, Refusal, read_head_image
from scenarios.head_image.reading import (
    read_by_two_opens,
    read_if_there,
    read_mapped,
    read_of_any_key,
    read_raw,
)
from scenarios.head_image.serves import IMAGE, KEY, SECTIONS, WHOLE
from scenarios.head_image.serving import ForgetfulKey, pack, path_of_key
from scenarios.head_image.writers import PID, SHARED, WRITERS, write_pid, write_shared
from tests.engine.lab import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from scenarios.head_image.writers import Writer


def calls(write: Writer, *, is_there: bool) -> list[tuple[str, dict[str, object]]]:
    """Return the calls that a writer makes, alone, where there is a folder or not."""
    made = Scenario("alone")

    @made.setup
    def setup(box: Path) -> None:
        if is_there:
            # A rename over it fails, so that the failure is compared, too.
            (box / IMAGE).mkdir()

    @made.writer(succeeds=bool)
    def serve(box: Path) -> bool:
        return write(box / IMAGE, SECTIONS)

    return [(step.call, dict(step.args)) for step in run(made).of("serve")]


@pytest.mark.processes
@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(
    ("plain", "composed"), [(write_pid, PID), (write_shared, SHARED)]
)
def test_the_pieces_make_the_writers_of_the_report(
    plain: Writer, composed: Writer, *, is_there: bool
) -> None:
    assert calls(plain, is_there=is_there) == calls(composed, is_there=is_there)


@pytest.mark.parametrize(
    ("name", "calls_of_one_process_differ"),
    [
        ("pid_temp", False),
        ("thread_temp", False),
        ("counted_temp", True),
        ("clock_temp", True),
        ("host_temp", True),
        ("random_temp", True),
    ],
)
def test_names_lie_beside_the_image(
    name: str, *, calls_of_one_process_differ: bool
) -> None:
    temp: Callable[[Path], Path] = getattr(temp_names, name)
    one, other = temp(Path("/c/head.img")), temp(Path("/c/head.img"))

    assert one.parent == Path("/c")
    assert one.name.startswith(f"head.img.tmp.{os.getpid()}")
    assert (one != other) == calls_of_one_process_differ


def test_only_windows_keeps_the_shared_name() -> None:
    path = Path("/c/head.img")

    assert temp_names.platform_temp(path, "win32") == temp_names.shared_temp(path)
    assert temp_names.platform_temp(path, "linux") == temp_names.pid_temp(path)


@pytest.mark.parametrize(
    ("found", "name", "left", "result"),
    [
        (WHOLE, "forgiving", WHOLE, True),
        (WHOLE[:-1], "forgiving", WHOLE[:-1], False),
        (WHOLE[:-1], "credulous", WHOLE[:-1], True),
        (WHOLE, "pid", WHOLE, False),
    ],
)
def test_a_lost_race_is_judged_by_what_is_there(
    found: bytes, name: str, left: bytes, *, result: bool, tmp_path: Path
) -> None:
    (tmp_path / IMAGE).write_bytes(found)
    temp_names.pid_temp(tmp_path / IMAGE).mkdir()

    assert WRITERS[name](tmp_path / IMAGE, SECTIONS) is result
    assert (tmp_path / IMAGE).read_bytes() == left


def test_a_sweep_before_a_write_takes_what_is_old(tmp_path: Path) -> None:
    for name, age_s in (("head.img.tmp.1", 7200), ("head.img.tmp.2", 60)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - age_s,) * 2)

    with guards.sweeping(3600)(tmp_path / IMAGE):
        assert [path.name for path in tmp_path.iterdir()] == ["head.img.tmp.2"]


@pytest.mark.parametrize(
    "read", [read_by_two_opens, read_if_there, read_mapped, read_raw, read_of_any_key]
)
def test_all_ways_to_read_find_a_whole_image_and_miss_a_missing_one(
    read: Callable[[Path, Key], bytes | Refusal], tmp_path: Path
) -> None:
    assert read(tmp_path / IMAGE, KEY) is Refusal.MISSING

    (tmp_path / IMAGE).write_bytes(WHOLE)
    assert read(tmp_path / IMAGE, KEY) == WHOLE


def test_a_forgetful_key_takes_the_image_of_other_options(tmp_path: Path) -> None:
    one, other = (ForgetfulKey("p", options=(("group", n),)) for n in ("32", "64"))
    path = tmp_path / IMAGE
    path.write_bytes(b"".join(pack(one)))

    assert read_head_image(path, other) == b"".join(pack(one))
    assert pack(one) != pack(other)
    assert path_of_key(path, one) == path_of_key(path, other)
    assert path_of_key(path, Key("p")) != path_of_key(path, Key("q"))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache of two images and an orphan, the oldest of all."""
    folder = tmp_path / "cache"
    folder.mkdir()
    names = ("a.img.tmp.71", "b.img", "c.img")
    for age, name in zip((300, 200, 100), names, strict=True):
        (folder / name).write_bytes(bytes(CAP_NBYTES // 2))
        os.utime(folder / name, (time.time() - age,) * 2)
    return folder


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("by_name", ["c.img"]),
        ("skip_temps", ["a.img.tmp.71", "c.img"]),
        ("recheck", ["a.img.tmp.71", "c.img"]),
        ("aside", ["a.img.tmp.71", "c.img"]),
        ("locked", ["a.img.tmp.71", "c.img"]),
        ("temps", ["b.img", "c.img"]),
        ("counting_temps", ["a.img.tmp.71"]),
        ("by_size", ["b.img", "c.img"]),
    ],
)
def test_an_evictor_alone_keeps_what_it_says(
    name: str, left: list[str], cache: Path
) -> None:
    removed = EVICTORS[name](cache)

    assert sorted(path.name for path in cache.iterdir()) == left
    assert removed == 3 - len(left)
    assert EVICTORS[name](cache) == (
        1 if name == "counting_temps" and left == [] else 0
    )


def test_what_is_in_use_is_kept(cache: Path) -> None:
    assert Eviction(choose=excess_but("b.img"))(cache) == 1
    assert sorted(path.name for path in cache.iterdir()) == ["a.img.tmp.71", "b.img"]


@pytest.mark.parametrize("name", ["by_age", "unlocked", "of_the_dead"])
def test_a_sweeper_spares_what_is_young_and_what_is_no_temp_file(
    name: str, cache: Path
) -> None:
    assert SWEEPERS[name](cache) == 0

    # The highest number of a process that Linux can have is lower.
    os.rename(cache / "a.img.tmp.71", cache / "a.img.tmp.4194305")
    for path in cache.iterdir():
        os.utime(path, (time.time() - WINDOW_S - 60,) * 2)
    assert SWEEPERS[name](cache) == 1
    assert sorted(path.name for path in cache.iterdir()) == ["b.img", "c.img"]


@pytest.mark.parametrize(
    ("sweep", "left"),
    [(sweep_all, ["new"]), (sweep_others, ["new", "old"]), (empty_all, [])],
)
def test_folders_are_swept_as_their_sweep_says(
    sweep: Callable[[Path, str], int], left: list[str], tmp_path: Path
) -> None:
    for folder in ("current", "older"):
        (tmp_path / folder).mkdir()
        for name, age_s in (("old", WINDOW_S + 60), ("new", 0)):
            path = tmp_path / folder / f"{name}.tmp.71"
            path.touch()
            os.utime(path, (time.time() - age_s,) * 2)

    sweep(tmp_path, "current")

    found = sorted(path.name for path in (tmp_path / "current").iterdir())
    assert found == [f"{name}.tmp.71" for name in left]
