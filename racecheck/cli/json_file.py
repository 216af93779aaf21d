"""Results for other programs."""

from __future__ import annotations

import json
import tempfile
import textwrap
from typing import TYPE_CHECKING

from racecheck.api.version import version
from racecheck.errors import RacecheckError, UsageError
from racecheck.storage import remove_unfinished, write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from racecheck.model import Finding, ScenarioResult

SCHEMA = 1


def check_target(file: Path) -> None:
    """Refuse a file that could not be written in the end, before anything is run.

    Raises:
        UsageError: It could not.
    """
    target = file.resolve()
    if not target.parent.is_dir():
        raise UsageError(f"cannot write {file}: its folder does not exist")
    if not can_be_replaced(target):
        return
    remove_unfinished(target.parent)
    # Modes do not tell: root may write where nothing can be made, as in /proc.
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error


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
    target = file.resolve()
    if can_be_replaced(target):
        write_whole(target, text.encode())
    else:
        target.write_text(text, "utf-8")


def can_be_replaced(file: Path) -> bool:
    """Say whether a file can be written more than once.

    A pipe or a terminal has no old content, and a rename would remove it.
    """
    return file.is_file() or not file.exists()
