"""Guards the stress engine: what it meets, what it does not vouch for, what it leaves.

Which execution meets a race is the system's choice, so that faulty subjects are given
as many executions as make a miss all but impossible, and each has a fixed twin.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from racecheck.api import Options, explore
from racecheck.invariants import (
    clean_failure,
    invariant,
    no_leaked_descriptors,
    no_lost_writes,
    no_silent_loss,
    temp_files_bounded,
    whole_images,
)
from racecheck.model import Coverage, Kind, Verdict
from racecheck.report import counts_lines, finding_line, render, summary
from racecheck.scenario import (
    Budget,
    Scenario,
    command,
    crash,
    crashes,
    errnos,
)
from tests.engine.circumstances import heeding_signals

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import History, ScenarioResult, View

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
IMAGE = b"x" * 200_000


def shared_temp(path: Path) -> Path:
    return path.with_suffix(".tmp")


def own_temp(path: Path) -> Path:
    return path.with_suffix(f".{os.getpid()}.tmp")


def publisher(temp_of: Callable[[Path], Path], *, repeat: int = 30) -> Scenario:
    """Return a scenario of two processes that publish one file over and over."""
    made = Scenario(
        "publish",
        invariants=[
            no_lost_writes(),
            no_silent_loss("image", lambda data: data == IMAGE),
            whole_images("image", lambda data: data == IMAGE),
        ],
    )

    @made.writer(count=2, repeat=repeat)
    def save(box: Path) -> None:
        temp = temp_of(box / "image")
        temp.write_bytes(IMAGE)
        temp.rename(box / "image")

    return made


def stress(scenario: Scenario, executions: int = 6, seed: int = 0) -> ScenarioResult:
    options = Options(engine="stress", budget=Budget(executions=executions), seed=seed)
    return explore(scenario, options)


def test_a_shared_temp_name_loses_writes_of_each_process_in_varying_numbers() -> None:
    result = stress(publisher(shared_temp))

    assert result.verdict is Verdict.VIOLATED
    assert result.engine == "stress"
    assert result.coverage is Coverage.SAMPLED
    (lost,) = (each for each in result.findings if each.invariant == "no_lost_writes")
    assert "No such file" in lost.message
    assert lost.seen > 1
    # The trace says whose rename found nothing, and that of which operation it was.
    (broken,) = (
        each for each in lost.trace.violations if each.invariant == "no_lost_writes"
    )
    assert broken.step is not None
    step = lost.trace.steps[broken.step]
    assert (step.kind, step.actor) == (Kind.RETURN, broken.actor)
    assert "rename" in " ".join(
        frame.function
        for each in lost.trace.operations
        if (each.actor, each.last) == (step.actor, step.index)
        for frame in each.frames
    )
    assert [each.actor for each in result.counts] == ["save-1", "save-2"]
    for each in result.counts:
        assert each.operations == (30,) * 6
        assert len(set(each.failed)) > 1, "the same each time is no race"


def test_names_of_their_own_lose_nothing_and_the_pass_says_what_it_is() -> None:
    result = stress(publisher(own_temp))

    assert result.verdict is Verdict.PASSED, result.reason
    assert result.coverage is Coverage.SAMPLED
    assert any("the system picked the order" in each for each in result.assumptions)
    assert all(not any(each.failed) for each in result.counts)
    assert "(stress, sampled, 6 executions" in summary(result)
    assert list(counts_lines(result)) == [
        "save-1: none of 30 operations failed",
        "save-2: none of 30 operations failed",
    ]


def test_lines_tell_what_was_lost_without_a_token() -> None:
    scenario = publisher(shared_temp)
    result = stress(scenario)

    for finding in result.findings:
        assert finding.token == ""
        assert "first in execution" in finding_line(finding)
        assert "save-1" in render(finding.trace)
    lines = "\n".join(counts_lines(result))
    assert "of 30 operations" in lines
    assert "executions)" in lines


def test_what_is_looked_at_stands_still() -> None:
    """Two files that change one after the other are never seen the wrong way round."""
    made = Scenario("still")

    @made.setup
    def zeros(box: Path) -> None:
        for name in ("first", "second"):
            (box / name).write_text("0")

    @made.writer
    def count(box: Path) -> None:
        for value in range(1, 1000):
            for name in ("first", "second"):
                (box / "temp").write_text(str(value))
                (box / "temp").replace(box / name)

    @made.writer
    def idle(box: Path) -> None:
        (box / "idle").touch()

    @invariant
    def in_order(view: View, history: History) -> bool:
        del history
        # Read in the wrong order for files that go on changing meanwhile.
        second = view.read("second")
        first = [view.read("first") for _ in range(20)][-1]
        return int(first or b"0") - int(second or b"0") in (0, 1)

    made.invariants = (*made.invariants, in_order)
    result = stress(made, executions=3)

    assert result.verdict is Verdict.PASSED, result.findings


def test_programs_of_other_languages_are_run_and_held_up() -> None:
    def shell(temp: str) -> Scenario:
        made = Scenario("shell", invariants=[no_lost_writes()])
        loop = f"for i in 1 2 3 4 5 6 7 8; do echo 42 > {temp}; mv {temp} a || exit 1; "
        made.writer(command(["sh", "-c", loop + "done"]), name="save", count=3)
        return made

    faulty = stress(shell("a.tmp"), executions=12)
    fixed = stress(shell("a.$$"), executions=3)

    assert "no_lost_writes" in {each.invariant for each in faulty.findings}
    assert fixed.verdict is Verdict.PASSED, fixed.reason


# --- faults ---------------------------------------------------------------------------


def killed(per_crash: int) -> Scenario:
    made = publisher(own_temp)
    made = Scenario(
        "killed",
        faults=[crashes(1)],
        invariants=[
            temp_files_bounded("*.tmp", per_crash=per_crash),
            whole_images("image", lambda data: data == IMAGE),
        ],
    )

    @made.writer(count=2, repeat=10)
    def save(box: Path) -> None:
        temp = own_temp(box / "image")
        temp.write_bytes(IMAGE)
        time.sleep(0.002)
        temp.rename(box / "image")

    return made


def test_who_is_killed_leaves_a_file_behind_and_nothing_else() -> None:
    allowed = stress(killed(per_crash=1), executions=12)
    forbidden = stress(killed(per_crash=0), executions=12)

    assert allowed.verdict is Verdict.PASSED, allowed.reason
    assert allowed.bounds["crashes"] != 0
    (litter,) = forbidden.findings
    assert litter.invariant == "temp_files_bounded"
    assert litter.trace.ends[-1].crashed or any(
        end.crashed for end in litter.trace.ends
    )
    crashed = [step for step in litter.trace.steps if step.kind is Kind.CRASH]
    assert len(crashed) == 1
    assert str(crashed[0].fault) == "crash"


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"faults": [crash("save-1", on="rename")]}, "crash at a chosen call"),
        ({"faults": [errnos("ENOSPC", on="write")]}, "ENOSPC at any call"),
        ({"same_pid": True}, "actors with one process id"),
        (
            {"invariants": [clean_failure("file", temps="*.tmp")]},
            "calls for clean_failure to judge by",
        ),
    ],
)
def test_what_takes_tracing_is_no_pass(
    options: dict[str, object], missing: str
) -> None:
    made = Scenario("beyond", **options)  # type: ignore[arg-type]  # passed on

    @made.writer(count=2)
    def save(box: Path) -> None:
        (box / "file").touch()

    result = stress(made)

    assert result.verdict is Verdict.UNKNOWN
    assert result.reason == f"the stress engine has no {missing}"
    assert result.executions == 0


# --- what is no pass ------------------------------------------------------------------


def alone_with(function: Callable[..., object]) -> Scenario:
    """Return a scenario in which one of two actors does something amiss."""
    made = Scenario("amiss")
    made.actor(function, name="amiss")

    @made.actor(repeat=3)
    def other(box: Path) -> None:
        (box / "other").write_text("42")
        time.sleep(0.01)

    return made


def kill_oneself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave_a_child(box: Path) -> None:
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    (box / "child").write_text(str(child.pid))


def test_an_actor_that_is_killed_from_outside_makes_it_unknown() -> None:
    result = stress(alone_with(kill_oneself), executions=2)

    assert result.verdict is Verdict.UNKNOWN
    assert "amiss was killed, and not by racecheck" in result.reason


def test_an_actor_that_ends_early_is_a_violation() -> None:
    result = stress(alone_with(lambda: os._exit(3)), executions=1)

    assert {each.invariant for each in result.findings} == {"no_unexpected_errors"}
    assert "status 3" in result.findings[0].message


def test_a_process_that_is_left_running_is_ended_and_makes_it_unknown() -> None:
    result = stress(alone_with(leave_a_child), executions=1)

    assert result.verdict is Verdict.UNKNOWN
    assert "a process was left running" in result.reason
    pid = int(result.reason.partition("(")[2].partition(")")[0])
    assert not psutil.pid_exists(pid)


def test_a_descriptor_that_is_left_open_is_found() -> None:
    def keeping(box: Path) -> None:
        os.open(box / "file", os.O_WRONLY | os.O_CREAT)

    def closing(box: Path) -> None:
        os.close(os.open(box / "file", os.O_WRONLY | os.O_CREAT))

    verdicts = []
    for function in (keeping, closing):
        made = Scenario("open", invariants=[no_leaked_descriptors()])
        made.writer(function, count=2, repeat=20)
        result = stress(made, executions=4)
        verdicts.append((result.verdict, [each.invariant for each in result.findings]))

    assert verdicts == [
        (Verdict.VIOLATED, ["no_leaked_descriptors"]),
        (Verdict.PASSED, []),
    ]


def test_actors_that_never_meet_are_no_pass() -> None:
    made = Scenario("apart")

    @made.writer
    def first(box: Path) -> None:
        (box / "file").touch()

    @made.reader(after="first")
    def second(box: Path) -> None:
        (box / "file").read_bytes()

    result = stress(made, executions=3)

    assert result.verdict is Verdict.UNKNOWN
    assert result.reason == "vacuous: no two operations ran at the same time"


def test_an_actor_whose_turn_never_comes_is_no_pass() -> None:
    made = Scenario("never")

    @made.writer(raises=OSError)
    def first() -> None:
        raise OSError

    @made.reader(after="first")
    def second(box: Path) -> None:
        (box / "file").read_bytes()

    result = stress(made, executions=2)

    assert result.reason == "vacuous: never ran to its end: second"


# --- ends -----------------------------------------------------------------------------

SLOW = """
import time
from racecheck.scenario import Scenario

