"""End runs at random moments, and look for what is left of them.

    python -m benchmarks.killed [--kills 200] [--interrupts 50] [WAY ...]

A way is how scenarios are run: `jobs` (`racecheck run --jobs 2`), `pytest`, or `xdist`
(`pytest -n 2`). After SIGKILL no process may be left, and after the next run no folder;
after Ctrl-C, which reaches the harness or all of its group, neither may be left once
the harness has ended. The actors do what they can to stay.

It has a `/dev/shm` of its own, so that it sees everything there, and becomes the parent
of all processes whose own has gone, so that it sees each of them too. It ends with
status 1 if anything was left.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import psutil

from benchmarks.alone import have_own_shared_memory
from tests.engine.circumstances import heeding_signals
from tests.engine.endless import ENDLESS, declare_all

ROOT: Final = Path(__file__).parents[1]
SHARED: Final = Path("/dev/shm")  # noqa: S108  a new one
WITHIN_S: Final = 60.0
AT_ONCE: Final = 2
MOST_SAID: Final = 8000
PYTEST: Final = ("-m", "pytest", "-q", "-p", "racecheck.pytest_plugin", "--racecheck")
ENDLESSLY: Final = ("--racecheck-budget", "1000000", "scenario_endless.py")
WAYS: Final = {
    "jobs": ("-m", "racecheck", "run", "--jobs", "2", "--budget", "1000000"),
    "pytest": (*PYTEST, *ENDLESSLY),
    "xdist": (*PYTEST, "-p", "xdist", "-n", "2", *ENDLESSLY),
}
OTHERS: Final = ("said", ".pytest_cache", "tmp/pytest-of-")
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Tally:
    """What came of the runs that were ended in one way.

    Attributes:
        ended: How many there were.
        acting: In how many of them actors were at work.
        slowest_s: The longest time that the last process took to end.
        left: What was left, a line each.
    """

    ended: int = 0
    acting: int = 0
    slowest_s: float = 0.0
    left: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return it as a line, with one more for all that was left."""
        first = (
            f"{self.ended} runs, {self.acting} with actors at work, last process gone "
            f"after {self.slowest_s:.1f} s at the most, left behind: {len(self.left)}"
        )
        return "\n    ".join([first, *self.left[:20]])


def main() -> int:
    """End runs, print what came of them, and return the status."""
    parser = argparse.ArgumentParser(description="End runs and look what is left.")
    parser.add_argument("--kills", type=int, default=200, help="SIGKILLs of each way")
    parser.add_argument("--interrupts", type=int, default=50, help="Ctrl-Cs of each")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments")
    parser.add_argument("ways", nargs="*", metavar="WAY", help=", ".join(WAYS))
    options = parser.parse_args()
    if not have_own_shared_memory():
        print("no /dev/shm of one's own can be had here", file=sys.stderr)
        return 2
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    wrong = 0
    for way in options.ways or WAYS:
        with tempfile.TemporaryDirectory(prefix="racecheck-killed-") as folder:
            place = Place(Path(folder), way, random.Random(f"{options.seed}/{way}"))
            for what, count, end in (
                ("SIGKILL", options.kills, kill),
                ("Ctrl-C", options.interrupts, partial(interrupt, group=True)),
                ("SIGINT", options.interrupts, partial(interrupt, group=False)),
            ):
                tally = Tally()
                try:
                    end(place, count, tally)
                finally:
                    # Also of what there is if this run is ended itself.
                    print(f"{way:8}{what:8}{tally}", flush=True)
                    end_all()
                wrong += len(tally.left)
    return min(1, wrong)


