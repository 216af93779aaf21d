"""Guards the scenarios themselves: each of these mistakes in a subject is found out.

`benchmarks/mutations.py` makes all of them; here is one of each sort, put to the one
scenario that is there for it.
"""

from __future__ import annotations

import ast
import dataclasses
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.mutants import SCENARIOS, Mutant, deletions, found_by, swaps
from tests.scenarios.mutations import generated, named

if TYPE_CHECKING:
    from pathlib import Path

MISTAKES = {
    "the temp link is shared": ("ensure_symlink/absent/atomic", "no_lost_writes"),
    "the temp link stays after an error": (
        "ensure_symlink/refused/atomic",
        "temp_files_bounded",
    ),
    "the folder is removed and not exchanged": (
        "ensure_symlink/changed_folder/exchange",
        "never_missing",
    ),
    "the lock is never taken": ("ensure_symlink/absent/flock", "no_lost_writes"),
    "the config is linked again": ("overlay/rebuilt/fixed", "stays_merged"),
    "a finished overlay is built again": ("overlay/warm/fixed", "source_untouched"),
    "the temp files of an overlay stay after an error": (
        "overlay/rename_fails/fixed",
        "clean_failure",
    ),
    "the staged folder stays after an error": (
        "overlay/rename_fails/stage_folder",
        "stage_folders_bounded",
    ),
    "an error of a close is ignored": (
        "head_image/failing_close/pid",
        "failed_closes_count",
    ),
    "a short write is taken for a whole one": (
        "head_image/short_writes/pid",
        "whole_images",
    ),
    "what was put aside is not looked at": ("eviction/put_back/aside-pid", "identical"),
    "a file that is gone stops an evictor": (
        "names/two_evictors/missing_ok",
        "no_unexpected_errors",
    ),
}


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_out(name: str, tmp_path: Path) -> None:
    (mutant,) = (each for each in named() if each.name == name)
    scenario, invariant = MISTAKES[name]
    assert scenario in mutant.selection

    found = found_by(dataclasses.replace(mutant, selection=(scenario,)), tmp_path)

    assert found.startswith(f"{scenario}: ")
    assert invariant in found


@pytest.mark.processes
@pytest.mark.slow
def test_an_unchanged_subject_is_not_found_out(tmp_path: Path) -> None:
    module = "ensure_symlink/pieces.py"
    source = (SCENARIOS / module).read_text()
    same = Mutant("nothing", module, source, ("ensure_symlink/absent/atomic",))

    assert found_by(same, tmp_path) == ""


@pytest.mark.processes
@pytest.mark.slow
def test_it_is_the_mutant_that_runs(tmp_path: Path) -> None:
    module = "ensure_symlink/pieces.py"
    broken = Mutant("broken", module, "raise RuntimeError('it is I')", ())

    assert "it is I" in found_by(broken, tmp_path)


def test_every_statement_is_left_out_once() -> None:
    module = "overlay/overlay.py"

    names = [mutant.name for mutant in deletions(module, "_replacing")]

    assert names == [
        "_replacing without `temp = path.with_name(f'{path.name}.tmp.{unique}')`",
        "_replacing without `try:`",
        "_replacing without `yield temp` in `try:`",
        "_replacing without `temp.replace(path)` in `try:`",
        "_replacing without `with suppress(OSError):` in `except BaseException:`",
        "_replacing without `temp.unlink()` in `with suppress(OSError):`",
        "_replacing without `raise` in `except BaseException:`",
    ]


def test_only_neighbours_that_do_not_need_each_other_change_places() -> None:
    names = [mutant.name for mutant in swaps("overlay/overlay.py", "_replacing")]

    assert names == [
        "_replacing with `temp.replace(path)` before `yield temp`",
        "_replacing with `raise` before `with suppress(OSError):`",
    ]


def test_mutants_differ_from_the_subject_and_from_each_other() -> None:
    mutants = [*named(), *generated()]

    assert len({mutant.source for mutant in mutants}) == len(mutants)
    assert len({(mutant.module, mutant.name) for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        changed = ast.dump(ast.parse(mutant.source))
        assert changed != ast.dump(ast.parse((SCENARIOS / mutant.module).read_text()))
