"""How a filled temp file gets to its path, and what a writer makes of a failure."""

import ctypes
import errno
import os
from contextlib import suppress
from pathlib import Path

from scenarios.head_image.filling import fill, open_truncated
from scenarios.head_image.image import builder_of, validate

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_libc = ctypes.CDLL(None, use_errno=True)


def rename(temp: Path, path: Path) -> None:
    """Rename the temp file over whatever is at the path, in one step."""
    os.rename(temp, path)


def replace(temp: Path, path: Path) -> None:
    """Do the same on every platform."""
    os.replace(temp, path)


def link_once(temp: Path, path: Path) -> None:
    """Give the file the path as its name, unless a whole image is there already.

    The first writer wins; the others have nothing left to do.
    """
    try:
        os.link(temp, path)
    except FileExistsError:
        if not is_whole(path):
            rename(temp, path)
            return
    temp.unlink()


def link_and_keep(temp: Path, path: Path) -> None:
    """Give the file the path as a second name, and leave it the first."""
    with suppress(FileExistsError):
        os.link(temp, path)


def copy_over(temp: Path, path: Path) -> None:
    """Copy the temp file to the path, and remove it."""
    source = os.open(temp, os.O_RDONLY)
    try:
        data = os.read(source, os.fstat(source).st_size)
    finally:
        os.close(source)
    fill(open_truncated(path).fd, (data,))
    temp.unlink()


def move(temp: Path, path: Path) -> None:
    """Rename the temp file, or copy it where that cannot be done across mounts."""
    try:
        rename(temp, path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy_over(temp, path)


def remove_and_rename(temp: Path, path: Path) -> None:
    """Make room at the path, then rename to a name that must be free, as on Windows."""
    with suppress(FileNotFoundError):
        path.unlink()
    rename_to_free(temp, path)


def rename_to_free(temp: Path, path: Path) -> None:
    """Rename without replacing.

    Raises:
        FileExistsError: There is something at the path.
    """
    names = os.fsencode(temp), os.fsencode(path)
    old, new = (ctypes.c_char_p(name) for name in names)
    if _libc.renameat2(_AT_FDCWD, old, _AT_FDCWD, new, _RENAME_NOREPLACE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path))


def rename_unless_better(temp: Path, path: Path) -> None:
    """Look first, and rename only over what is damaged or older than the temp file."""
    if is_whole(path):
        mine, theirs = (builder_of(each.read_bytes()) for each in (temp, path))
        if theirs >= mine:
            temp.unlink()
            return
    rename(temp, path)


def rename_if_free(temp: Path, path: Path) -> None:
    """Rename only where there is nothing yet, damaged or not."""
    if path.exists():
        temp.unlink()
    else:
        rename(temp, path)


def nothing(temp: Path, path: Path) -> None:
    """Publish nothing: what was written is at its path."""


def is_whole(path: Path) -> bool:
    """Say whether there is a whole image at a path; a lost race is no loss then."""
    try:
        return validate(path.read_bytes()) is None
    except OSError:
        return False


def is_there(path: Path) -> bool:
    """Say whether there is anything at a path."""
    return path.exists()


def is_lost(path: Path) -> bool:
    """Call a failed write a failure, whatever is at the path."""
    del path
    return False