class Place:
    """A folder with scenarios without end, and the way in which they are run.

    Attributes:
        folder: The folder.
        random: For the moments.
    """

    def __init__(self, folder: Path, way: str, moments: random.Random) -> None:
        self.random = moments
        self.folder = folder
        self._words = WAYS[way]
        self._temporary = folder / "tmp"
        self._temporary.mkdir()
        (folder / "scenario_endless.py").write_text(f"{ENDLESS}{declare_all(3)}")
        (folder / "pyproject.toml").write_text(
            '[tool.racecheck]\npaths = ["scenario_endless.py"]'
        )
        self._before = self._files()

    def start(self) -> subprocess.Popen[bytes]:
        """Start a run that does not end by itself."""
        return self._popen(*self._words)

    def run_again(self) -> None:
        """Make a run that ends, as somebody would who goes on."""
        quick = self._popen(*WAYS["jobs"], "--engine", "process", "quick")
        quick.wait()

    def _popen(self, *words: str) -> subprocess.Popen[bytes]:
        with heeding_signals(), (self.folder / "said").open("wb") as said:
            return subprocess.Popen(
                [sys.executable, *words],
                cwd=self.folder,
                env={
                    "PATH": os.environ["PATH"],
                    "PYTHONPATH": str(ROOT),
                    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "PYTHONFAULTHANDLER": "1",
                    "TMPDIR": str(self._temporary),
                },
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def said(self) -> str:
        """Return the end of what the last run has printed."""
        return (self.folder / "said").read_text(errors="replace")[-MOST_SAID:]

    def sleep(self) -> bool:
        """Wait for a random moment; say whether actors are at work then."""
        if self.random.random() < 0.7:
            until = time.monotonic() + WITHIN_S
            while not is_acting() and time.monotonic() < until:
                time.sleep(0.01)
        time.sleep(self.random.random() * self.random.choice((0.1, 1)))
        return is_acting()

    def left(self) -> list[str]:
        """Return what is left beside processes."""
        return [*map(str, SHARED.iterdir()), *sorted(self._files() - self._before)]

    def _files(self) -> set[str]:
        found = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}
        # What pytest keeps is no business of ours.
        return {path for path in found if not path.startswith(OTHERS)}


def is_acting() -> bool:
    """Say whether an actor has come to its second write, in any run."""
    return any(SHARED.glob("racecheck-*/sandbox/box/file"))


def processes() -> list[str]:
    """Return the processes that are left; those that have ended are taken away."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                if process.ppid() == os.getpid():
                    os.waitpid(process.pid, os.WNOHANG)
                continue
            found.append(f"process {' '.join(process.cmdline())[-100:]}")
        except (psutil.Error, ChildProcessError):
            continue
    return found


def wait_for_nobody() -> tuple[list[str], float]:
    """Wait until no process is left; return those that stay, and how long it took."""
    start = time.monotonic()
    while (left := processes()) and time.monotonic() < start + WITHIN_S:
        time.sleep(0.02)
    took = time.monotonic() - start
    end_all()
    return left, took


def end_all() -> None:
    """Leave no process, so that the next run is not blamed for it."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()


def kill(place: Place, count: int, tally: Tally) -> None:
    """End runs by SIGKILL, a few at the same time, and then make another one."""
    for start in range(0, count, AT_ONCE):
        running = [place.start() for _ in range(min(AT_ONCE, count - start))]
        for harness in running:
            tally.acting += place.sleep()
            harness.kill()
            harness.wait()
        left, took = wait_for_nobody()
        tally.left += left
        tally.slowest_s = max(tally.slowest_s, took)
        tally.ended += len(running)
        place.run_again()
        tally.left += place.left()
        clean(place)


def interrupt(place: Place, count: int, tally: Tally, *, group: bool) -> None:
    """End runs by SIGINT, one after the other."""
    for _ in range(count):
        harness = place.start()
        tally.acting += place.sleep()
        if group:
            os.killpg(harness.pid, signal.SIGINT)
        else:
            harness.send_signal(signal.SIGINT)
        try:
            harness.wait(WITHIN_S)
        except subprocess.TimeoutExpired:
            # With this it tells where it hangs.
            harness.send_signal(signal.SIGABRT)
            harness.wait()
            tally.left.append(f"the harness itself: {place.said()}")
        # At once: nothing is waited for but the end of the harness.
        tally.left += [*processes(), *place.left()]
        tally.slowest_s = max(tally.slowest_s, wait_for_nobody()[1])
        tally.ended += 1
        clean(place)


def clean(place: Place) -> None:
    """Leave nothing that the next run would be blamed for."""
    for path in place.left():
        subprocess.run(["rm", "-rf", path], cwd=place.folder, check=False)


if __name__ == "__main__":
    sys.exit(main())
