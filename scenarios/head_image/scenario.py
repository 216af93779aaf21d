"""Serves of one pack that write its head image at the same time, and who reads it."""

from pathlib import Path
from threading import Thread

from racecheck.invariants import (
    no_lost_writes,
    no_silent_loss,
    served,
    temp_files_bounded,
    whole_images,
)
from racecheck.model import Invariant
from racecheck.scenario import Scenario, crash, errno
from scenarios.head_image.geometry import SMALL
from scenarios.head_image.image import Key, Refusal, read_head_image, validate
from scenarios.head_image.payload import pack_sections
from scenarios.head_image.writers import (
    Writer,
    write_counted,
    write_inplace,
    write_pid,
    write_shared,
    write_unique,
)

IMAGE = "head.img"
KEY = Key("demo-pack")
SECTIONS = pack_sections(KEY)


def accepted(value: object) -> object:
    """Judge what a reader returned: a whole image, or a refusal."""
    if isinstance(value, bytes):
        return validate(value, KEY, SMALL)
    return None if value in set(Refusal) else f"returned {value!r}"


def invariants(writes: int = 1) -> list[Invariant]:
    """Return what every head-image scenario has to hold.

    Args:
        writes: How many writes one writer makes at a time.
    """
    return [
        whole_images(IMAGE, validate),
        no_lost_writes(),
        no_silent_loss(IMAGE, validate),
        temp_files_bounded(f"{IMAGE}.tmp*", per_writer=writes),
        served("load", accepted),
    ]


def serve(box: Path, write: Writer) -> bool:
    """Write the pack's head image, as a cold serve does."""
    return write(box / IMAGE, SECTIONS)


def serve_two(box: Path, write: Writer) -> bool:
    """Serve the pack to two at a time, in threads of one process."""
    written: list[bool] = []
    threads = [
        Thread(target=lambda: written.append(serve(box, write))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return written == [True, True]


def load(box: Path) -> bytes | Refusal:
    """Read the image as a warm serve does."""
    return read_head_image(box / IMAGE, KEY)


SHARED_NAME = {"no_lost_writes", "no_silent_loss", "whole_images"}


def cold_serves(name: str, writers: int, **options: object) -> Scenario:
    """Make a scenario of cold serves beside a warm one."""
    scenario = Scenario(name, invariants=invariants(), **options)  # type: ignore[arg-type]  # passed on
    scenario.writer(count=writers, succeeds=bool)(serve)
    scenario.reader(load)
    return scenario


two_cold_serves = cold_serves("head_image/two_cold_serves", 2)
two_cold_serves.over(
    write={"shared": write_shared, "pid": write_pid, "inplace": write_inplace},
    expect={"shared": SHARED_NAME, "inplace": {"no_silent_loss", "whole_images"}},
    tags="quick",
)

three_cold_serves = cold_serves("head_image/three_cold_serves", 3)
three_cold_serves.over(
    write={"shared": write_shared, "pid": write_pid}, expect={"shared": SHARED_NAME}
)

# Two containers on one volume, each with a process 1001.
same_pid = cold_serves("head_image/same_pid", 2, same_pid=True)
same_pid.over(
    write={"pid": write_pid, "unique": write_unique}, expect={"pid": SHARED_NAME}
)

two_threads = Scenario("head_image/two_threads", invariants=invariants(2), budget=200)
two_threads.writer(succeeds=bool)(serve_two)
two_threads.reader(load)
two_threads.over(
    write={"pid": write_pid, "counted": write_counted},
    tags="B10",
    # Of the two who share a name one always fails, and so does what they are part of.
    expect={"pid": SHARED_NAME - {"no_silent_loss"}},
)

killed_before_rename = cold_serves(
    "head_image/killed_before_rename", 2, faults=[crash("serve-1", on="rename")]
)
killed_before_rename.over(
    write={"shared": write_shared, "pid": write_pid},
    # The killed writer never renames, so the other one always finds its file.
    expect={"shared": {"no_silent_loss", "whole_images"}},
)

disk_full = cold_serves(
    "head_image/disk_full",
    2,
    faults=[errno("ENOSPC", "serve-1", on="write", occurrence=2)],
)
disk_full.over(
    write={"shared": write_shared, "pid": write_pid}, expect={"shared": SHARED_NAME}
)