slow = Scenario("slow", engine="stress")

@slow.writer(count=2)
def save(box):
    (box / "started").touch()
    time.sleep(600)
"""


def test_an_interrupted_run_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text(SLOW)
    work = tmp_path / "work"
    work.mkdir()
    argv = [sys.executable, "-m", "racecheck", "run", str(file)]
    with heeding_signals():
        running = subprocess.Popen([*argv, "--workdir", str(work)], cwd=ROOT)
    try:
        until = time.monotonic() + 60
        while not list(work.glob("*/sandbox/box/started")):
            assert running.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        descendants = psutil.Process(running.pid).children(recursive=True)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    finally:
        running.kill()
        running.wait()

    _, left = psutil.wait_procs(descendants, timeout=30)
    assert left == []
    assert list(work.iterdir()) == []


IMPATIENT = """
import sys
from pathlib import Path
from racecheck.explore.stress import explore_under_stress
from racecheck.scenario import Budget, load

(loaded,) = load([Path(sys.argv[1])])
result = explore_under_stress(
    loaded.scenario, workdir=None, seed=0, budget=Budget(executions=1),
    on_progress=lambda progress: None, patience_s=0.5,
)
print(result.verdict, result.reason, sep=": ")
"""


def test_who_never_gets_on_is_ended_and_makes_it_unknown(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text(SLOW)

    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT, str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == (
        "unknown: stuck: nothing ended for 0.5 s, with save-1, save-2 still running"
    )


def test_the_reports_loop_fails_and_its_repair_does_not(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = subprocess.run(
        [
            *[sys.executable, "-m", "racecheck", "run", "head_image/two_loops"],
            # A busy machine may let one run to its end before the other begins.
            *["--budget", "6", "--json", str(file)],
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    shared, pid = json.loads(file.read_text())["scenarios"]
    assert (shared["engine"], shared["verdict"]) == ("stress", "violated")
    assert (pid["engine"], pid["verdict"]) == ("stress", "passed")
    lost = {each["actor"]: each["failed"] for each in shared["counts"]}
    assert sum(lost["serve-1"]) + sum(lost["serve-2"]) > 0
    assert all(set(each["failed"]) == {0} for each in pid["counts"])
    assert all(set(each["operations"]) == {40} for each in shared["counts"])
