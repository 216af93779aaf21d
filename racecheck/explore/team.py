"""Processes that make executions of one exploration ahead of their turn.

The exploration goes on as if it were alone: in the same order, with the same results.
It only finds that some of what it is about to make is made already. Of samples each is
given away by itself; of a search a part at a time, which the helper goes on with until
it is at its end, or until the exploration has caught up with it.
"""

from __future__ import annotations

import pickle
import select
from typing import TYPE_CHECKING, Final, Self

from racecheck.explore.habits import StateKeptError
from racecheck.explore.helper import fork
from racecheck.explore.made import Order, Stop, make
from racecheck.explore.series import (
    AT_ONCE,
    SAMPLES_AT_ONCE,
    Series,
    but_for_the_next,
    kind_of,
)
from racecheck.scheduling.ahead import ahead_of, key_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from pathlib import Path
    from types import TracebackType

    from racecheck.explore.helper import Helper
    from racecheck.explore.made import Made
    from racecheck.explore.runner import Runner
    from racecheck.model import Scheduler
    from racecheck.scheduling.ahead import Ahead

_MOST_KEPT: Final = 200
"""Executions that may wait to be taken. A budget can end before they are."""
_MOST_OF_SERIES: Final = 50
"""Executions after which a helper looks whether there is something nearer by now."""


