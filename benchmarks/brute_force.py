"""Compare the search with all orders of many small random programs.

Run from the checkout: `python -m benchmarks.brute_force --programs 1000 --jobs 2`. It
ends with status 1 if the search missed an order or anything that came of one, took one
twice, or if footprints were wrong.

All orders are run as plain system calls, with nobody looking on. With `--traced` they
are run as the search does it, which takes ten times as long and allows for operations
of several calls, for times, and for listings in parts.

With `--results FILE` each program gets a line in a
file as soon as it was compared; those that have one are not compared again, and the
figures are those of the whole file. So a long run can be made in parts.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from racecheck.engine import Machine
from racecheck.engine.sandbox import Sandbox
from racecheck.kernel.rows import ROWS
from tests.engine.lab import in_child
from tests.footprint.stage import Stage
from tests.orders.comparing import MOST_ORDERS, Compared, compare, compare_direct
from tests.orders.direct import Outcome, every_outcome
from tests.orders.small import make_small

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from multiprocessing.queues import Queue

_AT_ONCE = 20
_ABOUT = (
    ("orders", "orders"),
    ("inequivalent orders", "sorts"),
    ("outcomes", "outcomes"),
    ("executions of the search", "executions"),
    ("... given up as repetitions", "blocked"),
    ("executions without sleep sets", "without"),
    ("... and with, on the same programs", "with_both"),
)


def main() -> int:
    """Run, and print the figures."""
    parser = argparse.ArgumentParser(description="Run all orders of random programs.")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--programs", type=int, default=1000, help="number of seeds")
    parser.add_argument("--seconds", type=float, help="begin nothing after this time")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--results", type=Path, help="file with a line a program")
    parser.add_argument(
        "--traced",
        action="store_true",
        help="run all orders under control, with operations of several calls and times",
    )
    options = parser.parse_args()
    known = {each.seed: each for each in _read(options.results)}
    wanted = range(options.first, options.first + options.programs)
    started = time.perf_counter()
    until = time.time() + options.seconds if options.seconds else None
    left = [seed for seed in wanted if seed not in known]
    for each in _compared(left, options.jobs, until, traced=options.traced):
        known[each.seed] = each
        if each.wrong:
            print(f"seed {each.seed}, {each.wrong}", flush=True)
        if options.results:
            with options.results.open("ab") as file:
                file.write(msgspec.json.encode(each) + b"\n")
    show(known.values(), time.perf_counter() - started)
    return 1 if any(each.wrong for each in known.values()) else 0


def _read(path: Path | None) -> list[Compared]:
    if path is None or not path.exists():
        return []
    decode = msgspec.json.Decoder(Compared).decode
    # A run that was killed can have left half a line.
    lines = path.read_bytes().split(b"\n")[:-1]
    return [decode(line) for line in lines]


def _compared(
    seeds: Sequence[int], jobs: int, until: float | None, *, traced: bool
) -> Iterable[Compared]:
    """Yield what comes of programs, in the order in which it is known."""
    context = multiprocessing.get_context("spawn")
    cpus: Queue[int] = context.Queue()
    usable = sorted(os.sched_getaffinity(0))
    for job in range(jobs):
        cpus.put(usable[job % len(usable)])
    parts = [seeds[i : i + _AT_ONCE] for i in range(0, len(seeds), _AT_ONCE)]
    with ProcessPoolExecutor(jobs, context, _pin, (cpus,)) as pool:
        for done in as_completed(
            [pool.submit(_part, p, until, traced=traced) for p in parts]
        ):
            yield from done.result()


def _pin(cpus: Queue[int]) -> None:
    os.sched_setaffinity(0, {cpus.get()})


def _part(seeds: Sequence[int], until: float | None, *, traced: bool) -> list[Compared]:
    if until and time.time() > until:
        return []
    outcomes = {} if traced else in_child(lambda: _outcomes(seeds))
    found = []
    with Machine() as machine:
        stage = Stage(machine)
        for seed in seeds:
            if traced:
                found.append(compare(stage, seed))
            else:
                small = make_small(random.Random(seed), single=True)
                found.append(compare_direct(stage, small, seed, outcomes[seed]))
    return found


def _outcomes(seeds: Sequence[int]) -> dict[int, list[Outcome]]:
    os.umask(0o022)
    found = {}
    with Sandbox() as sandbox:
        for seed in seeds:
            small = make_small(random.Random(seed), single=True)
            found[seed] = every_outcome(sandbox, small, limit=MOST_ORDERS)
    return found


def show(compared: Iterable[Compared], seconds: float) -> None:
    """Print what was found out."""
    every = list(compared)
    programs = [each for each in every if not each.left_out]
    actors = Counter(each.actors for each in programs)
    by_actors = ", ".join(f"{n} with {k}" for k, n in sorted(actors.items()))
    left_out = Counter(each.left_out for each in every if each.left_out)
    rows = (
        ("programs", f"{len(programs)}, by actors: {by_actors}"),
        *((f"left out: {why}", n) for why, n in left_out.items()),
        ("of which more than one thing came", sum(e.outcomes > 1 for e in programs)),
        ("in which somebody can wait for ever", sum(e.waiting for e in programs)),
        *((name, sum(getattr(e, field) for e in programs)) for name, field in _ABOUT),
        ("programs with something wrong", sum(bool(e.wrong) for e in programs)),
        ("seconds", f"{seconds:.0f}"),
    )
    for name, value in rows:
        print(f"{name:36} {value}")
    _show_calls(programs)


def _show_calls(programs: Iterable[Compared]) -> None:
    """Print how many sorts of calls there were, and which there were not."""
    calls = Counter(call for each in programs for call in each.calls)
    made = {tuple(call.split()[:2]) for call in calls}
    rows = {(row.name, row.kind.value) for row in ROWS}
    succeeded = {kind for _, kind, how in map(str.split, calls) if how == "ok"}
    failed = {kind for _, kind, how in map(str.split, calls) if how != "ok"}
    kinds = {kind for _, kind in rows}
    print(f"{'calls by name, kind and outcome':36} {len(calls)}")
    for title, missing in (
        ("calls that none made", {f"{a} ({b})" for a, b in rows - made}),
        ("kinds of which none succeeded", kinds - succeeded),
        ("kinds of which none failed", kinds - failed),
    ):
        print(f"{title:36} {', '.join(sorted(missing)) or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
