"""Links that others plant, and links that lead somewhere from their own folder only."""

from pathlib import Path

from racecheck.invariants import (
    invariant,
    never_missing,
    no_lost_writes,
    temp_files_bounded,
)
from racecheck.model import History, Kind, View
from racecheck.scenario import Scenario
from scenarios.ensure_symlink.parts import (
    LINK,
    LOST,
    NEW,
    OLD,
    callers,
    compile_it,
    ensure,
    leave_nothing,
    leave_right_link,
    leave_stale_link,
    make_release,
    never_led_astray,
    ways,
)
from scenarios.ensure_symlink.pieces import WAYS

FOLDER = "links"

wrong_link = callers(
    "wrong_link",
    1,
    leave_nothing,
    invariants=[
        no_lost_writes(),
        never_led_astray(),
        never_missing(LINK, after="ensure"),
    ],
    # Not to make the link is right where another process has made a wrong one.
    raises=FileExistsError,
    tags=["B51"],
)


@wrong_link.actor(raises=FileExistsError)
def plant(link: Path, box: Path) -> None:
    """Make the link as a process of another release does."""
    link.symlink_to(box / OLD)


wrong_link.over(
    way=ways("faulty", "eexist", "blind", "filelock", "atomic", "exchange"),
    expect={
        # A lock is of no use against who does not take it.
        "faulty": "no_lost_writes",
        "eexist": "no_lost_writes",
        "filelock": "no_lost_writes",
        "blind": "never_led_astray",
    },
)


@invariant(in_any_order=True)
def never_made(view: View, history: History) -> str | None:
    """Require that nobody makes a link where the right one is."""
    del view
    made = [step for step in history.steps if step.kind is Kind.SYMLINK]
    return f"{made[0].actor} made the link" if made else None


@invariant(in_any_order=True)
def made_once(view: View, history: History) -> str | None:
    """Require that a link that is right is left as it is."""
    del view
    made = [
        step for step in history.steps if step.kind is Kind.SYMLINK and not step.failed
    ]
    return None if len(made) <= 1 else f"the link was made {len(made)} times"


# Alone, since those who only read have nothing to race about.
right_link = callers(
    "right_link",
    1,
    leave_right_link,
    invariants=[no_lost_writes(), never_made, never_missing(LINK)],
)
right_link.over(way=WAYS)

no_folder = Scenario(
    "ensure_symlink/no_folder",
    invariants=[
        no_lost_writes(),
        never_led_astray(f"{FOLDER}/{LINK}"),
        never_missing(f"{FOLDER}/{LINK}", after="ensure"),
        temp_files_bounded(f"{FOLDER}/{LINK}.tmp.*"),
    ],
    tags=["B50"],
)


@no_folder.setup
def release_alone(box: Path) -> dict[str, Path]:
    """Make a release, and not the folder that the link shall be in."""
    make_release(box / NEW, NEW)
    return {"link": box / FOLDER / LINK, "target": box / NEW}


no_folder.writer(count=2)(ensure)
no_folder.over(
    way=ways("faulty", "eexist", "filelock", "atomic", "exchange", "flock"),
    expect={"faulty": LOST},
)

# Containers on one volume, each with a process 1001.
same_pid = callers("same_pid", 2, leave_stale_link, same_pid=True)
same_pid.over(way=ways("by_pid", "atomic", "exchange"), expect={"by_pid": LOST})

relative_target = Scenario(
    "ensure_symlink/relative_target",
    invariants=[
        no_lost_writes(),
        never_led_astray(f"{FOLDER}/{LINK}"),
        never_missing(f"{FOLDER}/{LINK}", after="ensure"),
        made_once,
    ],
    tags=["B55", "T-S7"],
)


@relative_target.setup
def release_beside(box: Path) -> dict[str, Path]:
    """Make a release that the target names from the folder of the link only."""
    make_release(box / NEW, NEW)
    (box / FOLDER).mkdir()
    return {"link": box / FOLDER / LINK, "target": Path("..", NEW)}


relative_target.writer(repeat=2)(ensure)
relative_target.reader(after="ensure")(compile_it)

# Made again each time, and missing meanwhile but where it is replaced at one stroke.
REMADE = {"made_once"}
GONE = REMADE | {"never_missing", "no_unexpected_errors"}
REPLACING = {"atomic", "by_pid", "unclean", "exchange", "flock_aside"}
FIXED = {"relfix", "flock_relfix"}

relative_target.over(
    way=WAYS,
    expect={
        name: REMADE if name in REPLACING else GONE for name in WAYS.keys() - FIXED
    },
)
