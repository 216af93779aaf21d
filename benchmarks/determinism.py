"""Replay one execution a thousand times, and ten thousand seeds three times each.

    python -m benchmarks.determinism [--replays 1000] [--seeds 10000] [--scenarios N]

Replays are made by the command, each in surroundings of its own (umask, locale, time
zone, folder for temporary files, size of the environment, hash seed), while all
processors are busy. Their trace files have to be equal byte for byte.

Seeds are spread over the shipped scenarios. Each is run by one process and once more by
another, which then replays the token of what it got. Three traces with all that a page
shows have to be equal byte for byte, and so do the boxes that are left: names, kinds,
modes, targets and contents. It ends with status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from benchmarks.alone import have_own_shared_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
RACE: Final = "head_image/two_cold_serves/shared"
FILE: Final = ROOT / "scenarios" / "head_image" / "scenario.py"
LANES: Final = 2
PROGRESS: Final = 1000
PYTHON: Final = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


_asked: list[int] = []


class Ended(BaseException):
    """The benchmark was asked to end, by SIGTERM or Ctrl-C."""


def main() -> int:
    """Replay and run, print what came of it, and return the status."""
    parser = argparse.ArgumentParser(description="Look for executions that differ.")
    parser.add_argument("--replays", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--scenarios", type=int, help="how many; all by default")
    parser.add_argument("--seed", type=int, default=0, help="seed of all that is drawn")
    options = parser.parse_args()
    if not have_own_shared_memory():
        # Where others run, the folder of a run is not always the same.
        print("no /dev/shm of one's own can be had here", file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="racecheck-determinism-") as folder:
        if options.replays:
            wrong += replay(options.replays, options.seed, Path(folder))
        if options.seeds and not _asked:
            wrong += run_seeds(options, Path(folder))
    return min(1, wrong)


def _end(number: int, _: object) -> NoReturn:
    _asked.append(number)
    raise Ended


# --- replays --------------------------------------------------------------------------


def replay(count: int, seed: int, folder: Path) -> int:
    """Replay one token; return in how many traces it was not the same."""
    asked: list[str | Path] = [
        "run",
        "--budget",
        "100",
        "--json",
        folder / "race.json",
        RACE,
        FILE,
    ]
    subprocess.run(
        [sys.executable, "-m", "racecheck", *asked],
        env={**os.environ, **PYTHON},
        cwd=folder,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    (race,) = json.loads((folder / "race.json").read_text())["scenarios"]
    token = race["violations"][0]["token"]
    started = time.perf_counter()
    jobs = [Job(token, number, seed, folder) for number in range(count)]
    traces = Counter[str]()
    with busy(), ProcessPoolExecutor(LANES, initializer=alone) as lanes:
        # What there is by then is told if it is asked to end.
        with suppress(Ended):
            traces.update(lanes.map(replay_once, jobs))
        lanes.shutdown(cancel_futures=True)
    different = traces.total() - max(traces.values(), default=0)
    print(
        f"{traces.total()} replays of {token} in as many surroundings: "
        f"{len(traces)} different traces, {different} not like the most; "
        f"{time.perf_counter() - started:.0f} s, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    for text, number in traces.most_common(5)[1:]:
        print(f"    {number} of {text}")
    return different + count - traces.total()


class Job(NamedTuple):
    """One replay: of which token, which one, and where it can make its folder."""

    token: str
    number: int
    seed: int
    folder: Path


def alone() -> None:
    """Have folders of runs to oneself, or end; Ctrl-C is for who started this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if not have_own_shared_memory():
        os._exit(2)


def replay_once(job: Job) -> str:
    """Return the digest of the trace file of a replay, or what went wrong."""
    draw = random.Random(f"{job.seed}/{job.number}")
    place = job.folder / f"{job.number}".ljust(draw.randint(4, 40), "x")
    place.mkdir()
    file = place / "race.trace"
    command = [sys.executable, "-m", "racecheck", "replay", job.token, str(FILE)]
    done = subprocess.run(
        [*command, "--trace", str(file)],
        env=surroundings(draw, place),
        cwd=place,
        umask=draw.choice((0, 0o002, 0o022, 0o027, 0o077)),
        capture_output=True,
        text=True,
        check=False,
    )
    if "all calls, arguments and results are as recorded" not in done.stdout:
        return f"status {done.returncode}: {done.stderr[-200:]}"
    digest = hashlib.blake2b(file.read_bytes()).hexdigest()
    shutil.rmtree(place)
    return digest


def surroundings(draw: random.Random, place: Path) -> dict[str, str]:
    """Return an environment that nobody else has, without a hash seed."""
    made = {
        "PATH": os.environ["PATH"],
        "LANG": draw.choice(("C", "C.UTF-8", "POSIX", "de_DE.UTF-8", "ja_JP.eucJP")),
        "LC_ALL": draw.choice(("", "C", "C.UTF-8", "tr_TR.UTF-8")),
        "TZ": draw.choice(("UTC", "Asia/Tokyo", "America/Lima", "Europe/Berlin")),
        "TMPDIR": str(place),
        "HOME": str(place),
    }
    for number in range(draw.randint(0, 50)):
        made[f"VARIABLE_{number}"] = "x" * draw.randint(0, 200)
    return {**made, **PYTHON}


@contextmanager
def busy() -> Iterator[None]:
    """Keep all processors busy."""
    loops = [
        subprocess.Popen(["sh", "-c", "while :; do :; done"])
        for _ in os.sched_getaffinity(0)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


# --- seeds ----------------------------------------------------------------------------


def run_seeds(options: argparse.Namespace, folder: Path) -> int:
    """Run, rerun and replay; return for how many seeds anything differed."""
    started = time.perf_counter()
    words = [str(options.seeds), str(options.scenarios or 0), str(options.seed)]
    draw = random.Random(options.seed)
    sides = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.executions", what, *words],
            env=surroundings(draw, folder),
            cwd=ROOT,
            umask=umask,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        for what, umask in (("run", 0o077), ("rerun", 0o002))
    ]
    wrong: list[str] = []
    total, names, verdicts = 0, set(), Counter[str]()
    first, second = (side.stdout or sys.exit("no output") for side in sides)
    # What there is by then is told if it is asked to end.
    with suppress(Ended):
        for one, other in zip(first, second, strict=False):
            name, verdict, number, run, *_ = one.rstrip("\n").split("\t")
            _, _, _, *both = other.rstrip("\n").split("\t")
            total += 1
            names.add(name)
            verdicts[verdict] += 1
            if both != [run, run]:
                wrong.append(f"{name} seed {number}: {run} {' '.join(both)}")
            if total % PROGRESS == 0:
                print(f"    {total} seeds, {len(wrong)} differ", flush=True)
    for side in sides:
        # With the fork that runs a scenario: it would go on to the end of its seeds.
        with suppress(ProcessLookupError):
            os.killpg(side.pid, signal.SIGKILL)
    statuses = [side.wait() for side in sides]
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    print(
        f"{total} seeds of {len(names)} scenarios ({told}): {len(wrong)} differ "
        f"between run, rerun and replay; {time.perf_counter() - started:.0f} s, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    print("".join(f"    {line}\n" for line in wrong[:20]), end="")
    if total < options.seeds:
        print(f"    {options.seeds - total} seeds were not run, statuses {statuses}")
    return len(wrong) + max(0, int(options.seeds) - total)


if __name__ == "__main__":
    sys.exit(main())
