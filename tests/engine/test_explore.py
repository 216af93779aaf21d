"""Guards `explore` as people call it: closures are carried, and no pass is false."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.api.workers import end_workers
from racecheck.errors import CannotRunError, EngineError, ScenarioError
from racecheck.invariants import invariant, no_lost_writes, whole_images
from racecheck.model import Verdict
from racecheck.report import render
from racecheck.scenario import Budget, Scenario, command, crash
from racecheck.storage import decode
from tests.engine.lab import run

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.model import History, ScenarioResult, View

pytestmark = pytest.mark.processes


def few(executions: int = 20, seed: int = 0, scheduler: str = "mixed") -> Options:
    return Options(seed=seed, budget=Budget(executions=executions), scheduler=scheduler)


def sharing(name: str, text: str = "abcd") -> Scenario:
    """Return two writers of one file, in a closure over what they write."""

    def validate(data: bytes) -> str | None:
        return None if data == text.encode() * 2 else f"{len(data)} bytes"

    made = Scenario(name, invariants=[whole_images("file", validate), no_lost_writes()])

    @made.writer(count=2)
    def write(box: Path) -> None:
        temp = box / "temp"
        with temp.open("w") as file:
            file.write(text)
            file.flush()
            file.write(text)
        temp.rename(box / "file")

    return made


def summary(result: ScenarioResult) -> list[object]:
    """Return all of a result that its seed decides."""
    return [
        *(result.verdict, result.reason, result.executions, result.steps),
        *((each.invariant, each.message, each.token) for each in result.findings),
    ]


def test_closures_are_carried_to_the_worker() -> None:
    result = explore(sharing("explore/closure"), few(100))

    assert result.verdict is Verdict.VIOLATED, result.reason
    assert {"no_lost_writes", "whole_images"} & {e.invariant for e in result.findings}
    assert all(each.confirmed for each in result.findings)


def test_lambdas_are_carried_to_the_worker() -> None:
    made = Scenario(
        "explore/lambda",
        invariants=[whole_images("file", lambda data: None if data else "empty")],
    )
    made.writer(lambda box: (box / "file").write_text("x"), name="write")
    made.reader(lambda box: (box / "file").exists(), name="read")

    result = explore(made, few(60))

    # Between its opening and its writing, the file is there and empty.
    assert result.verdict is Verdict.VIOLATED, result.reason
    (finding,) = result.findings
    assert finding.invariant == "whole_images"


def test_invariants_and_setups_are_carried_as_well() -> None:
    made = Scenario("explore/custom", invariants=[invariant(never_two)])

    @made.setup
    def setup(box: Path) -> dict[str, object]:
        (box / "first").touch()
        return {"other": "second"}

    @made.writer
    def write(box: Path, other: str) -> None:
        (box / other).touch()

    result = explore(made, few(5))

    (finding,) = result.findings
    assert (finding.invariant, finding.message) == ("never_two", "first second")


def never_two(view: View, history: History) -> str | None:
    del history
    names = view.glob("*")
    return " ".join(names) if len(names) > 1 else None


@pytest.mark.parametrize("scheduler", ["dpor", "mixed", "random", "pct"])
def test_equal_seeds_give_equal_results(scheduler: str) -> None:
    made = sharing("explore/seeds")

    first = explore(made, few(8, seed=3, scheduler=scheduler))
    again = explore(made, few(8, seed=3, scheduler=scheduler))

    assert summary(first) == summary(again)
    assert first.executions > 1 or first.findings


def test_other_seeds_give_other_executions() -> None:
    made = sharing("explore/seeds")

    tokens = {
        decode(finding.token).digest
        for seed in (1, 2)
        for finding in explore(made, few(60, seed=seed, scheduler="random")).findings
    }

    assert len(tokens) > 1


def test_who_never_touches_the_same_thing_has_not_raced() -> None:
    made = Scenario("explore/apart")
    made.actor(lambda box: (box / "one").touch(), name="one")
    made.actor(lambda box: (box / "two").touch(), name="two")

    result = explore(made, few(5))

    assert result.verdict is Verdict.UNKNOWN
    assert result.reason == "vacuous: no two actors touched the same thing"
    assert not result.as_expected


def test_a_fault_that_is_never_met_is_no_pass() -> None:
    made = Scenario("explore/unmet", faults=[crash("one", on="fsync")])
    made.actor(lambda box: (box / "file").touch(), name="one")
    made.actor(lambda box: (box / "file").exists(), name="two")

    result = explore(made, few(5))

    assert result.verdict is Verdict.UNKNOWN
    assert "crash at fsync 1 of one" in result.reason


def test_who_is_crashed_in_every_execution_was_meant_to_be() -> None:
    made = Scenario("explore/crashed", faults=[crash("one", on="close")])
    made.actor(lambda box: (box / "file").touch(), name="one")
    made.actor(lambda box: (box / "file").exists(), name="two")

    assert explore(made, few(5)).verdict is Verdict.PASSED


def test_a_reader_that_waits_for_a_writer_who_fails_is_no_pass() -> None:
    made = Scenario("explore/after")
    made.writer(lambda box: (box / "no" / "file").touch(), name="write", raises=OSError)
    made.reader(lambda box: (box / "file").exists(), name="read", after="write")

    result = explore(made, few(5))

    assert result.verdict is Verdict.UNKNOWN
    assert "never ran to its end: read" in result.reason


def test_what_is_not_controlled_gives_no_verdict() -> None:
    made = Scenario("explore/escape")
    made.actor(lambda box: (box / ".." / ".." / "out").touch(), name="one")
    made.actor(lambda box: (box / "file").exists(), name="two")

    result = explore(made, few(5))

    assert result.verdict is Verdict.UNKNOWN
    assert "outside the sandbox by one" in result.reason
    assert result.findings == ()


def test_a_deadlock_can_be_expected() -> None:
    def lock(box: Path, names: str) -> None:
        import fcntl  # noqa: PLC0415  carried by value

        held = [os.open(box / name, os.O_RDWR | os.O_CREAT) for name in names]
        for descriptor in held:
            fcntl.flock(descriptor, fcntl.LOCK_EX)

    made = Scenario("explore/deadlock", expect="deadlock")
    made.actor(lambda box: lock(box, "ab"), name="one")
    made.actor(lambda box: lock(box, "ba"), name="two")

    result = explore(made, few(200, scheduler="random"))

    assert result.verdict is Verdict.DEADLOCKED, result
    assert result.as_expected
    (finding,) = result.findings
    assert finding.invariant == "deadlock"
    assert "one in flock b" in finding.message
    assert "two in flock a" in finding.message


def test_a_spinning_actor_breaks_progress() -> None:
    def spin() -> None:
        while True:
            pass

    made = Scenario("explore/spin", max_cpu_s=0.3, expect="progress")
    made.actor(spin, name="one")

    result = explore(made, few(5))

    assert result.verdict is Verdict.VIOLATED
    assert result.as_expected
    assert "one ran for 0.3 s without a step" in result.findings[0].message


def test_names_that_are_no_text_are_carried_home() -> None:
    made = Scenario("explore/bytes", invariants=[invariant(never_two)])

    @made.writer(raises=OSError)
    def write(box: Path) -> str:
        folder = os.fsencode(box)
        os.close(os.open(folder + b"/\xff\xfe", os.O_CREAT))
        os.close(os.open(folder + b"/two", os.O_CREAT))
        return os.fsdecode(b"\xff")

    result = explore(made, few(5))

    (finding,) = result.findings
    assert finding.confirmed
    assert finding.message == r"two \udcff\udcfe"


def test_a_subject_that_keeps_state_is_run_in_fresh_processes() -> None:
    # Otherwise its second execution would find what the first one left.
    made = Scenario("explore/state", invariants=[invariant(never_two)])
    kept: list[int] = []

    @made.writer
    def write(box: Path) -> int:
        kept.append(len(kept))
        for number in kept:
            (box / f"{number}").touch()
        return len(kept)

    made.reader(lambda box: sorted(os.listdir(box)), name="read")

    result = explore(made, few(20))

    assert result.verdict is Verdict.PASSED, result


def test_output_is_part_of_a_finding() -> None:
    made = Scenario("explore/output", invariants=[invariant(never_two)])

    @made.writer
    def write(box: Path) -> None:
        sys.stdout.write("about to write\n")
        sys.stdout.flush()
        sys.stderr.write("so much for that\n")
        (box / "one").touch()
        (box / "two").touch()

    made.actor(command(["sh", "-c", "echo from a shell"]), name="shell")

    (finding,) = explore(made, few(5)).findings

    assert finding.trace.outputs == {
        "write": "about to write\nso much for that\n",
        "shell": "from a shell\n",
    }


def test_a_setup_that_raises_is_told_in_one_line_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    made = Scenario("explore/setup")

    @made.setup
    def setup(box: Path) -> None:
        (box / "file").touch()
        (box / "locked").mkdir(mode=0)
        raise ValueError("no good")

    made.actor(os.getpid, name="one")

    with pytest.raises(ScenarioError, match="setup raised ValueError: no good") as info:
        explore(made, Options(workdir=tmp_path))

    assert "\n" not in str(info.value)
    assert list(tmp_path.iterdir()) == []


def test_a_setup_that_makes_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    made = Scenario("explore/setup")
    made.setup(lambda box: os.mkfifo(box / "fifo"))
    made.actor(os.getpid, name="one")

    with pytest.raises(CannotRunError, match="box/fifo"):
        explore(made, Options(workdir=tmp_path))

    assert list(tmp_path.iterdir()) == []


def test_a_workdir_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    made = Scenario("explore/workdir")
    made.actor(os.getpid, name="one")

    with pytest.raises(CannotRunError, match="No such file or directory") as info:
        explore(made, Options(workdir=tmp_path / "missing"))

    assert "\n" not in str(info.value)


def test_a_worker_that_dies_is_told_with_its_last_words() -> None:
    made = Scenario("explore/dies")

    @made.setup
    def setup(box: Path) -> None:
        del box
        sys.stderr.write("these are\nmy last words\n")
        sys.stderr.flush()
        os.abort()

    made.actor(os.getpid, name="one")

    with pytest.raises(EngineError, match=r"worker died \(signal 6\): my last words"):
        explore(made, few(1))


def test_an_error_without_a_message_is_told_by_its_name() -> None:
    made = Scenario("silent")

    @made.writer
    def save(box: Path) -> None:
        del box
        raise ValueError

    seen = run(made)

    assert seen.operation("save").shown == "ValueError"
    assert "raised ValueError\n" in render(seen.trace)


def test_an_interpreter_that_cannot_be_started_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # One that is kept would do, and none be started.
    end_workers()
    python = str(tmp_path / "python")
    monkeypatch.setattr(sys, "executable", python)

    with pytest.raises(CannotRunError) as told:
        explore(sharing("unstarted"), few())

    assert str(told.value) == (
        f"cannot start a worker {python}: No such file or directory"
    )
    # Nothing of the attempt is in the way of the next one.
    monkeypatch.undo()
    assert explore(sharing("unstarted"), few()).executions


def never_ends(view: View, history: History) -> str | None:
    del view
    return "as it is meant to be" if len(history.ends) == 3 else None


def test_fresh_objects_lie_at_other_addresses_in_each_actor() -> None:
    # Python itself makes a temp name of the id of a string, for compiled modules. What
    # there is to fill up before the actors differ depends on what their parent has
    # done, so this is asked of those of a real worker.
    made = Scenario("explore/identity", invariants=[invariant(never_ends)])

    @made.actor(count=3)
    def act(box: Path) -> list[int]:
        text = str(box)
        kept: list[object] = [object(), text + text, text.encode() * 9]
        (box / "file").touch()
        return [id(each) for each in kept]

    (found,) = explore(made, few(1)).findings

    assert found.trace is not None
    addresses = [each.value for each in found.trace.operations]
    assert len(addresses) == 3
    for same in zip(*addresses, strict=True):
        assert len(set(same)) == 3
