"""The loops in which the head image's race was met: many writes of 4 MiB to one path.

They run under stress, where the system picks the order. What `scenario.py` shows with a
few steps, these show as people have seen it: some writes of each process are lost.
"""

from pathlib import Path

from racecheck.invariants import no_lost_writes, temp_files_bounded, whole_images
from racecheck.scenario import Scenario, crashes
from scenarios.head_image.geometry import FULL
from scenarios.head_image.image import Key, Refusal, read_head_image, validate
from scenarios.head_image.payload import pack_sections
from scenarios.head_image.writers import Writer, write_pid, write_shared

IMAGE = "head.img"
KEY = Key("demo-pack")
WRITES = 40
SECTIONS = pack_sections(KEY, FULL)


def serve(box: Path, write: Writer) -> bool:
    """Write the pack's head image, as a cold serve does."""
    return write(box / IMAGE, SECTIONS)


def read_back(box: Path) -> str:
    """Read the image and say what a warm serve would make of it."""
    image = read_head_image(box / IMAGE, KEY, FULL)
    return str(image) if isinstance(image, Refusal) else "whole"


def is_usable(found: object) -> bool:
    """Say whether a warm serve gets on with what it found; the first finds nothing."""
    return found in ("whole", str(Refusal.MISSING))


def loop(name: str, writers: int, **options: object) -> Scenario:
    """Make a scenario of processes that write one image over and over."""
    scenario = Scenario(
        name,
        invariants=[
            no_lost_writes(),
            whole_images(IMAGE, validate),
            temp_files_bounded(f"{IMAGE}.tmp*"),
        ],
        engine="stress",
        budget=3,
        tags=["B03", "B04"],
        **options,  # type: ignore[arg-type]  # passed on
    )
    scenario.writer(count=writers, repeat=WRITES, succeeds=bool)(serve)
    scenario.reader(repeat=WRITES, succeeds=is_usable)(read_back)
    scenario.over(
        write={"shared": write_shared, "pid": write_pid},
        expect={"shared": {"no_lost_writes", "whole_images"}},
    )
    return scenario


two_loops = loop("head_image/two_loops", 2)
three_loops = loop("head_image/three_loops", 3)
killed_loops = loop("head_image/killed_loops", 2, faults=[crashes(1, actor="serve-1")])
