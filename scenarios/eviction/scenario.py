"""Evictors beside those who write what they may evict.

The cap is one image. Where all files have one age, their names decide: `head.img` goes
first, then its temp file, and `other.img` last.
"""

from collections.abc import Callable
from pathlib import Path

from racecheck.invariants import (
    cap_holds,
    evicted_as_chosen,
    identical,
    never_evicted,
    never_missing,
    no_live_temp_evicted,
    no_lost_writes,
    no_needless_eviction,
    no_silent_loss,
    whole_images,
)
from racecheck.scenario import Scenario, make_old
from scenarios.eviction.entries import Entry
from scenarios.eviction.evictors import (
    CAP,
    CAP_NBYTES,
    EVICTORS,
    Eviction,
    Evictor,
    excess_but,
    excess_of_images,
)
from scenarios.head_image.image import validate
from scenarios.head_image.serves import LOST, SECTIONS, WHOLE, in_two_pieces, some
from scenarios.head_image.writers import Writer

CACHE = "cache"
IMAGE = f"{CACHE}/head.img"
OTHER = f"{CACHE}/other.img"
TEMPS = f"{CACHE}/*.tmp.*"

OLD = b"".join(in_two_pieces(builder=0))


def evictors(*names: str) -> dict[str, Evictor]:
    """Return evictors by their names."""
    return {name: EVICTORS[name] for name in names}


def two_images(box: Path) -> None:
    """Put an image at the path that is written, and one at another."""
    (box / CACHE).mkdir()
    (box / IMAGE).write_bytes(OLD)
    (box / OTHER).write_bytes(OLD)


def old_images(box: Path) -> None:
    """Do the same, and let what is written anew be the youngest."""
    two_images(box)
    make_old(box / IMAGE, 100)
    make_old(box / OTHER, 50)


def other_image(box: Path) -> None:
    """Put an image at the other path only."""
    two_images(box)
    (box / IMAGE).unlink()


def serve(box: Path, write: Writer) -> bool:
    """Write an image into the cache."""
    return write(box / IMAGE, SECTIONS)


def tidy(box: Path, evict: Evictor) -> int:
    """Keep the cap."""
    return evict(box / CACHE)


# --- the victim is being replaced -----------------------------------------------------


def replacing(name: str) -> Scenario:
    """Make a scenario of an evictor that goes for what is being replaced."""
    scenario = Scenario(
        f"eviction/{name}",
        invariants=[
            whole_images(IMAGE, validate),
            no_lost_writes(),
            no_silent_loss(IMAGE, validate),
            never_missing(IMAGE, after="serve"),
            no_live_temp_evicted(TEMPS),
            evicted_as_chosen(),
        ],
        setup=old_images,
        tags={"B27"},
    )
    scenario.writer(succeeds=bool)(serve)
    scenario.evictor(tidy)
    return scenario


NEW_ONE_GONE = {"evicted_as_chosen", "never_missing", "no_silent_loss"}

replaced_victim = replacing("replaced_victim")
replaced_victim.over(
    evict=evictors("by_name", "skip_temps", "recheck", "aside", "locked"),
    write=some("pid"),
    expect={
        "by_name-pid": NEW_ONE_GONE,
        # To look once more leaves less time, and to lock is of no use alone.
        "skip_temps-pid": NEW_ONE_GONE,
        "recheck-pid": NEW_ONE_GONE,
        "locked-pid": NEW_ONE_GONE,
        # Nothing is lost, and yet it is gone for a while.
        "aside-pid": {"never_missing", "no_silent_loss"},
    },
)

# A gap is one thing, and an image that is gone for good another.
put_back = Scenario(
    "eviction/put_back",
    invariants=[no_lost_writes(), identical(IMAGE, WHOLE)],
    setup=old_images,
    tags={"B27"},
)
put_back.writer(succeeds=bool)(serve)
put_back.evictor(tidy)
put_back.over(
    evict=evictors("by_name", "aside"),
    write=some("pid"),
    expect={"by_name-pid": {"identical"}},
)

replaced_under_lock = replacing("replaced_under_lock")
replaced_under_lock.over(
    evict=evictors("skip_temps", "locked"),
    write=some("folder_locked", "rename_locked"),
    expect={
        "skip_temps-folder_locked": NEW_ONE_GONE,
        "skip_temps-rename_locked": NEW_ONE_GONE,
    },
)

