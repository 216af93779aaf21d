"""Putting a scheduling point before each call that actors make on simulated files.

The functions of pyfakefs's `os` and `os.path` are wrapped once a process. A thread that
acts for nobody gets the real function, so that racecheck and the libraries it uses go
on working on real files. What pyfakefs does in one go where a program makes several
calls (`makedirs`, `realpath`, `open`) is replaced by Python's own code, which makes
them.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import functools
import inspect
import os
import posixpath
import shutil
import stat
import types
from typing import TYPE_CHECKING, Any, Final, Self

from pyfakefs import (
    fake_filesystem_shutil,
    fake_io,
    fake_os,
    fake_path,
    fake_pathlib,
    fake_scandir,
)

from racecheck.model import Kind
from racecheck.simulated.acting import acting, inside, is_inside
from racecheck.simulated.raw_files import open_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from racecheck.model import Value

_CALLS: Final[dict[str, tuple[Kind, tuple[str, ...]]]] = {
    "access": (Kind.ACCESS, ("path", "mode")),
    "chdir": (Kind.CHDIR, ("path",)),
    "chmod": (Kind.CHMOD, ("path", "mode")),
    "close": (Kind.CLOSE, ("fd",)),
    "dup": (Kind.DUP, ("fd",)),
    "fdatasync": (Kind.SYNC, ("fd",)),
    "fstat": (Kind.STAT, ("fd",)),
    "fsync": (Kind.SYNC, ("fd",)),
    "ftruncate": (Kind.TRUNCATE, ("fd", "length")),
    "getcwd": (Kind.GETCWD, ()),
    "link": (Kind.LINK, ("oldpath", "newpath")),
    "listdir": (Kind.LISTING, ("file",)),
    "lseek": (Kind.SEEK, ("fd", "offset", "whence")),
    "lstat": (Kind.STAT, ("path",)),
    "mkdir": (Kind.MKDIR, ("path", "mode")),
    "open": (Kind.OPEN, ("path", "flags", "mode")),
    "read": (Kind.READ, ("fd", "count")),
    "readlink": (Kind.READLINK, ("path",)),
    "remove": (Kind.UNLINK, ("path",)),
    "rename": (Kind.RENAME, ("oldpath", "newpath")),
    "replace": (Kind.RENAME, ("oldpath", "newpath")),
    "rmdir": (Kind.RMDIR, ("path",)),
    "scandir": (Kind.LISTING, ("file",)),
    "stat": (Kind.STAT, ("path",)),
    "symlink": (Kind.SYMLINK, ("target", "path")),
    "truncate": (Kind.TRUNCATE, ("path", "length")),
    "unlink": (Kind.UNLINK, ("path",)),
    "utime": (Kind.UTIMES, ("path", "times")),
    "write": (Kind.WRITE, ("fd", "data")),
}
"""What is a step, with the names of its arguments in a trace."""

_CALLED: Final = {"open": "openat", "remove": "unlink", "replace": "rename"}
"""What calls are called that Python has another name for."""

_QUESTIONS: Final = ("exists", "lexists", "isdir", "isfile", "islink", "getsize")
"""What `os.path` finds out by one call."""

_HARMLESS: Final = frozenset(
    {
        *("cpu_count", "fspath", "fsencode", "fsdecode", "get_exec_path", "getenv"),
        *("getenvb", "getlogin", "getppid", "process_cpu_count", "putenv"),
        *("sched_getaffinity", "sched_yield", "strerror", "sysconf", "times", "uname"),
        *("unsetenv", "get_terminal_size", "isatty", "getuid", "getgid", "geteuid"),
        *("getegid", "getgroups", "get_inheritable", "set_inheritable"),
    }
)
"""Functions of the real `os` that concern no file."""

_FOLDER_NBYTES: Final = 4096

originals: dict[str, Callable[..., Any]] = {}
"""The functions of pyfakefs's `os` as they were, for who looks on."""

_done: list[bool] = []


