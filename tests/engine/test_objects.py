"""Guards which object a call is about, however a program reaches it.

An inode is named by the step that made it, such as `one#3`, or by its path at the
start. Everything that is concluded about an execution hangs on these names.
"""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from racecheck.scenario import Scenario, command
from tests.engine.lab import Named, run, watch

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.processes


def scenario(*actors: Callable[..., object]) -> Scenario:
    """Return actors called `one`, `two` and so on, beside a few files."""
    made = Scenario("objects")

    @made.setup
    def setup(box: Path) -> None:
        (box / "folder").mkdir()
        (box / "folder" / "file").write_text("file")
        (box / "old").write_text("old")
        (box / "link").symlink_to("folder")
        (box / "whole").symlink_to(box / "folder" / "file")

    for name, actor in zip(("one", "two", "three"), actors, strict=False):
        made.actor(actor, name=name)
    return made


def opened(seen: list[Named], actor: str = "one") -> list[str]:
    """Return the inode behind each descriptor that an actor opened."""
    return [
        each.descriptors[actor][each.step.result]
        for each in seen
        if each.step.actor == actor and each.step.kind == "open"
    ]


def read_only(path: str | Path, dirfd: int | None = None) -> int:
    return os.open(path, os.O_RDONLY, dir_fd=dirfd)


# --- paths ----------------------------------------------------------------------------


def test_every_spelling_of_a_path_leads_to_one_inode() -> None:
    def one(box: Path) -> None:
        os.chdir(box / "folder")
        folder = read_only(box / "folder")
        parent = os.open(box, os.O_PATH)
        spellings: list[tuple[str | Path, int | None]] = [
            (box / "folder" / "file", None),
            (f"{box}//folder/./../folder/file", None),
            ("file", None),
            ("../folder/file", None),
            ("/proc/self/cwd/file", None),
            (f"/proc/self/root{box}/folder/file", None),
            ("file", folder),
            ("../link/file", folder),
            ("folder/file", parent),
            (box / "link" / "file", None),
            (box / "whole", None),
            (f"/proc/self/fd/{folder}/file", None),
            (f"/dev/fd/{parent}/link/file", None),
        ]
        for path, dirfd in spellings:
            os.close(read_only(path, dirfd))

    names = opened(watch(scenario(one)))

    assert names == ["folder", ".", *["folder/file"] * 13]


def test_paths_are_shown_from_the_box_on_wherever_the_actor_stands() -> None:
    def one(box: Path) -> None:
        os.stat(box / "old")
        os.stat("old")
        folder = read_only(box / "folder")
        os.stat("file", dir_fd=folder)
        os.chdir("folder")
        os.stat("file")
        os.stat("../old")
        os.chdir("..")
        os.fchdir(folder)
        os.stat("file")
        os.stat(Path.home())
        os.stat(os.environ["TMPDIR"])

    assert [step.args["path"] for step in run(scenario(one)).of("one", "stat")] == [
        "old",
        "old",
        "folder/file",
        "folder/file",
        "folder/../old",
        "folder/file",
        "~",
        "$TMPDIR",
    ]


def test_home_and_the_folder_for_temporary_files_belong_to_the_sandbox() -> None:
    def one() -> None:
        (Path.home() / ".cache").mkdir()
        Path(os.environ["TMPDIR"], "temp").touch()

    seen = run(scenario(one))

    assert [step.args["path"] for step in seen.of("one", "mkdir", "open")] == [
        "~/.cache",
        "$TMPDIR/temp",
    ]


def test_a_link_at_the_end_is_followed_only_by_calls_that_do() -> None:
    def one(box: Path) -> None:
        os.close(read_only(box / "whole"))
        os.close(os.open(box / "whole", os.O_PATH | os.O_NOFOLLOW))
        os.unlink(box / "whole")

    seen = watch(scenario(one))

    assert opened(seen) == ["folder/file", "whole"]
    assert "folder/file" in seen[-1].inodes.values()
    assert "whole" not in seen[-1].inodes.values()


def test_a_loop_of_links_and_a_path_through_a_file_lead_nowhere() -> None:
    def one(box: Path) -> None:
        (box / "loop").symlink_to("loop")
        for path in ("loop", "old/x", "missing/x", "old/"):
            with pytest.raises(OSError, match=r".*"):
                read_only(f"{box}/{path}")

    seen = run(scenario(one))

    assert seen.shown("one", "openat") == [
        "openat(cwd, loop, O_RDONLY|O_CLOEXEC) = ELOOP",
        "openat(cwd, old/x, O_RDONLY|O_CLOEXEC) = ENOTDIR",
        "openat(cwd, missing/x, O_RDONLY|O_CLOEXEC) = ENOENT",
        "openat(cwd, old/, O_RDONLY|O_CLOEXEC) = ENOTDIR",
    ]
    assert seen.trace.verdict == "passed"


