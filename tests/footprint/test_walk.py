"""Guards that a path means what it means to the kernel, and what a walk reads."""

from __future__ import annotations

import errno
import os
import random
import struct
from typing import TYPE_CHECKING

import pytest

from racecheck.footprint import Bounds, Names, Resolver, Walk
from tests.footprint.slots import CWD, call

if TYPE_CHECKING:
    from pathlib import Path


class Box:
    """A sandbox for walks of this very process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names = Names()
        self.resolver = Resolver(str(root))

    def scan(self) -> None:
        """Name all that is there by its path."""
        start = len(str(self.root)) + 1
        self.names.scan(str(self.root), lambda path: path[start:] or "/")

    def walk(
        self,
        path: str,
        *,
        follow: bool = True,
        base: str = "",
        bounds: Bounds = Bounds.NONE,
    ) -> Walk:
        """Look up a path as this process would."""
        process = os.getpid()
        base = base or f"/proc/{process}/cwd"
        return self.resolver.walk(
            self.names, process, base, path, follow=follow, bounds=bounds
        )


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    """Return a box with a few folders, files and links; it is the working directory."""
    root = tmp_path.resolve() / "root"
    (root / "d/s").mkdir(parents=True)
    (root / "e").mkdir()
    (root / "x").write_text("x")
    (root / "d/x").write_text("dx")
    (root / "z").symlink_to("d")
    (root / "w").symlink_to("z/x")
    (root / "k").symlink_to("q")
    (root / "a").symlink_to(root / "d/s")
    (root / "o").symlink_to("o")
    (root / "t").symlink_to("d/")
    (root / "u").symlink_to("../root/x")
    (root / "out").symlink_to("/usr/lib")
    made = Box(root)
    made.scan()
    monkeypatch.chdir(root)
    return made


def test_a_relative_path_starts_from_the_working_directory(box: Box) -> None:
    os.chdir("d")

    walk = box.walk("s/../x")

    assert walk.target == "d/x"
    assert walk.entries == [("d", "s"), ("d", "x")]
    assert walk.upward == ["d/s"]
    assert (walk.parent, walk.name, walk.reached) == ("d", "x", True)


def test_folders_that_are_known_from_the_start_give_the_walks_they_would_give_anyway(
    box: Box,
) -> None:
    names = ("d", "e")
    paths = [
        f"{box.root}/{path}"
        for name in names
        for path in (name, f"{name}/x", f"{name}/q", f"{name}/s/q", f"{name}/../x")
    ]
    without = [box.walk(path) for path in paths]

    box.resolver.begin_with("/", {f"{box.root}/{name}": name for name in names})

    assert [box.walk(path) for path in paths] == without

    # What is there at the start need not stay there.
    os.rename("d", "elsewhere")
    box.resolver.removed("/", "d")
    assert box.walk(f"{box.root}/d/x").error == errno.ENOENT

    # In the next execution it is back.
    os.rename("elsewhere", "d")
    box.names = Names()
    box.scan()
    assert box.walk(f"{box.root}/d/x") == without[1]


def test_a_path_can_start_from_a_descriptor(box: Box) -> None:
    folder = os.open("d", os.O_RDONLY)
    try:
        os.rename("d", "e/moved")

        walk = box.walk("x", base=f"/proc/{os.getpid()}/fd/{folder}")
    finally:
        os.close(folder)

    assert walk.target == "d/x"
    assert walk.entries == [("d", "x")]


def test_a_descriptor_that_is_not_open_or_no_folder_leads_nowhere(box: Box) -> None:
    file = os.open("/dev/null", os.O_RDONLY)
    try:
        closed = box.walk("x", base=f"/proc/{os.getpid()}/fd/9999")
        device = box.walk("x", base=f"/proc/{os.getpid()}/fd/{file}")
    finally:
        os.close(file)

    assert (closed.error, closed.inside, closed.escaped) == (errno.EBADF, False, "")
    assert (device.error, device.inside, device.escaped) == (errno.ENOTDIR, False, "")


def test_an_absolute_path_starts_at_the_root_of_the_sandbox(box: Box) -> None:
    walk = box.walk(f"{box.root}/d//./s/")

    assert walk.target == "d/s"
    assert walk.entries == [("/", "d"), ("d", "s")]
    assert walk.folders == ["/", "d"]


def test_links_on_the_way_and_at_the_end_are_read_and_followed(box: Box) -> None:
    walk = box.walk("w")

    assert walk.target == "d/x"
    assert walk.entries == [("/", "w"), ("/", "z"), ("/", "d"), ("d", "x")]


def test_a_link_at_the_end_can_be_meant_itself(box: Box) -> None:
    assert box.walk("w", follow=False).target == "w"
    assert box.walk("z/", follow=False).target == "d"
    assert box.walk("z/x", follow=False).target == "d/x"


def test_a_link_can_lead_through_an_absolute_path(box: Box) -> None:
    walk = box.walk("a")

    assert walk.target == "d/s"
    assert walk.entries == [("/", "a"), ("/", "d"), ("d", "s")]


def test_a_dangling_link_leads_to_the_name_that_is_missing(box: Box) -> None:
    walk = box.walk("k")

    assert walk.error == 0
    assert walk.status is None
    assert (walk.parent, walk.name, walk.reached) == ("/", "q", True)
    assert walk.entries == [("/", "k"), ("/", "q")]


def test_a_loop_of_links_ends_with_an_error(box: Box) -> None:
    walk = box.walk("o/x")

    assert walk.error == errno.ELOOP
    assert set(walk.entries) == {("/", "o")}


def test_a_walk_stops_at_the_component_that_fails(box: Box) -> None:
    missing, file = box.walk("d/no/x"), box.walk("x/y/z")

    assert (missing.error, missing.reached) == (errno.ENOENT, False)
    assert missing.entries == [("/", "d"), ("d", "no")]
    assert (file.error, file.reached) == (errno.ENOTDIR, False)
    assert file.entries == [("/", "x")]


def test_a_slash_at_the_end_wants_a_folder(box: Box) -> None:
    assert box.walk("d/").target == "d"
    assert box.walk("x/").error == errno.ENOTDIR
    assert box.walk("x/.").error == errno.ENOTDIR
    assert box.walk("w/").error == errno.ENOTDIR
    assert box.walk("t").target == "d"
    assert box.walk("new/").error == 0
    assert box.walk("new/").reached


def test_a_path_can_end_in_a_folder_as_such(box: Box) -> None:
    for path in (".", "d/..", "e/../."):
        walk = box.walk(path)

        assert walk.target == "/"
        assert walk.parent is None
        assert not walk.reached
    assert box.walk("d/..").upward == ["d"]


def test_a_working_directory_that_was_removed_still_has_a_parent(box: Box) -> None:
    os.chdir("d/s")
    os.rmdir(box.root / "d/s")

    inside, above = box.walk("x"), box.walk("../x")

    assert inside.status is None
    assert inside.entries == [("d/s", "x")]
    assert above.target == "d/x"
    assert above.upward == ["d/s"]


@pytest.mark.parametrize("folder", ["/proc/self/fd", "/dev/fd", "/proc/{pid}/fd"])
def test_a_path_to_a_descriptor_leads_to_the_file_and_reads_no_name(
    box: Box, folder: str
) -> None:
    file = os.open("d/x", os.O_RDONLY)
    try:
        os.unlink("d/x")

        walk = box.walk(f"{folder}/{file}".format(pid=os.getpid()))
    finally:
        os.close(file)

    assert walk.target == "d/x"
    assert walk.inside
    assert walk.entries == []


def test_the_link_to_a_descriptor_reads_the_names_that_it_shows(box: Box) -> None:
    file = os.open("d/x", os.O_RDONLY)
    try:
        walk = box.walk(f"/proc/self/fd/{file}", follow=False)
    finally:
        os.close(file)

    assert walk.entries == [("/", "d"), ("d", "x")]


def test_magic_links_of_a_process_lead_where_it_stands(box: Box) -> None:
    os.chdir("d")
    folder = os.open(box.root, os.O_RDONLY)
    try:
        assert box.walk("/proc/self/cwd/x").target == "d/x"
        assert box.walk("/proc/thread-self/cwd/s").target == "d/s"
        assert box.walk(f"/proc/self/root{box.root}/x").target == "x"
        assert box.walk(f"/dev/fd/{folder}/d/x").target == "d/x"
        assert box.walk(f"/proc/self/task/1/fd/{folder}/x").target == "x"
    finally:
        os.close(folder)


def test_paths_outside_are_told_apart(box: Box) -> None:
    assert not box.walk("/usr/lib/x").inside
    assert box.walk("/usr/lib/x").escaped == "/usr/lib/x"
    assert box.walk("/dev/null").escaped == "/dev/null"

    through_link = box.walk("out/x")

    assert through_link.inside
    assert through_link.entries == [("/", "out")]
    assert through_link.escaped == "/usr/lib/x"
    assert through_link.target is None


def test_a_path_can_come_in_by_other_ways_than_the_real_name(box: Box) -> None:
    (box.root.parent / "side").symlink_to(box.root / "z")
    (box.root.parent / "twice").symlink_to("side")

    for path in ("side/x", "twice/x"):
        walk = box.walk(f"{box.root.parent}/{path}")

        assert walk.target == "d/x"
        assert walk.entries == [("/", "z"), ("/", "d"), ("d", "x")]


def test_where_a_path_comes_in_is_not_remembered_past_that(box: Box) -> None:
    (box.root.parent / "side").symlink_to(box.root / "z")
    assert box.walk(f"{box.root.parent}/side/x").target == "d/x"
    os.unlink("z")
    os.symlink("e", "z")

    assert box.walk(f"{box.root.parent}/side/x").entries[-1] == ("e", "x")


def test_a_link_outside_can_be_meant_itself(box: Box) -> None:
    (box.root.parent / "side").symlink_to(box.root / "x")

    assert box.walk(f"{box.root.parent}/side").target == "x"
    itself = box.walk(f"{box.root.parent}/side", follow=False)
    assert not itself.inside
    assert itself.escaped


def test_a_path_can_leave_and_come_back(box: Box) -> None:
    assert box.walk("../root/d/x").target == "d/x"
    assert box.walk("u").target == "x"
    assert box.walk(f"{box.root}/../root/./x").target == "x"
    os.chdir("/")
    assert box.walk(str(box.root)[1:] + "/x").target == "x"
    assert box.walk("usr/lib").escaped == "/usr/lib"


def test_random_paths_mean_what_the_kernel_says(box: Box) -> None:
    generator = random.Random(1)
    parts = ("d", "s", "e", "x", "z", "w", "k", "a", "o", "t", "u", "..", ".", "", "q")
    starts = ("", "", f"{box.root}/", "/proc/self/cwd/", f"{box.root.parent}/./root/")
    folders = [box.root, box.root / "d", box.root / "d/s"]
    for _ in range(4000):
        os.chdir(generator.choice(folders))
        path = "/".join(generator.choices(parts, k=generator.randint(1, 5)))
        path = generator.choice(starts) + path.lstrip("/")
        if not path:
            continue
        follow = generator.random() < 0.5
        walk = box.walk(path, follow=follow)
        wrong, status = ask_kernel(path, follow=follow)
        if walk.escaped:
            # How a path fails outside does not matter.
            assert status is None or box.names.find(status) is None, path
        elif status is None:
            assert (walk.error or errno.ENOENT) == wrong, path
            assert walk.status is None or walk.error, path
        else:
            assert walk.error == 0, path
            assert walk.status is not None, path
            assert walk.status.st_ino == status.st_ino, path
            assert walk.target == box.names.find(status), path


def test_a_folder_can_be_the_root_of_all_that_is_looked_up_from_it(box: Box) -> None:
    base = str(box.root / "d")
    (box.root / "d/up").symlink_to("/../s/../x")
    box.scan()

    for path in ("x", "/x", "../x", "s/../../x", "up", "../up"):
        walk = box.walk(path, base=base, bounds=Bounds.ROOT)

        assert walk.target == "d/x", path
        assert "d" not in walk.upward, path


@pytest.mark.parametrize("bounds", [Bounds.BENEATH, Bounds.ROOT])
def test_random_paths_with_bounds_mean_what_the_kernel_says(
    box: Box, bounds: Bounds
) -> None:
    generator = random.Random(3)
    parts = ("d", "s", "e", "x", "z", "w", "k", "a", "o", "t", "u", "..", ".", "", "q")
    folders = [box.root, box.root / "d", box.root / "d/s"]
    for _ in range(2000):
        os.chdir(generator.choice(folders))
        path = "/".join(generator.choices(parts, k=generator.randint(1, 5)))
        follow = generator.random() < 0.5
        if not path:
            continue
        walk = box.walk(path, follow=follow, bounds=bounds)
        wrong, status = ask_kernel_in_bounds(path, bounds, follow=follow)

        assert not walk.escaped, path
        if status is None:
            assert (walk.error or errno.ENOENT) == wrong, path
            assert walk.status is None or walk.error, path
        else:
            assert walk.error == 0, path
            assert walk.target == box.names.find(status), path


def test_a_known_folder_gives_what_a_lookup_from_the_top_finds(box: Box) -> None:
    generator = random.Random(2)
    parts = ("d", "s", "e", "x", "z", "a", "..", ".", "", "q")
    for _ in range(2000):
        path = "/".join(generator.choices(parts, k=generator.randint(1, 4)))
        path = f"{box.root}/{path}"
        follow = generator.random() < 0.5

        walk = box.walk(path, follow=follow)

        fresh = Resolver(str(box.root))
        base = f"/proc/{os.getpid()}/cwd"
        anew = fresh.walk(box.names, os.getpid(), base, path, follow=follow)
        assert walk == anew, path


def test_a_folder_is_forgotten_as_an_entry_on_the_way_is_removed(box: Box) -> None:
    path = f"{box.root}/d/s/new"
    assert box.walk(path).parent == "d/s"

    os.rename(box.root / "d", box.root / "was")
    os.symlink("was", box.root / "d")
    box.resolver.removed("e", "d")
    box.resolver.removed("/", "d")

    walk = box.walk(path)
    assert walk.parent == "d/s"
    assert walk.entries == [("/", "d"), ("/", "was"), ("d", "s"), ("d/s", "new")]


def test_a_folder_is_forgotten_with_the_names_of_its_execution(box: Box) -> None:
    path = f"{box.root}/d/new"
    assert box.walk(path).parent == "d"
    os.rename(box.root / "d", box.root / "was")
    box.names = Names()
    box.scan()

    assert box.walk(path).error == errno.ENOENT


def ask_kernel(path: str, *, follow: bool) -> tuple[int, os.stat_result | None]:
    """Return the error and the status that the kernel gives for a path."""
    try:
        return 0, os.stat(path, follow_symlinks=follow)
    except OSError as error:
        return error.errno or 0, None


def ask_kernel_in_bounds(
    path: str, bounds: Bounds, *, follow: bool
) -> tuple[int, os.stat_result | None]:
    """Return the same for a path that may not leave the working directory."""
    resolve = {Bounds.BENEATH: 0x08, Bounds.ROOT: 0x10}[bounds]
    flags = os.O_PATH | (0 if follow else os.O_NOFOLLOW)
    how = struct.pack("=3Q", flags, 0, resolve)
    try:
        number = call("openat2", CWD, path.encode(), how, len(how))
    except OSError as error:
        return error.errno or 0, None
    try:
        return 0, os.fstat(number)
    finally:
        os.close(number)
