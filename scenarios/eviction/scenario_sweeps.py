"""Sweepers of temp files beside those whose temp files they are."""

import time
from collections.abc import Callable
from pathlib import Path

from racecheck.invariants import (
    cap_holds,
    converges,
    never_evicted,
    no_live_temp_evicted,
    no_lost_writes,
)
from racecheck.scenario import Scenario, make_old, stalls
from scenarios.eviction.scenario import CACHE, IMAGE, TEMPS, serve
from scenarios.eviction.sweepers import (
    SWEEPERS,
    WINDOW_S,
    Sweeper,
    empty_all,
    sweep_all,
    sweep_others,
)
from scenarios.head_image.serves import LOST, WHOLE, some
from scenarios.head_image.writers import WRITERS

DAY_S = 24 * 3600


def sweepers(*names: str) -> dict[str, Sweeper]:
    """Return sweepers by their names."""
    return {name: SWEEPERS[name] for name in names}


def leave(path: Path, age_s: int) -> None:
    """Leave a temp file of somebody who died so long ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(WHOLE[:99])
    make_old(path, age_s)


def sweep(box: Path, sweeper: Sweeper) -> int:
    """Sweep the cache now."""
    return sweeper(box / CACHE)


# --- around the window ----------------------------------------------------------------

YOUNG, EDGE, AGED = "head.img.tmp.71", "head.img.tmp.72", "head.img.tmp.73"


def ages(box: Path) -> None:
    """Leave temp files a second younger than the window, as old as it, and older."""
    for name, age_s in ((YOUNG, -1), (EDGE, 0), (AGED, 1)):
        leave(box / CACHE / name, WINDOW_S + age_s)


def swept(name: str, clock_offset_s: int = 0) -> Scenario:
    """Make a scenario of a sweeper alone, whose clock may be ahead."""
    scenario = Scenario(
        f"eviction/{name}",
        invariants=[
            converges(
                CACHE,
                {YOUNG: WHOLE[:99], EDGE: WHOLE[:99]},
                role="evictor",
            )
        ],
        setup=ages,
        tags={"B22"},
    )
    scenario.evictor(clock_offset_s=clock_offset_s)(sweep)
    return scenario


window = swept("window")
window.over(
    sweeper=sweepers("by_age", "up_to_age", "of_the_dead", "unlocked"),
    expect={"up_to_age": {"converges"}},
    tags={"by_age": "quick", "up_to_age": "quick"},
)

# The clock of the host that sweeps need not be that of the volume.
window_by_fast_clock = swept("window_by_fast_clock", clock_offset_s=2)
window_by_fast_clock.over(sweeper=sweepers("by_age"), expect="converges")

# --- a live writer that is slower than the window -------------------------------------


def sweep_later(box: Path, sweeper: Sweeper) -> int:
    """Sweep the cache when what is there now is old enough."""
    time.sleep(WINDOW_S + 1)
    return sweep(box, sweeper)


def slow_writer(name: str, clock_offset_s: int = 0) -> Scenario:
    """Make a scenario of a writer that may be held up for longer than the window."""
    scenario = Scenario(
        f"eviction/{name}",
        invariants=[no_lost_writes(), no_live_temp_evicted(TEMPS)],
        faults=[stalls(2 * WINDOW_S, actor="serve")],
        setup=lambda box: (box / CACHE).mkdir(),
        tags={"B22"},
        budget=100,
    )
    scenario.writer(succeeds=bool, clock_offset_s=clock_offset_s)(serve)
    scenario.evictor(sweep_later)
    return scenario


GONE = LOST | {"no_live_temp_evicted"}

stalled_writer = slow_writer("stalled_writer")
stalled_writer.over(
    sweeper=sweepers("by_age", "of_the_dead", "unlocked"),
    write=some("pid", "flocked_temp", "flocked_temp_for_sure"),
    expect={
        "by_age-pid": GONE,
        "by_age-flocked_temp": GONE,
        "by_age-flocked_temp_for_sure": GONE,
        "unlocked-pid": GONE,
        # Held up between the open and the lock, it has a file without a name.
        "unlocked-flocked_temp": GONE,
        # The same, but this one looks and makes another.
        "unlocked-flocked_temp_for_sure": {"no_live_temp_evicted"},
    },
)

# On another host its process id is nobody's.
stalled_elsewhere = slow_writer("stalled_elsewhere", clock_offset_s=1)
stalled_elsewhere.over(
    sweeper=sweepers("of_the_dead", "unlocked"),
    write=some("flocked_temp_for_sure"),
    expect={
        "of_the_dead-flocked_temp_for_sure": GONE,
        "unlocked-flocked_temp_for_sure": {"no_live_temp_evicted"},
    },
)

# --- an orphan whose process id is in use again ---------------------------------------

reused_pid = Scenario(
    "eviction/reused_pid",
    invariants=[cap_holds(TEMPS, files=0, name="orphans_gone")],
    setup=lambda box: leave(box / f"{IMAGE}.tmp.1001", DAY_S),
    tags={"B09", "B22"},
)


# The process that has the id now is the sweeper itself.
reused_pid.evictor(sweep)
reused_pid.over(
    sweeper=sweepers("by_age", "of_the_dead", "unlocked"),
    expect={"of_the_dead": {"orphans_gone"}},
)

# --- folders that are swept, and one that is in use -----------------------------------

CURRENT = "cache/current/head.img"

folders = Scenario(
    "eviction/folders",
    invariants=[
        no_lost_writes(),
        never_evicted(CURRENT),
        no_live_temp_evicted("cache/*/*.tmp.*"),
        cap_holds("cache/*/*.tmp.*", files=0, name="orphans_gone"),
    ],
    tags={"B23"},
)


@folders.setup
def two_folders(box: Path) -> None:
    """Leave an orphan in the folder in use, and one in another."""
    for name in ("current", "older"):
        leave(box / CACHE / name / "head.img.tmp.71", DAY_S)


@folders.writer(succeeds=bool)
def serve_current(box: Path) -> bool:
    """Write an image into the folder in use."""
    return WRITERS["pid"](box / CURRENT, (WHOLE,))


@folders.evictor
def sweep_folders(box: Path, sweep_cache: Callable[[Path, str], int]) -> int:
    """Sweep what is to be swept."""
    return sweep_cache(box / CACHE, "current")


folders.over(
    sweep_cache=[sweep_all, sweep_others, empty_all],
    expect={
        "sweep_others": {"orphans_gone"},
        "empty_all": GONE | {"never_evicted"},
    },
)

# Temp files in a folder of their own, which whoever sweeps knows.
covered_folder = Scenario(
    "eviction/covered_folder",
    invariants=[
        no_lost_writes(),
        no_live_temp_evicted("cache/tmp/*"),
        cap_holds("cache/tmp/*", files=0, name="orphans_gone"),
    ],
    setup=lambda box: leave(box / CACHE / "tmp" / "head.img.tmp.71", DAY_S),
    tags={"B23"},
)
covered_folder.writer(succeeds=bool)(serve)


@covered_folder.evictor
def sweep_folder(box: Path, covered: str) -> int:
    """Sweep one folder."""
    return SWEEPERS["by_age"](box / covered)


covered_folder.over(
    write=some("folder"),
    covered={"its_folder": "cache/tmp", "another": CACHE},
    expect={"folder-another": {"orphans_gone"}},
)
