"""What every execution starts from: the box as `setup` left it, made again each time.

To make all of it takes longer than some executions. So what an execution has left as it
was stays, and is looked at only: nobody has taken a step that may have changed it, and
its inode is the one that was made, with the size and the times that it had then.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from racecheck.engine.attributes import Attributes
from racecheck.engine.claim import empty, remove
from racecheck.errors import CannotRunError
from racecheck.footprint import Names
from racecheck.model.epoch import EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

_SECOND: Final = 1_000_000_000
FRESH: Final = (EPOCH * _SECOND, EPOCH * _SECOND)
"""Times of access and modification of whatever `setup` gave no older ones."""

# The mode, the inode, the device, the links, the owner, the group and the size, and the
# times of the last change of the data and of these.
_Stamp = tuple[tuple[float, ...], int, int]
_FIELDS: Final = 7


class _Node(NamedTuple):
    """One thing in the initial box; `same` is an earlier name of the same file.

    Times are nanoseconds since 1970, of access and of modification. Of a file there
    are the pieces that hold something, each with its place: holes stay holes, since
    programs can tell them from zeros.
    """

    path: str
    mode: int
    times: tuple[int, int]
    size: int = 0
    pieces: tuple[tuple[int, bytes], ...] = ()
    link: str = ""
    same: str = ""


class _Unit(NamedTuple):
    """A file, or a folder with all that is in it, which is made again as a whole.

    The order in which names came into a folder shows in the offsets of its listing, and
    is to be the same in every execution.
    """

    path: str
    folder: str
    nodes: list[_Node]
    paths: list[str]


class Initial:
    """The contents of one sandbox at the start of every execution."""

    def __init__(
        self, root: str, parts: Collection[str], display: Callable[[str], str]
    ) -> None:
        """Begin with nothing.

        Args:
            root: Path of the sandbox.
            parts: Names of the folders in it that stay, since actors stand in them.
            display: Gives the name of an inode for its path.
        """
        self._root = root
        self._parts = parts
        self._display = display
        self._nodes: tuple[_Node, ...] = ()
        self._staying: dict[str, Attributes] = {}
        self._times: dict[str, tuple[int, int]] = {}
        self._linked = False
        self._units: list[_Unit] = []
        self._wanted: dict[str, set[str]] = {}
        # As they were when they had been made, by their paths.
        self._made: dict[str, _Stamp] = {}
        self._shown: dict[str, str] = {}
        self._inodes: dict[tuple[int, int], str] = {}

    def take(self) -> None:
        """Take what there is now.

        Raises:
            CannotRunError: There is something that cannot be made again.
        """
        root = self._root
        self._nodes = tuple(_snapshot(root, "", {}))
        folders = [root, *(f"{root}/{name}" for name in self._parts)]
        self._staying = {path: Attributes.of(path) for path in folders}
        whole = {f"{root}/{node.path}": node for node in self._nodes}
        self._times = {path: node.times for path, node in whole.items()}
        self._shown = {path: self._display(path) for path in (root, *whole)}
        self._made.clear()
        self._linked = any(node.same for node in self._nodes)
        self._units = []
        self._wanted = {path: set() for path in folders}
        for path, node in whole.items():
            folder, _, name = path.rpartition("/")
            if folder in self._wanted:
                self._wanted[folder].add(name)
                if path not in self._staying:
                    self._units.append(_Unit(path, folder, [], []))
            if path not in self._staying:
                self._units[-1].nodes.append(node)
                self._units[-1].paths.append(path)

    def times(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the path of each thing, and its times of access and modification."""
        yield from self._times.items()

    def inodes(self) -> Mapping[tuple[int, int], str]:
        """Return the names of all inodes, by device and number."""
        return self._inodes

    def make(self, *, marked: bool) -> None:
        """Make all of it anew, whatever there is.

        Args:
            marked: Whether an actor may have given a folder that stays flags or
                attributes that only a closer look shows.
        """
        root = self._root
        self._empty_parts()
        gone = []
        for path, attributes in self._staying.items():
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                gone.append(path)
                continue
            if marked or not attributes.are_those_of(status):
                attributes.restore(path)
        stay = self._staying.keys() - set(gone)
        self._make(self._nodes, stay)
        names = Names()
        names.scan(root, self._display)
        self._inodes = names.known()
        self._made = {path: _stamp(os.lstat(path)) for path in self._shown}

    def repair(self, touched: Collection[str]) -> bool:
        """Make anew what is not as it was any more, if that can be told apart.

        Args:
            touched: Names of the inodes that may have been changed since it was made.

        Returns:
            Whether all is as it was. If not, it has to be made.
        """
        if self._linked or not self._made:
            return False
        try:
            return self._repair(touched)
        except OSError:
            # Actors can have left modes that do not allow it.
            return False

    def _repair(self, touched: Collection[str]) -> bool:
        changed = []
        for path, attributes in self._staying.items():
            status = os.lstat(path)
            if self._shown[path] in touched or _stamp(status) != self._made[path]:
                if not attributes.are_those_of(status):
                    return False
                changed.append(path)
            elif path in self._times and status.st_atime_ns != self._times[path][0]:
                self._set_times(path)
        broken = [unit for unit in self._units if not self._is_whole(unit, touched)]
        if not (changed or broken):
            return True
        for folder in changed:
            self._remove_new(folder)
        for unit in broken:
            self._renew(unit)
        for folder in {*changed, *(unit.folder for unit in broken)}:
            self._set_times(folder)
        for unit in broken:
            for path in unit.paths:
                self._made[path] = _stamp(os.lstat(path))
        if broken:
            self._inodes = {
                (int(device), int(inode)): self._shown[path]
                for path, ((_, inode, device, *_), _, _) in self._made.items()
            }
        return True

    def _remove_new(self, folder: str) -> None:
        """Remove what has come into a folder that stays."""
        wanted = self._wanted[folder]
        for name in os.listdir(folder):
            if name not in wanted:
                _discard(folder, name)

    def _renew(self, unit: _Unit) -> None:
        """Make a unit anew, whatever is in its place."""
        folder, _, name = unit.path.rpartition("/")
        if os.path.lexists(unit.path):
            _discard(folder, name)
        self._make(unit.nodes)

    def _is_whole(self, unit: _Unit, touched: Collection[str]) -> bool:
        """Say whether a unit is as it was when it was made."""
        for node, path in zip(unit.nodes, unit.paths, strict=True):
            if self._shown[path] in touched:
                return False
            try:
                status = os.lstat(path)
            except OSError:
                return False
            if _stamp(status) != self._made[path]:
                return False
            if status.st_atime_ns != node.times[0]:
                self._set_times(path)
        return True

    def _set_times(self, path: str) -> None:
        """Give something its times again."""
        times = self._times.get(path)
        if times is not None:
            os.utime(path, ns=times, follow_symlinks=False)
        self._made[path] = _stamp(os.lstat(path))

    def _make(self, nodes: Iterable[_Node], stay: Collection[str] = ()) -> None:
        """Make things, all but folders that stay."""
        root = self._root
        nodes = tuple(nodes)
        for node in nodes:
            path = f"{root}/{node.path}"
            if path in stay:
                continue
            if node.link:
                os.symlink(node.link, path)
                continue
            if node.same:
                os.link(f"{root}/{node.same}", path)
            elif stat.S_ISDIR(node.mode):
                os.mkdir(path, 0o700)
            else:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                _fill(descriptor, node)
                os.close(descriptor)
        # Modes and times come last: a folder may refuse what is still to be made.
        for node in reversed(nodes):
            path = f"{root}/{node.path}"
            if not node.link:
                os.chmod(path, stat.S_IMODE(node.mode))
            os.utime(path, ns=node.times, follow_symlinks=False)

    def _empty_parts(self) -> None:
        """Leave only the folders that the sandbox is made of, as far as they are."""
        root = self._root
        if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
            # An actor has left it so; it gets its own mode back later.
            os.chmod(root, stat.S_IRWXU)
        for name in os.listdir(root):
            path = f"{root}/{name}"
            is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
            if is_folder:
                empty(path)
            if name not in self._parts or not is_folder:
                remove(os.rmdir if is_folder else os.unlink, root, path)


