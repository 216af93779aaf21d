"""Guards that a process is used again only where it stands as at its start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from racecheck.engine import Machine
from tests.engine.lab import in_child
from tests.footprint.stage import Ordered, Played, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.processes


def beside_the_box() -> None:
    with open("../beside", "w", encoding="ascii"):
        pass


def move_the_box() -> None:
    os.rename("../box", "../moved")


@pytest.mark.parametrize("act", [beside_the_box, move_the_box])
def test_an_actor_whose_folder_is_made_anew_does_not_stay_in_the_old_one(
    act: Callable[[], object],
) -> None:
    def body() -> list[Played | None]:
        with Machine() as machine:
            stage = Stage(machine)
            # The one has ended before the other touches the folder of both.
            stage.prepare(
                lambda: os.mkdir("d"), {"A": lambda: os.listdir("."), "B": act}
            )
            order = ["A"] * 20
            return [stage.run(Ordered(order), reuse=True) for _ in range(3)]

    first, *others = in_child(body)

    assert first is not None
    assert first.values["A"] == ["d"]
    assert others == [first, first]
