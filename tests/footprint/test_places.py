"""Guards what lookups that find nothing read, and what steps change at a place.

docs/conflicts.md has the reasons. What is dependent is run on the real kernel in both
orders by `test_pitfalls.py`, and all orders of the smallest such programs by
`tests/orders/test_small_programs.py`.
"""

from __future__ import annotations

import errno
import os
import struct
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.footprint.rows import (
    EXCHANGE,
    RW,
    Row,
    check,
    in_turn,
    rename,
    run,
    with_open,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import Resource

pytestmark = pytest.mark.processes

OF_PLACES = ("missing", "way", "named")


def here(path: str) -> str:
    """Return an absolute path of something in the box."""
    return f"{os.getcwd()}/{path}"


NOTHING = (
    Row("stat", lambda: os.stat("d/q"), "newfstatat", -errno.ENOENT, "f(.,d/q)"),
    Row("on the way", lambda: os.stat("q/r"), "newfstatat", -2, "f(.,q/r)"),
    Row("further on", lambda: os.stat("d/q/r/t"), "newfstatat", -2, "f(.,d/q/r/t)"),
    Row("dots", lambda: os.stat("./q/./r/"), "newfstatat", -2, "f(.,q/r)"),
    Row("access", lambda: os.access("d/q", os.R_OK), "access", -2, "f(.,d/q)"),
    Row("readlink", lambda: os.readlink("d/q"), "readlink", -2, "f(.,d/q)"),
    Row("open", lambda: os.open("q/x", RW), "openat", -2, "f(.,q/x)"),
    Row("unlink", lambda: os.unlink("d/q"), "unlink", -2, "f(.,d/q)"),
    Row("rmdir", lambda: os.rmdir("q/r"), "rmdir", -2, "f(.,q/r)"),
    Row("chmod", lambda: os.chmod("q/r", 0o700), "chmod", -2, "f(.,q/r)"),
    Row(
        "an absolute path",
        lambda: os.stat(here("q/r")),
        "newfstatat",
        -errno.ENOENT,
        "a($SANDBOX) e($SANDBOX,box) f(.,q/r)",
    ),
    # Where it is not plain which path it is, all names that were looked up are read.
    Row("in the box", lambda: os.stat("q"), "newfstatat", -2, "e(.,q)"),
    Row(
        "through a link",
        lambda: os.stat("z/q"),
        "newfstatat",
        -errno.ENOENT,
        "e(.,z) e(.,d) a(d) e(d,q)",
    ),
    Row(
        "back on the way",
        lambda: os.stat("d/../q/r"),
        "newfstatat",
        -errno.ENOENT,
        "e(.,d) a(d) p(d) e(.,q)",
    ),
    Row("back behind", lambda: os.stat("q/../x"), "newfstatat", -2, "e(.,q)"),
    Row(
        "from another folder",
        lambda: in_turn(lambda: os.chdir("d"), lambda: os.stat("q/r")),
        "newfstatat",
        -errno.ENOENT,
        "a(d) e(d,q)",
    ),
    # What would make something does so as soon as there is a folder.
    Row("to be made", lambda: os.open("q/x", RW | os.O_CREAT), "openat", -2, "e(.,q)"),
    Row("a folder", lambda: os.mkdir("q/r"), "mkdir", -2, "e(.,q)"),
    Row("a new name", lambda: os.rename("x", "q/r"), "rename", -2, "e(.,q)"),
    Row("no folder", lambda: os.stat("x/q"), "newfstatat", -errno.ENOTDIR, "e(.,x)"),
)


def id_of(row: Row | Changed) -> str:
    return row.name.replace(" ", "-")


@pytest.mark.parametrize("row", NOTHING, ids=id_of)
def test_a_lookup_that_finds_nothing_reads_its_path(row: Row) -> None:
    check(row)


def test_it_reads_all_that_can_change_what_its_path_leads_to() -> None:
    step = run(Row("", lambda: os.stat("d/q/r"), "newfstatat", -errno.ENOENT, ""))

    assert {shown(each) for each in step.footprint.reads if each.kind in OF_PLACES} == {
        "missing d/q/r",
        *("way ", "way d", "way d/q", "way d/q/r"),
        *("named d", "named q", "named r"),
    }


class Changed(NamedTuple):
    """A call, and the places that it changes."""

    name: str
    act: Callable[[], object]
    call: str
    places: set[str]


def made_with(mask: int) -> None:
    os.umask(mask)
    os.mkdir("d/q")


def made_with_a_list() -> None:
    """Make a folder where the folder above says who else is kept out of it."""
    entries = [(1, 7, -1), (2, 0, 5), (4, 7, -1), (16, 7, -1), (32, 7, -1)]
    text = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHi", tag, may, who) for tag, may, who in entries
    )
    try:
        os.setxattr("d", "system.posix_acl_default", text)
    except OSError as error:
        pytest.skip(f"no access lists: {error}")
    os.mkdir("d/q")


