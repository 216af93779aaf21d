"""The folder that actors work in: made fresh for each execution, and always removed.

A run has one folder of its own, by default on tmpfs. In it lies the sandbox with the
box (what scenarios see), a home and a folder for temporary files; beside the sandbox
lie the actors' outputs.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from racecheck.engine.claim import FOLDERS, claim, empty, is_lock_of, remove_folder
from racecheck.engine.initial import FRESH, Initial
from racecheck.errors import CannotRunError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from types import TracebackType

ENDS: Final = frozenset({signal.SIGTERM, signal.SIGINT})
"""Signals that end a process which leaves nothing behind."""
_PARTS: Final = ("box", "home", "tmp")
_MOST_SHOWN: Final = 4096
_LONGEST_OUTPUT: Final = 64 * 1024
_CHANGING: Final = frozenset({errno.ENOTEMPTY, errno.ENOENT})
"""What is said of a folder in which somebody else is at work."""
_MOST_TRIES: Final = 100
_NEXT_TRY_S: Final = 0.01


class Sandbox:
    """The run's folder, for as long as its worker lives.

    Attributes:
        old: What `setup` made older than the start: its times, by the name that is
            shown for it.
        marked: Whether an actor may have given a folder flags or attributes that only
            a closer look shows.
        touched: Names of the inodes that may have been changed since the last
            `restore`, as they are shown; None if nobody can say. To be told before the
            next one.
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
        # Who is asked to end meanwhile has the folder, and knows of it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        try:
            self.folder, self._lock = claim(parent)
            self.root, self.outputs = (self.folder / name for name in FOLDERS)
            try:
                self.root.mkdir()
                self.outputs.mkdir()
                self.clear()
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            except BaseException:
                self.remove()
                raise
        except OSError as error:
            message = f"cannot make a sandbox in {parent}: {error.strerror}"
            raise CannotRunError(message) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.box = self.root / "box"
        self.home = self.root / "home"
        self.temporary = self.root / "tmp"
        self._prefix = f"{self.root}/"
        self._shown: dict[str, str] = {}
        self.old: dict[str, tuple[int, int]] = {}
        self.marked = True
        self.touched: Collection[str] | None = None
        self._initial = Initial(str(self.root), _PARTS, self.display)

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
            # It may have looked where temporary files go already, and drawn names. It
            # draws them anew where the process id is another one, and an actor's can be
            # that which this process really has.
            vars(sys.modules["tempfile"]).update(tempdir=None, _name_sequence=None)

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
        self._initial.take()
        self.old = {
            self.display(path): times
            for path, times in self._initial.times()
            if times != FRESH
        }

    def restore(self) -> None:
        """Make the box what it was when `keep_as_initial` was called.

        The folders that the sandbox is made of stay, since actors stand in them. What
        is known to be as it was stays, too.
        """
        touched, self.touched = self.touched, None
        if self.marked or touched is None or not self._initial.repair(touched):
            self._initial.make(marked=self.marked)
        self.marked = False

    def staying(self) -> tuple[str, dict[str, str]]:
        """Return the name of the root, and those of the folders in it by their paths.

        They are there at the start of every execution, and actors stand in them.
        """
        paths = [f"{self._prefix}{name}" for name in _PARTS]
        return self.display(str(self.root)), {
            path: self.display(path) for path in paths
        }

    def inodes(self) -> Mapping[tuple[int, int], str]:
        """Return the names of all inodes after `restore`, by device and number."""
        return self._initial.inodes()

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
        with contextlib.suppress(OSError):
            self._remove_folder()
        with contextlib.suppress(OSError):
            os.close(self._lock)

    def _remove_folder(self) -> None:
        for _ in range(_MOST_TRIES):
            # Without its lock it is nobody's: by now another run can have the name.
            if not is_lock_of(self._lock, self.folder):
                return
            try:
                remove_folder(self.folder)
            except OSError as error:
                if error.errno not in _CHANGING:
                    raise
                # A process that was killed can still be in a call that makes a file, or
                # removes one.
                time.sleep(_NEXT_TRY_S)
            else:
                return


def default_workdir() -> Path:
    """Return where sandboxes are made unless the user says otherwise."""
    shared = Path("/dev/shm")  # noqa: S108  the folder below it is ours alone
    if shared.is_dir() and os.access(shared, os.W_OK | os.X_OK):
        return shared
    return Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108  as above