def intercept() -> None:
    """Wrap all there is, once; to be called before pyfakefs patches anything."""
    if _done:
        return
    _done.append(True)
    module = fake_os.FakeOsModule
    _ask_who_acts(module, os)
    _ask_who_acts(fake_path.FakePathModule, os.path)
    for name, (kind, names) in _CALLS.items():
        originals[name] = getattr(module, name).__wrapped__
        setattr(module, name, _wrapped(name, kind, names, originals[name]))
    for name in _QUESTIONS:
        original = getattr(fake_path.FakePathModule, name).__wrapped__
        setattr(fake_path.FakePathModule, name, _question(name, original))
    others: dict[str, object] = {
        "__getattr__": _anything_else,
        "fdopen": _opened,
        "getpid": _getpid,
        "makedirs": _makedirs,
        "removedirs": _unsimulated("removedirs"),
        "seek_quietly": _seek_quietly,
        "umask": _unsimulated("umask"),
        "urandom": _urandom,
        "walk": _walk,
    }
    for name, value in others.items():
        setattr(module, name, value)
    for name in ("name", "sep", "altsep", "linesep", "pathsep", "devnull"):
        setattr(module, name, _constant(name))
    listed = [*module.dir(), "ftruncate", "getpid", "truncate", "urandom"]
    # These are replaced also where a module has imported them by name.
    module.dir = staticmethod(lambda: listed)  # type: ignore[method-assign]  # see above
    fake_path.FakePathModule.realpath = _realpath  # type: ignore[method-assign, assignment]  # see above
    fake_io.FakeIoModule.open = _io_open  # type: ignore[method-assign]  # see above
    for name in ("fcntl", "flock", "ioctl", "lockf"):
        # Those of pyfakefs do nothing and say that all went well.
        setattr(fake_io.FakeFcntlModule, name, _unsimulated(name, fcntl))
    # It would set what follows around each call, under a lock that actors would share.
    fake_filesystem_shutil.FakeShutilModule.functions_to_patch = []
    for name in ("_USE_CP_COPY_FILE_RANGE", "_USE_CP_SENDFILE", "_HAS_FCOPYFILE"):
        vars(shutil)[name] = False
    vars(shutil)["_use_fd_functions"] = False
    if hasattr(shutil, "_rmtree_unsafe") and hasattr(shutil, "_rmtree_impl"):
        vars(shutil)["_rmtree_impl"] = shutil._rmtree_unsafe
    fake_scandir.DirEntry.stat = _entry_status  # type: ignore[method-assign, assignment]  # see above
    for name in (
        *("open", "read_bytes", "read_text", "write_bytes", "write_text"),
        *("samefile", "touch"),
    ):
        # Those of Python make the calls that they make everywhere.
        if name in vars(fake_pathlib.FakePath):
            delattr(fake_pathlib.FakePath, name)


def _constant(name: str) -> property:
    """Return what a machine calls something; who acts for nobody gets the real name."""

    def ask(self: Any) -> Any:
        if acting() is None:
            return getattr(os, name)
        if name == "name":
            return "nt" if self.filesystem.is_windows_fs else "posix"
        return getattr(self.path, name)

    return property(ask)


def _ask_who_acts(module: type, real: Any) -> None:
    """Let functions of pyfakefs be the real ones for who acts for nobody.

    It would itself look through the calls that have led there, each time.
    """
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if not name.startswith("_") and name != "dir":
            own = inspect.unwrap(function)
            setattr(module, name, _either(own, getattr(real, name, None)))


def _either(simulated: Callable[..., Any], real: Any) -> Callable[..., Any]:
    @functools.wraps(simulated)
    def ask(self: Any, *args: Any, **keywords: Any) -> Any:
        if acting() is None and real is not None:
            return real(*args, **keywords)
        return simulated(self, *args, **keywords)

    return ask


def random_bytes(size: int) -> bytes:
    """Return random bytes of whom the thread acts for, or the system's."""
    actor = acting()
    return os.urandom(size) if actor is None else actor.random.randbytes(size)


def _wrapped(
    name: str, kind: Kind, names: tuple[str, ...], original: Callable[..., Any]
) -> Callable[..., Any]:
    real = getattr(os, name)

    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        actor = acting()
        if actor is None:
            return real(*args, **keywords)
        perform = _performer(self, name, original, args, keywords)
        if is_inside():
            return perform()
        shown = dict(zip(names, map(_shown, args), strict=False))
        shown |= {key: _shown(value) for key, value in keywords.items()}
        if kind is Kind.LISTING:
            shown.setdefault("file", ".")
        size = len(args[1]) if kind is Kind.WRITE else 0
        shown_as = _CALLED.get(name, name)
        if shown_as == "rename" and self.filesystem.is_windows_fs:
            # Two things there: only one of them replaces.
            shown_as = name
        return actor.step(shown_as, kind, shown, perform, size=size)

    call.__name__ = name
    return call