CHANGED = (
    Changed("a folder", lambda: os.mkdir("d/q"), "mkdir", {"missing d/q"}),
    Changed(
        "a folder by its whole path",
        lambda: os.mkdir(here("d/q")),
        "mkdir",
        {"missing d/q"},
    ),
    Changed("a folder for its owner", lambda: made_with(0o077), "mkdir", {"way d/q"}),
    Changed("a folder for nobody", lambda: os.mkdir("q", 0), "mkdir", {"way q"}),
    Changed("a folder with a list", made_with_a_list, "mkdir", {"way d/q"}),
    Changed("a folder through a link", lambda: os.mkdir("z/q"), "mkdir", {"named q"}),
    Changed(
        "a folder from another",
        lambda: in_turn(lambda: os.chdir("d"), lambda: os.mkdir("q")),
        "mkdir",
        {"named q"},
    ),
    Changed("a folder removed", lambda: os.rmdir("n"), "rmdir", {"way n"}),
    Changed("a file", lambda: os.open("d/q", RW | os.O_CREAT), "openat", {"way d/q"}),
    Changed("a link", lambda: os.symlink("d", "d/q"), "symlink", {"way d/q"}),
    Changed(
        "a file through a dangling link",
        lambda: os.open("k", RW | os.O_CREAT),
        "openat",
        {"named q"},
    ),
    Changed("a second name", lambda: os.link("x", "d/q"), "link", {"way d/q"}),
    Changed("a file removed", lambda: os.unlink("d/x"), "unlink", {"way d/x"}),
    Changed(
        "a file renamed",
        lambda: os.rename("x", "d/x"),
        "rename",
        {"way x", "way d/x"},
    ),
    Changed(
        "two exchanged",
        lambda: rename("d", "e", EXCHANGE),
        "renameat2",
        {"way d", "way e"},
    ),
    Changed(
        "a folder renamed from another",
        lambda: in_turn(lambda: os.chdir("d"), lambda: os.rename("s", "../q")),
        "rename",
        {"named s", "named q"},
    ),
    Changed("a folder's mode", lambda: os.chmod("d/s", 0o700), "chmod", {"way d/s"}),
    Changed("a folder's mode by a link", lambda: os.chmod("z", 0), "chmod", {"way "}),
    Changed(
        "a folder's mode by its descriptor",
        lambda: with_open("d", lambda n: os.fchmod(n, 0), flags=os.O_RDONLY),
        "fchmod",
        {"way "},
    ),
    Changed("a folder's owner", lambda: os.chown("d", 5, 5), "chown", {"way d"}),
    Changed(
        "a folder's attribute",
        lambda: os.setxattr("d", "user.a", b""),
        "setxattr",
        {"way d"},
    ),
    Changed("the box's mode", lambda: os.chmod(".", 0o700), "chmod", set()),
    Changed("a file's mode", lambda: os.chmod("x", 0o600), "chmod", set()),
    Changed(
        "a file's mode by its descriptor",
        lambda: with_open("x", lambda n: os.fchmod(n, 0o600)),
        "fchmod",
        set(),
    ),
)


@pytest.mark.parametrize("each", CHANGED, ids=id_of)
def test_a_change_of_an_entry_is_one_of_its_place(each: Changed) -> None:
    step = run(Row(each.name, each.act, each.call, 0, ""))

    writes = step.footprint.writes
    assert not step.failed
    assert {shown(w.resource) for w in writes if w.resource.kind in OF_PLACES} == (
        each.places
    )
    # Who changes a place does not look at what was there.
    assert {w.label for w in writes if w.resource.kind in OF_PLACES} <= {"m"}


def shown(resource: Resource) -> str:
    """Return a place in short."""
    assert resource.object == "."
    return f"{resource.kind} {resource.name}"
