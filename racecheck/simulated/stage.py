"""The simulated machine: its files, and how they are at the start of each execution."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from pyfakefs.fake_filesystem import OSType
from pyfakefs.fake_filesystem_unittest import Patcher

from racecheck.engine.asked_to_end import AskedToEnd
from racecheck.errors import ScenarioError
from racecheck.model.epoch import EPOCH
from racecheck.model.simulation import TEMPORARY
from racecheck.simulated.acting import acts_for, inside
from racecheck.simulated.interception import intercept
from racecheck.simulated.outside import surround

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from racecheck.model import Kind, Program, Value
    from racecheck.model.simulation import Simulation

_SYSTEMS: Final = {
    "linux": OSType.LINUX,
    "macos": OSType.MACOS,
    "windows": OSType.WINDOWS,
}
_PLATFORMS: Final = {"linux": "linux", "macos": "darwin", "windows": "win32"}
_UMASK: Final = 0o022
_SECOND: Final = 1_000_000_000
_OURS: Final = ("racecheck", "msgspec", "dill", "multiprocess", "zstandard", "psutil")


class _Node(NamedTuple):
    path: str
    mode: int
    content: bytes = b""
    link: str = ""
    same: str = ""


class Stage:
    """A machine for as long as its scenario is explored; one a process.

    Attributes:
        fs: The files, as pyfakefs keeps them.
        system: What stands for the module `os`.
        box: The box, as the path that actors are given.
        platform: What `sys.platform` says to actors.
        ending: Whether the process was asked to end.
    """

    def __init__(self, simulation: Simulation) -> None:
        """Make a machine.

        Args:
            simulation: What it is like.
        """
        intercept()
        surround()
        self.ending = AskedToEnd()
        self._simulation = simulation
        self._onlooker = _Onlooker()
        self.platform = _PLATFORMS[simulation.platform]
        self._initial: tuple[_Node, ...] = ()
        self._names: dict[int, str] = {}
        self._kept: list[object] = []
        self._patcher = Patcher(
            additional_skip_names=[
                name for name in sys.modules if name.partition(".")[0] in _OURS
            ],
            use_cache=False,
        )
        self._patcher.setUp()
        fs: Any = self._patcher.fs
        self.fs = fs
        with self.looking():
            fs.os = _SYSTEMS[simulation.platform]
            self.system: Any = self._patcher.fake_modules["os"]
            fs.system = self.system
            fs.umask = _UMASK
            self.separator: str = fs.path_separator
            self._root = "C:\\machine" if self.is_windows else "/machine"
            for part in ("", "box", "home", "tmp"):
                fs.makedirs(self.join(self._root, part), exist_ok=True)
            if simulation.disk_nbytes is not None:
                fs.set_disk_usage(simulation.disk_nbytes, self._root)
            for mount in simulation.mounts:
                fs.add_mount_point(self._mount(mount), can_exist=True)
        # Whoever comes after this machine is to find no path of it.
        self._before = (dict(os.environ), tempfile.tempdir)
        os.environ.update(self.environment())
        # It looks for a folder under a lock, which actors would share.
        tempfile.tempdir = self.join(self._root, "tmp")
        with self.looking():
            self.box: Any = self._patcher.fake_modules["pathlib"].Path(self.box_path)

    def __enter__(self) -> Self:
        self.ending.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._patcher.tearDown()
        environment, tempfile.tempdir = self._before
        os.environ.clear()
        os.environ.update(environment)

    @property
    def is_windows(self) -> bool:
        """Whether it has the rules of Windows."""
        return self._simulation.platform == "windows"

    @property
    def is_limited(self) -> bool:
        """Whether its disk can be full."""
        return self._simulation.disk_nbytes is not None

    @property
    def box_path(self) -> str:
        """Path of the box."""
        return self.join(self._root, "box")

    def join(self, *parts: str) -> str:
        """Join parts of a path as this machine does."""
        return self.separator.join(part for part in parts if part)

    def environment(self) -> dict[str, str]:
        """Return the variables that say where things lie."""
        temporary = self.join(self._root, "tmp")
        home = self.join(self._root, "home")
        return {
            **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), temporary),
            **dict.fromkeys(("HOME", "USERPROFILE"), home),
        }

    def display(self, path: str) -> str:
        """Return a path as traces show it: relative to the box, with slashes."""
        path = path.replace(self.separator, "/")
        root = self._root.replace(self.separator, "/")
        if not path.startswith(f"{root}/"):
            return path or "."
        first, _, rest = path[len(root) + 1 :].partition("/")
        if first == "box":
            return rest or "."
        start = {"home": "~", "tmp": TEMPORARY}.get(first, first)
        return f"{start}/{rest}" if rest else start

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """Let racecheck's own thread see the simulated files, without taking steps."""
        with acts_for(self._onlooker), inside():
            yield

    @contextlib.contextmanager
    def setting_up(self) -> Iterator[None]:
        """Let a scenario fill the box."""
        with acts_for(self._onlooker), self.disguised():
            self.fs.cwd = self.box_path
            yield

    @contextlib.contextmanager
    def disguised(self) -> Iterator[None]:
        """Let `sys.platform` say what this machine is."""
        before = sys.platform
        sys.platform = self.platform
        try:
            yield
        finally:
            sys.platform = before

    def adopt(self, functions: Iterable[Callable[..., Any]]) -> None:
        """Let functions that belong to no module see the simulated files as well."""
        seen: set[int] = set()
        pending = list(functions)
        while pending:
            function = pending.pop()
            names = getattr(function, "__globals__", None)
            pending += [
                cell.cell_contents
                for cell in getattr(function, "__closure__", None) or ()
                if callable(_content(cell))
            ]
            if names is None or id(names) in seen:
                continue
            seen.add(id(names))
            module = sys.modules.get(names.get("__name__", ""))
            if module is not None and vars(module) is names:
                # The patcher has seen to it.
                continue
            for name, value in list(names.items()):
                if (fake := self._fake(value)) is not None:
                    names[name] = fake
                elif callable(value) and hasattr(value, "__globals__"):
                    pending.append(value)

    def _fake(self, value: Any) -> Any:
        fakes = self._patcher.fake_modules
        if isinstance(value, type(os)):
            return fakes.get(value.__name__)
        if isinstance(value, type) and value.__module__.startswith("pathlib"):
            return fakes["Path"] if value.__name__ == "Path" else None
        return None

    # --- how it is at the start -------------------------------------------------------

    def keep_as_initial(self) -> None:
        """Take the files as they are now for the start of every execution.

        Raises:
            ScenarioError: There is something that cannot be made again.
        """
        with self.looking():
            known: dict[int, str] = {}
            root = self.fs.resolve(self._root)
            self._initial = tuple(_snapshot(root, "", known))

    def restore(self) -> None:
        """Make the files what they were when `keep_as_initial` was called."""
        fs = self.fs
        with self.looking():
            for number in range(3, len(fs.open_files)):
                if fs.open_files[number]:
                    fs.open_files[number] = None
            fs._free_fd_heap.clear()  # descriptors are numbered from 3 again
            del fs.open_files[3:]
            fs.umask = _UMASK
            fs.cwd = self.box_path
            mounts = {self._mount(each) for each in self._simulation.mounts}
            self._empty(self._root, mounts)
            for node in self._initial:
                self._make(node)
            self._names.clear()
            self._kept.clear()
            self._name_all(fs.resolve(self.box_path), "")

    def _mount(self, mount: str) -> str:
        if mount == TEMPORARY:
            return self.join(self._root, "tmp")
        return self.join(self.box_path, *mount.split("/"))

    def _empty(self, folder: str, mounts: set[str]) -> None:
        for name in list(self.fs.resolve(folder).entries):
            path = self.join(folder, name)
            entry = self.fs.lresolve(path)
            is_kept = path in mounts or (
                folder == self._root and name in ("box", "home", "tmp")
            )
            if stat.S_ISDIR(entry.st_mode) and (is_kept or _holds(path, mounts)):
                self._empty(path, mounts)
            else:
                self.fs.remove_object(path)

    def _make(self, node: _Node) -> None:
        fs = self.fs
        path = self.join(self._root, *node.path.split("/"))
        if node.link:
            fs.create_symlink(path, node.link)
        elif node.same:
            fs.create_link(self.join(self._root, *node.same.split("/")), path)
        elif stat.S_ISDIR(node.mode):
            if not fs.exists(path):
                fs.create_dir(path)
            fs.chmod(path, stat.S_IMODE(node.mode), force_unix_mode=True)
        else:
            fs.create_file(path, st_mode=node.mode, contents=node.content)
        made = fs.lresolve(path)
        made.st_mtime = made.st_atime = made.st_ctime = float(EPOCH)

    # --- which file is which ----------------------------------------------------------

    def _name_all(self, folder: Any, path: str) -> None:
        self.name(folder, path or "/")
        for each, entry in sorted(folder.entries.items()):
            if stat.S_ISDIR(entry.st_mode):
                self._name_all(entry, f"{path}/{each}")
            else:
                self.name(entry, f"{path}/{each}")

    def name(self, file: Any, name: str) -> None:
        """Give a file its name, unless it has one."""
        if id(file) not in self._names:
            self._names[id(file)] = name
            # Its address is not to be used again.
            self._kept.append(file)

    def name_of(self, file: Any) -> str:
        """Return what a file is called, whatever its paths are."""
        return self._names.get(id(file), "")


