"""Many workers that start at once, let loose: ten processes, a hundred links each.

They run under stress, in the shape of the test that came with the repair: all processes
make sure of one link, again and again, with something else in its place each time.
"""

from pathlib import Path

from racecheck.invariants import no_lost_writes
from racecheck.scenario import Scenario, operation
from scenarios.ensure_symlink.links import Ensure
from scenarios.ensure_symlink.parts import LOST, NEW, OLD, make_release, ways

WORKERS = 10
ROUNDS = 100

many_workers = Scenario(
    "ensure_symlink/many_workers",
    invariants=[no_lost_writes()],
    engine="stress",
    # Not every execution meets the race: a worker that is fast leaves nothing to do.
    budget=8,
    tags="B58",
)


@many_workers.setup
def releases(box: Path) -> dict[str, Path]:
    """Leave nothing in the place of some links, and a link to an old one in others."""
    make_release(box / OLD, OLD)
    make_release(box / NEW, NEW)
    links = box / "links"
    links.mkdir()
    for number in range(0, ROUNDS, 2):
        (links / str(number)).symlink_to(box / OLD)
    return {"links": links, "target": box / NEW}


def ensure(links: Path, target: Path, way: Ensure, number: int) -> None:
    """Make sure of one link, as each worker does."""
    way(links / str(number), target)


many_workers.writer(
    [operation(ensure, number=number) for number in range(ROUNDS)],
    name="ensure",
    count=WORKERS,
)
many_workers.over(
    way=ways("faulty", "eexist", "filelock", "atomic"),
    expect={"faulty": LOST, "eexist": LOST},
)
