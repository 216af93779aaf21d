"""Guards properties in somebody's tests: Hypothesis is what it always is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.project import Project

pytestmark = pytest.mark.processes

RACY = """
import racecheck
from hypothesis import Phase, given, settings
from racecheck.property import workloads, writers

def save(box):
    temp = box / "answer.tmp"
    temp.write_text("42")
    temp.rename(box / "answer")

PHASES = (Phase.reuse, Phase.generate, Phase.shrink)
# On a build machine (CI is set) Hypothesis would keep no database.
settings.load_profile("default")

@settings(deadline=None, max_examples=3, phases=PHASES)
@given(workloads(writers(save)))
def test_saves(workload):
    racecheck.check(workload)
"""
REPAIRED = RACY.replace(
    'box / "answer.tmp"', "box / f'answer.{__import__(\"os\").getpid()}'"
)
HYPOTHESIS = ("-p", "_hypothesis_pytestplugin", "--hypothesis-show-statistics")


def test_an_example_comes_first_again_until_it_is_repaired(project: Project) -> None:
    project.write("old/test_cache.py", RACY)
    found = project.pytest(*HYPOTHESIS)
    workload = "Workload.of([writer(operation(save), count=2)])"
    assert f"workload={workload}" in found.text
    assert "rename(answer.tmp, answer) = ENOENT" in found.text
    assert "during shrink phase" in found.text
    # It has a database of its own, and what it draws is kept nowhere else.
    assert project.kept() == []
    (project.folder / "old").rename(project.folder / "new")
    again = project.pytest(*HYPOTHESIS)
    assert again.tokens == found.tokens
    assert re.search(r"during reuse phase.*\n.*\n.*- 0 passing, 1 failing", again.text)
    replayed = project.pytest(*HYPOTHESIS, "--racecheck-replay", found.tokens[0])
    assert replayed.tokens == found.tokens
    project.write("new/test_cache.py", REPAIRED)
    assert project.pytest(*HYPOTHESIS).counts == {"passed": 1}
    # With a seed it reads nothing of its database, and draws the same each time.
    project.write("new/test_cache.py", RACY)
    seeded = project.pytest(*HYPOTHESIS, "--hypothesis-seed=3")
    assert (seeded.status, seeded.tokens) == (1, found.tokens)
