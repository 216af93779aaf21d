"""Ways to put a head image at a path; each returns whether it succeeded.

`write_shared` and `write_pid` are the program of the report and its repair, from top to
bottom, to be read beside it. All others are a `Way`, made of pieces from the modules
beside this one: what differs from the repair is what their line in `WRITERS` says.
"""

import fcntl
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from scenarios.head_image import filling, guards, publishing, temp_names
from scenarios.head_image.filling import Opened, fill, open_truncated, remove, write_all
from scenarios.head_image.temp_names import fits, pid_temp, random_temp, shared_temp

Writer = Callable[[Path, Sequence[bytes]], bool]

HOUR_S = 3600


def write_shared(path: Path, sections: Sequence[bytes]) -> bool:
    """Write through a temp file whose name all writers of `path` share, as reported.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        Whether the rename succeeded, whatever it was that got renamed.
    """
    temp = shared_temp(path)
    try:
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        fill(fd, sections)
        os.rename(temp, path)
    except OSError:
        # Like the original, this does not ask which step failed: `temp` goes even if
        # it could not be opened.
        remove(temp)
        return False
    return True


def write_pid(path: Path, sections: Sequence[bytes]) -> bool:
    """Write through a temp file that no other process of this host uses: the repair.

    Args:
        path: Where the image shall be.
        sections: Its bytes, each item in a write of its own.

    Returns:
        Whether the image was published; False, and nothing touched, if the name of
        the temp file does not fit.
    """
    temp = pid_temp(path)
    if not fits(temp):
        return False
    try:
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        fill(fd, sections)
        os.rename(temp, path)
    except OSError:
        remove(temp)
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class Way:
    """A writer made of pieces; those that it has by default make `write_pid`.

    Attributes:
        temp: Names the temp file of an image.
        create: Opens the temp file, perhaps under another name.
        fill: Writes the sections and closes.
        publish: Puts the filled temp file at the path.
        discard: Cleans up the temp file after a failure.
        after_failure: Says whether a failed write is a success all the same.
        guard: What stands around all of it.
    """

    temp: Callable[[Path], Path] = pid_temp
    create: Callable[[Path], Opened] = open_truncated
    fill: Callable[[int, Sequence[bytes]], None] = fill
    publish: Callable[[Path, Path], None] = publishing.rename
    discard: Callable[[Path], None] = remove
    after_failure: Callable[[Path], bool] = publishing.is_lost
    guard: Callable[[Path], AbstractContextManager[object]] = guards.unguarded

    def __call__(self, path: Path, sections: Sequence[bytes]) -> bool:
        """Write an image.

        Args:
            path: Where it shall be.
            sections: Its bytes, each item in a write of its own.

        Returns:
            Whether it succeeded.
        """
        try:
            with self.guard(path):
                return self._write(path, sections)
        except OSError:
            # The lock could not be had.
            return False

    def _write(self, path: Path, sections: Sequence[bytes]) -> bool:
        temp = self.temp(path)
        if not fits(temp):
            return False
        try:
            temp, fd = self.create(temp)
            self.fill(fd, sections)
            self.publish(temp, path)
        except OSError:
            self.discard(temp)
            return self.after_failure(path)
        return True


def write_nameless(path: Path, sections: Sequence[bytes]) -> bool:
    """Write a file without a name, and name it only to rename it.

    Whoever is killed before that leaves nothing behind.
    """
    temp = random_temp(path)
    try:
        fd = os.open(path.parent, os.O_WRONLY | os.O_TMPFILE, 0o666)
        try:
            write_all(fd, sections)
            # Python passes on that links are followed only beside a folder.
            os.link(f"/proc/self/fd/{fd}", temp, src_dir_fd=fd, follow_symlinks=True)
        finally:
            os.close(fd)
        os.rename(temp, path)
    except OSError:
        remove(temp)
        return False
    return True


def write_flocked(path: Path, sections: Sequence[bytes]) -> bool:
    """Hold a lock on the temp file, to tell those who sweep that it is in use."""
    temp = pid_temp(path)
    try:
        _, fd = open_truncated(temp)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            write_all(fd, sections)
            os.rename(temp, path)
        finally:
            os.close(fd)
    except OSError:
        remove(temp)
        return False
    return True


