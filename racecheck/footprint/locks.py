"""Footprints of locks: taking them, failing to, and all that lets them go."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING, Final

from racecheck.footprint.draft import SHARED
from racecheck.footprint.fdinfo import FOREVER, Lock
from racecheck.kernel.rows import F_GETLK, F_OFD_GETLK, F_SETLKW

if TYPE_CHECKING:
    from collections.abc import Iterable

    from racecheck.footprint.before import Before, Scene
    from racecheck.footprint.draft import Draft
    from racecheck.kernel.call import Call

_READ_LOCK: Final = fcntl.F_RDLCK
_UNLOCK: Final = fcntl.F_UNLCK


def flock(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`flock`: a failed try has read the lock, and has lost the one held before."""
    file = scene.files.get("fd")
    if file is None:
        return
    command = scene.call.number("command")
    held = [lock for lock in before.locks if lock.type == "FLOCK"]
    if command & fcntl.LOCK_UN:
        _release(draft, held)
    elif result < 0:
        draft.read("lock", file.target)
        _release(draft, held)
    elif command & fcntl.LOCK_EX:
        if not any(lock.exclusive for lock in held):
            draft.read("lock", file.target)
            draft.write("lock", file.target)
    elif not held:
        draft.write("lock", file.target, SHARED)
    else:
        _release(draft, [lock for lock in held if lock.exclusive])


def lock(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`fcntl` locks: ranges of bytes, which belong to a process or an open file."""
    file = scene.files.get("fd")
    call = scene.call
    if file is None or "type" not in call.read:
        return
    start, end = _range(draft, scene, before)
    if start >= end:
        return
    if call.number("command") in {F_GETLK, F_OFD_GETLK}:
        # It gives the whole range of the lock that it finds.
        draft.read("lock", file.target, end=FOREVER)
        return
    if result < 0:
        draft.read("lock", file.target, start=start, end=end)
        if call.number("command") == F_SETLKW:
            # Of those who wait in a circle the last is told so, whatever the files are.
            draft.write("waits", "POSIX")
        return
    own = [
        Lock(lock.target, lock.type, lock.exclusive, max(lock.start, start), least)
        for lock in before.locks
        if lock.type == _type(call) and (least := min(lock.end, end)) > start
        if lock.start < end
    ]
    wanted = call.number("type")
    if wanted == _UNLOCK:
        _release(draft, own)
    elif wanted == _READ_LOCK:
        exclusive = any(lock.exclusive for lock in own)
        label = "-" if exclusive else SHARED
        draft.write("lock", file.target, label, start=start, end=end)
    else:
        draft.read("lock", file.target, start=start, end=end)
        draft.write("lock", file.target, start=start, end=end)


def let_go(draft: Draft, before: Before) -> None:
    """Note what the closing of descriptors ends."""
    for file in before.released:
        # Whoever closes last ends the locks, so each close looks at the count.
        draft.read("references", file.name)
        draft.write("references", file.name)
    _release(draft, before.locks)


def close(draft: Draft, scene: Scene, before: Before, result: int) -> None:
    """`close`, `dup2` over an open descriptor, `execve` with those marked for it."""
    del scene
    if result >= 0:
        let_go(draft, before)


def _release(draft: Draft, locks: Iterable[Lock]) -> None:
    for held in locks:
        label = "-" if held.exclusive else SHARED
        draft.write("lock", held.target, label, start=held.start, end=held.end)


def _range(draft: Draft, scene: Scene, before: Before) -> tuple[int, int]:
    """Return the bytes that a lock is about, as fcntl(2) counts them."""
    call = scene.call
    start, length = call.number("start"), call.number("length")
    whence = call.number("whence")
    opened = before.opened["fd"]
    if whence == os.SEEK_CUR:
        start += opened.position
    elif whence == os.SEEK_END:
        draft.read("size", scene.files["fd"].target)
        start += opened.size
    if length == 0:
        return start, FOREVER
    return (start, start + length) if length > 0 else (start + length, start)


def _type(call: Call) -> str:
    return "OFDLCK" if call.number("command") >= F_OFD_GETLK else "POSIX"
