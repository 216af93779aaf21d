"""Finding scenarios: files and folders in, scenarios by name out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError
from racecheck.scenario.importing import import_file, module_name, short
from racecheck.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_PATTERNS = ("scenario.py", "scenarios.py", "scenario_*.py", "*_scenario.py")
_SKIPPED = frozenset({"__pycache__", "node_modules"})


@dataclass(frozen=True, slots=True)
class Loaded:
    """A scenario and where it was found, so that another process can find it too.

    Attributes:
        scenario: The scenario, one variant of it.
        file: The file that holds it; `load([file])` finds it again.
        module: Dotted name that the file is imported by.
        root: The folder on `sys.path` that it is imported from.
    """

    scenario: Scenario
    file: Path
    module: str
    root: Path

    @property
    def name(self) -> str:
        """Full name of the scenario."""
        return self.scenario.name


def is_scenario_file(name: str) -> bool:
    """Say whether a file in a folder is looked into, by its name."""
    return any(fnmatchcase(name, pattern) for pattern in _PATTERNS)


def load(paths: Sequence[Path]) -> tuple[Loaded, ...]:
    """Import files and folders and return the scenarios in them.

    A file is imported whatever its name. In folders, those called `scenario.py`,
    `scenarios.py`, `scenario_*.py` and `*_scenario.py` are. Scenarios are the
    `Scenario` objects at the top level of a module, each as its variants.

    Raises:
        ScenarioError: A file cannot be imported, a scenario is not well formed, two
            have one name, or there is none.
    """
    loaded: dict[str, Loaded] = {}
    # A scenario that several modules import belongs to the first that was loaded.
    seen: set[int] = set()
    for file in _files(paths):
        module = import_file(file)
        root, module_path = module_name(file)
        for value in list(vars(module).values()):
            # `isinstance` would also ask the value, which can answer as it likes.
            if not issubclass(type(value), Scenario) or id(value) in seen:
                continue
            seen.add(id(value))
            for scenario in value.variants():
                found = Loaded(scenario, file, module_path, root)
                if scenario.name in loaded:
                    _refuse_twice(loaded[scenario.name], found)
                _check(found)
                loaded[scenario.name] = found
    if not loaded:
        raise ScenarioError(f"no scenario in {', '.join(map(str, paths)) or 'no path'}")
    return tuple(loaded.values())


def _check(found: Loaded) -> None:
    try:
        found.scenario.check()
    except ScenarioError as error:
        raise ScenarioError(f"{short(found.file)}: {error}") from None


def _refuse_twice(first: Loaded, second: Loaded) -> None:
    raise ScenarioError(
        f"two scenarios are called {first.name!r}: one in {short(first.file)} and one "
        f"in {short(second.file)}"
    )


def _files(paths: Iterable[Path]) -> tuple[Path, ...]:
    found: dict[Path, None] = {}
    for path in paths:
        # `Path` would raise if a name is too long for a file.
        if os.path.isdir(path):  # noqa: PTH112  as said above
            found.update(dict.fromkeys(_in_folder(path.resolve())))
        elif os.path.isfile(path):  # noqa: PTH113  as said above
            found[path.resolve()] = None
        else:
            raise ScenarioError(f"{path} is no file and no folder")
    return tuple(found)


def _in_folder(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        # Sorted, so that the order of scenarios is that of their names anywhere.
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED
            # A virtual environment holds the scenarios of other people.
            and not Path(place, name, "pyvenv.cfg").exists()
        )
        for name in sorted(files):
            if is_scenario_file(name):
                yield Path(place, name)