def write_flocked_for_sure(path: Path, sections: Sequence[bytes]) -> bool:
    """Do the same, and see after the lock that the file has still got its name."""
    temp = pid_temp(path)
    try:
        fd = _open_flocked(temp)
        try:
            write_all(fd, sections)
            os.rename(temp, path)
        finally:
            os.close(fd)
    except OSError:
        remove(temp)
        return False
    return True


def _open_flocked(temp: Path) -> int:
    while True:
        _, fd = open_truncated(temp)
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            if os.path.samestat(os.fstat(fd), os.stat(temp)):
                return fd
        except FileNotFoundError:
            pass
        os.close(fd)


def rename_locked(temp: Path, path: Path) -> None:
    """Rename the temp file while nobody evicts anything from the folder."""
    with guards.folder_locked(path):
        publishing.rename(temp, path)


def skip_if_busy(path: Path, sections: Sequence[bytes]) -> bool:
    """Leave the write to whoever has the temp file, and call that a success."""
    temp = shared_temp(path)
    try:
        _, fd = filling.open_exclusive(temp)
    except FileExistsError:
        return True
    fill(fd, sections)
    os.rename(temp, path)
    return True


PID = Way()
SHARED = Way(temp=shared_temp)
UNIQUE = Way(temp=random_temp)
INPLACE = Way(
    temp=temp_names.path_itself, publish=publishing.nothing, discard=filling.keep
)
TMPDIR = Way(temp=temp_names.temp_in_tmpdir)

WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        "pid": write_pid,
        "shared": write_shared,
        # The repair with one line taken back.
        "pid_reverted": Way(temp=shared_temp),
        # Another name for the temp file.
        "counted": Way(temp=temp_names.counted_temp),
        "thread": Way(temp=temp_names.thread_temp),
        "clock": Way(temp=temp_names.clock_temp, create=filling.open_unused),
        "host": Way(temp=temp_names.host_temp),
        "unique": UNIQUE,
        "mkstemp": Way(temp=shared_temp, create=filling.open_random),
        "unused": Way(create=filling.open_unused),
        "windows": Way(temp=partial(temp_names.platform_temp, platform="win32")),
        "nameless": write_nameless,
        "folder": Way(temp=temp_names.temp_in_folder),
        "tmpdir": TMPDIR,
        # Another way to open, fill, publish or clean up.
        "exclusive": Way(create=filling.open_exclusive),
        "exclusive_shared": replace(SHARED, create=filling.open_exclusive),
        "close_unchecked": Way(fill=filling.fill_unchecked),
        "written_once": Way(fill=filling.fill_once),
        "never_closed": Way(fill=filling.fill_and_keep),
        "link": Way(publish=publishing.link_once),
        "link_kept": Way(publish=publishing.link_and_keep),
        "copy": Way(publish=publishing.copy_over),
        "tmpdir_copy": replace(TMPDIR, publish=publishing.move),
        "remove_rename": Way(publish=publishing.remove_and_rename),
        "exists_first": Way(publish=publishing.rename_if_free),
        "verify_first": Way(publish=publishing.rename_unless_better),
        "never_removed": Way(discard=filling.keep),
        "inplace": INPLACE,
        "skip_if_busy": skip_if_busy,
        # A lost race that is no loss.
        "shared_forgiving": replace(SHARED, after_failure=publishing.is_whole),
        "forgiving": Way(after_failure=publishing.is_whole),
        "credulous": Way(after_failure=publishing.is_there),
        # Locks, and sweeps.
        "flock": replace(SHARED, guard=guards.flocked),
        "flock_inplace": replace(INPLACE, guard=guards.flocked),
        "flock_removed": replace(SHARED, guard=guards.flocked_and_removed),
        "lock_file": replace(SHARED, guard=guards.lock_file),
        "verify_first_locked": Way(
            publish=publishing.rename_unless_better, guard=guards.flocked
        ),
        "folder_locked": Way(guard=guards.folder_locked),
        "rename_locked": Way(publish=rename_locked),
        "sweep_first": Way(guard=guards.sweeping(HOUR_S)),
        "flocked_temp": write_flocked,
        "flocked_temp_for_sure": write_flocked_for_sure,
    }
)
