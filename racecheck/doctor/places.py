"""Where boxes are made: what the file system there does, and how much room it has."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import Final

import psutil

from racecheck.doctor.observation import Observation, State
from racecheck.engine.sandbox import default_workdir

_LEAST_ROOM: Final = 64 << 20
_MEBIBYTE: Final = 1 << 20


def sandbox(workdir: Path | None) -> Observation:
    """Make, lock, rename and list in the folder where boxes would be made."""
    parent = Path(os.path.realpath(workdir or default_workdir()))
    where = f"{parent} ({file_system(parent)})"
    try:
        with tempfile.TemporaryDirectory(
            prefix="racecheck-doctor-", dir=parent
        ) as name:
            lack = _lack(Path(name))
        room = psutil.disk_usage(str(parent)).free
    except OSError as error:
        found = f"cannot use {where}: {error.strerror}"
        advice = "name another folder with --workdir"
        return Observation("sandbox", State.REFUSED, found, advice, needed=True)
    found = f"{where}, {room // _MEBIBYTE:,} MiB free"
    if lack:
        advice = f"{lack}; name another folder with --workdir"
        return Observation("sandbox", State.REFUSED, found, advice, needed=True)
    if room < _LEAST_ROOM:
        advice = "that is little; name another folder with --workdir"
        return Observation("sandbox", State.LIMITED, found, advice)
    shared = Path("/dev/shm")  # noqa: S108  looked at, not used
    if workdir is None and parent != shared:
        advice = f"{shared} cannot be used, and tmpfs is faster"
        return Observation("sandbox", State.LIMITED, found, advice)
    return Observation("sandbox", State.FINE, found)


def _lack(folder: Path) -> str:
    """Return what racecheck needs of a file system and this one does not do."""
    (folder / "old").write_bytes(b"text")
    try:
        (folder / "old").rename(folder / "new")
        with (folder / "new").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return f"files cannot be renamed and locked there ({error.strerror})"
    try:
        (folder / "link").symlink_to("new")
        os.link(folder / "new", folder / "again")
    except OSError as error:
        return f"no links can be made there ({error.strerror})"
    return ""


def file_system(path: Path) -> str:
    """Return the type of the file system that a path is on, as mount(8) names it."""
    best = ""
    kind = "unknown file system"
    for each in psutil.disk_partitions(all=True):
        mount = each.mountpoint
        inside = path == Path(mount) or Path(mount) in path.parents
        if inside and len(mount) >= len(best):
            best, kind = mount, each.fstype
    return kind