# --- a temp file is an entry ----------------------------------------------------------

live_temp = Scenario(
    "eviction/live_temp",
    invariants=[no_lost_writes(), no_live_temp_evicted(TEMPS), evicted_as_chosen()],
    setup=other_image,
    tags={"B26"},
)
live_temp.writer(succeeds=bool)(serve)
live_temp.evictor(tidy)
live_temp.over(
    evict=evictors("by_name", "skip_temps"),
    write=some("pid", "mkstemp"),
    expect={
        "by_name-pid": LOST | {"no_live_temp_evicted"},
        "by_name-mkstemp": LOST | {"no_live_temp_evicted"},
    },
)

# --- whoever loses a temp file looks at what is there ---------------------------------

lost_temp = Scenario(
    "eviction/lost_temp",
    invariants=[no_lost_writes(), no_silent_loss(IMAGE, validate)],
    tags={"B12"},
)


@lost_temp.setup
def image_there(box: Path, found: bytes) -> None:
    """Put an image at the path, whole or torn."""
    (box / CACHE).mkdir()
    (box / IMAGE).write_bytes(found)


lost_temp.writer(succeeds=bool)(serve)


@lost_temp.evictor
def remove_temps(box: Path) -> int:
    """Remove temp files, whoever uses them."""
    return EVICTORS["temps"](box / CACHE)


lost_temp.over(
    found={"whole": WHOLE, "torn": WHOLE[:-1]},
    write=some("pid", "forgiving", "credulous"),
    expect={
        "whole-pid": LOST,
        "torn-pid": LOST,
        # To fail is right where nothing good is there.
        "torn-forgiving": LOST,
        "torn-credulous": {"no_silent_loss"},
    },
)

# --- what counts against the cap ------------------------------------------------------

orphans = Scenario(
    "eviction/orphans",
    invariants=[
        cap_holds(f"{CACHE}/*", files=CAP),
        no_needless_eviction(f"{CACHE}/*", cap=CAP, temps=TEMPS),
    ],
    tags={"B24", "B25"},
)


@orphans.setup
def one_image_and_orphans(box: Path) -> None:
    """Leave temp files that nobody will rename, older than the only image."""
    other_image(box)
    for pid in (71, 72):
        orphan = box / f"{IMAGE}.tmp.{pid}"
        orphan.write_bytes(WHOLE)
        make_old(orphan, 7200)


orphans.evictor(tidy)
orphans.over(
    evict=evictors("by_name", "skip_temps", "counting_temps"),
    expect={
        "skip_temps": {"cap_holds"},
        "counting_temps": {"cap_holds", "no_needless_eviction"},
    },
)

large_orphans = Scenario(
    "eviction/large_orphans",
    invariants=[cap_holds(f"{CACHE}/*", nbytes=CAP_NBYTES)],
    setup=one_image_and_orphans,
    tags={"B24"},
)
large_orphans.evictor(tidy)
large_orphans.over(
    evict=evictors("by_size", "skip_temps"), expect={"skip_temps": {"cap_holds"}}
)

# --- whoever writes evicts ------------------------------------------------------------

Choose = Callable[[str], Callable[[list[Entry]], list[Entry]]]


def anything(current: str) -> Callable[[list[Entry]], list[Entry]]:
    """Return what chooses the oldest images, the one in use among them."""
    del current
    return excess_of_images


on_write = Scenario(
    "eviction/on_write",
    invariants=[
        no_lost_writes(),
        never_evicted(IMAGE, role="serve_and_tidy"),
        never_evicted(OTHER, role="serve_other", name="never_evicted_other"),
    ],
    tags={"B27"},
)
on_write.setup(lambda box: (box / CACHE).mkdir())


@on_write.writer(succeeds=bool)
def serve_and_tidy(box: Path, write: Writer, keep: Choose) -> bool:
    """Write an image, then keep the cap."""
    written = serve(box, write)
    Eviction(choose=keep("head.img"))(box / CACHE)
    return written


@on_write.writer(succeeds=bool)
def serve_other(box: Path, write: Writer, keep: Choose) -> bool:
    """Write another image, then keep the cap."""
    written = write(box / OTHER, SECTIONS)
    Eviction(choose=keep("other.img"))(box / CACHE)
    return written


on_write.over(
    write=some("pid"),
    keep={"keep_current": excess_but, "keep_none": anything},
    expect={"pid-keep_none": {"never_evicted"}},
)
