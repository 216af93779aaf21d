"""Five ways to put a head image at a path, as the C program of the report does it.

`write_shared` is the program as reported, `write_pid` its repair, `write_counted` one
that also holds for the threads of one process, `write_unique` one that holds where
process ids are shared as well, and `write_inplace` the simplest thing one could do.
Each returns whether it succeeded, like the original,
which has no other way to tell. The pieces (name a temp file, open it, fill it, publish
it, clean up) come first and are separate: another way is another combination.
"""

import itertools
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

Writer = Callable[[Path, Sequence[bytes]], bool]

# Size of the buffer in which the original prints the name of its temp file, the zero
# byte at the end included.
PATH_BUFFER_NBYTES = 4096

_writes = itertools.count(1)


def shared_temp(path: Path) -> Path:
    """Name the temp file that all writers of `path` share.

    The original prints into its buffer and does not ask whether all of the name got
    in. What is left of a long one may be the name of another file, or `path` itself.
    """
    name = os.fsencode(f"{path}.tmp")[: PATH_BUFFER_NBYTES - 1]
    return Path(os.fsdecode(name))


def pid_temp(path: Path) -> Path:
    """Name the temp file of this process for `path`."""
    return Path(f"{path}.tmp.{os.getpid()}")


def counted_temp(path: Path) -> Path:
    """Name a temp file that no other write of this host uses, by any thread."""
    return Path(f"{pid_temp(path)}.{next(_writes)}")


def unique_temp(path: Path) -> Path:
    """Name a temp file that no other write uses, on whatever host it runs."""
    return Path(f"{pid_temp(path)}.{secrets.token_hex(4)}")


def fits(temp: Path) -> bool:
    """Say whether the buffer can hold the whole name."""
    # A last component longer than the file system allows needs no check here: opening
    # it fails, and nothing has been touched by then.
    return len(os.fsencode(temp)) < PATH_BUFFER_NBYTES


def open_truncated(path: Path) -> int:
    """Open a file for writing and empty it, whoever else has it open."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)


def fill(fd: int, sections: Sequence[bytes]) -> None:
    """Write the sections one after the other, and close `fd` in any case.

    Raises:
        OSError: If a write fails or the close does. Some file systems tell only then
            that there was no room.
    """
    try:
        for section in sections:
            rest = memoryview(section)
            while rest:
                rest = rest[os.write(fd, rest) :]
    finally:
        os.close(fd)


def remove(temp: Path) -> None:
    """Remove a file if that can be done."""
    with suppress(OSError):
        temp.unlink()


def write_through(
    temp: Path,
    path: Path,
    sections: Sequence[bytes],
    *,
    create: Callable[[Path], int] = open_truncated,
    publish: Callable[[Path, Path], object] = Path.rename,
    discard: Callable[[Path], object] = remove,
) -> bool:
    """Fill `temp` and publish it at `path`; after a failure of any step discard it.

    Args:
        temp: Name to write under.
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.
        create: Opens `temp` for writing.
        publish: Puts the filled `temp` at `path`.
        discard: Cleans up `temp`; must not raise.

    Returns:
        Whether the image was published.
    """
    try:
        fill(create(temp), sections)
        publish(temp, path)
    except OSError:
        # Like the original, this does not ask which step failed: `temp` goes even if
        # it could not be opened.
        discard(temp)
        return False
    return True


def write_shared(path: Path, sections: Sequence[bytes]) -> bool:
    """Write through a temp file whose name all writers of `path` share.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        Whether the rename succeeded, whatever it was that got renamed.
    """
    return write_through(shared_temp(path), path, sections)


def write_pid(path: Path, sections: Sequence[bytes]) -> bool:
    """Write through a temp file that no other process of this host uses.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        Whether the image was published; False, and nothing touched, if the name of
        the temp file does not fit.
    """
    temp = pid_temp(path)
    return fits(temp) and write_through(temp, path, sections)


def write_counted(path: Path, sections: Sequence[bytes]) -> bool:
    """Write through a temp file that no other write of this host uses, by any thread.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        As `write_pid` does.
    """
    temp = counted_temp(path)
    return fits(temp) and write_through(temp, path, sections)


def write_unique(path: Path, sections: Sequence[bytes]) -> bool:
    """Write through a temp file of this write alone, whoever has the same process id.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        As `write_pid` does.
    """
    temp = unique_temp(path)
    return fits(temp) and write_through(temp, path, sections)


def write_inplace(path: Path, sections: Sequence[bytes]) -> bool:
    """Write straight to `path`.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        Whether all was written; after a failure `path` keeps what was.
    """
    try:
        fill(open_truncated(path), sections)
    except OSError:
        return False
    return True


WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        "pid": write_pid,
        "shared": write_shared,
        "counted": write_counted,
        "unique": write_unique,
        "inplace": write_inplace,
    }
)
