"""What is in the box before the actors start, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from racecheck.errors import ScenarioError
from racecheck.scenario.leftovers import FileLeft, FolderLeft, LinkLeft, Nothing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import SearchStrategy

    from racecheck.scenario.leftovers import Setup

_FIRST_PID: Final = 1001
STATES: Final = ("empty", "good", "torn", "temps", "lock", "link", "folder")
"""Names of the states that a box can be in."""


def boxes(
    path: str,
    *,
    image: bytes = b"",
    states: Sequence[str] = STATES,
    temp: str = "{path}.tmp.{pid}",
    lock: str = "{path}.lock",
    target: str = "nowhere",
) -> SearchStrategy[Setup]:
    """Draw the state of the box; the first of the states is the simplest.

    | state | what is there |
    | --- | --- |
    | `empty` | nothing |
    | `good` | a whole image at the path |
    | `torn` | the beginning of one |
    | `temps` | temporary files of processes that are gone, one of an id that lives |
    | `lock` | a lock file that nobody holds |
    | `link` | a symbolic link at the path that leads to `target` |
    | `folder` | a folder at the path, with a file or none |

    Args:
        path: What the subject publishes, from the box.
        image: What a whole image consists of.
        states: Which of the states.
        temp: What temporary files are called, made of `{path}` and `{pid}`.
        lock: What the lock file is called, made of `{path}`.
        target: Where the link leads to.

    Raises:
        ScenarioError: There is no such state.
    """
    first = FileLeft(temp.format(path=path, pid=_FIRST_PID), image[: len(image) // 2])
    made: dict[str, SearchStrategy[Setup]] = {
        "empty": st.just(Nothing()),
        "good": st.just(FileLeft(path, image)),
        "torn": st.integers(0, max(0, len(image) - 1)).map(
            lambda size: FileLeft(path, image[:size])
        ),
        "temps": st.sampled_from(
            [FileLeft(temp.format(path=path, pid=77), image), first]
        ),
        "lock": st.just(FileLeft(lock.format(path=path))),
        "link": st.just(LinkLeft(path, target)),
        "folder": st.integers(0, 1).map(lambda files: FolderLeft(path, files)),
    }
    for state in states:
        if state not in made:
            raise ScenarioError(
                f"a box has no state {state!r}; states: {', '.join(made)}"
            )
    if not states:
        raise ScenarioError("boxes needs a state")
    return st.one_of([made[state] for state in states])
