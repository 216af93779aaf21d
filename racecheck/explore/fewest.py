"""The pass of the shrinker that goes through all orders with few context switches.

The other passes change one thing at a time and get stuck where two have to change at
once. This one starts from the fewest switches that there can be, whatever the execution
at hand looks like. Where these orders are few, it tries them all, so that what is left
has the fewest switches for certain.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from racecheck.explore.passes import Turns, flat, runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from racecheck.explore.passes import Best

_MOST_MORE: Final = 4
_MOST_TRIED: Final = 40
_MOST_RANKED: Final = 2000
_MOST_PLACES: Final = 12
_OTHER_PATTERN: Final = 5


class _Order(NamedTuple):
    """Who runs, in order, and for each lane before which of its turns it is stopped."""

    pattern: tuple[str, ...]
    cuts: dict[str, tuple[int, ...]]


def fewest_runs(best: Best) -> Iterator[Turns]:
    """Propose orders with fewer switches, from the fewest on.

    Of those with one number of switches the ones that are nearest to the execution at
    hand come first, and those far from it are left out where there are many. So are
    orders with many switches, which are too many to hit upon one that fails.
    """
    pattern = [run[0].lane for run in runs_of(best.turns)]
    far = _distances(best)
    places = {
        lane: sorted(sorted(range(len(own)), key=own.__getitem__)[:_MOST_PLACES])
        for lane, own in far.items()
    }

    def distance(order: _Order) -> int:
        total = 0 if _is_within(order.pattern, pattern) else _OTHER_PATTERN
        for lane, cuts in order.cuts.items():
            total += sum(far[lane][cut] for cut in cuts)
        return total

    least = len(best.lanes)
    for count in range(least, min(len(pattern), least + _MOST_MORE + 1)):
        orders = itertools.islice(_orders(best.lanes, places, count), _MOST_RANKED)
        for order in sorted(orders, key=distance)[:_MOST_TRIED]:
            yield _arranged(best, order)


def _distances(best: Best) -> dict[str, list[int]]:
    """Return how far each cut is from where the lane is stopped, counted in cuts."""
    done = dict.fromkeys(best.lanes, 0)
    stops: dict[str, list[int]] = {lane: [] for lane in best.lanes}
    for run in runs_of(best.turns):
        lane = run[0].lane
        done[lane] += len(run)
        stops[lane].append(bisect_left(best.cuts[lane], done[lane]))
    return {
        lane: [_nearest(place, stops[lane]) for place in range(len(cuts))]
        for lane, cuts in best.cuts.items()
    }


def _nearest(place: int, stops: Sequence[int]) -> int:
    """Return how far the nearest of the stops is, which are in order."""
    index = bisect_left(stops, place)
    return min(abs(place - stop) for stop in stops[max(0, index - 1) : index + 1])


def _orders(
    lanes: Sequence[str], places: Mapping[str, Sequence[int]], count: int
) -> Iterator[_Order]:
    for pattern in _patterns(lanes, count, ()):
        choices = (
            itertools.combinations(places[lane], pattern.count(lane) - 1)
            for lane in lanes
        )
        for cuts in itertools.product(*choices):
            yield _Order(pattern, dict(zip(lanes, cuts, strict=True)))


def _patterns(
    lanes: Sequence[str], count: int, so_far: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """Yield who runs: every lane at least once, and none twice in a row."""
    missing = len(set(lanes).difference(so_far))
    if len(so_far) == count:
        yield so_far
        return
    for lane in lanes:
        is_again = lane in so_far
        if so_far[-1:] != (lane,) and missing + is_again <= count - len(so_far):
            yield from _patterns(lanes, count, (*so_far, lane))


def _arranged(best: Best, order: _Order) -> Turns:
    parts: dict[str, list[Turns]] = {}
    for lane, cuts in order.cuts.items():
        turns = tuple(turn for turn in best.turns if turn.lane == lane)
        edges = [0, *(best.cuts[lane][cut] for cut in cuts), len(turns)]
        parts[lane] = [turns[a:b] for a, b in itertools.pairwise(edges)]
    return flat([parts[lane].pop(0) for lane in order.pattern])


def _is_within(pattern: Sequence[str], other: Sequence[str]) -> bool:
    """Say whether some runs of one pattern, in order, are all of the other."""
    left = iter(other)
    return all(lane in left for lane in pattern)
