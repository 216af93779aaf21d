"""A project of somebody's with tests, and pytest run there in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    status: int
    text: str

    @property
    def tokens(self) -> list[str]:
        """The tokens that were printed, in order, each once."""
        return list(dict.fromkeys(re.findall(r"rc1-[\w-]{20,}", self.text)))

    @property
    def counts(self) -> dict[str, int]:
        """How many tests passed, failed and so on, from the last line."""
        last = self.text.rstrip().splitlines()[-1]
        return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", last)}


@dataclass(frozen=True)
class Project:
    """A folder with tests."""

    folder: Path

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def pytest(
        self, *args: str, env: dict[str, str] | None = None, stdin: str = ""
    ) -> Ended:
        """Run pytest in the folder, with no plug-in but ours unless asked for."""
        own = ("-m", "pytest", "-p", "racecheck.pytest_plugin")
        alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(env or {})}
        return self.python(*own, *args, env=alone, stdin=stdin)

    def python(
        self, *args: str, env: dict[str, str] | None = None, stdin: str = ""
    ) -> Ended:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("RACECHECK")}
        done = subprocess.run(
            [sys.executable, *args],
            cwd=self.folder,
            env={**clean, "PYTHONPATH": str(_ROOT), "COLUMNS": "100", **(env or {})},
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Ended(done.returncode, done.stdout)

    def kept(self) -> list[str]:
        """Return the tokens in the store."""
        found = (self.folder / ".racecheck").rglob("*.token")
        return sorted(path.read_text().strip() for path in found)