def _stamp(status: os.stat_result) -> _Stamp:
    """Return what differs if something is not as it was."""
    return status[:_FIELDS], status.st_mtime_ns, status.st_ctime_ns


def _discard(folder: str, name: str) -> None:
    """Remove an entry of a folder, with all that is in it."""
    path = f"{folder}/{name}"
    if stat.S_ISDIR(os.lstat(path).st_mode):
        empty(path)
        remove(os.rmdir, folder, path)
    else:
        remove(os.unlink, folder, path)


def _snapshot(root: str, folder: str, known: dict[tuple[int, int], str]) -> list[_Node]:
    nodes = []
    for name in sorted(os.listdir(f"{root}/{folder}")):
        path = f"{folder}/{name}" if folder else name
        whole = f"{root}/{path}"
        status = os.lstat(whole)
        mode, times = status.st_mode, _kept(status)
        if stat.S_ISLNK(mode):
            nodes.append(_Node(path, mode, times, link=os.readlink(whole)))
        elif stat.S_ISDIR(mode):
            nodes.append(_Node(path, mode, times))
            nodes += _snapshot(root, path, known)
        elif stat.S_ISREG(mode):
            same = known.setdefault((status.st_dev, status.st_ino), path)
            if same == path:
                size, pieces = status.st_size, tuple(_pieces(whole, status.st_size))
                nodes.append(_Node(path, mode, times, size=size, pieces=pieces))
            else:
                nodes.append(_Node(path, mode, times, same=same))
        else:
            message = f"setup made {path}, which is no file, folder or link"
            raise CannotRunError(message)
    return nodes


def _kept(status: os.stat_result) -> tuple[int, int]:
    """Return the times that a file has in each execution.

    Those that `setup` gave it by hand lie before the start. The others are the real
    time at which it ran, or whatever a checkout or a copy brought along.
    """
    if status.st_mtime_ns >= EPOCH * _SECOND:
        return FRESH
    return min(status.st_atime_ns, EPOCH * _SECOND), status.st_mtime_ns


def _pieces(path: str, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield what lies between the holes of a file, each with its place."""
    with open(path, "rb", buffering=0) as file:
        end = 0
        while end < size:
            try:
                start = file.seek(end, os.SEEK_DATA)
                end = file.seek(start, os.SEEK_HOLE)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return
                # A file system that knows of no holes.
                start, end = end, size
            file.seek(start)
            data = b""
            while len(data) < end - start and (more := file.read(end - start)):
                data += more
            yield start, data[: end - start]


def _fill(descriptor: int, node: _Node) -> None:
    """Give a file that is empty what it holds."""
    for start, data in node.pieces:
        view = memoryview(data)
        while view:
            place = start + len(data) - len(view)
            view = view[os.pwrite(descriptor, view, place) :]
    if node.size:
        os.ftruncate(descriptor, node.size)
