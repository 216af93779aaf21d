"""Choosing scenarios by name or tag, and telling names from paths on a command line."""

from __future__ import annotations

import os
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from racecheck.errors import ScenarioError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.scenario.loader import Loaded

QUICK = "quick"
"""Tag of the scenarios that a quick run makes do with."""

_GLOB = frozenset("*?[")


def select(loaded: Sequence[Loaded], globs: Sequence[str]) -> tuple[Loaded, ...]:
    """Return the scenarios that a glob matches, in their order; all without a glob.

    A glob is that of a name or of a tag. A name without any of `*?[` also selects what
    is below it: `head_image` and `head_image/two_writers` both select
    `head_image/two_writers/write_shared`.

    Raises:
        ScenarioError: A glob matches nothing.
    """
    for glob in globs:
        if not any(_matches(each, glob) for each in loaded):
            raise ScenarioError(f"no scenario is called {glob!r}{_close(loaded, glob)}")
    if not globs:
        return tuple(loaded)
    return tuple(each for each in loaded if any(_matches(each, glob) for glob in globs))


def quick_ones(loaded: Sequence[Loaded]) -> tuple[Loaded, ...]:
    """Return the scenarios that are good for a quick look: those tagged so, or all."""
    tagged = tuple(each for each in loaded if QUICK in each.scenario.tags)
    return tagged or tuple(loaded)


def split(arguments: Sequence[str]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Divide arguments into paths, which exist, and globs of scenario names.

    Raises:
        UsageError: An argument can only be a path, and is not there.
    """
    paths: list[Path] = []
    globs: list[str] = []
    for argument in arguments:
        # `Path` would raise if the name is too long for a file.
        if os.path.exists(argument):  # noqa: PTH110  as said above
            paths.append(Path(argument))
        elif argument.endswith((".py", "/")) or argument.startswith((".", "/", "~")):
            raise UsageError(f"{argument} is no file and no folder")
        else:
            globs.append(argument)
    return tuple(paths), tuple(globs)


def _matches(loaded: Loaded, glob: str) -> bool:
    name, tags = loaded.name, loaded.scenario.tags
    if _GLOB.isdisjoint(glob):
        below = f"{glob.rstrip('/')}/"
        return name == glob or name.startswith(below) or glob in tags
    return any(fnmatchcase(word, glob) for word in (name, *tags))


def _close(loaded: Sequence[Loaded], glob: str) -> str:
    names = [each.name for each in loaded]
    above = {
        name.rsplit("/", depth)[0]
        for name in names
        for depth in range(1, name.count("/") + 1)
    }
    # Whole names first: they are what can be run.
    tags = {tag for each in loaded for tag in each.scenario.tags}
    known = [*names, *sorted((above | tags) - set(names))]
    close = get_close_matches(glob, known, n=3)
    if close:
        return f"; close to it: {', '.join(close)}"
    return "; `racecheck list` shows what there is"