def _performer(
    system: Any,
    name: str,
    original: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Callable[..., Any]:
    if name == "open":
        return lambda: _open(system, *args, **keywords)
    if name == "write":
        # How much of it, if a fault cuts it.
        return lambda length=None: original(
            system, args[0], bytes(args[1])[:length], **keywords
        )
    if name == "read":
        return lambda length=None: original(
            system, args[0], args[1] if length is None else min(args[1], length)
        )
    if name in ("stat", "lstat", "fstat"):
        return lambda: _status(original(system, *args, **keywords))
    if name == "listdir":
        return lambda: sorted(original(system, *args, **keywords))
    if name == "scandir":
        return lambda: _Entries(original(system, *args, **keywords))
    return lambda: original(system, *args, **keywords)


def _status(found: Any) -> Any:
    """Leave out what a folder's status tells of the names in it."""
    if stat.S_ISDIR(found.st_mode):
        found.st_size = _FOLDER_NBYTES
        found.st_nlink = 1
    return found


class _Entries:
    """What `scandir` gives: all entries as they were at the call, sorted."""

    def __init__(self, found: Iterable[Any]) -> None:
        self._entries = iter(sorted(found, key=lambda entry: entry.name))

    def __iter__(self) -> Iterator[Any]:
        return self._entries

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to close."""

    def close(self) -> None:
        """There is nothing to close."""


def _open(
    system: Any, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
) -> int:
    """Open a file; one that is there already keeps its mode, and the umask counts."""
    try:
        before = originals["stat"](system, path, dir_fd=dir_fd)
    except (OSError, NotImplementedError):
        before = None
    fs = system.filesystem
    descriptor: int = originals["open"](
        system, path, flags, mode & ~fs.umask, dir_fd=dir_fd
    )
    if before is not None and stat.S_ISREG(before.st_mode):
        fs.chmod(path, stat.S_IMODE(before.st_mode), force_unix_mode=True)
    return descriptor


def _question(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    real = getattr(os.path, name)
    call = "lstat" if name in ("lexists", "islink") else "stat"

    def ask(self: Any, path: Any) -> Any:
        actor = acting()
        if actor is None:
            return real(path)
        if is_inside():
            return original(self, path)
        return actor.step(
            call, Kind.STAT, {"path": _shown(path)}, lambda: original(self, path)
        )

    ask.__name__ = name
    return ask


def _anything_else(self: Any, name: str) -> Any:
    """Give what concerns no file, and refuse what does."""
    found = getattr(os, name)
    if acting() is None or not callable(found) or name in _HARMLESS:
        return found
    if isinstance(found, type):
        return found
    return types.MethodType(_unsimulated(name), self)


def _unsimulated(name: str, module: types.ModuleType = os) -> Callable[..., Any]:
    what = f"{module.__name__}.{name} is not simulated"

    def refuse(self: Any, *args: Any, **keywords: Any) -> Any:
        del self
        actor = acting()
        if actor is None:
            return getattr(module, name)(*args, **keywords)
        actor.refuse(what)
        raise OSError(errno.ENOSYS, what)

    return refuse


def _seek_quietly(self: Any, fd: int, offset: int, whence: int) -> int:
    """Set the offset of a descriptor that nobody else has, which is no step."""
    with inside():
        handle = self.filesystem.get_open_file(fd)
        if whence == os.SEEK_END:
            offset += handle.file_object.size
        elif whence == os.SEEK_CUR:
            offset += handle.tell()
        handle.seek(offset)
    return offset


def _recompiled(self: Any, function: Any, **names: object) -> Any:
    """Return a function of Python's own that makes simulated calls."""
    found = {"__builtins__": builtins, **vars(os), "path": self.path, **names}
    for name in _CALLS:
        found[name] = getattr(self, name)
    again = types.FunctionType(
        function.__code__, found, function.__name__, function.__defaults__
    )
    again.__kwdefaults__ = function.__kwdefaults__
    found[function.__name__] = again
    return again


def _entry_status(self: Any, *, follow_symlinks: bool = True) -> Any:
    system = self._filesystem().system
    return system.stat(self.path, follow_symlinks=follow_symlinks)


def _makedirs(self: Any, *args: Any, **keywords: Any) -> None:
    if acting() is None:
        os.makedirs(*args, **keywords)
    else:
        _recompiled(self, os.makedirs)(*args, **keywords)


def _walk(self: Any, *args: Any, **keywords: Any) -> Any:
    if acting() is None:
        return os.walk(*args, **keywords)
    return _recompiled(self, os.walk)(*args, **keywords)


def _realpath(self: Any, filename: Any, *, strict: bool = False) -> Any:
    if acting() is None:
        return os.path.realpath(filename, strict=strict)
    # As Python does it: each part is looked at, and each link is read.
    system = self.filesystem
    text = os.fspath(filename)
    found = self.abspath(text)
    if system.is_windows_fs:
        with inside():
            return system.resolve_path(found) if system.exists(found) else found
    parts = [part for part in found.split("/") if part]
    path, links = "/", 0
    while parts:
        part = parts.pop(0)
        if part == "..":
            path = posixpath.dirname(path)
            continue
        path = posixpath.join(path, part)
        if self.islink(path) and links < _MOST_LINKS:
            links += 1
            target = self.os.readlink(path)
            path = "/" if target.startswith("/") else posixpath.dirname(path)
            parts = [each for each in target.split("/") if each not in ("", ".")] + [
                *parts
            ]
        elif strict and not self.lexists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return path


_MOST_LINKS: Final = 40


def _getpid(self: Any) -> int:
    del self
    actor = acting()
    return os.getpid() if actor is None else actor.pid


def _urandom(self: Any, size: int) -> bytes:
    del self
    return random_bytes(size)


def _opened(system: Any, file: Any, *args: Any, **keywords: Any) -> Any:
    if acting() is None:
        return os.fdopen(file, *args, **keywords)
    return open_file(system, file, *args, **keywords)


def _io_open(self: Any, file: Any, *args: Any, **keywords: Any) -> Any:
    if acting() is None or is_inside():
        return _real_open(file, *args, **keywords)
    return open_file(self.filesystem.system, file, *args, **keywords)


_real_open = open


def _shown(value: Any) -> Value:
    if isinstance(value, bytes | bytearray | memoryview):
        return value if isinstance(value, bytes) else bytes(value)  # type: ignore[return-value]  # cut down by who records it
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) or value is None:
        return value
    try:
        return os.fsdecode(value)
    except TypeError:
        return str(value)
