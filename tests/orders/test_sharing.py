"""Guards that a search is shared without being changed, and nothing is made twice.

Made-up programs, and helpers that are no processes: they make executions when they
are asked for answers, as many as chance will have it, so that all that can come of
different speeds does.
"""

from __future__ import annotations

import random
import socket
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from racecheck.explore.channel import Channel
from racecheck.explore.made import Made, Order, Stop, make, take_in
from racecheck.explore.team import Team
from racecheck.invariants.watch import Fineness
from racecheck.scheduling import DPORScheduler
from tests.orders.models import make_model, run_once

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from racecheck.explore.helper import Helper
    from racecheck.explore.runner import Runner
    from racecheck.model import Scheduler
    from tests.orders.models import Model


class Watch:
    """What invariants make of footprints: nothing."""

    fineness = Fineness()
    needed = fineness
    is_too_coarse = False


class Running:
    """Runs a model as a runner does a scenario.

    Attributes:
        made: Steps of the executions that were made.
    """

    def __init__(self, model: Model) -> None:
        self.watch = Watch()
        self.spun = False
        self.repeats = True
        self.habits = None
        self.broken_off = False
        self.made: list[object] = []
        self._model = model

    def run(self, scheduler: Scheduler, *_: object, **__: object) -> None:
        """Make the execution that a scheduler has started, and say nothing of it."""
        run = run_once(self._model, cast("DPORScheduler", scheduler), carry_on=True)
        self.made.append([event for event, *_ in run.taken])


class Slow:
    """A helper that makes something whenever it is asked for answers."""

    def __init__(self, runner: Running, generator: random.Random, most: int) -> None:
        self.given: dict[int, Hashable] = {}
        self.is_gone = False
        self.made = 0
        self._runner = cast("Runner", runner)
        self._generator = generator
        self._most = most
        self._orders: deque[Order] = deque()
        self._present: tuple[int, Iterator[Made]] | None = None
        self._answers: list[Made] = []

    @property
    def has_answers(self) -> bool:
        """Whether there is anything, which there is once somebody waits for it."""
        if not self._answers:
            self._work()
        return bool(self._answers)

    def is_at(self, number: int) -> bool:
        return next(iter(self.given), None) == number

    def tell(self, message: Order | Stop) -> None:
        if isinstance(message, Order):
            self._orders.append(message)
        elif self._present is not None and self._present[0] == message.number:
            self._answers.append(Made(message.number))
            self._present = None
        elif any(order.number == message.number for order in self._orders):
            left = [each for each in self._orders if each.number != message.number]
            self._orders = deque(left)
            self._answers.append(Made(message.number))

    def answers(self) -> list[Made]:
        for _ in range(self._generator.randrange(self._most + 1)):
            self._work()
        found, self._answers = self._answers, []
        return found

    def _work(self) -> None:
        if self._present is None and self._orders:
            order = self._orders.popleft()
            self._present = order.number, make(self._runner, order)
        if self._present is not None:
            made = next(self._present[1])
            self.made += bool(made.enabled)
            self._answers.append(made)
            if not made.more:
                self._present = None


@pytest.mark.parametrize("most", [1, 4], ids=["slow", "fast"])
@pytest.mark.parametrize("helpers", [1, 3])
def test_each_execution_is_made_by_one_of_all(helpers: int, most: int) -> None:
    shared = 0
    for seed in range(60):
        model = make_model(random.Random(seed))
        alone, ours, theirs = Running(model), Running(model), Running(model)
        search = DPORScheduler()
        while search.start_execution() is not None:
            alone.run(search)
        team = Team(cast("Runner", ours), 0, Path())
        chance = random.Random(seed)
        people = [Slow(theirs, chance, most) for _ in range(helpers)]
        team._helpers = cast("list[Helper]", people)
        search = DPORScheduler()
        taken = 0
        while search.start_execution() is not None:
            team.keep_busy(search, reuse=True)
            made = team.find(search)
            if made is None:
                ours.run(search)
            else:
                # What is foretold of a search is what comes.
                assert take_in(made, search) is None, seed
                taken += 1
        shared += taken

        everything = [*ours.made, *theirs.made]
        assert len(everything) == len(alone.made), seed
        assert sorted(map(repr, everything)) == sorted(map(repr, alone.made)), seed
    assert shared > 100


def test_both_ends_can_send_more_than_fits_in_between() -> None:
    ends = [Channel(each) for each in socket.socketpair()]
    sent = [bytes([index]) * 3_000_000 for index in range(2)]
    found: list[list[bytes]] = [[], []]

    def talk(index: int) -> None:
        ends[index].send(sent[index])
        found[index] += ends[index].receive(wait=True)

    threads = [threading.Thread(target=talk, args=(each,)) for each in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [[sent[1]], [sent[0]]]
    for end in ends:
        end.close()


def test_an_end_that_is_gone_is_told_of_after_what_it_has_sent() -> None:
    ours, theirs = (Channel(each) for each in socket.socketpair())
    theirs.send(b"one")
    theirs.send(b"")
    theirs.close()

    assert ours.receive(wait=True) == [b"one", b""]
    assert ours.is_over
    ours.send(b"two")
    assert ours.receive(wait=True) == []
    ours.close()
