"""Results for other programs."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from racecheck.api.version import version
from racecheck.errors import RacecheckError, UsageError
from racecheck.storage import remove_unfinished, write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import Finding, ScenarioResult

SCHEMA = 1
_MOST_LINKS = 40


def check_target(file: Path) -> None:
    """Refuse a file that could not be written in the end, before anything is run.

    Raises:
        UsageError: It could not.
    """
    try:
        if not can_be_replaced(file):
            return
        target = file.resolve()
        if not target.parent.is_dir():
            raise UsageError(f"cannot write {file}: its folder does not exist")
        remove_unfinished(target.parent)
        # Modes do not tell: root may write where nothing can be made, as in /proc.
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except (OSError, RuntimeError) as error:
        # There are links that lead in circles.
        told = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot write {file}: {told}") from error


def check_folder(folder: Path) -> None:
    """Refuse a folder that could not be made or filled in the end.

    Raises:
        UsageError: It could not.
    """
    place = folder.absolute()
    while not os.path.lexists(place):
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from error


def replace_file(file: Path, text: str) -> None:
    """Write a text so that readers see the old file or all of the new one.

    Raises:
        RacecheckError: The file cannot be written.
    """
    try:
        _replace(file, text)
    except OSError as error:
        raise RacecheckError(f"cannot write {file}: {error.strerror}") from error


def document(
    seed: int, results: Sequence[ScenarioResult], *, interrupted: bool = False
) -> dict[str, object]:
    """Return results as plain data, as `--json` writes them.

    Args:
        seed: Seed of the explorations.
        results: What came of those that were made.
        interrupted: Whether they are not all of the run's.
    """
    return {
        "schema": SCHEMA,
        "racecheck": version(),
        "seed": seed,
        "interrupted": interrupted,
        "scenarios": [_scenario(result) for result in results],
    }


def text_of(result: ScenarioResult) -> str:
    """Return a result as JSON, as it stands in a document."""
    return textwrap.indent(json.dumps(_scenario(result), indent=2), "    ")


def document_text(seed: int, scenarios: Sequence[str], *, interrupted: bool) -> str:
    """Return a document as JSON, of results that are JSON already.

    A run writes it anew with each result, and most of it stays as it was.

    Args:
        seed: Seed of the explorations.
        scenarios: What `text_of` says of their results.
        interrupted: Whether they are not all of the run's.
    """
    empty = json.dumps(document(seed, [], interrupted=interrupted), indent=2)
    if not scenarios:
        return f"{empty}\n"
    # The list is the last that it has.
    head = empty.removesuffix("[]\n}")
    return "".join([head, "[\n", ",\n".join(scenarios), "\n  ]\n}\n"])


def _scenario(result: ScenarioResult) -> dict[str, object]:
    return {
        "name": result.name,
        "engine": result.engine,
        "verdict": str(result.verdict),
        "reason": result.reason,
        "expected": list(result.expected),
        "as_expected": result.as_expected,
        "coverage": str(result.coverage),
        "assumptions": list(result.assumptions),
        "bounds": dict(result.bounds),
        "executions": result.executions,
        "steps": result.steps,
        "seconds": result.seconds,
        "violations": [_violation(finding) for finding in result.findings],
        "counts": [
            {
                "actor": each.actor,
                "operations": list(each.operations),
                "failed": list(each.failed),
            }
            for each in result.counts
        ],
    }


def _violation(finding: Finding) -> dict[str, object]:
    return {
        "invariant": finding.invariant,
        "message": finding.message,
        "token": finding.token,
        "steps": finding.steps,
        "context_switches": finding.context_switches,
        "confirmed": finding.confirmed,
        "seen": finding.seen,
    }


def _replace(file: Path, text: str) -> None:
    if can_be_replaced(file):
        write_whole(file.resolve(), text.encode())
        return
    descriptor = _descriptor(file)
    if descriptor is None:
        file.write_text(text, "utf-8")
        return
    if sys.stdout is not None:
        sys.stdout.flush()
    # Opened by its name, a file would be written from its start again.
    with os.fdopen(os.dup(descriptor), "w", encoding="utf-8") as stream:
        stream.write(text)


def can_be_replaced(file: Path) -> bool:
    """Say whether a file can be written more than once.

    A pipe or a terminal has no old content, and a rename would remove it. So it would
    the file that a descriptor of this process leads to.

    Raises:
        OSError: There can be no such file.
    """
    try:
        status = file.stat()
    except FileNotFoundError:
        return True
    return stat.S_ISREG(status.st_mode) and _descriptor(file) is None


def _descriptor(file: Path) -> int | None:
    """Return the descriptor of this process that a path stands for, if it does.

    Such paths are `/dev/stdout`, `/dev/fd/63` and links to them. What they lead to need
    not have a name any more.
    """
    path = str(file)
    own = f"/proc/{os.getpid()}"
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(path)
        real = Path(os.path.realpath(folder))
        if real.name == "fd" and real.is_relative_to(own) and name.isdecimal():
            return int(name)
        try:
            path = str(real / Path(real, name).readlink())
        except OSError:
            return None
    return None