def test_names_of_any_bytes_are_followed() -> None:
    odd = [
        b"a b",
        b"line\nbreak",
        b"\xff\xfe",
        "ü€😀".encode(),
        b"n" * 255,
        b"-",
        b"(deleted)",
    ]

    def one(box: Path) -> None:
        for name in odd:
            path = os.fsencode(box) + b"/" + name
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
            os.close(os.open(path, os.O_RDONLY))

    names = opened(watch(scenario(one)))

    assert names[::2] == names[1::2]
    assert len(set(names)) == len(odd)


# --- names ----------------------------------------------------------------------------


def test_an_inode_is_named_by_the_step_that_made_it() -> None:
    def one(box: Path) -> None:
        os.close(os.open(box / "new", os.O_WRONLY | os.O_CREAT, 0o644))  # 0, 1
        os.mkdir(box / "made")  # 2
        os.symlink("new", box / "made" / "link")  # 3
        os.mkfifo(box / "made" / "pipe")  # 4
        os.link(box / "new", box / "other")
        os.rename(box / "new", box / "made" / "moved")
        os.rename(box / "made", box / "folder" / "made")
        os.close(os.open(box / "old", os.O_WRONLY | os.O_CREAT | os.O_TRUNC))

    last = watch(scenario(one))[-1]

    assert last.inodes == {
        "folder": "folder",
        "folder/file": "folder/file",
        "folder/made": "one#2",
        "folder/made/link": "one#3",
        "folder/made/moved": "one#0",
        "folder/made/pipe": "one#4",
        "link": "link",
        "old": "old",
        "other": "one#0",
        "whole": "whole",
    }


def test_a_file_without_a_name_is_named_by_its_step_too() -> None:
    def one(box: Path) -> None:
        descriptor = os.open(box, os.O_TMPFILE | os.O_WRONLY, 0o644)
        os.write(descriptor, b"text")
        # Any folder as `src_dir_fd` makes Python follow the link of /proc.
        os.link(f"/proc/self/fd/{descriptor}", box / "named", src_dir_fd=descriptor)

    seen = watch(scenario(one))

    assert opened(seen) == ["one#0"]
    assert seen[-1].inodes["named"] == "one#0"


def test_the_actor_that_comes_second_to_create_a_file_opens_that_of_the_first() -> None:
    def create(box: Path) -> None:
        os.open(box / "new", os.O_WRONLY | os.O_CREAT, 0o644)

    # Both stand before their open, when the file is not there yet.
    seen = watch(scenario(create, create), "one to open", "two to open", "two", "one")

    assert opened(seen, "two") == ["two#0"]
    assert opened(seen, "one") == ["two#0"]
    assert seen[-1].inodes["new"] == "two#0"


def test_a_call_means_what_is_there_when_it_is_made_and_not_when_it_was_entered() -> (
    None
):
    def one(box: Path) -> None:
        read_only(box / "old")

    def two(box: Path) -> None:
        os.rename(box / "folder" / "file", box / "old")

    seen = watch(scenario(one, two), "one to open", "two to end")

    assert opened(seen) == ["folder/file"]


def test_a_name_is_not_handed_on_with_the_number_of_an_inode() -> None:
    def one(box: Path) -> None:
        for _ in range(3):
            os.close(os.open(box / "new", os.O_WRONLY | os.O_CREAT, 0o644))
            os.unlink(box / "new")

    def on(workdir: Path | None) -> list[str]:
        return opened(watch(scenario(one), workdir=workdir))

    # Disks give the number of a removed file to the next one, tmpfs does not.
    assert on(None) == on(Path("/var/tmp")) == ["one#0", "one#3", "one#6"]


# --- descriptors ----------------------------------------------------------------------


def test_copies_of_a_descriptor_lead_to_the_same_file() -> None:
    def one(box: Path) -> None:
        first = os.open(box / "new", os.O_RDWR | os.O_CREAT, 0o644)
        copies = [
            os.dup(first),
            os.dup2(first, 50),
            os.dup2(first, 51, inheritable=False),
        ]
        copies.append(fcntl.fcntl(first, fcntl.F_DUPFD, 60))
        copies.append(fcntl.fcntl(first, fcntl.F_DUPFD_CLOEXEC, 70))
        os.close(first)
        for copy in copies:
            os.write(copy, b"x")

    seen = run(scenario(one))

    assert [step.args["file"] for step in seen.of("one", "write")] == ["new"] * 5
    assert [step.args["oldfile"] for step in seen.of("one", "dup")] == ["new"] * 5
    assert seen.files["new"] == "xxxxx"


def test_a_number_leads_to_what_was_opened_under_it_last() -> None:
    def one(box: Path) -> None:
        first = read_only(box / "old")
        second = read_only(box / "folder" / "file")
        os.dup2(second, first)
        os.read(first, 9)
        os.close(first)
        third = read_only(box / "old")
        assert third == first
        os.read(third, 9)

    reads = run(scenario(one)).of("one", "read")

    assert [step.args["file"] for step in reads] == ["folder/file", "old"]


def test_a_range_of_descriptors_can_be_closed() -> None:
    def one(box: Path) -> None:
        kept = read_only(box / "old")
        for _ in range(4):
            read_only(box / "folder" / "file")
        os.closerange(kept + 1, 1000)
        os.read(kept, 9)

    last = watch(scenario(one), "one to return")[-3]

    assert list(last.descriptors["one"].values()) == ["old"]


