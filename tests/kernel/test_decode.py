"""Each call decodes to what a C program put into it, and to what it got back.

`calls.c` has the calls and what they should decode to. It runs under a tracer of its
own, so that this says nothing of the engine and depends on nothing of it.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import subprocess
from hashlib import blake2b
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING

import pytest

from racecheck.kernel.call import Call, transfer
from racecheck.kernel.decode import decode
from racecheck.kernel.numbers import MACHINES, numbers
from racecheck.kernel.outputs import outputs
from racecheck.kernel.rows import ROWS
from racecheck.kernel.table import table
from racecheck.model.kind import Kind
from racecheck.model.step import Buffer, Value, show_result
from tests.kernel.tracer import stops

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    platform.machine() not in MACHINES, reason="no call table for this machine"
)

_SOURCE = Path(__file__).with_name("calls.c")
_CASES = {
    title: (set(re.findall(r"\bsys\((\w+)", body)), re.findall(r"//= (.*)", body))
    for title, body in re.findall(
        r'CASE\("(.*?)"\)(.*?)(?=CASE|\Z)', _SOURCE.read_text(), flags=re.DOTALL
    )
}
"""What each case calls, and how its calls should be shown."""

# Ends that only a scheduler brings about, and kinds that have no call of their own.
_NO_CALL = {Kind.RETURN, Kind.CRASH, Kind.START, Kind.WAKE, Kind.STALL}


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All cases that this machine has the calls for, as one program."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("calls")
    # The numbers are racecheck's, since the C library's may be older than the kernel.
    (folder / "numbers.h").write_text(
        "".join(f"#define NR_{name} {number}\n" for name, number in numbers().items())
    )
    result = folder / "calls"
    subprocess.run(
        [compiler, "-O1", "-w", f"-I{folder}", "-o", result, _SOURCE], check=True
    )
    return result


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """The folder that `calls.c` describes."""
    box = tmp_path / "box"
    for folder in (box, box / "folder", box / "empty"):
        folder.mkdir()
        folder.chmod(0o755)
    for file in (box / "file", box / "folder" / "inner"):
        file.write_text("hello")
        file.chmod(0o644)
    (box / "link").symlink_to("file")
    return box


def _run(program: Path, box: Path, title: str) -> Iterator[tuple[Call, int, str]]:
    """Run a case; give each call with its result, and both as one line."""
    call: Call | None = None
    for stop in stops(program, str(box), title):
        if stop.result is None:
            row = table().find(stop.number, stop.raw)
            call = None if row is None else decode(row, stop.raw, stop.memory)
            if call is not None and call.row.kind is Kind.EXIT:
                yield call, 0, f"{call.row.name}({_show(call.args)}) = ?"
        elif call is not None:
            found = outputs(call, stop.result, stop.memory)
            result = show_result(stop.result)
            if call.row.kind in {Kind.MAP, Kind.LISTING, Kind.GETCWD}:
                # Addresses, and lengths that hang on the file system or the folder.
                result = re.sub(r"\d+", "N", result)
            line = f"{call.row.name}({_show(call.args)}) = {result} {_show(found)}"
            yield call, stop.result, line.strip()


def _show(values: dict[str, Value]) -> str:
    return " ".join(f"{name}={_show_value(value)}" for name, value in values.items())


def _show_value(value: Value) -> str:
    if isinstance(value, Buffer):
        return repr(value.head)[1:]
    return "-" if value is None else str(value).replace("\n", r"\n")


@pytest.mark.compiler
@pytest.mark.processes
@pytest.mark.parametrize("title", _CASES)
def test_calls_decode_to_what_the_program_wrote(
    title: str, program: Path, box: Path
) -> None:
    called, lines = _CASES[title]
    if missing := called - numbers().keys():
        pytest.skip(f"{platform.machine()} has no {', '.join(missing)}")
    if any("=user." in line for line in lines):
        _need_attributes(box)
    expected = [
        line.format(uid=os.getuid(), gid=os.getgid(), box=box) for line in lines
    ]

    # What follows is the end of the program, or another one after an exec.
    found = list(_run(program, box, title))[: len(expected)]

    if any(result == -errno.ENOSYS for _, result, _ in found):
        pytest.skip(f"this kernel lacks one of {', '.join(called)}")
    assert [line for _, _, line in found] == expected
    assert {call.row.kind for call, _, _ in found} == {title.partition(":")[0]}


def _need_attributes(box: Path) -> None:
    try:
        os.setxattr(box, "user.racecheck", b"")
    except OSError:
        pytest.skip(f"no user attributes on the file system of {box}")


def test_each_row_has_a_case() -> None:
    called = set().union(*(names for names, _ in _CASES.values()))

    assert {row.name for row in ROWS} == called


@pytest.mark.parametrize("kind", sorted(set(Kind) - _NO_CALL))
def test_each_kind_has_a_success_and_two_failures(kind: Kind) -> None:
    lines = [
        line
        for title, (_, lines) in _CASES.items()
        if title.startswith(f"{kind}:")
        for line in lines
    ]
    failures = [line for line in lines if ") = E" in line]

    assert len(lines) > len(failures)
    # Nothing can go wrong with the end of a process.
    assert len(failures) >= 2 or kind is Kind.EXIT


class Fake:
    """Memory made of pieces at chosen addresses, with a count of the reads."""

    def __init__(self, pieces: dict[int, bytes]) -> None:
        self.pieces = pieces
        self.reads = 0

    def read(self, address: int, length: int) -> bytes:
        self.reads += 1
        for start, data in self.pieces.items():
            if start <= address < start + len(data):
                return data[address - start : address - start + length]
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))

    def string(self, address: int) -> str:
        return self.read(address, 4096).partition(b"\0")[0].decode()


def _decode(memory: Fake, name: str, *raw: int) -> Call:
    rows = (row for row in ROWS if row.name == name and row.applies((*raw, *[0] * 6)))
    return decode(next(rows), (*raw, *[0] * (6 - len(raw))), memory)


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def test_a_large_write_is_hashed_whole_from_one_read() -> None:
    data = os.urandom(4 << 20)
    memory = Fake({1 << 32: data})

    call = _decode(memory, "write", 3, 1 << 32, len(data))

    assert call.args["data"] == Buffer(len(data), _hash(data), data[:64])
    assert memory.reads == 1
    assert transfer(call) == len(data)


def test_a_write_of_more_than_there_is_decodes_without_its_data() -> None:
    call = _decode(Fake({4096: b"short"}), "write", 3, 4096, 6)

    assert call.args == {"fd": 3, "data": None}
    assert call.bad_address
    assert call.number("count") == 6


def test_a_write_moves_no_more_than_the_kernel_does() -> None:
    # Without any memory, so that nothing is really read.
    call = _decode(Fake({}), "write", 3, 0, (1 << 64) - 1)

    assert transfer(call) < 1 << 31


def test_pieces_of_a_vector_are_one_buffer_both_ways() -> None:
    memory = Fake({8: pack("=4Q", 100, 3, 200, 5), 100: b"abc", 200: b"defgh"})

    written = _decode(memory, "writev", 3, 8, 2)
    read = _decode(memory, "readv", 3, 8, 2)

    assert written.args["data"] == Buffer(8, _hash(b"abcdefgh"), b"abcdefgh")
    assert transfer(written) == written.number("count") == read.args["count"] == 8
    assert outputs(read, 4, memory)["data"] == Buffer(4, _hash(b"abcd"), b"abcd")


def test_a_copy_moves_what_it_asks_for_and_a_read_moves_nothing() -> None:
    assert transfer(_decode(Fake({}), "sendfile", 4, 3, 0, 77)) == 77
    assert transfer(_decode(Fake({}), "read", 3, 8, 77)) == 0
    assert transfer(_decode(Fake({}), "ioctl", 4, 0x40049409, 3)) == 0


@pytest.mark.parametrize(("name", "place"), [("getdents", 18), ("getdents64", 19)])
def test_names_are_in_the_order_of_the_listing_without_the_dots(
    name: str, place: int
) -> None:
    entries = b""
    for number, entry in enumerate([b"zebra", b".", b"..", b"a b", b"\xff"], 1):
        size = (place + len(entry) + 8) // 8 * 8
        head = pack("=QQH", number, 99, size).ljust(place, b"\4")
        entries += (head + entry).ljust(size, b"\0")
    memory = Fake({64: entries})
    call = _decode(memory, name, 4, 64, 4096)

    found = outputs(call, len(entries), memory)

    assert found == {"names": "zebra\na b\n\udcff"}


def test_names_of_attributes_are_told_apart() -> None:
    memory = Fake({8: b"file\0", 64: b"user.a\0user.b\0"})
    call = _decode(memory, "listxattr", 8, 64, 100)

    assert outputs(call, 14, memory) == {"names": "user.a\nuser.b"}


def test_the_mode_of_an_open_that_creates_nothing_is_left_out() -> None:
    memory = Fake({8: b"file\0"})

    assert "mode" not in _decode(memory, "open", 8, os.O_RDWR, 0o7654321).args
    assert _decode(memory, "open", 8, os.O_CREAT, 0o600).args["mode"] == "0600"
    assert _decode(memory, "open", 8, os.O_TMPFILE, 0o600).args["mode"] == "0600"
    assert "mode" not in _decode(memory, "open", 8, os.O_DIRECTORY, 0o600).args


def test_older_calls_have_the_numbers_that_younger_ones_are_told() -> None:
    memory = Fake({8: b"file\0"})

    assert _decode(memory, "open", 8, 2).number("dirfd") == -100
    assert _decode(memory, "rename", 8, 8).number("newdirfd") == -100
    assert _decode(memory, "creat", 8, 0).number("flags") == (
        os.O_CREAT | os.O_WRONLY | os.O_TRUNC
    )
    assert _decode(memory, "lstat", 8, 8).number("flags") == 0x100
    assert _decode(memory, "stat", 8, 8).number("flags") == 0
    assert _decode(memory, "rmdir", 8).number("flags") == 0x200


def test_numbers_are_taken_as_the_kernel_takes_them() -> None:
    memory = Fake({8: pack("=3Q", os.O_RDONLY, 0, 0), 64: b"file\0"})
    wide = (7 << 32) | 3

    assert _decode(memory, "close", wide).number("fd") == 3
    assert _decode(memory, "openat", -100, 64, 0).number("dirfd") == -100
    assert _decode(memory, "openat", 0xFFFFFF9C, 64, 0).args["dirfd"] == "cwd"
    assert _decode(memory, "openat2", 5, 64, 8, 24).number("flags") == os.O_RDONLY
    assert _decode(memory, "lseek", 3, (1 << 64) - 2, 0).number("offset") == -2


@pytest.mark.parametrize("name", ["dirfd", "flags", "whence"])
def test_a_number_that_a_call_does_not_have_is_a_key_error(name: str) -> None:
    # The flags of openat2 are where nothing could be read.
    call = _decode(Fake({64: b"file\0"}), "openat2", 5, 64, 8, 24)
    if name == "dirfd":
        call = _decode(Fake({}), "close", 3)

    with pytest.raises(KeyError):
        call.number(name)


@pytest.mark.parametrize(
    ("arm", "layout", "fields"),
    [
        (False, "=QQQIII4xQq", (9, 9, 2, 0o100640, 7, 8, 9, 5)),
        (True, "=QQIIIIQ8xq", (9, 9, 0o100640, 2, 7, 8, 9, 5)),
    ],
    ids=["x86_64", "aarch64"],
)
def test_the_status_of_a_file_is_laid_out_as_on_the_machine(
    monkeypatch: pytest.MonkeyPatch, *, arm: bool, layout: str, fields: tuple[int, ...]
) -> None:
    monkeypatch.setattr("racecheck.kernel.outputs.ARM", arm)
    memory = Fake({8: pack(layout, *fields)})

    found = outputs(_decode(memory, "fstat", 3, 8), 0, memory)

    assert found == {
        "type": "file",
        "permissions": "0640",
        "size": 5,
        "nlink": 2,
        "uid": 7,
        "gid": 8,
    }


def test_who_runs_it_is_not_told_as_the_owner_of_a_file() -> None:
    fields = (9, 9, 2, 0o100640, os.geteuid(), os.getegid(), 9, 5)
    memory = Fake({8: pack("=QQQIII4xQq", *fields)})

    found = outputs(_decode(memory, "fstat", 3, 8), 0, memory)

    assert set(found) == {"type", "permissions", "size", "nlink"}


def test_what_a_call_left_in_memory_that_is_gone_is_nothing() -> None:
    call = _decode(Fake({}), "read", 3, 4096, 10)

    assert outputs(call, 10, Fake({})) == {}
    assert outputs(call, -errno.EIO, Fake({4096: b"x" * 10})) == {}
