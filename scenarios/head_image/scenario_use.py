"""Whether the cache is of any use: how often it is packed, read and waited for."""

import os
from pathlib import Path

from racecheck.invariants import no_redundant_work, no_unexpected_errors, served
from racecheck.scenario import Scenario
from scenarios.head_image import guards
from scenarios.head_image.geometry import SMALL
from scenarios.head_image.guards import Guard
from scenarios.head_image.image import Key, Refusal, read_head_image
from scenarios.head_image.payload import stamped_sections
from scenarios.head_image.reading import (
    Reader,
    read_by_two_opens,
    read_if_there,
    read_mapped,
)
from scenarios.head_image.scenario_keys import packs
from scenarios.head_image.serves import IMAGE, WHOLE, accepted, some
from scenarios.head_image.serving import (
    PACK_S,
    Served,
    pack_under,
    refuse,
    serve_from_cache,
)
from scenarios.head_image.writers import Writer, write_pid

KEY = Key("demo-pack")

# --- how often it is packed -----------------------------------------------------------

READS = {"cached": read_head_image, "bypassed": refuse}


def serve_by(box: Path, read: Reader) -> Served:
    """Serve the image, from the cache if it is taken from there."""
    return serve_from_cache(box / IMAGE, KEY, read, write_pid)


def counted(name: str, serves: int, most: int, least: int = 0) -> Scenario:
    """Make a scenario of serves, each of them twice in a row, that pack so often."""
    scenario = Scenario(
        f"head_image/{name}",
        invariants=[no_redundant_work("writer", packs, most=most, least=least)],
        tags={"B33", "B39"},
    )
    scenario.writer(count=serves, repeat=2, name="serve")(serve_by)
    scenario.over(read=READS, expect={"bypassed": {"no_redundant_work"}})
    return scenario


cold_twice = counted("cold_twice", serves=2, most=2, least=1)
warm = counted("warm", serves=1, most=0)
warm.setup(lambda box: (box / IMAGE).write_bytes(WHOLE))
# One refusal, one repack.
refused = counted("refused", serves=1, most=1, least=1)
refused.setup(lambda box: (box / IMAGE).write_bytes(WHOLE[:-1]))

# What was written when all was cold is found out by those who come later.
warm_after_cold = Scenario(
    "head_image/warm_after_cold",
    invariants=[no_redundant_work("serve_later", packs, most=0)],
    tags={"B39"},
)


@warm_after_cold.writer(count=2)
def serve_cold(box: Path, write: Writer) -> Served:
    """Serve the image before it is there."""
    return serve_from_cache(box / IMAGE, KEY, read_head_image, write)


@warm_after_cold.reader(after="serve_cold")
def serve_later(box: Path, write: Writer) -> Served:
    """Serve it once somebody has."""
    return serve_from_cache(box / IMAGE, KEY, read_head_image, write)


warm_after_cold.over(
    write=some("pid", "shared"), expect={"shared": {"no_redundant_work"}}
)

# --- how long one waits for another ---------------------------------------------------


def in_time(value: object) -> object:
    """Judge how long a serve took: as long as it packs, and not twice as long."""
    seconds = float(str(value))
    return seconds < PACK_S + 1 or f"took {seconds:.0f} s"


one_by_one = Scenario(
    "head_image/one_by_one",
    invariants=[served("serve", in_time, name="in_time")],
    budget=50,
    tags={"B29"},
)


@one_by_one.writer(count=2, name="serve")
def serve_slowly(box: Path, guard: Guard) -> float:
    """Pack for a minute, and write what came of it."""
    return pack_under(guard, box / IMAGE, KEY, write_pid)


one_by_one.over(
    guard={"unguarded": guards.unguarded, "flocked": guards.flocked},
    expect={"flocked": {"in_time"}},
)

# --- which ways of reading go with which ways of writing ------------------------------

OLD, NEW = (stamped_sections(writer, 0, KEY, SMALL) for writer in (1, 2))

reading = Scenario(
    "head_image/reading",
    invariants=[served("load", accepted), no_unexpected_errors()],
    tags={"B30"},
)


@reading.setup
def old_image(box: Path) -> None:
    """Put an image at the path."""
    (box / IMAGE).write_bytes(b"".join(OLD))


@reading.writer(succeeds=bool)
def replace(box: Path, write: Writer) -> bool:
    """Write another image of the same key."""
    return write(box / IMAGE, (NEW.header, NEW.codes + NEW.scales))


@reading.reader
def load(box: Path, read: Reader) -> bytes | Refusal:
    """Read an image, the old one or the new."""
    return read(box / IMAGE, KEY)


reading.over(
    read={
        "one_open": read_head_image,
        "two_opens": read_by_two_opens,
        "if_there": read_if_there,
        "mapped": read_mapped,
    },
    write=some("pid", "remove_rename", "inplace"),
    expect={
        "two_opens-pid": {"served"},
        "two_opens-remove_rename": {"served"},
        "two_opens-inplace": {"served"},
        "if_there-remove_rename": {"no_unexpected_errors"},
        # What is mapped and then cut off kills whoever looks at it (SIGBUS).
        "mapped-inplace": {"no_unexpected_errors"},
    },
)

# --- a serve that dies ----------------------------------------------------------------


def leave_with(status: int) -> None:
    """End the process without a word."""
    os._exit(status)


# Its exit status is looked at, and so is whether it came to its end.
dies_early = Scenario(
    "head_image/dies_early", invariants=[no_unexpected_errors()], tags={"B04"}
)


@dies_early.writer(succeeds=bool)
def serve_and_die(box: Path, status: int, write: Writer) -> bool:
    """Write the image in a process that ends before it could say so."""
    write(box / IMAGE, (WHOLE,))
    if status >= 0:
        leave_with(status)
    return True


dies_early.over(
    status={"lives": -1, "status_0": 0, "status_3": 3},
    write=some("pid"),
    expect={
        "status_0-pid": {"no_unexpected_errors"},
        "status_3-pid": {"no_unexpected_errors"},
    },
)
