"""Guards that hosts can have different clocks, and files those of the volume."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from typing import TYPE_CHECKING

import pytest

from racecheck.engine.clock import EPOCH_NS, UPTIME_NS
from racecheck.model import Verdict
from racecheck.scenario import Scenario, command
from racecheck.scheduling import RandomWalkScheduler
from tests.engine.lab import run, run_all

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes

EPOCH = EPOCH_NS // 1_000_000_000


def test_each_host_has_its_own_time_and_all_have_the_same_uptime() -> None:
    made = Scenario("hosts")

    def act() -> list[int]:
        return [time.time_ns() - EPOCH_NS, time.monotonic_ns() - UPTIME_NS]

    offsets = (0, 3600, -86_400)
    for offset in offsets:
        made.actor(act, name=f"ahead-{offset}", clock_offset_s=offset)

    seen = run(made)

    for offset in offsets:
        assert seen.operation(f"ahead-{offset}").value == [offset * 10**9, 0]


def test_whatever_an_actor_starts_is_on_its_host() -> None:
    made = Scenario("hosts")

    @made.actor(clock_offset_s=90)
    def ahead() -> list[float]:
        found = []
        thread = threading.Thread(target=lambda: found.append(time.time() - EPOCH))
        thread.start()
        thread.join()
        shown = subprocess.run(
            ["date", "+%s"], stdout=subprocess.PIPE, check=True, encoding="ascii"
        )
        found.append(int(shown.stdout) - EPOCH)
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.write(write, str(int(time.time()) - EPOCH).encode())
            os._exit(0)
        os.waitpid(child, 0)
        return [*found, int(os.read(read, 20))]

    made.actor(command(["date", "+%s"]), name="right")
    made.actor(command(["date", "+%s"]), name="behind", clock_offset_s=-90)

    seen = run(made)

    assert seen.operation("ahead").value == [90, 90, 90]
    assert int(seen.printed["right"]) - EPOCH == 0
    assert int(seen.printed["behind"]) - EPOCH == -90


def test_a_time_to_wait_until_is_that_of_the_host() -> None:
    made = Scenario("hosts")

    @made.actor(clock_offset_s=1000)
    def ahead() -> list[float]:
        start = time.monotonic()
        lock = threading.Lock()
        lock.acquire()
        # The shell's own clock, and a timeout that Python turns into a point of time.
        subprocess.run(["timeout", "7", "sleep", "100"], check=False)
        assert not lock.acquire(timeout=5)
        return [time.monotonic() - start, time.time() - EPOCH]

    # Python rounds a point of time up to the next of its own ticks.
    assert run(made).operation("ahead").value == pytest.approx([12, 1012], abs=1e-6)


def test_files_get_the_time_of_the_volume_unless_a_host_says_otherwise() -> None:
    made = Scenario("hosts")

    @made.actor(clock_offset_s=3600)
    def ahead(box: Path) -> list[float]:
        for name in ("written", "touched", "stamped"):
            (box / name).write_text("")
        os.utime(box / "touched")
        os.utime(box / "stamped", (time.time(), time.time()))
        return [path.stat().st_mtime - EPOCH for path in sorted(box.iterdir())]

    # Without a time of its own `utime` asks for that of the volume.
    assert run(made).operation("ahead").value == [3600, 0, 0]


def heirs(ahead_s: int) -> Scenario:
    """Return a writer with a temporary file, and a sweeper on another host."""
    made = Scenario("hosts/sweep")

    @made.writer
    def write(box: Path) -> None:
        temporary = box / "image.tmp"
        temporary.write_text("whole")
        temporary.rename(box / "image")

    @made.evictor(clock_offset_s=ahead_s)
    def sweep(box: Path) -> None:
        for path in list(box.glob("*.tmp")):
            try:
                if time.time() - path.stat().st_mtime > 1800:
                    path.unlink()
            except FileNotFoundError:
                continue

    return made


def test_a_sweeper_whose_clock_is_ahead_removes_what_a_live_writer_needs() -> None:
    schedulers = [RandomWalkScheduler(seed) for seed in range(30)]
    for ahead_s, expected in ((0, {Verdict.PASSED}), (3600, set(Verdict) - UNSEEN)):
        found = run_all(heirs(ahead_s), schedulers)

        assert {seen.trace.verdict for seen in found} == expected


UNSEEN = {Verdict.DEADLOCKED, Verdict.DIVERGED, Verdict.UNKNOWN}