class _Onlooker:
    """Somebody who sees the simulated files and takes no steps."""

    def __init__(self) -> None:
        self.random = Random("setup")
        self.pid = os.getpid()
        self.dead = False

    def step(
        self,
        call: str,
        kind: Kind,
        args: dict[str, Value],
        perform: Callable[[], Any],
        *,
        size: int = 0,
    ) -> Any:
        del call, kind, args, size
        with inside():
            return perform()

    def now(self) -> int:
        return EPOCH * _SECOND

    def sleep(self, seconds: float) -> None:
        """Time does not pass."""

    def refuse(self, what: str) -> None:
        raise ScenarioError(f"setup cannot be simulated: {what}")


def functions_of(programs: Iterable[Program]) -> list[Callable[..., object]]:
    """Return what programs call."""
    return [each.function for each in programs if each.function is not None]


def _snapshot(folder: Any, path: str, known: dict[int, str]) -> list[_Node]:
    nodes = []
    for name, entry in sorted(folder.entries.items()):
        below = f"{path}/{name}" if path else name
        mode = entry.st_mode
        if stat.S_ISDIR(mode):
            nodes.append(_Node(below, mode))
            nodes += _snapshot(entry, below, known)
        elif stat.S_ISLNK(mode):
            nodes.append(_Node(below, mode, link=str(entry.contents)))
        elif stat.S_ISREG(mode):
            same = known.setdefault(id(entry), below)
            if same == below:
                nodes.append(_Node(below, mode, content=entry.byte_contents or b""))
            else:
                nodes.append(_Node(below, mode, same=same))
        else:
            raise ScenarioError(f"setup made {below}, which is no file, folder or link")
    return nodes


def _holds(folder: str, mounts: set[str]) -> bool:
    return any(mount.startswith(folder) for mount in mounts)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
