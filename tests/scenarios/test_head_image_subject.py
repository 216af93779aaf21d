"""The head image: the reader says why it refuses, and the writers do as they say."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.head_image.geometry import FULL, SMALL, Geometry
from scenarios.head_image.image import Key, Refusal, read_head_image, validate
from scenarios.head_image.payload import build_image, pack_sections
from scenarios.head_image.temp_names import PATH_BUFFER_NBYTES, pid_temp, shared_temp
from scenarios.head_image.writers import (
    INPLACE,
    WRITERS,
    Writer,
    write_pid,
    write_shared,
)

KEY = Key("weights")
WHOLE = build_image(KEY)
PADDED = Geometry(rows=30, cols=7, tile_rows=30, tile_cols=7)

# These leave a lock or a temp file, need a folder, or are faulty without any race.
SPECIAL = {
    *("flock", "flock_inplace", "verify_first_locked", "link_kept", "folder"),
    *("skip_if_busy", "exists_first", "folder_locked", "rename_locked"),
}
PLAIN = {name: write for name, write in WRITERS.items() if name not in SPECIAL}
every_writer = pytest.mark.parametrize("write", PLAIN.values(), ids=list(PLAIN))
every_temp_writer = pytest.mark.parametrize("write", [write_pid, write_shared])


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@every_writer
@pytest.mark.parametrize("geometry", [SMALL, PADDED, FULL], ids=["small", "pad", "4M"])
def test_what_was_written_is_read_back(
    write: Writer, geometry: Geometry, tmp_path: Path
) -> None:
    path = tmp_path / "head.img"
    path.write_bytes(b"an older and longer file" * 50)

    assert write(path, pack_sections(KEY, geometry))

    assert read_head_image(path, KEY, geometry) == build_image(KEY, geometry)
    assert names_in(tmp_path) == ["head.img"]


@pytest.mark.parametrize(
    ("data", "refusal"),
    [
        (b"", Refusal.SHORT),
        (WHOLE[:127], Refusal.SHORT),
        (bytes(len(WHOLE)), Refusal.MAGIC),
        (WHOLE[:-1], Refusal.SIZE),
        (WHOLE + b"\0", Refusal.SIZE),
        (WHOLE[:-1] + bytes([WHOLE[-1] ^ 1]), Refusal.HASH),
        (build_image(Key("other")), Refusal.KEY),
        (build_image(KEY, PADDED), Refusal.GEOMETRY),
    ],
)
def test_the_reader_says_why_it_refuses(
    data: bytes, refusal: Refusal, tmp_path: Path
) -> None:
    path = tmp_path / "head.img"
    path.write_bytes(data)

    assert read_head_image(path, KEY) is refusal
    assert validate(data, KEY, SMALL) is refusal


def test_no_file_is_a_refusal_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")

    assert read_head_image(tmp_path / "head.img", KEY) is Refusal.MISSING
    assert read_head_image(tmp_path / "dangling", KEY) is Refusal.MISSING


def test_a_file_that_shrinks_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "head.img"
    path.write_bytes(WHOLE)
    read = os.read

    def read_and_truncate(fd: int, count: int) -> bytes:
        data = read(fd, count)
        os.truncate(path, len(data))
        return data

    monkeypatch.setattr(os, "read", read_and_truncate)

    assert read_head_image(path, KEY) is Refusal.HASH


@pytest.mark.parametrize("name", sorted(PLAIN.keys() - {"written_once"}))
def test_short_writes_are_continued(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: whole_write(fd, data[:7]))

    assert WRITERS[name](tmp_path / "head.img", pack_sections(KEY))

    assert (tmp_path / "head.img").read_bytes() == WHOLE


def no_room(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def close_without_room(fd: int, close: Callable[[int], None] = os.close) -> None:
    close(fd)
    no_room()


@every_temp_writer
@pytest.mark.parametrize("failing", ["write", "close", "rename"])
def test_a_failed_step_leaves_the_old_image_and_no_temp_file(
    write: Writer, failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "head.img"
    path.write_bytes(WHOLE)
    step = close_without_room if failing == "close" else no_room
    with monkeypatch.context() as patch:
        patch.setattr(os, failing, step)
        assert not write(path, pack_sections(Key("other")))

    assert names_in(tmp_path) == ["head.img"]
    assert path.read_bytes() == WHOLE


@every_temp_writer
def test_a_folder_at_the_path_fails_the_write_and_stays(
    write: Writer, tmp_path: Path
) -> None:
    (tmp_path / "head.img").mkdir()

    assert not write(tmp_path / "head.img", pack_sections(KEY))

    assert names_in(tmp_path) == ["head.img"]
    assert (tmp_path / "head.img").is_dir()


@every_writer
def test_a_missing_folder_fails_the_write(write: Writer, tmp_path: Path) -> None:
    assert not write(tmp_path / "nowhere" / "head.img", pack_sections(KEY))


def test_writing_in_place_keeps_what_it_wrote_before_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "head.img"
    path.write_bytes(WHOLE)
    monkeypatch.setattr(os, "write", no_room)

    assert not INPLACE(path, pack_sections(KEY))

    assert path.read_bytes() == b""


@every_temp_writer
def test_a_name_without_room_for_the_suffix_is_refused_cleanly(
    write: Writer, tmp_path: Path
) -> None:
    # A component may have 255 bytes: the final name fits, its temp name does not.
    path = tmp_path / ("h" * 255)
    path.write_bytes(WHOLE)

    assert not write(path, pack_sections(Key("other")))

    assert names_in(tmp_path) == [path.name]
    assert path.read_bytes() == WHOLE


def longest_path(folder: Path) -> Path:
    """Make folders until a path is as long as the kernel takes."""
    room = PATH_BUFFER_NBYTES - 1 - len(os.fsencode(folder))
    while room > 256:
        folder /= "d" * min(200, room - 3)
        room = PATH_BUFFER_NBYTES - 1 - len(os.fsencode(folder))
    folder.mkdir(parents=True)
    return folder / ("h" * (room - 1))


def test_a_path_that_fills_the_buffer_is_written_in_place_by_the_shared_writer(
    tmp_path: Path,
) -> None:
    path = longest_path(tmp_path)

    assert shared_temp(path) == path
    assert write_shared(path, pack_sections(KEY))
    assert path.read_bytes() == WHOLE


def test_a_path_that_fills_the_buffer_is_refused_before_anything_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = longest_path(tmp_path)
    path.write_bytes(WHOLE)
    with monkeypatch.context() as patch:
        # Not an OSError: the writer would take that for a refusal of the kernel.
        patch.delattr(os, "open")
        patch.delattr(os, "unlink")
        assert not write_pid(path, pack_sections(Key("other")))

    assert path.read_bytes() == WHOLE
    assert names_in(path.parent) == [path.name]


def test_a_temp_file_that_a_dead_process_left_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "head.img"
    pid_temp(path).write_bytes(b"left over" * 100)

    assert write_pid(path, pack_sections(KEY))

    assert path.read_bytes() == WHOLE
    assert names_in(tmp_path) == ["head.img"]
