"""What a name can do: be left over, be too long, or lie on another mount."""

import os
from collections.abc import Callable
from pathlib import Path

from racecheck.invariants import (
    clean_failure,
    identical,
    never_missing,
    no_leaked_descriptors,
    no_lost_writes,
    no_silent_loss,
    source_untouched,
    whole_images,
)
from racecheck.scenario import Scenario
from scenarios.head_image.image import validate
from scenarios.head_image.serves import (
    IMAGE,
    LOST,
    SECTIONS,
    TEMPS,
    TORN,
    WHOLE,
    cold_serves,
    in_two_pieces,
    serve,
    some,
)
from scenarios.head_image.temp_names import PATH_BUFFER_NBYTES
from scenarios.head_image.writers import Writer

OLD = b"".join(in_two_pieces(builder=0))

# --- a temp file of a dead process whose id is one's own ------------------------------

OTHER = "other"
STALE = f"{IMAGE}.tmp.1001"

Leave = Callable[[Path], None]


def leave_file(temp: Path) -> None:
    """Leave half an image."""
    temp.write_bytes(WHOLE[:99])


def leave_readonly(temp: Path) -> None:
    """Leave half an image that nobody may write to."""
    leave_file(temp)
    temp.chmod(0o444)


def leave_folder(temp: Path) -> None:
    """Leave a folder."""
    temp.mkdir()


def leave_link(temp: Path) -> None:
    """Leave a link to a file of somebody else's."""
    temp.symlink_to(OTHER)


# Leftovers of others are no litter of this writer, so temp files are not counted.
stale_temp = Scenario(
    "head_image/stale_temp",
    invariants=[
        whole_images(IMAGE, validate),
        no_lost_writes(),
        no_silent_loss(IMAGE, validate),
        clean_failure(IMAGE, TEMPS),
        identical(IMAGE, WHOLE),
        no_leaked_descriptors(),
        source_untouched(OTHER),
    ],
    tags={"B08", "B09"},
)
stale_temp.writer(succeeds=bool)(serve)


@stale_temp.setup
def somebody_died(box: Path, left: Leave) -> None:
    """Leave something under the name that this writer's temp file will have."""
    (box / OTHER).write_bytes(b"of somebody else")
    left(box / STALE)


# The superuser may write to any file.
IF_NOT_ROOT = set() if os.geteuid() == 0 else LOST

stale_temp.over(
    left={
        "file": leave_file,
        "readonly": leave_readonly,
        "folder": leave_folder,
        "link": leave_link,
    },
    write=some("pid", "exclusive", "unused", "mkstemp"),
    expect={
        "readonly-pid": IF_NOT_ROOT,
        # Refused cleanly, and refused for ever.
        "folder-pid": LOST,
        # Written through the link, which was then renamed.
        "link-pid": {"source_untouched"},
        # The failure removes what was in the way, so that the next one gets through.
        "file-exclusive": LOST,
        "readonly-exclusive": LOST,
        "folder-exclusive": LOST,
        "link-exclusive": LOST,
    },
    tags={"link-pid": "quick", "link-mkstemp": "quick"},
)

# --- names that do not fit ------------------------------------------------------------

LONG = "h" * 253
"""A name of a component that fits, and with a suffix does not."""

long_name = Scenario(
    "head_image/long_name",
    invariants=[
        whole_images(LONG, validate),
        never_missing(LONG),
        source_untouched(LONG),
        clean_failure(LONG, f"{LONG[:200]}*.tmp*"),
        no_leaked_descriptors(),
    ],
    tags={"B16"},
)
long_name.setup(lambda box: (box / LONG).write_bytes(OLD))


@long_name.writer(succeeds=bool)
def write_long_name(box: Path, write: Writer) -> bool:
    """Write an image whose temp file cannot have its name."""
    return write(box / LONG, SECTIONS)


long_name.over(
    write=some("pid", "shared", "mkstemp", "inplace"),
    expect={"inplace": {"whole_images", "source_untouched"}},
)

DEPTH = 20
DEEP = "d*/" * DEPTH + "h*"


def deep_path(box: Path, left: int) -> Path:
    """Name a file so deep that a buffer of its path has so many bytes left.

    The zero byte at the end is one of those that the buffer needs.
    """
    room = PATH_BUFFER_NBYTES - 1 - left - len(os.fsencode(box)) - 2
    lengths = [room // (DEPTH + 1) - 1] * DEPTH
    folder = box.joinpath(*("d" * length for length in lengths))
    return folder / ("h" * (room - sum(lengths) - DEPTH + 1))


def deep(name: str, left: int) -> Scenario:
    """Make a scenario of a deep path that has an old image, and is written again."""
    scenario = Scenario(
        f"head_image/{name}",
        invariants=[whole_images(DEEP, validate), no_leaked_descriptors()],
        tags={"B16"},
    )

    @scenario.setup
    def old_images(box: Path) -> dict[str, Path]:
        path = deep_path(box, left)
        path.parent.mkdir(parents=True)
        path.write_bytes(OLD)
        # Another image, under the name to which that of the temp file is cut.
        Path(f"{path}{'.tmp'[:left]}").write_bytes(OLD)
        return {"path": path}

    @scenario.writer(succeeds=bool)
    def write_deep(path: Path, write: Writer) -> bool:
        return write(path, SECTIONS)

    scenario.over(
        write=some("shared", "pid", "unique"), expect={"shared": {"whole_images"}}
    )
    return scenario


full_path = deep("full_path", 0)
nearly_full_path = deep("nearly_full_path", 2)

# --- temp files on another mount ------------------------------------------------------

tmpdir_elsewhere = cold_serves(
    "tmpdir_elsewhere", tmp_on_other_mount=True, tags={"B07", "B15"}
)
tmpdir_elsewhere.over(
    write=some("pid", "tmpdir", "tmpdir_copy"),
    expect={"tmpdir": LOST, "tmpdir_copy": TORN},
)
