"""Cold serves on machines that this one is not; each is a simulation and says so."""

from pathlib import Path

from racecheck.invariants import (
    never_missing,
    no_lost_writes,
    temp_files_bounded,
    whole_images,
)
from racecheck.model import Simulation
from racecheck.scenario import Scenario, simulated
from scenarios.head_image.image import Key, read_head_image, validate
from scenarios.head_image.payload import build_image, pack_sections
from scenarios.head_image.ported import (
    write_branched,
    write_elsewhere,
    write_own,
    write_removing,
    write_renamed,
)
from scenarios.head_image.serves import IMAGE, KEY, load, serve
from scenarios.head_image.writers import write_pid

WINDOWS = simulated("windows")
WRITERS = {
    "branched": write_branched,
    "own": write_own,
    "renamed": write_renamed,
    "removing": write_removing,
}

# --- Windows --------------------------------------------------------------------------

windows_writers = Scenario(
    "head_image/windows_writers",
    invariants=[
        no_lost_writes(),
        whole_images(IMAGE, validate),
        temp_files_bounded(f"{IMAGE}.tmp*"),
    ],
    engine=WINDOWS,
    tags="B34",
)
windows_writers.writer(count=2, succeeds=bool)(serve)
windows_writers.over(
    write=WRITERS,
    expect={
        # With one temp file of two, whoever has it open is in the other's way.
        "branched": {"no_lost_writes"},
        # Whoever comes second finds an image there.
        "renamed": {"no_lost_writes"},
        "removing": {"no_lost_writes"},
    },
)

windows_reader = Scenario(
    "head_image/windows_reader",
    invariants=[
        no_lost_writes(),
        never_missing(IMAGE),
        whole_images(IMAGE, validate),
        temp_files_bounded(f"{IMAGE}.tmp*"),
    ],
    engine=WINDOWS,
    tags="B34",
)


@windows_reader.setup
def published(box: Path) -> None:
    """Leave an image there, so that readers have something to open."""
    (box / IMAGE).write_bytes(build_image(KEY))


windows_reader.writer(succeeds=bool)(serve)
windows_reader.reader(load)
windows_reader.over(
    write={"own": write_own, "removing": write_removing},
    expect={
        # What somebody reads can be neither replaced nor removed.
        "own": {"no_lost_writes"},
        "removing": {"no_lost_writes", "never_missing"},
    },
)

# --- a temp file on another file system -----------------------------------------------

other_mount = Scenario(
    "head_image/other_mount",
    invariants=[no_lost_writes(), whole_images(IMAGE, validate)],
    engine=simulated(mounts=["$TMPDIR"]),
    tags="B15",
)
other_mount.writer(count=2, succeeds=bool)(serve)
other_mount.over(
    write={"elsewhere": write_elsewhere, "beside": write_pid},
    expect={"elsewhere": {"no_lost_writes"}},
)

# --- two packs whose names differ in case ---------------------------------------------

PACKS = {"demo.img": Key("demo-pack"), "Demo.img": Key("another-pack")}


def of_pack(name: str) -> object:
    """Return what judges the image of one pack, its key included."""
    return lambda data: validate(data, PACKS[name])


def two_packs(name: str, engine: Simulation, **options: object) -> Scenario:
    """Make a scenario of two packs that are served at once."""
    made = Scenario(
        name,
        invariants=[
            whole_images(each, of_pack(each), name=f"{each}_is_its_own")  # type: ignore[arg-type]  # a function
            for each in PACKS
        ],
        engine=engine,
        tags="B40",
        **options,  # type: ignore[arg-type]  # passed on
    )

    @made.writer(count=2, succeeds=bool)
    def serve_pack(box: Path, me: object) -> bool:
        """Write the image of a pack of one's own."""
        image, key = list(PACKS.items())[getattr(me, "index", 0)]
        return write_own(box / image, pack_sections(key))

    @made.reader
    def load_pack(box: Path) -> str:
        """Read the image of one of them."""
        image, key = next(iter(PACKS.items()))
        return str(type(read_head_image(box / image, key)).__name__)

    return made


case_on_macos = two_packs(
    "head_image/names_by_case/macos",
    simulated("macos"),
    expect={"demo.img_is_its_own", "Demo.img_is_its_own"},
)
case_on_linux = two_packs("head_image/names_by_case/linux", simulated("linux"))
