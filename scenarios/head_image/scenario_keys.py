"""Images that are made from different things, and meet at one path."""

from collections.abc import Callable
from pathlib import Path

from racecheck.invariants import invariant, no_downgrade, no_redundant_work, served
from racecheck.model import History, View
from racecheck.scenario import Scenario
from scenarios.head_image.image import (
    Key,
    Refusal,
    builder_of,
    read_head_image,
    validate,
)
from scenarios.head_image.reading import Reader, read_of_any_key
from scenarios.head_image.serves import IMAGE, invariants, some
from scenarios.head_image.serving import (
    ForgetfulKey,
    Served,
    one_path,
    pack,
    path_of_key,
    serve_from_cache,
)
from scenarios.head_image.writers import Writer, write_pid

Place = Callable[[Path, Key], Path]
MakeKey = Callable[..., Key]


def image_of(key: Key) -> Callable[[object], object]:
    """Return what judges whether a reader of a key was given an image of it."""
    expected = b"".join(pack(Key(key.pack, key.kernels, key.layout, key.options)))
    payload = expected[128:]

    def judge(value: object) -> object:
        image = value.get("image") if isinstance(value, dict) else value
        if not isinstance(image, bytes):
            return None if image in set(Refusal) else f"returned {image!r}"
        return image[128:] == payload or "an image of another key"

    return judge


def packs(value: object) -> int:
    """Return how often a serve packed."""
    return int(value["packs"]) if isinstance(value, dict) else 0


# --- two builds, two packs ------------------------------------------------------------

ONE, TWO = Key("demo-pack", kernels="v1"), Key("demo-pack", kernels="v2")


def two_keys(name: str, one: Key, two: Key, tags: set[str]) -> Scenario:
    """Make a scenario of serves that want two different images."""
    scenario = Scenario(
        f"head_image/{name}",
        invariants=[
            served("serve_one", image_of(one), name="key_matches_one"),
            served("serve_two", image_of(two), name="key_matches_two"),
        ],
        tags=tags,
    )

    @scenario.writer(count=2)
    def serve_one(box: Path, read: Reader, place: Place) -> Served:
        return serve_from_cache(place(box / IMAGE, one), one, read, write_pid)

    @scenario.writer
    def serve_two(box: Path, read: Reader, place: Place) -> Served:
        return serve_from_cache(place(box / IMAGE, two), two, read, write_pid)

    scenario.over(
        read={"any_key": read_of_any_key, "own_key": read_head_image},
        place={"one_path": one_path, "path_of_key": path_of_key},
        expect={"any_key-one_path": {"key_matches_one", "key_matches_two"}},
    )
    return scenario


two_builds = two_keys("two_builds", ONE, TWO, {"B17"})
two_packs = two_keys("two_packs", Key("one-pack"), Key("other-pack"), {"B40"})

# With one path each of the two repacks what the other one has just replaced.
repacking = Scenario(
    "head_image/repacking",
    invariants=[no_redundant_work("writer", packs, most=3, least=2)],
    tags={"B17"},
)


@repacking.writer(count=2)
def serve_one_build(box: Path, place: Place) -> Served:
    """Serve the image of one build."""
    return serve_from_cache(place(box / IMAGE, ONE), ONE, read_head_image, write_pid)


@repacking.writer(repeat=2)
def serve_other_build(box: Path, place: Place) -> Served:
    """Serve the image of the other build, twice."""
    return serve_from_cache(place(box / IMAGE, TWO), TWO, read_head_image, write_pid)


repacking.over(
    place={"one_path": one_path, "path_of_key": path_of_key},
    expect={"one_path": {"no_redundant_work"}},
)

# --- an input that the key leaves out -------------------------------------------------

dropped_input = Scenario(
    "head_image/dropped_input",
    invariants=[
        served(
            f"serve_{group}",
            image_of(Key("demo-pack", options=(("group", group),))),
            name=f"key_matches_{group}",
        )
        for group in ("32", "64")
    ],
    tags={"B19"},
)


def serve_group(box: Path, make_key: MakeKey, group: str) -> Served:
    """Serve the image for one value of an option."""
    key = make_key("demo-pack", options=(("group", group),))
    return serve_from_cache(box / IMAGE, key, read_head_image, write_pid)


@dropped_input.writer
def serve_32(box: Path, make_key: MakeKey) -> Served:
    """Serve the image of groups of 32."""
    return serve_group(box, make_key, "32")


@dropped_input.writer
def serve_64(box: Path, make_key: MakeKey) -> Served:
    """Serve the image of groups of 64."""
    return serve_group(box, make_key, "64")


dropped_input.over(
    make_key={"whole": Key, "forgetful": ForgetfulKey},
    expect={"forgetful": {"key_matches_32", "key_matches_64"}},
)

# --- an older build comes last --------------------------------------------------------

KEY = Key("demo-pack")


def version(data: bytes) -> int | None:
    """Return the build that made an image, if it is whole."""
    return None if validate(data) else builder_of(data)


older_build = Scenario(
    "head_image/older_build",
    invariants=[*invariants()[:4], no_downgrade(IMAGE, version)],
    tags={"B18"},
)


@older_build.writer(succeeds=bool)
def serve_older(box: Path, write: Writer) -> bool:
    """Write the image of the older build."""
    return write(box / IMAGE, pack(KEY, builder=1))


@older_build.writer(succeeds=bool)
def serve_newer(box: Path, write: Writer) -> bool:
    """Write the image of the newer build."""
    return write(box / IMAGE, pack(KEY, builder=2))


older_build.over(
    write=some("pid", "verify_first", "flock", "verify_first_locked"),
    expect={
        "pid": {"no_downgrade"},
        # It looks and then renames: in between the newer one has come.
        "verify_first": {"no_downgrade"},
        "flock": {"no_downgrade"},
    },
    tags={"verify_first": "B20", "verify_first_locked": "B20"},
)

# --- what is there already ------------------------------------------------------------

OLDER, OURS, NEWER = (b"".join(pack(KEY, builder)) for builder in (0, 1, 2))
FOUND = {
    "torn": OURS[:-1] + bytes([OURS[-1] ^ 1]),
    "older": OLDER,
    "same": OURS,
    "newer": NEWER,
}


@invariant
def best_image_in_the_end(view: View, history: History) -> str | None:
    """Require that what is left is whole, and no older than what was written."""
    if len(history.ends) < len(history.programs):
        return None
    found = view.read(IMAGE) or b""
    refusal = validate(found)
    if refusal:
        return f"the image in the end is refused: {refusal}"
    return None if builder_of(found) >= 1 else "the image in the end is an older one"


found_image = Scenario(
    "head_image/found_image",
    invariants=[best_image_in_the_end, no_downgrade(IMAGE, version)],
    tags={"B20"},
)


@found_image.setup
def image_there(box: Path, found: bytes) -> None:
    """Put an image at the path."""
    (box / IMAGE).write_bytes(found)


@found_image.writer(succeeds=bool)
def serve_ours(box: Path, write: Writer) -> bool:
    """Write an image where there is one."""
    return write(box / IMAGE, pack(KEY, builder=1))


found_image.over(
    found=FOUND,
    write=some("pid", "verify_first", "exists_first"),
    expect={
        "newer-pid": {"no_downgrade"},
        "torn-exists_first": {"best_image_in_the_end"},
        "older-exists_first": {"best_image_in_the_end"},
    },
)