def test_descriptors_outside_the_box_are_no_steps() -> None:
    def one(box: Path) -> None:
        read, write = os.pipe()
        os.write(write, b"x")
        os.read(read, 1)
        here, there = socket.socketpair()
        here.send(b"y")
        there.recv(1)
        os.close(read_only("/etc/passwd"))
        os.stat(box / "old")

    seen = run(scenario(one))

    assert [step.kind for step in seen.trace.steps] == ["stat", "return", "exit"]
    assert seen.trace.verdict == "passed"


def test_a_descriptor_still_leads_to_its_file_when_another_actor_renamed_it() -> None:
    def one(box: Path) -> None:
        descriptor = os.open(box / "new", os.O_RDWR | os.O_CREAT, 0o644)
        os.write(descriptor, b"text")
        os.close(read_only(f"/proc/self/fd/{descriptor}"))

    def two(box: Path) -> None:
        os.rename(box / "new", box / "folder" / "renamed")

    both = scenario(one, two)
    seen = run(both, "one to write", "two to end")
    names = watch(both, "one to write", "two to end")

    assert seen.of("one", "write")[0].args["file"] == "new"
    assert seen.files["folder/renamed"] == "text"
    assert opened(names) == ["one#0", "one#0"]


def test_a_descriptor_still_leads_to_its_file_when_another_actor_removed_it() -> None:
    def one(box: Path) -> str:
        descriptor = os.open(box / "new", os.O_RDWR | os.O_CREAT, 0o644)
        os.write(descriptor, b"mine")
        again = read_only(f"/proc/self/fd/{descriptor}")
        return os.read(again, 9).decode()

    def two(box: Path) -> None:
        os.unlink(box / "new")
        (box / "new").write_text("other")

    both = scenario(one, two)
    seen = run(both, "one to write", "two to end")
    names = watch(both, "one to write", "two to end")

    assert seen.operation("one").value == "mine"
    assert seen.files["new"] == "other"
    assert opened(names) == ["one#0", "one#0"]
    assert opened(names, "two") == ["two#1"]
    assert len(seen.of("one", "read")) == 1


def test_a_folder_still_is_where_paths_start_when_another_actor_moved_it() -> None:
    def one(box: Path) -> None:
        folder = read_only(box / "folder")
        os.chdir(box / "folder")
        os.close(read_only("file", folder))
        os.close(read_only("file"))

    def two(box: Path) -> None:
        os.rename(box / "folder", box / "moved")
        os.mkdir(box / "folder")
        (box / "folder" / "file").write_text("another")

    seen = watch(scenario(one, two), "one to chdir", "one", "two to end")

    assert opened(seen) == ["folder", "folder/file", "folder/file"]


def test_an_executed_program_inherits_descriptors() -> None:
    def one(box: Path) -> None:
        for number, name in ((7, "kept"), (8, "closed")):
            descriptor = os.open(box / name, os.O_WRONLY | os.O_CREAT, 0o644)
            os.dup2(descriptor, number, inheritable=number == 7)
            os.close(descriptor)
        script = "echo text >&7; echo text >&8"
        os.execvp("sh", ["sh", "-c", script])  # noqa: S606  it is what inherits

    seen = run(scenario(one))

    (write,) = seen.of("one", "write")
    assert write.args["file"] == "kept"
    assert (seen.files["kept"], seen.files["closed"]) == ("text\n", "")


def test_a_child_inherits_descriptors_and_has_its_own_copies() -> None:
    def one(box: Path) -> None:
        descriptor = os.open(box / "new", os.O_WRONLY | os.O_CREAT, 0o644)
        child = os.fork()
        if child == 0:
            os.write(descriptor, b"child ")
            os.close(descriptor)
            os._exit(0)
        os.waitpid(child, 0)
        os.write(descriptor, b"parent")

    seen = run(scenario(one))

    assert [(step.task, step.args["file"]) for step in seen.of("one", "write")] == [
        (1, "new"),
        (0, "new"),
    ]
    assert seen.files["new"] == "child parent"


def test_a_shell_redirects_into_files_of_the_box() -> None:
    made = Scenario("objects")
    made.actor(
        command(["sh", "-c", "cd {box}; echo one > f; echo two >> f"]), name="one"
    )

    seen = run(made)

    assert [step.args["file"] for step in seen.of("one", "write")] == ["f", "f"]
    assert seen.files == {"f": "one\ntwo\n"}
    assert seen.trace.verdict == "passed"


# --- texts ----------------------------------------------------------------------------


def test_no_step_tells_where_the_box_lies(tmp_path: Path) -> None:
    def one(box: Path) -> None:
        os.symlink(box / "old", box / "new")
        os.readlink(box / "new")
        os.getcwd()
        (box / "text").touch()
        os.path.realpath(box / "new")

    steps = run(scenario(one), workdir=tmp_path).trace.steps

    assert "racecheck-" not in repr([(step.args, step.outputs) for step in steps])
    assert str(tmp_path) not in repr([(step.args, step.outputs) for step in steps])