class Team:
    """The helpers of one exploration; without any it changes nothing."""

    def __init__(self, runner: Runner, cpus: int, workdir: Path) -> None:
        """Prepare.

        Args:
            runner: Makes what is made here. It has been set up, so that nothing of
                what follows makes a difference to its actors.
            cpus: A processor for each helper; bit 0 is the first processor.
            workdir: Where helpers make their boxes.
        """
        self._runner = runner
        self._helpers: list[Helper] = []
        self._numbers = 0
        self._keep: dict[Hashable, Made] = {}
        self._series: dict[int, Series] = {}
        self._inside: Series | None = None
        # What is made here while there is nothing better to do.
        self._own: tuple[Series, Iterator[Made]] | None = None
        self._reuse = True
        try:
            for cpu in range(cpus.bit_length()):
                if cpus >> cpu & 1:
                    self._fork(cpu, workdir)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for helper in self._helpers:
            helper.end()
        self._helpers.clear()

    def __bool__(self) -> bool:
        """Say whether there is anybody."""
        return bool(self._helpers)

    def begin(self) -> None:
        """Forget what was made: another exploration begins."""
        self._keep.clear()
        for series in list(self._series.values()):
            self._drop(series)
        for helper in self._helpers:
            # They are made all the same, and then fit no key.
            helper.given = dict.fromkeys(helper.given)

    def keep_busy(self, scheduler: Scheduler, *, reuse: bool) -> None:
        """Give helpers something to do while an execution is made here.

        Args:
            scheduler: Makes that execution, which it has started.
            reuse: Whether actors may run in processes that were used before.
        """
        self._reuse = reuse
        self._receive(wait=False)
        self._give(scheduler)

    def find(self, scheduler: Scheduler) -> Made | None:
        """Return the execution that a scheduler has started, if it is made elsewhere.

        While somebody is at it, others are made here.
        """
        key = key_of(scheduler)
        series = self._series_with(key)
        if series is not None:
            made = self._next_of(series, scheduler)
        else:
            while key not in self._keep and key in self._given():
                self._make_another(scheduler)
            made = self._keep.pop(key, None)
        return made if made is not None and made.plain else None

    def forget(self, scheduler: Scheduler) -> None:
        """Give the execution up that a scheduler has started: it is made once more."""
        key = key_of(scheduler)
        series = self._series_with(key)
        if series is not None:
            if series.made:
                series.made.popleft()
            elif series.helper is None:
                self._drop(series)
            else:
                series.skipped += not series.is_over
            return
        self._keep.pop(key, None)
        for helper in self._helpers:
            for number, given in helper.given.items():
                if given == key:
                    helper.given[number] = None

    def part(self, scheduler: Scheduler) -> None:
        """Take note that what was found is not what the scheduler wanted."""
        series = self._series_with(key_of(scheduler))
        if series is not None:
            self._drop(series)

    # --- series -----------------------------------------------------------------------

    def _series_with(self, key: Hashable) -> Series | None:
        """Return the series that the execution of a key is the next of."""
        inside = self._inside
        if inside is not None and not inside.goes_on:
            self._drop(inside)
            inside = None
        if inside is not None:
            return inside if kind_of(key) == kind_of(inside.key) else None
        for series in self._series.values():
            if series.key == key:
                self._inside = series
                return series
        return None

    def _next_of(self, series: Series, scheduler: Scheduler) -> Made | None:
        """Return the next execution of a series; None if that has to be made here."""
        if not series.made and not series.is_over:
            helper = series.helper
            if helper is None or not helper.is_at(series.number):
                # It would only be begun now.
                self._drop(series)
                return None
            # What comes after it is next here, so that the helper goes on elsewhere.
            self._stop(series)
            while not series.made and not series.is_over:
                self._make_another(scheduler)
        return series.made.popleft() if series.made else None

    def _stop(self, series: Series) -> None:
        if series.is_stopped or series.is_over:
            return
        series.is_stopped = True
        if series.helper is not None:
            series.helper.tell(Stop(series.number))

    def _drop(self, series: Series) -> None:
        """Forget a series, and have its helper stop."""
        self._stop(series)
        self._series.pop(series.number, None)
        if self._own is not None and self._own[0] is series:
            self._own = None
        if series.helper is not None and series.number in series.helper.given:
            series.helper.given[series.number] = None
        if self._inside is series:
            self._inside = None

    # --- giving and receiving ---------------------------------------------------------

    def _given(self) -> set[Hashable]:
        return {key for helper in self._helpers for key in helper.given.values()}

    @property
    def _room(self) -> int:
        """How many more executions may be kept."""
        waiting = sum(len(series.made) for series in self._series.values())
        return max(0, _MOST_KEPT - len(self._keep) - waiting)

    def _make_another(self, scheduler: Scheduler) -> None:
        """Make something that comes later while somebody is at what comes next."""
        ahead = None
        if self._own is None:
            ahead = next(but_for_the_next(self._untouched(scheduler)), None)
        if not self._room or (ahead is None and self._own is None):
            self._receive(wait=True)
            return
        if ahead is not None and not ahead.is_series:
            (made,) = make(self._runner, self._order(ahead))
            self._check(made)
            self._keep[ahead.key] = made
        else:
            self._go_on(ahead)
        self._receive(wait=False)
        self._give(scheduler)

    def _go_on(self, ahead: Ahead | None) -> None:
        """Make one execution of a series here.

        Args:
            ahead: The series that is begun; None to go on with the present one.
        """
        if ahead is not None:
            order = self._order(ahead)
            series = Series(order.number, ahead.key, None, ahead.depth)
            self._series[order.number] = series
            self._own = series, make(self._runner, order)
        assert self._own is not None  # noqa: S101  the caller has looked
        series, making = self._own
        made = next(making)
        self._check(made)
        if made.enabled:
            series.made.append(made)
        series.is_over = not made.more
        if series.is_over:
            self._own = None

    def _untouched(self, scheduler: Scheduler) -> Iterator[Ahead]:
        """Yield what comes later that nobody has made and nobody is at."""
        known = self._given()
        known.add(key_of(scheduler))
        known.update(series.key for series in self._series.values())
        inside = self._inside
        for ahead in ahead_of(scheduler):
            if (
                inside is not None
                and inside.goes_on
                and ahead.depth > inside.depth
                and kind_of(ahead.key) == kind_of(inside.key)
            ):
                # It belongs to the series, and comes in its turn.
                continue
            if ahead.key not in self._keep and ahead.key not in known:
                yield ahead

    def _order(self, ahead: Ahead) -> Order:
        self._numbers += 1
        most = min(_MOST_OF_SERIES, self._room) if ahead.is_series else 1
        scheduler = ahead.scheduler
        return Order(
            number=self._numbers,
            seed=ahead.seed,
            scheduler=pickle.dumps(scheduler),
            footprints=bool(getattr(scheduler, "needs_footprints", False)),
            reuse=self._reuse,
            fineness=self._runner.watch.fineness,
            most=most,
        )

    def _give(self, scheduler: Scheduler) -> None:
        """Give each helper as much as it may have, in turn."""
        if not self._room or all(len(h.given) >= AT_ONCE for h in self._helpers):
            return
        left = 0
        for ahead in but_for_the_next(self._untouched(scheduler)):
            helper = min(self._helpers, key=lambda each: len(each.given))
            most = AT_ONCE if ahead.is_series else SAMPLES_AT_ONCE
            if len(helper.given) >= most:
                return
            if not ahead.is_series and left <= len(helper.given):
                # What is given is to be there when its turn comes. So as much that
                # comes before is made here as the helper makes by then.
                left += 1
                continue
            order = self._order(ahead)
            helper.given[order.number] = ahead.key
            if ahead.is_series:
                self._series[order.number] = Series(
                    order.number, ahead.key, helper, ahead.depth
                )
            helper.tell(order)
            if helper.is_gone:
                self._lose(helper)
                if not self._helpers:
                    return

    def _receive(self, *, wait: bool) -> None:
        """Take in what helpers have made, at least one of it if asked to wait."""
        if not self._helpers:
            return
        if wait and not any(each.has_answers for each in self._helpers):
            select.select(self._helpers, [], [])
        for helper in list(self._helpers):
            for made in helper.answers():
                self._take(helper, made)
            if helper.is_gone:
                self._lose(helper)

    def _take(self, helper: Helper, made: Made) -> None:
        """Keep what a helper has made, if anybody wants it."""
        key = helper.given[made.number]
        if not made.more:
            del helper.given[made.number]
        self._check(made)
        series = self._series.get(made.number)
        if series is not None:
            series.is_over = not made.more
            if made.enabled and series.skipped:
                series.skipped -= 1
            elif made.enabled:
                series.made.append(made)
        elif key is not None and not made.more:
            self._keep[key] = made

    def _check(self, made: Made) -> None:
        """Raise `StateKeptError` if an execution shows that processes keep state.

        One of an exploration before this one, which is made in fresh processes, shows
        what is known.
        """
        if made.kept and self._reuse:
            raise StateKeptError
        if self._runner.habits is not None:
            self._runner.habits.agree(made.habits)

    def _lose(self, helper: Helper) -> None:
        """Go on without a helper: what it had to make is made here."""
        if helper in self._helpers:
            self._helpers.remove(helper)
            helper.end()
        for series in self._series.values():
            if series.helper is helper:
                series.is_over = True

    def _fork(self, cpu: int, workdir: Path) -> None:
        self._helpers.append(fork(cpu, self._runner, workdir))
