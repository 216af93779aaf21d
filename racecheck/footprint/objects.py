"""Open files, as the processes that share them see them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class OpenFile:
    """An open file description: shared by all descriptors duplicated from one open.

    Attributes:
        name: Name of the step that opened it.
        target: Name of the inode.
        path: Path that it was opened by, as traces show it.
        flags: Flags that it was opened with.
        shared: Whether more than one process has it.
        locked: Whether a lock was ever taken through it.
    """

    name: str
    target: str
    path: str
    flags: int
    shared: bool = False
    locked: bool = False
