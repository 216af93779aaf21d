"""Guards that the tests in the documentation do what it says when they are typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.project import Project

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
FAST = "max_examples=2, phases=(Phase.generate, Phase.shrink)"
RACY = {"test_answer.py", "test_answer_property.py"}


def blocks(page: str) -> dict[str, str]:
    """Return the files that a page shows, by the name in their first line."""
    text = (ROOT / page).read_text()
    found = re.findall(r"```python\n(# (\w+\.py)\n.*?)```", text, re.DOTALL)
    return {name: source for source, name in found}


@pytest.mark.parametrize("page", ["docs/pytest.md", "docs/property.md"])
def test_files_of_a_page_do_what_it_says(project: Project, page: str) -> None:
    files = blocks(page)
    assert len(files) >= 3
    if "conftest.py" in files:
        # The tests of the page take all that they do not say from this profile.
        files["conftest.py"] = (
            files["conftest.py"]
            .replace("import settings", "import Phase, settings")
            .replace('"races", deadline=None', f'"races", deadline=None, {FAST}')
        )
    for name, source in files.items():
        project.write(name, source)
    ended = project.pytest("-p", "_hypothesis_pytestplugin", "-q")
    failed = set(re.findall(r"FAILED (\w+\.py)::", ended.text))
    assert failed == RACY & files.keys(), ended.text
    tests = sum(name.startswith("test_") for name in files)
    assert ended.counts.get("passed", 0) == tests - len(failed)


def test_the_file_of_the_readme_finds_its_race(project: Project) -> None:
    text = (ROOT / "README.md").read_text()
    sources = re.findall(r"```python\n(import racecheck\n.*?)```", text, re.DOTALL)
    (source,) = (each for each in sources if "racecheck.check" in each)
    assert len(source.splitlines()) == 15
    assert source == re.sub(
        "# test_answer.py\n", "", blocks("docs/pytest.md")["test_answer.py"]
    )
    project.write("test_answer.py", source)
    ended = project.pytest("test_answer.py")
    assert ended.counts == {"failed": 1}
    (token,) = ended.tokens
    assert (
        f"test_answer.py::test_two_saves_at_a_time --racecheck-replay {token}"
        in ended.text
    )
