"""Guards that actors which never end are ended, and that a run has all other answers.

All of them are scenarios of one run, between two that are as usual.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[2]

SCENARIOS = '''
"""Actors that never end by themselves, each in a scenario of its own."""

import ctypes
import os
import signal
import threading
import time

from racecheck.scenario import Scenario, command

PROGRESS = {"progress"}


def beside(name, act, max_cpu_s=0.3, max_steps=300):
    """Return a scenario of an actor and of one that means no harm."""
    made = Scenario(name, budget=5, max_cpu_s=max_cpu_s, max_steps=max_steps)

    @made.writer
    def other(box):
        (box / "file").touch()

    made.writer(act, name="one")
    return made


def loop(box):
    (box / "file").exists()
    while True:
        pass


def loop_of_steps(box):
    while True:
        (box / "file").exists()


def loop_of_calls(box):
    (box / "file").exists()
    while True:
        os.getppid()


def loop_of_faults(box):
    (box / "file").exists()
    signal.signal(signal.SIGSEGV, lambda *_: None)
    ctypes.string_at(0)


def loop_of_handlers(box):
    (box / "file").exists()
    signal.signal(signal.SIGALRM, lambda *_: (box / "file").exists())
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    while True:
        signal.pause()


def loop_in_a_thread(box):
    (box / "file").exists()
    thread = threading.Thread(target=loop, args=(box,))
    thread.start()
    thread.join()


def loop_in_a_child(box):
    (box / "file").exists()
    if (child := os.fork()) == 0:
        loop(box)
    os.waitpid(child, 0)


def sleep(box):
    (box / "file").exists()
    while True:
        time.sleep(1_000_000)


def sleep_often(box):
    (box / "file").exists()
    while True:
        time.sleep(0.05)


def pause(box):
    (box / "file").exists()
    signal.pause()


def stop_itself(box):
    (box / "file").exists()
    os.kill(os.getpid(), signal.SIGSTOP)
    (box / "file").exists()


def stop_its_group(box):
    (box / "file").exists()
    os.kill(0, signal.SIGSTOP)


def stop_another(box):
    (box / "file").exists()
    os.kill(1001, signal.SIGSTOP)


def stop_its_child(box):
    (box / "file").exists()
    if (child := os.fork()) == 0:
        signal.pause()
    os.kill(child, signal.SIGSTOP)
    os.waitpid(child, 0)


def leave_zombies(box):
    (box / "file").exists()
    while True:
        if os.fork() == 0:
            os._exit(0)
        os.stat(box)


ALL = [value for value in list(vars().values()) if callable(value)]
ALL = ALL[ALL.index(loop) : ALL.index(leave_zombies)]
vars().update({f"made_of_{act.__name__}": beside(act.__name__, act) for act in ALL})
# To start processes takes time, which is not what shall end this one.
leaving = beside("leave_zombies", leave_zombies, max_cpu_s=10, max_steps=60)
sleeping = beside("sleep_infinity", command(["sleep", "infinity"]))
looping = beside("shell", command(["sh", "-c", "ls file; while :; do :; done"]))

first, last = Scenario("a_usual", budget=5), Scenario("z_usual", budget=5)


@first.writer(count=2)
@last.writer(count=2)
def usual(box):
    (box / "file").touch()
'''

RUNS = "ran for 0.3 s without a step"
STOPPED = "was stopped by signal 19"
EXPECTED = {
    "a_usual": ("passed", ""),
    "z_usual": ("passed", ""),
    "loop": ("violated", RUNS),
    "loop_of_steps": ("violated", "one spins: newfstatat"),
    "loop_of_calls": ("violated", RUNS),
    "loop_of_faults": ("violated", RUNS),
    "loop_of_handlers": ("violated", "one went on after 300 steps"),
    "loop_in_a_thread": ("violated", RUNS),
    "loop_in_a_child": ("violated", RUNS),
    "shell": ("violated", RUNS),
    "sleep": ("violated", "one went on after 300 steps"),
    "sleep_often": ("violated", "one went on after 300 steps"),
    "pause": ("deadlocked", "waiting for ever: one in pause"),
    "sleep_infinity": ("deadlocked", "waiting for ever: one in pause"),
    "stop_itself": ("unknown", STOPPED),
    "stop_its_group": ("unknown", STOPPED),
    "stop_another": ("unknown", "kill: one sends SIGSTOP to process 1001"),
    "stop_its_child": ("unknown", STOPPED),
    "leave_zombies": ("violated", "one went on after 60 steps"),
}


def test_whatever_never_ends_is_ended_and_the_others_are_answered(
    tmp_path: Path,
) -> None:
    file = tmp_path / "scenario_endless.py"
    file.write_text(SCENARIOS)
    workdir = tmp_path / "workdir"
    workdir.mkdir()
    answer = tmp_path / "answer.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "racecheck", "run", str(file)),
            *("--workdir", str(workdir), "--json", str(answer)),
        ],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert os.listdir(workdir) == []
    found: dict[str, Any] = {
        each["name"]: each for each in json.loads(answer.read_text())["scenarios"]
    }
    assert found.keys() == EXPECTED.keys()
    for name, (verdict, why) in EXPECTED.items():
        each = found[name]
        told = [each["reason"], *(more["message"] for more in each["violations"])]
        assert each["verdict"] == verdict, (name, each)
        assert any(why in text for text in told), (name, told)
        for violation in each["violations"]:
            assert violation["invariant"] in ("progress", "deadlock"), name
            assert violation["confirmed"], name
    for process in psutil.process_iter(["cwd"]):
        place = process.info["cwd"] or ""
        assert not place.startswith(str(tmp_path)), process
