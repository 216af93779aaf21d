"""Workers that are kept between calls, since starting one takes longer than most tasks.

Each thread has its own, because a worker ends with the thread that started it, and so
has each process: what a fork inherits it neither uses nor ends.
"""

from __future__ import annotations

import atexit
import os
import threading

from racecheck.explore.client import Pool

_pools: dict[tuple[int, threading.Thread], Pool] = {}
_lock = threading.Lock()


def shared_pool() -> Pool:
    """Return the pool of the current thread, with one worker.

    It stays after the call, and ends with the process.
    """
    mine = os.getpid(), threading.current_thread()
    with _lock:
        for process, thread in list(_pools):
            if process == mine[0] and not thread.is_alive():
                _pools.pop((process, thread)).close()
        if mine not in _pools:
            _pools[mine] = Pool(1)
        return _pools[mine]


def end_workers() -> None:
    """End all workers that this process has kept."""
    with _lock:
        for process, thread in list(_pools):
            if process == os.getpid():
                _pools.pop((process, thread)).close()


atexit.register(end_workers)
