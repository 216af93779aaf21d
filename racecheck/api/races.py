"""What is found, with what is to be known of where it was found."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

from racecheck.api.version import version
from racecheck.engine.sandbox import default_workdir
from racecheck.explore.traces import broken
from racecheck.model import Finding, Race

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from racecheck.explore.options import ReplayResult
    from racecheck.model import ScenarioResult


def races_of(result: ScenarioResult, workdir: Path | None = None) -> list[Race]:
    """Return the findings of a result as they are kept in files.

    Args:
        result: What an exploration says.
        workdir: Where the boxes were, or None for the default.
    """
    about = {
        **_machine(workdir),
        "coverage": f"{result.coverage}, {result.executions} executions",
        "engine": f"{result.engine} {result.bounds.get('platform', '')}".strip(),
        "scheduler": result.scheduler,
        "seed": str(result.seed),
    }
    return [
        Race(finding=finding, expected=result.expected, about=about)
        for finding in result.findings
    ]


def race_of(
    token: str, result: ReplayResult, workdir: Path | None = None
) -> Race | None:
    """Return what a replayed execution breaks, or None if it breaks nothing.

    Args:
        token: The execution.
        result: What came of it.
        workdir: Where the box was, or None for the default.
    """
    trace = result.trace
    found = broken(trace)
    if not found:
        return None
    messages = {each.invariant: each.message for each in trace.violations}
    finding = Finding(
        invariant=found[0],
        message=messages.get(found[0], trace.reason),
        token="".join(token.split()),
        steps=len(trace.steps),
        context_switches=trace.schedule.context_switches(),
        confirmed=result.same,
        execution=1,
        trace=trace,
    )
    return Race(finding=finding, about={**_machine(workdir), "engine": result.engine})


def _machine(workdir: Path | None) -> dict[str, str]:
    """Return what is to be known of this machine."""
    return {
        "file system": _file_system(workdir or default_workdir()),
        "kernel": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "racecheck": version(),
    }


def _file_system(folder: Path) -> str:
    """Return the kind of file system that a folder is on."""
    whole = os.path.realpath(folder)
    found, longest = "unknown", -1
    for line in _mounts():
        words = line.split(" ")
        point = words[1].encode().decode("unicode_escape")
        inside = point == "/" or f"{whole}/".startswith(f"{point}/")
        if inside and len(point) >= longest:
            found, longest = words[2], len(point)
    return found


def _mounts() -> Iterable[str]:
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:  # noqa: PTH123  a name of the kernel's
            return file.readlines()
    except OSError:
        return []
