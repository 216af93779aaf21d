"""Six ways to make sure that a link leads to its target, as told in the reports.

Processes that start together each call one of these for the same link before they
compile what is behind it. `ensure_faulty` works as first released. `ensure_eexist`,
`ensure_missing_ok` and `ensure_relfix` are repairs that were proposed, and
`ensure_filelock` is the one that was taken. `pieces` has ways that no report names.
"""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

Ensure = Callable[[Path, Path], None]
"""Takes the link and its target."""

LOCK_PATIENCE_S = 60.0


def is_there(link: Path) -> bool:
    """Say whether the name is taken, be it by a link to nothing."""
    return link.is_symlink() or link.exists()


def is_right(link: Path, target: Path) -> bool:
    """Say whether the link leads to the target, both seen from the current folder."""
    return link.is_symlink() and link.resolve() == target.resolve()


def clear(link: Path) -> None:
    """Remove what is in the way: a link, a file, or a folder with all that is in it.

    Raises:
        OSError: Somebody else removes it too, or has put something there meanwhile.
    """
    if link.is_symlink() or link.is_file():
        link.unlink()
    else:
        shutil.rmtree(link)


def ensure_faulty(link: Path, target: Path) -> None:
    """Look, remove what is in the way and make the link, in separate steps.

    Args:
        link: Where the link shall be; its folder is made if need be.
        target: Where it shall lead.

    Raises:
        OSError: Another process gets between two steps.
    """
    if is_there(link):
        if is_right(link, target):
            return
        clear(link)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)


def ensure_eexist(link: Path, target: Path) -> None:
    """Work as `ensure_faulty`, and be content if another process made the same link.

    Args:
        link: As for `ensure_faulty`.
        target: As for `ensure_faulty`.

    Raises:
        FileExistsError: What another process made leads elsewhere, or has been
            removed again by a third.
        OSError: Another process removes what is in the way at the same time.
    """
    if is_there(link):
        if is_right(link, target):
            return
        clear(link)
    link.parent.mkdir(parents=True, exist_ok=True)
    try:
        link.symlink_to(target)
    except FileExistsError:
        if not is_right(link, target):
            raise


def ensure_missing_ok(link: Path, target: Path) -> None:
    """Work as `ensure_eexist`, and be content if another process removes things too.

    Args:
        link: As for `ensure_faulty`.
        target: As for `ensure_faulty`.

    Raises:
        FileExistsError: As by `ensure_eexist`, or a folder could only be emptied in
            part because another process emptied it too.
        OSError: Another process has put a link where the folder was.
    """
    if is_there(link):
        if is_right(link, target):
            return
        if link.is_symlink() or link.is_file():
            link.unlink(missing_ok=True)
        else:
            with suppress(FileNotFoundError):
                shutil.rmtree(link)
    link.parent.mkdir(parents=True, exist_ok=True)
    try:
        link.symlink_to(target)
    except FileExistsError:
        if not is_right(link, target):
            raise


def ensure_relfix(link: Path, target: Path) -> None:
    """Work as `ensure_faulty`, but know a relative target for what it means.

    Args:
        link: As for `ensure_faulty`.
        target: As for `ensure_faulty`; a relative one is relative to the link.

    Raises:
        OSError: Another process gets between two steps.
    """
    if is_there(link):
        if is_right(link, link.parent / target):
            return
        clear(link)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)


def ensure_filelock(link: Path, target: Path) -> None:
    """Work as `ensure_faulty`, one process at a time.

    Args:
        link: As for `ensure_faulty`. The lock file beside it stays.
        target: As for `ensure_faulty`.

    Raises:
        filelock.Timeout: Another process has had the lock for a minute.
    """
    link.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{link}.lock", timeout=LOCK_PATIENCE_S):
        ensure_faulty(link, target)
