"""Small random programs of file-system calls.

A program is plain data: a list of operations, each a name with its arguments; `acting`
runs them. Names of files are few, so that two programs often mean the same thing by
different ways: through links, `..`, working directories, and descriptors of what has
lost its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.footprint.spellings import SPELLINGS

if TYPE_CHECKING:
    import random

Op = tuple[str, ...]
Program = tuple[Op, ...]

_FILES = ("x", "x", "y", "d/x", "d/x", "d/s/x", "z/x", "w", "../box/x", "d/../y", "e/x")
_FOLDERS = ("d", "d", "d/s", "d/s", "e", "z", "d/s/..", ".", "e/s")
_OTHERS = ("v", "d/x/", "z/", "o/x", "../x", "q")
_ANY = (*_FILES, *_FOLDERS, *_FOLDERS, *_OTHERS)
_BASES = ("", "", "", "d", "z", "e")
_SLOTS = ("0", "0", "1")
_OF_SLOTS = ("sync", "map", "getflags", "fgetxattr", "flistxattr", "fremovexattr")
_ONE_IN = 3
_OPEN = (
    "RDONLY",
    "RDONLY",
    "RDWR",
    "WRONLY|CREAT",
    "RDWR|CREAT",
    "RDWR|CREAT|EXCL",
    "RDWR|TRUNC",
    "RDWR|CREAT|TRUNC",
    "RDWR|APPEND",
    "RDONLY|NOFOLLOW",
    "RDONLY|DIRECTORY",
)


def make_box(generator: random.Random) -> Program:
    """Return what makes a box: some of the names that programs use."""
    whole: list[Op] = [
        ("mkdir", "d"),
        ("mkdir", "d/s"),
        ("mkdir", "e"),
        ("fill", "x", "abcdef"),
        ("fill", "y", ""),
        ("fill", "d/x", "0123456789"),
        ("symlink", "d", "z"),
        ("symlink", "x", "w"),
        ("symlink", "d/s/x", "v"),
        ("symlink", "o", "o"),
    ]
    chosen = [op for op in whole if generator.random() < 0.75]
    # What lies in a folder needs the folder.
    made = {op[-1] for op in chosen}
    return tuple(
        op for op in chosen if op[0] == "symlink" or "/" not in op[1] or "d" in made
    )


class Maker:
    """Makes the programs of one execution, which are about the same few things."""

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator
        theme = generator.choice(_THEMES)
        self._names = theme.names or generator.sample(_NAMES, 12)
        self._files = theme.files or generator.sample(_FILES, 3)
        self._folders = theme.folders or generator.sample(_FOLDERS, 2)
        others = () if theme.files else generator.sample(_ANY, 2)
        self._paths = [*self._files, *self._folders, *self._folders, *others]

    def program(self, length: int) -> Program:
        """Return a program of some operations, with something open from the start."""
        return self.opening("0"), *(self.operation() for _ in range(length))

    def opening(self, slot: str, *, folder: bool = False) -> Op:
        """Return an operation that opens something."""
        pick = self._generator.choice
        if folder:
            return "folder", pick(self._folders), "RDONLY|DIRECTORY", slot
        flags = pick(("RDONLY", "RDWR", "RDWR", "RDWR|CREAT", "RDWR|APPEND"))
        return "open", pick(self._files), flags, slot

    def operation(self) -> Op:
        """Return one operation."""
        pick = self._generator.choice
        name, path, file = pick(self._names), pick(self._paths), pick(self._files)
        folder, slot = pick(self._folders), pick(_SLOTS)
        size = str(pick((0, 1, 2, 4, 8, 20)))
        offset = str(pick((0, 0, 1, 3, 5, 9, 12)))
        values: dict[str, Op] = {
            "open": (file, pick(_OPEN), slot),
            "folder": (folder, "RDONLY|DIRECTORY", slot),
            "read": (slot, size),
            "pread": (slot, size, offset),
            "write": (slot, size),
            "pwrite": (slot, size, offset),
            "seek": (slot, offset, pick(("0", "1", "2", "3", "4"))),
            "ftruncate": (slot, pick(("0", "0", "3", "6", "12"))),
            "truncate": (file, pick(("0", "0", "3", "6", "12"))),
            "fallocate": (slot, pick(("0", "1", "3", "16")), offset, pick(("2", "8"))),
            "copy": (slot, pick(_SLOTS), size),
            "fstat": (slot,),
            "flock": (slot, pick(("SH", "EX", "EX", "UN"))),
            "lockf": (slot, pick(("SH", "EX", "EX", "UN")), size, offset),
            "ofd": (slot, pick(("SH", "EX", "UN")), size, offset),
            "getlk": (slot, size, offset),
            "close": (slot,),
            "dup": (slot, pick(_SLOTS)),
            "fchmod": (slot, pick(("644", "755"))),
            "rename": (path, pick(self._paths)),
            "exchange": (path, pick(self._paths)),
            "noreplace": (path, pick(self._paths)),
            "link": (file, pick(self._paths)),
            "linkfd": (slot, pick(self._paths)),
            # Where nothing can be made by following it, not even by root.
            "symlink": (pick(("x", "d", "../x", "/nowhere/x", "e")), path),
            "utime": (path, pick(("now", "7", "8"))),
            "sleep": (),
            "chmod": (path, pick(("644", "755"))),
            "mkfifo": (path,),
            "openat": (pick(_BASES), file, pick(_OPEN), slot),
            "listfd": (slot, pick(("64", "4096"))),
            "chdir": (folder,),
            "getcwd": (),
            "fchdir": (slot,),
            "readfd": (slot,),
            "nameless": (folder, slot),
            "setflags": (slot, pick(("0", "64", "128"))),
            "chown": (path, pick(("5", "6"))),
            "fchown": (slot, pick(("5", "6"))),
            "setxattr": (path, pick(("1", "22"))),
            "fsetxattr": (slot, pick(("1", "22"))),
            **dict.fromkeys(_OF_SLOTS, (slot,)),
        }
        others = SPELLINGS.get(name, ())
        otherwise = others and not self._generator.randrange(_ONE_IN)
        spelt = pick(others) if otherwise else name
        return (spelt, *values.get(name, (path,)))


_WEIGHTS = {
    "open": 10,
    "folder": 4,
    "openat": 3,
    "read": 3,
    "pread": 4,
    "write": 4,
    "pwrite": 5,
    "seek": 2,
    "ftruncate": 3,
    "truncate": 3,
    "fallocate": 2,
    "copy": 1,
    "fstat": 3,
    "stat": 4,
    "lstat": 3,
    "access": 2,
    "readlink": 2,
    "flock": 3,
    "lockf": 2,
    "ofd": 1,
    "getlk": 1,
    "close": 3,
    "dup": 1,
    "fchmod": 1,
    "chmod": 2,
    "rename": 10,
    "exchange": 3,
    "noreplace": 2,
    "link": 5,
    "linkfd": 2,
    "symlink": 3,
    "unlink": 6,
    "utime": 2,
    "sleep": 1,
    "mkdir": 5,
    "rmdir": 6,
    "mkfifo": 1,
    "list": 3,
    "listfd": 2,
    "chdir": 4,
    "fchdir": 1,
    "getcwd": 3,
    "readfd": 1,
    "nameless": 1,
    "sync": 1,
    "map": 1,
    "getflags": 1,
    "setflags": 1,
    "chown": 1,
    "fchown": 1,
    "setxattr": 1,
    "getxattr": 1,
    "listxattr": 1,
    "removexattr": 1,
    "fsetxattr": 1,
    "fgetxattr": 1,
    "flistxattr": 1,
    "fremovexattr": 1,
    "execute": 1,
    "fexecute": 1,
}
_NAMES = tuple(name for name, weight in _WEIGHTS.items() for _ in range(weight))


class _Theme(NamedTuple):
    """What the programs of one execution are about; empty is anything.

    Attributes:
        names: Operations.
        files: Paths for what is about files.
        folders: Paths for what is about folders.
    """

    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


_DATA = """
read pread write pwrite ftruncate truncate fallocate seek open fstat stat copy copy map
sync
"""
_LOCKS = "flock flock flock lockf lockf ofd getlk close dup open write"
_MOVES = (
    "chdir chdir rename rename exchange getcwd stat mkdir rmdir symlink list listfd"
)
_ATTRIBUTES = """
chmod fchmod chown fchown setxattr getxattr listxattr removexattr fsetxattr fgetxattr
flistxattr fremovexattr setflags getflags stat fstat access execute fexecute open rename
"""
_LINKS = """
nameless link linkfd linkfd unlink rename exchange fstat stat open readfd lstat
noreplace
"""
_TREES = "mkdir rmdir rename open folder listfd list unlink stat openat fchdir symlink"
_MISSING = """
stat stat lstat access readlink open unlink unlink rmdir mkdir mkdir mkdir symlink
rename rename exchange chmod fchmod folder openat chdir link list
"""
_TIMES = "utime utime sleep stat lstat write chmod unlink mkdir open rename fstat link"
_THEMES = (
    _Theme(),
    _Theme(tuple(_TIMES.split()), ("x", "d/x"), ("d",)),
    _Theme(tuple(_DATA.split()), ("x", "x", "w")),
    _Theme(tuple(_ATTRIBUTES.split()), ("x", "x", "w"), ("d",)),
    _Theme(tuple(_LOCKS.split()), ("x",)),
    _Theme(tuple(_MOVES.split()), ("../x", "x"), ("d", "e", "d/s", "e/s", "../e", "s")),
    _Theme(tuple(_LINKS.split()), ("x", "y", "x", "d/x"), ("d",)),
    _Theme(tuple(_TREES.split()), ("d/x", "d/s/x"), ("d", "d/s", "d/s", "e")),
    _Theme(
        tuple(_MISSING.split()),
        ("d/x", "d/s/x", "e/x", "e/s/x", "../box/e/x", "z/s/x"),
        ("d", "d/s", "e", "e/s"),
    ),
)
