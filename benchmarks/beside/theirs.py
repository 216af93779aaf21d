"""The neighbours, each in a process of its own and in their own environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).parents[2]
_PACKAGES = Path(__file__).with_name("neighbours.txt")
_TIMEOUT_S = 600


class Told(NamedTuple):
    """How many executions, in how many seconds, and whether a race was found."""

    executions: int
    seconds: float
    found: bool


class Environment:
    """A virtual environment with the neighbours in it."""

    def __init__(self, folder: Path) -> None:
        """Make it, unless it is there.

        Args:
            folder: Where it is.
        """
        self._bin = folder / "bin"
        if not (self._bin / "frontrun").exists():
            print(f"installing {_PACKAGES.name} into {folder}", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            pip = (self._bin / "python", "-m", "pip", "install", "--quiet", "-r")
            subprocess.run([*pip, _PACKAGES], check=True)
        self._env = {**os.environ, "PYTHONPATH": str(_ROOT)}

    def frontrun(self, mode: str, task: str, limit: int, seed: int = 0) -> Told:
        """Explore a task with frontrun; see `frontrun_side`."""
        argv = [
            *(self._bin / "frontrun", self._bin / "python"),
            *("-m", "benchmarks.beside.frontrun_side"),
            *(mode, task, str(limit), str(seed)),
        ]
        told = json.loads(self._run(argv).splitlines()[-1])
        return Told(told["executions"], told["seconds"], told["found"])

    def ckpt_chaos(self) -> Told:
        """Kill and resume the job that saves checkpoints at all its crash points."""
        with tempfile.TemporaryDirectory(prefix="ckpt-chaos-") as folder:
            start = time.perf_counter()
            said = self._run(
                [
                    *(self._bin / "ckpt-chaos", "run", "--work", f"{folder}/runs"),
                    *("--max-points", "1000", "--result-file", "{out}/result.json"),
                    *("--step-regex", r"resumed from step (\d+)", "--"),
                    *(self._bin / "python", "-m"),
                    *("benchmarks.beside.checkpoints", "{out}"),
                ]
            )
        points = re.search(r"-> (\d+) crash points", said)
        assert points is not None, said
        return Told(int(points[1]), time.perf_counter() - start, "FAIL" in said)

    def _run(self, argv: list[object]) -> str:
        done = subprocess.run(
            [str(each) for each in argv],
            env=self._env,
            cwd=_ROOT,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
