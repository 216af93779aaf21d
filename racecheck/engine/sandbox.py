"""The folder that actors work in: made fresh for each execution, and always removed.

A run has one folder of its own, by default on tmpfs. In it lies the sandbox with the
box (what scenarios see), a home and a folder for temporary files; beside the sandbox
lie the actors' outputs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from racecheck.engine.attributes import Attributes
from racecheck.engine.claim import claim, empty, remove
from racecheck.errors import CannotRunError
from racecheck.model.epoch import EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

_PARTS: Final = ("box", "home", "tmp")
_MOST_SHOWN: Final = 4096
_SECOND: Final = 1_000_000_000
_FRESH: Final = (EPOCH * _SECOND, EPOCH * _SECOND)
_LONGEST_OUTPUT: Final = 64 * 1024


class _Node(NamedTuple):
    """One thing in the initial box; `same` is an earlier name of the same file.

    Times are nanoseconds since 1970, of access and of modification.
    """

    path: str
    mode: int
    times: tuple[int, int]
    content: bytes = b""
    link: str = ""
    same: str = ""


class Sandbox:
    """The run's folder, for as long as its worker lives.

    Attributes:
        old: What `setup` made older than the start: its times, by the name that is
            shown for it.
        marked: Whether an actor may have given a folder flags or attributes that only
            a closer look shows.
    """

    def __init__(self, workdir: Path | None = None) -> None:
        """Make the folder, and remove what dead runs left beside it.

        Args:
            workdir: Where to make it; by default on tmpfs, else the system's folder
                for temporary files.

        Raises:
            CannotRunError: It cannot be made there.
        """
        parent = Path(os.path.realpath(workdir or default_workdir()))
        try:
            self.folder, self._lock = claim(parent)
            self.root = self.folder / "sandbox"
            self.outputs = self.folder / "output"
            try:
                self.root.mkdir()
                self.outputs.mkdir()
            except OSError:
                self.remove()
                raise
        except OSError as error:
            message = f"cannot make a sandbox in {parent}: {error.strerror}"
            raise CannotRunError(message) from error
        self.box = self.root / "box"
        self.home = self.root / "home"
        self.temporary = self.root / "tmp"
        self._prefix = f"{self.root}/"
        self._shown: dict[str, str] = {}
        self._initial: tuple[_Node, ...] = ()
        self.old: dict[str, tuple[int, int]] = {}
        self.marked = True
        self._staying: dict[str, Attributes] = {}
        self.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def display(self, path: str) -> str:
        """Return a path as traces show it: relative to the box, free of this machine.

        Paths outside the sandbox stay as they are.
        """
        shown = self._shown.get(path)
        if shown is None:
            if len(self._shown) >= _MOST_SHOWN:
                self._shown.clear()
            shown = self._shown[path] = self._display(path)
        return shown

    def _display(self, path: str) -> str:
        if not path.startswith(self._prefix):
            return "$SANDBOX" if path == str(self.root) else path
        first, _, rest = path[len(self._prefix) :].partition("/")
        if first == "box":
            return rest or "."
        start = {"home": "~", "tmp": "$TMPDIR"}.get(first, f"$SANDBOX/{first}")
        return f"{start}/{rest}" if rest else start

    def move_in(self) -> None:
        """Give the process the environment that the scenario and its actors get."""
        home = str(self.home)
        os.environ.update(
            {
                "HOME": home,
                "TMPDIR": str(self.temporary),
                "XDG_CACHE_HOME": f"{home}/.cache",
                "XDG_CONFIG_HOME": f"{home}/.config",
                "XDG_DATA_HOME": f"{home}/.local/share",
                "XDG_STATE_HOME": f"{home}/.local/state",
                "XDG_RUNTIME_DIR": str(self.temporary),
            }
        )
        if "tempfile" in sys.modules:
            # It may have looked where temporary files go already.
            vars(sys.modules["tempfile"])["tempdir"] = None

    def clear(self) -> None:
        """Leave an empty box, home and folder for temporary files."""
        empty(str(self.root))
        for name in _PARTS:
            os.mkdir(self.root / name, 0o755)

    def keep_as_initial(self) -> None:
        """Take the box as it is now for the start of every execution.

        Raises:
            CannotRunError: It holds something that cannot be made again.
        """
        self._initial = tuple(_snapshot(str(self.root), "", {}))
        self.old = {
            self.display(f"{self.root}/{node.path}"): node.times
            for node in self._initial
            if node.times != _FRESH
        }
        root = str(self.root)
        folders = [root, *(f"{root}/{name}" for name in _PARTS)]
        self._staying = {path: Attributes.of(path) for path in folders}

    def restore(self) -> None:
        """Make the box what it was when `keep_as_initial` was called.

        The folders that the sandbox is made of stay, since actors stand in them.
        """
        root = str(self.root)
        self._empty_parts(root)
        gone = []
        for path, attributes in self._staying.items():
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                gone.append(path)
                continue
            if self.marked or not attributes.are_those_of(status):
                attributes.restore(path)
        self.marked = False
        for node in self._initial:
            path = f"{root}/{node.path}"
            if node.path in _PARTS and path not in gone:
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
                _write_all(descriptor, node.content)
                os.close(descriptor)
        # Modes and times come last: a folder may refuse what is still to be made.
        for node in reversed(self._initial):
            path = f"{root}/{node.path}"
            if not node.link:
                os.chmod(path, stat.S_IMODE(node.mode))
            os.utime(path, ns=node.times, follow_symlinks=False)

    @staticmethod
    def _empty_parts(root: str) -> None:
        """Leave only the folders that the sandbox is made of, as far as they are."""
        for name in os.listdir(root):
            path = f"{root}/{name}"
            is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
            if is_folder:
                empty(path)
            if name not in _PARTS or not is_folder:
                remove(os.rmdir if is_folder else os.unlink, root, path)

    def read_outputs(self, actors: Iterable[str]) -> dict[str, str]:
        """Return what actors have printed, by their names."""
        found = {}
        for name in actors:
            path = self.outputs / name
            if path.exists():
                with path.open("rb") as stream:
                    data = stream.read(_LONGEST_OUTPUT)
                if data:
                    found[name] = data.decode(errors="replace")
        return found

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        empty(str(self.root))
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._lock)


def default_workdir() -> Path:
    """Return where sandboxes are made unless the user says otherwise."""
    shared = Path("/dev/shm")  # noqa: S108  the folder below it is ours alone
    if shared.is_dir() and os.access(shared, os.W_OK | os.X_OK):
        return shared
    return Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108  as above


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
                content = Path(whole).read_bytes()
                nodes.append(_Node(path, mode, times, content=content))
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
        return _FRESH
    return min(status.st_atime_ns, EPOCH * _SECOND), status.st_mtime_ns


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
