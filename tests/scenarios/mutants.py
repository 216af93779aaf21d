"""Mutants of shipped subjects: one small change each, which the scenarios have to find.

A mutant is the source of one module with a change. It survives if every scenario that
it is put to still does as expected, which is a hole in the scenarios, or else the
change makes no difference to anybody: then that has to be said of it.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SCENARIOS = Path(__file__).parents[2] / "scenarios"

_BLOCKS = ("body", "orelse", "finalbody")


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    Attributes:
        name: What the change is.
        module: The module, relative to the folder of all scenarios.
        source: Its text with the change.
        selection: Scenarios that have to find it out.
        harmless: Why none of them can, if that is so.
    """

    name: str
    module: str
    source: str
    selection: tuple[str, ...]
    harmless: str = ""


def replaced(
    name: str,
    module: str,
    old: str,
    new: str,
    *selection: str,
    harmless: str = "",
) -> Mutant:
    """Make a mutant by replacing a text that is in the module once."""
    text = (SCENARIOS / module).read_text()
    assert text.count(old) == 1, f"{module} has {text.count(old)} of {old!r}"
    return Mutant(name, module, text.replace(old, new), selection, harmless)


def deletions(module: str, function: str, *selection: str) -> Iterator[Mutant]:
    """Make mutants of a function that each lack one of its statements."""
    tree = _tree(module)
    for path in _statements(_function(tree, function)):
        changed = copy.deepcopy(tree)
        block, index = _find(_function(changed, function), path)
        gone = block[index]
        if isinstance(gone, ast.Pass) or _is_docstring(gone):
            continue
        block[index] = ast.copy_location(ast.Pass(), gone)
        name = f"{function} without `{_first_line(gone)}`"
        if path[:-1]:
            # What ends one branch may end another one too.
            above, place = _find(_function(tree, function), path[:-1])
            name += f" in `{_first_line(above[place])}`"
        yield Mutant(name, module, ast.unparse(changed), selection)


def swaps(module: str, function: str, *selection: str) -> Iterator[Mutant]:
    """Make mutants of a function that each have two neighbours change places."""
    tree = _tree(module)
    for path in _statements(_function(tree, function)):
        changed = copy.deepcopy(tree)
        block, index = _find(_function(changed, function), path)
        if index + 1 == len(block) or _is_docstring(block[index]):
            continue
        first, second = block[index : index + 2]
        # What follows these is never reached, and what uses a name needs it.
        if isinstance(first, ast.Return | ast.Raise) or _defines_for(first, second):
            continue
        block[index : index + 2] = [second, first]
        name = f"{function} with `{_first_line(second)}` before `{_first_line(first)}`"
        yield Mutant(name, module, ast.unparse(changed), selection)


def found_by(mutant: Mutant, folder: Path, *, jobs: int = 1) -> str:
    """Return what finds a mutant out: a scenario, or an error; nothing if it survives.

    Args:
        mutant: The mutant.
        folder: An empty folder for the scenarios with the mutant among them.
        jobs: Scenarios at the same time.
    """
    copied = folder / "scenarios"
    shutil.copytree(
        SCENARIOS, copied, ignore=shutil.ignore_patterns("__pycache__", "released.py")
    )
    (copied / mutant.module).write_text(mutant.source)
    results = folder / "results.json"
    system = copied / mutant.module.split("/", maxsplit=1)[0]
    command = [sys.executable, "-m", "racecheck", "run", str(system)]
    done = subprocess.run(
        [*command, *mutant.selection, "-x", "--jobs", str(jobs), "--json", results],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    scenarios = json.loads(results.read_text())["scenarios"] if results.exists() else []
    if done.returncode == 0:
        # Nothing would be found out by what did not run.
        assert scenarios, done.stdout
        return ""
    assert "no scenario is called" not in done.stderr, done.stderr
    for scenario in scenarios:
        if not scenario["as_expected"]:
            broken = [each["invariant"] for each in scenario["violations"]]
            why = ", ".join(broken) or scenario["reason"] or scenario["verdict"]
            return f"{scenario['name']}: {why}"
    return done.stderr.strip().rpartition("\n")[2]


def _tree(module: str) -> ast.Module:
    return ast.parse((SCENARIOS / module).read_text())


def _function(tree: ast.Module, name: str) -> ast.FunctionDef:
    (found,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    return found


def _statements(
    node: ast.AST, path: tuple[tuple[str, int], ...] = ()
) -> Iterator[tuple[tuple[str, int], ...]]:
    """Yield where each statement is: the block and the place in it, from outside in."""
    for field in _BLOCKS:
        for index, statement in enumerate(getattr(node, field, [])):
            here = (*path, (field, index))
            yield here
            yield from _statements(statement, here)
    for index, handler in enumerate(getattr(node, "handlers", [])):
        yield from _statements(handler, (*path, ("handlers", index)))


def _find(
    node: ast.AST, path: tuple[tuple[str, int], ...]
) -> tuple[list[ast.stmt], int]:
    *above, (field, index) = path
    for name, place in above:
        node = getattr(node, name)[place]
    return getattr(node, field), index


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _defines_for(first: ast.stmt, second: ast.stmt) -> bool:
    made = {
        node.id
        for node in ast.walk(first)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    used = {node.id for node in ast.walk(second) if isinstance(node, ast.Name)}
    return bool(made & used)


def _first_line(node: ast.stmt) -> str:
    return ast.unparse(node).partition("\n")[0]
