"""What a temp file is called: each function names one for the image at `path`."""

import itertools
import os
import secrets
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

# Size of the buffer in which the original prints the name of its temp file, the zero
# byte at the end included.
PATH_BUFFER_NBYTES = 4096

_writes = itertools.count(1)


def shared_temp(path: Path) -> Path:
    """Name the temp file that all writers of `path` share.

    The original prints into its buffer and does not ask whether all of the name got
    in. What is left of a long one may be the name of another file, or `path` itself.
    """
    name = os.fsencode(f"{path}.tmp")[: PATH_BUFFER_NBYTES - 1]
    return Path(os.fsdecode(name))


def pid_temp(path: Path) -> Path:
    """Name the temp file of this process."""
    return Path(f"{path}.tmp.{os.getpid()}")


def platform_temp(path: Path, platform: str = sys.platform) -> Path:
    """Name the temp file as the repair does: the branch for Windows kept the old one.

    Args:
        path: Where the image shall be.
        platform: What the program was built for.
    """
    return shared_temp(path) if platform == "win32" else pid_temp(path)


def thread_temp(path: Path) -> Path:
    """Name the temp file of this thread."""
    return Path(f"{pid_temp(path)}.{threading.get_native_id()}")


def counted_temp(path: Path) -> Path:
    """Name a temp file that no other write of this process uses, by any thread."""
    return Path(f"{pid_temp(path)}.{next(_writes)}")


def clock_temp(path: Path) -> Path:
    """Name a temp file after this process and the present nanosecond."""
    return Path(f"{pid_temp(path)}.{time.time_ns()}")


def host_temp(path: Path) -> Path:
    """Name a temp file after this host, this process and the number of the write."""
    # Containers on one machine have a name of their own here, by the default of the
    # tools that start them.
    host = os.environ.get("HOSTNAME") or socket.gethostname()
    return Path(f"{counted_temp(path)}.{host}")


def random_temp(path: Path) -> Path:
    """Name a temp file that no other write uses, on whatever host it runs."""
    return Path(f"{pid_temp(path)}.{secrets.token_hex(4)}")


def temp_in_tmpdir(path: Path) -> Path:
    """Name the temp file of this process in the folder for temporary files."""
    return Path(tempfile.gettempdir(), pid_temp(path).name)


def temp_in_folder(path: Path) -> Path:
    """Name the temp file of this process in a folder of temp files beside `path`.

    The folder has to be there; whoever sweeps the cache covers it.
    """
    return path.parent / "tmp" / pid_temp(path).name


def path_itself(path: Path) -> Path:
    """Name no temp file: the image is written where it shall be."""
    return path


def fits(temp: Path) -> bool:
    """Say whether the buffer can hold the whole name."""
    # A last component longer than the file system allows needs no check here: opening
    # it fails, and nothing has been touched by then.
    return len(os.fsencode(temp)) < PATH_BUFFER_NBYTES
