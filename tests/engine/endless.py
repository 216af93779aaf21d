"""Scenarios without end, whose actors do what they can to stay when a run is ended."""

from __future__ import annotations

ENDLESS = """
import os, signal, subprocess, sys, threading, time
from pathlib import Path

from racecheck.invariants import never_missing
from racecheck.scenario import Scenario, command

def declare(name):
    endless = Scenario(name, invariants=[never_missing("file")])

    @endless.writer(count=2)
    def write(box: Path) -> None:
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        (box / f"locked.{os.getpid()}").mkdir()
        for number in range(20):
            temp = box / f"temp.{os.getpid()}"
            temp.write_text("text")
            temp.rename(box / "file")
        (box / f"locked.{os.getpid()}").chmod(0)

    @endless.reader
    def read(box: Path) -> None:
        thread = threading.Thread(target=time.sleep, args=[0.1])
        thread.start()
        if os.fork() == 0:
            (box / "file").exists()
            os._exit(0)
        subprocess.run(["true"])
        os.wait()
        thread.join()

    loop = ["sh", "-c", "while ! [ -e {box}/file ]; do :; done"]
    endless.actor(command(loop), name="sh")
    return endless

quick = Scenario("quick")
quick.actor(lambda box: (box / "file").exists(), name="one")
"""
"""The source of `declare`, and of a scenario that ends at once."""


def declare_all(count: int) -> str:
    """Return the source of so many scenarios: `endless_0`, `endless_1`, ..."""
    return "\n".join(
        f"endless_{number} = declare('endless_{number}')" for number in range(count)
    )
