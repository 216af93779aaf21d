"""Guards that every execution ends, whatever an actor does, and is no pass then."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from racecheck.model import Decision, Ending, Verdict
from racecheck.scenario import Scenario, command
from tests.engine.lab import Script, Seen, run, run_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from racecheck.model import SchedulingPoint

pytestmark = pytest.mark.processes


def stuck(seen: Seen, *words: str) -> None:
    """Check that progress is what is violated, and that the reason says by what."""
    assert seen.trace.verdict is Verdict.VIOLATED
    (violation,) = seen.trace.violations
    assert violation.invariant == "progress"
    for word in words:
        assert word in f"{seen.trace.reason} {violation.message}"


class Killing(Script):
    """Kills the parent of the largest process before the first step of `two`."""

    _killed = 0

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision:
        """Choose as the script says."""
        decision = super().choose(enabled, current)
        if decision.actor == "two" and not self._killed:
            processes = psutil.Process().children(recursive=True)
            large = max(processes, key=lambda each: each.memory_info().rss)
            self._killed = large.ppid()
            os.kill(self._killed, signal.SIGKILL)
            os.waitid(os.P_PID, self._killed, os.WEXITED | os.WNOWAIT)
        return decision


def test_who_dies_slowly_beside_the_step_of_another_does_not_hold_it_up() -> None:
    made = Scenario("bounds")

    @made.actor
    def one(box: Path) -> None:
        if os.fork() == 0:
            large = bytearray(b"a") * (1 << 27)
            (box / "file").write_bytes(large[:9])
            os._exit(0)
        os.wait()

    @made.actor
    def two(box: Path) -> None:
        for _ in range(9):
            os.stat(box)

    (seen,) = run_all(made, [Killing("one:1 to openat", "two to end")])

    assert len(seen.of("two", "stat", "newfstatat")) == 9
    assert "file" not in seen.files


def spin() -> None:
    while True:
        pass


def test_an_actor_that_spins_without_a_call_is_ended() -> None:
    made = Scenario("bounds", max_cpu_s=0.3)
    made.actor(spin, name="one")

    seen = run(made)

    stuck(seen, "one ran for 0.3 s without a step")
    assert seen.operation("one").ending is Ending.UNFINISHED


def test_an_actor_that_spins_after_a_step_is_ended_and_so_are_the_others() -> None:
    made = Scenario("bounds", max_cpu_s=0.3)

    @made.actor
    def one(box: Path) -> None:
        (box / "file").touch()
        spin()

    @made.actor
    def two(box: Path) -> None:
        (box / "other").touch()

    stuck(run(made), "one ran for 0.3 s")
    stuck(run(made, "two to end"), "one ran for 0.3 s")


def test_a_signal_handler_does_not_keep_an_actor_alive() -> None:
    made = Scenario("bounds", max_cpu_s=0.3)

    @made.actor
    def one() -> None:
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        spin()

    stuck(run(made), "one ran for 0.3 s")


def test_an_actor_that_waits_for_a_signal_that_nobody_sends_is_a_deadlock() -> None:
    made = Scenario("bounds")

    @made.actor
    def one(box: Path) -> None:
        (box / "file").touch()
        signal.pause()

    seen = run(made, max_sleep_s=0.3)

    assert seen.trace.verdict is Verdict.DEADLOCKED
    assert seen.trace.reason == "waiting for ever: one in pause"


def test_an_actor_that_waits_for_nobody_is_a_deadlock() -> None:
    made = Scenario("bounds")

    @made.actor
    def one() -> None:
        read, _write = os.pipe()
        os.read(read, 1)

    seen = run(made, max_sleep_s=0.3)

    assert seen.trace.verdict is Verdict.DEADLOCKED
    assert seen.trace.reason == "waiting for ever: one in read"


def test_an_actor_that_waits_in_a_step_is_ended_and_named() -> None:
    made = Scenario("bounds")

    @made.actor
    def one(box: Path) -> None:
        os.mkfifo(box / "fifo")
        (box / "fifo").read_text()

    seen = run(made, max_sleep_s=0.3)

    # Another actor could have opened the other end, had it been let go.
    assert seen.trace.verdict is Verdict.UNKNOWN
    assert seen.trace.reason == "uncontrolled: one waits in openat"


def test_sleeping_takes_no_time() -> None:
    made = Scenario("bounds")
    made.actor(command(["sleep", "1000"]), name="one")

    @made.actor
    def two() -> float:
        start = time.time()
        time.sleep(3600)
        return time.time() - start

    seen = run(made)

    assert seen.trace.verdict is Verdict.PASSED
    assert seen.operation("two").value == 3600


def test_an_actor_that_works_and_rests_in_turn_is_left_alone() -> None:
    made = Scenario("bounds", max_cpu_s=0.25)

    @made.actor
    def one(box: Path) -> None:
        for _ in range(4):
            end = time.process_time() + 0.1
            while time.process_time() < end:
                pass
            time.sleep(0.05)
            (box / "file").touch()

    assert run(made).trace.verdict is Verdict.PASSED


def test_an_actor_that_goes_on_and_on_is_ended_at_the_bound_of_steps() -> None:
    made = Scenario("bounds", max_steps=50)

    @made.actor
    def one(box: Path) -> None:
        while not (box / "file").exists():
            pass

    seen = run(made)

    stuck(seen, "one", "50 steps", "stat")
    assert len(seen.trace.steps) == 50


def test_an_execution_that_just_fits_into_its_steps_is_not_broken_off() -> None:
    def scenario(steps: int) -> Scenario:
        made = Scenario("bounds", max_steps=steps)

        @made.actor
        def one(box: Path) -> None:
            for _ in range(4):
                (box / "file").exists()

        return made

    # The return and the end of the process are steps too.
    assert run(scenario(6)).trace.verdict is Verdict.PASSED
    assert run(scenario(5)).trace.reason == "one went on after 5 steps"


def test_waiting_for_another_actor_by_polling_comes_to_an_end() -> None:
    made = Scenario("bounds", max_steps=1000)

    @made.actor
    def one(box: Path) -> None:
        while not (box / "file").exists():
            time.sleep(0.001)

    @made.actor
    def two(box: Path) -> None:
        (box / "file").touch()

    seen = run(made, "one", "two to end")

    assert seen.trace.verdict is Verdict.PASSED


def test_an_actor_that_hangs_after_its_operations_is_no_pass() -> None:
    made = Scenario("bounds", max_cpu_s=0.3)

    @made.actor
    def one() -> None:
        import atexit  # noqa: PLC0415  the actor's own

        atexit.register(spin)
        signal.signal(signal.SIGTERM, lambda *_: None)

    # Actors leave without Python's own end, as a killed process would.
    assert run(made).trace.verdict is Verdict.PASSED


def test_the_next_execution_is_not_harmed_by_one_that_hung() -> None:
    made = Scenario("bounds", max_cpu_s=0.3)

    @made.actor(repeat=1)
    def one(box: Path) -> int:
        (box / "file").touch()
        if int.from_bytes(os.urandom(1), "big") % 2:
            spin()
        return 7

    found = run_all(made, [Script(seed=seed) for seed in range(8)])

    verdicts = {seen.trace.verdict for seen in found}
    assert verdicts == {Verdict.PASSED, Verdict.VIOLATED}
    for seen in found:
        assert seen.files == {"file": ""}
        if seen.trace.verdict is Verdict.VIOLATED:
            stuck(seen, "one ran for 0.3 s")
