"""Who acts on the cache in the scenarios of head images, and what has to hold for all.

The image that is served is small, and written in two pieces: to tear it takes no more.
"""

from collections.abc import Iterable
from pathlib import Path

from racecheck.invariants import (
    clean_failure,
    identical,
    no_leaked_descriptors,
    no_lost_writes,
    no_silent_loss,
    temp_files_bounded,
    whole_images,
)
from racecheck.model import FaultBound, Invariant, PlannedFault
from racecheck.scenario import Scenario
from scenarios.head_image.geometry import SMALL
from scenarios.head_image.image import Key, Refusal, read_head_image, validate
from scenarios.head_image.payload import pack_sections
from scenarios.head_image.writers import WRITERS, Writer

IMAGE = "head.img"
TEMPS = f"{IMAGE}.tmp*"
KEY = Key("demo-pack")

TORN = {"no_silent_loss", "whole_images"}
LOST = {"no_lost_writes"}
SHARED_NAME = LOST | TORN
"""What two writers break that have one temp file."""

SPOILED = SHARED_NAME | {"clean_failure"}
"""The same, if one that fails has written on into what another one published."""


def in_two_pieces(key: Key = KEY, builder: int = 1) -> tuple[bytes, bytes]:
    """Return the image of a key as a writer gets it."""
    header, codes, scales = pack_sections(key, builder=builder)
    return header, codes + scales


SECTIONS = in_two_pieces()
WHOLE = b"".join(SECTIONS)


def each_breaks(names: Iterable[str], broken: set[str]) -> dict[str, set[str]]:
    """Expect of several variants that they break the same."""
    return dict.fromkeys(names, broken)


def some(*names: str) -> dict[str, Writer]:
    """Return writers by their names."""
    return {name: WRITERS[name] for name in names}


def invariants(
    writes: int = 1, per_crash: int = 1, temps: str = TEMPS
) -> list[Invariant]:
    """Return what each scenario of writes has to hold.

    Args:
        writes: How many writes one writer makes at a time.
        per_crash: How many temp files a killed writer may leave.
        temps: What they are called.
    """
    return [
        whole_images(IMAGE, validate),
        no_lost_writes(),
        no_silent_loss(IMAGE, validate),
        clean_failure(IMAGE, temps),
        identical(IMAGE, WHOLE),
        temp_files_bounded(temps, per_writer=writes, per_crash=per_crash),
        no_leaked_descriptors(),
    ]


def accepted(value: object) -> object:
    """Judge what a reader returned: a whole image, or a refusal."""
    if isinstance(value, bytes):
        return validate(value, KEY, SMALL)
    return None if value in set(Refusal) else f"returned {value!r}"


def serve(box: Path, write: Writer) -> bool:
    """Write the pack's head image, as a cold serve does."""
    return write(box / IMAGE, SECTIONS)


def load(box: Path) -> bytes | Refusal:
    """Read the image as a warm serve does."""
    return read_head_image(box / IMAGE, KEY)


def cold_serves(
    name: str,
    writers: int = 2,
    *,
    rules: Iterable[Invariant] | None = None,
    faults: Iterable[PlannedFault | FaultBound] = (),
    tmp_on_other_mount: bool = False,
    max_steps: int = 1000,
    tags: Iterable[str] = (),
) -> Scenario:
    """Make a scenario of serves that find no image, each in a process of its own."""
    scenario = Scenario(
        f"head_image/{name}",
        invariants=invariants() if rules is None else rules,
        faults=faults,
        tmp_on_other_mount=tmp_on_other_mount,
        max_steps=max_steps,
        tags=tags,
    )
    scenario.writer(count=writers, succeeds=bool)(serve)
    return scenario
