"""Frontrun's side, run by its own command in its own environment.

`frontrun python -m benchmarks.beside.frontrun_side MODE TASK LIMIT SEED` prints a line
of JSON: executions made, seconds they took, and whether the race was found.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.beside import subjects

_MEMORY = "/dev/shm"  # noqa: S108  where racecheck's boxes are
_DATABASE = f"{_MEMORY}/frontrun-counter.db"


class Box:
    """A fresh folder, and whether a blob was missed in it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="frontrun-", dir=_MEMORY))
        self.missed = False


def _counter() -> Box:
    box = Box()
    subjects.prepare(box.path)
    return box


def _index() -> Box:
    box = Box()
    subjects.prepare_index(box.path)
    return box


def _increment(box: Box) -> None:
    subjects.increment(box.path)


def _publish(box: Box) -> None:
    subjects.publish(box.path)


def _load(box: Box) -> None:
    if not subjects.load(box.path):
        box.missed = True


def _found_all(box: Box) -> bool:
    shutil.rmtree(box.path, ignore_errors=True)
    return not box.missed


def _holds(state: object) -> bool:
    if isinstance(state, Box):
        shutil.rmtree(state.path, ignore_errors=True)
    return True


# Processes share nothing but files, so that who missed a blob leaves one.


def _index_folder() -> str:
    return str(_index().path)


def _publish_in(folder: str) -> None:
    subjects.publish(Path(folder))


def _load_in(folder: str) -> None:
    if not subjects.load(Path(folder)):
        (Path(folder) / "missed").touch()


def _found_all_in(folder: str) -> bool:
    missed = (Path(folder) / "missed").exists()
    shutil.rmtree(folder, ignore_errors=True)
    return not missed


def _table() -> str:
    return subjects.prepare_table(_DATABASE)


_TASKS: dict[str, dict[str, Any]] = {
    "window": {
        "setup": _index,
        "workers": [_publish, _load],
        "invariant": _found_all,
    },
    "window between processes": {
        "setup": _index_folder,
        "workers": [_publish_in, _load_in],
        "invariant": _found_all_in,
    },
    "file": {"setup": _counter, "workers": [_increment] * 2, "invariant": _holds},
    "memory": {
        "setup": subjects.Counter,
        "workers": [subjects.Counter.increment] * 3,
        "invariant": _holds,
    },
    "database": {
        "setup": _table,
        "workers": [subjects.increment_row] * 3,
        "invariant": _holds,
    },
}


def main() -> None:
    """Explore, and print what came of it."""
    import frontrun  # type: ignore[import-not-found]  # noqa: PLC0415  its environment

    mode, task, limit, seed = sys.argv[1:]
    options: dict[str, Any] = {"reproduce_on_failure": 0}
    if mode == "random":
        options |= {"strategy": "random", "max_attempts": int(limit), "seed": int(seed)}
    else:
        # Everything, not only what two preemptions reach.
        options |= {"max_executions": int(limit), "preemption_bound": None}
    if mode.startswith("process"):
        del options["reproduce_on_failure"]
        options |= {"execution": "process", "reuse_workers": mode == "process-reused"}
    start = time.perf_counter()
    result = frontrun.explore(**_TASKS[task], **options)
    found = {
        "executions": result.num_explored,
        "seconds": time.perf_counter() - start,
        "found": not result.property_holds,
    }
    Path(_DATABASE).unlink(missing_ok=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
