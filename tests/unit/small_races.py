"""Races of a few steps, each with the fewest context switches that show it.

An actor that ends gives way to another, so that `n` actors that come to their ends take
`n - 1` switches in any case. A race takes at least one more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from racecheck.model import Fault, FaultKind, Kind
from tests.unit.small_programs import Next, Small, Steps, World

if TYPE_CHECKING:
    from collections.abc import Callable

NO_SPACE = (Fault(FaultKind.ERRNO, errno="ENOSPC"),)
CRASH = (Fault(FaultKind.CRASH),)


@dataclass(frozen=True)
class Race:
    """A program with an invariant that some of its orders break.

    Attributes:
        program: The program.
        invariant: What is broken.
        switches: The fewest context switches with which it is, among those with
        faults: the fewest faults with which it is.
    """

    program: Small
    invariant: str
    switches: int
    faults: int = 0


def _adds_one(before: int = 0, between: int = 0) -> Callable[[World], Steps]:
    """Read a number and write it back greater, with steps of its own around that."""

    def actor(world: World) -> Steps:
        for _ in range(before):
            yield Next(Kind.STAT, reads="config")
        yield Next(Kind.READ, reads="n")
        seen = world.number("n")
        for _ in range(between):
            yield Next(Kind.STAT, reads="config")
        yield Next(Kind.WRITE, writes="n")
        world.files["n"] = seen + 1
        yield Next(Kind.EXIT)

    return actor


def _looks(steps: int) -> Callable[[World], Steps]:
    """Only read, so that it is in nobody's way."""

    def actor(world: World) -> Steps:
        del world
        for _ in range(steps):
            yield Next(Kind.READ, reads="n")

    return actor


def lost_update(actors: int = 2, *, most: int = -1, **noise: int) -> Small:
    """Add up; too little is lost, and so is what is not more than `most`."""
    least = actors if most < 0 else most + 1
    return Small(
        {f"add-{n}": _adds_one(**noise) for n in range(actors)},
        lambda world: "lost" if world.number("n") < least else "",
    )


def lost_update_beside(steps: int) -> Small:
    """Add up while somebody looks on."""
    adding = lost_update(2)
    return Small({"look": _looks(steps), **adding.actors}, adding.at_end)


def lost_update_with_lock() -> Small:
    """Read before the lock is taken, which then protects nothing."""

    def actor(world: World) -> Steps:
        yield Next(Kind.READ, reads="n")
        seen = world.number("n")
        yield Next(Kind.LOCK, reads="l", writes="l", ready=world.is_free("l"))
        world.locks["l"] = "held"
        yield Next(Kind.WRITE, writes="n")
        world.files["n"] = seen + 1
        yield Next(Kind.LOCK, writes="l")
        del world.locks["l"]
        yield Next(Kind.EXIT)

    return Small(
        {"one": actor, "two": actor},
        lambda world: "lost" if world.number("n") < 2 else "",
    )


def check_then_create(actors: int, failures: int = 1) -> Small:
    """Create a file that was not there a moment ago."""

    def actor(world: World) -> Steps:
        yield Next(Kind.STAT, reads="f")
        if "f" not in world.files:
            yield Next(Kind.OPEN, reads="f", writes="f")
            if "f" in world.files:
                world.files["failed"] = world.number("failed") + 1
                if world.number("failed") == failures:
                    world.fail("exists")
            world.files["f"] = 1
        yield Next(Kind.EXIT)

    return Small({f"make-{n}": actor for n in range(actors)})


def torn_read() -> Small:
    """Read what is written in two pieces."""

    def write(world: World) -> Steps:
        yield Next(Kind.OPEN, writes="f")
        world.files["f"] = ""
        yield Next(Kind.WRITE, writes="f")
        world.files["f"] = "ab"
        yield Next(Kind.WRITE, writes="f")
        world.files["f"] = "abcd"
        yield Next(Kind.EXIT)

    def read(world: World) -> Steps:
        yield Next(Kind.OPEN, reads="f")
        if "f" in world.files:
            yield Next(Kind.READ, reads="f")
            if world.files["f"] != "abcd":
                world.fail("torn")
        yield Next(Kind.EXIT)

    return Small({"write": write, "read": read})


def skewed_read(first: str, second: str, old_and_new: str) -> Small:
    """Read two files that another writes, `x` before `y`, and see them apart."""

    def write(world: World) -> Steps:
        yield Next(Kind.WRITE, writes="x")
        world.files["x"] = 1
        yield Next(Kind.WRITE, writes="y")
        world.files["y"] = 1
        yield Next(Kind.EXIT)

    def read(world: World) -> Steps:
        yield Next(Kind.READ, reads=first)
        seen = world.number(first)
        yield Next(Kind.READ, reads=second)
        if f"{seen}{world.number(second)}" == old_and_new:
            world.fail("skewed")
        yield Next(Kind.EXIT)

    return Small({"read": read, "write": write})


def seen_twice() -> Small:
    """Read A, then B, then A again, of somebody who writes B and then A."""

    def write(world: World) -> Steps:
        for value in (1, 0):
            yield Next(Kind.WRITE, writes="x")
            world.files["x"] = value
        yield Next(Kind.EXIT)

    def read(world: World) -> Steps:
        seen = []
        for _ in range(3):
            yield Next(Kind.READ, reads="x")
            seen.append(world.number("x"))
        if seen == [0, 1, 0]:
            world.fail("twice")
        yield Next(Kind.EXIT)

    return Small({"read": read, "write": write})


def zigzag(turns: int) -> Small:
    """Be wrong only where two actors strictly take turns."""

    def actor(name: str) -> Callable[[World], Steps]:
        def act(world: World) -> Steps:
            for _ in range(turns):
                yield Next(Kind.WRITE, reads="log", writes="log")
                world.files["log"] = f"{world.files.get('log', '')}{name}"
            yield Next(Kind.EXIT)

        return act

    return Small(
        {"a": actor("a"), "b": actor("b")},
        lambda world: "zigzag" if world.files["log"] == "ab" * turns else "",
    )


def deadlock(*orders: str) -> Small:
    """Take locks, each actor in an order of its own, and let all go at once."""

    def actor(name: str, order: str) -> Callable[[World], Steps]:
        def act(world: World) -> Steps:
            for lock in order:
                yield Next(
                    Kind.LOCK, reads=lock, writes=lock, ready=world.is_free(lock)
                )
                world.locks[lock] = name
            yield Next(Kind.EXIT, writes=" ".join(order))
            for lock in order:
                del world.locks[lock]

        return act

    return Small({f"take-{order}": actor(order, order) for order in orders})


def shared_temp(writers: int, *, reader: bool = False) -> Small:
    """Write a file of one name and rename it, which the other has done already."""

    def write(world: World) -> Steps:
        yield Next(Kind.OPEN, reads="temp", writes="temp")
        world.files["temp"] = 1
        yield Next(Kind.RENAME, reads="temp", writes="temp f")
        if world.files.pop("temp", None) is None:
            world.fail("missing")
        yield Next(Kind.EXIT)

    def read(world: World) -> Steps:
        del world
        yield Next(Kind.OPEN, reads="f")
        yield Next(Kind.EXIT)

    actors = {f"write-{n}": write for n in range(writers)}
    return Small({**actors, **({"read": read} if reader else {})})


def unlink_gap() -> Small:
    """Open a file while it is replaced by way of an unlink."""

    def replace(world: World) -> Steps:
        yield Next(Kind.UNLINK, writes="f")
        del world.files["f"]
        yield Next(Kind.RENAME, writes="f")
        world.files["f"] = 2
        yield Next(Kind.EXIT)

    def read(world: World) -> Steps:
        yield Next(Kind.STAT, reads="config")
        yield Next(Kind.OPEN, reads="f")
        if "f" not in world.files:
            world.fail("missing")
        yield Next(Kind.EXIT)

    return Small({"replace": replace, "read": read}, files={"f": 1})


def evicted() -> Small:
    """Open a file that was there when it was looked for."""

    def evict(world: World) -> Steps:
        yield Next(Kind.LISTING, reads="f")
        yield Next(Kind.UNLINK, writes="f")
        world.files.pop("f", None)
        yield Next(Kind.EXIT)

    def use(world: World) -> Steps:
        yield Next(Kind.STAT, reads="f")
        found = "f" in world.files
        yield Next(Kind.OPEN, reads="f")
        if found and "f" not in world.files:
            world.fail("missing")
        yield Next(Kind.EXIT)

    return Small({"evict": evict, "use": use}, files={"f": 1})


def index_and_blob(noise: int = 2) -> Small:
    """Follow an index to a blob that was deleted in between."""

    def publish(world: World) -> Steps:
        yield Next(Kind.RENAME, writes="index")
        world.files["index"] = "new"
        yield Next(Kind.UNLINK, writes="old")
        del world.files["old"]
        for _ in range(noise):
            yield Next(Kind.STAT, reads="config")
        yield Next(Kind.EXIT)

    def fetch(world: World) -> Steps:
        for _ in range(noise):
            yield Next(Kind.STAT, reads="config")
        yield Next(Kind.READ, reads="index")
        name = world.files["index"]
        yield Next(Kind.OPEN, reads="old new")
        if name not in world.files:
            world.fail("dangling")
        yield Next(Kind.EXIT)

    return Small(
        {"publish": publish, "fetch": fetch},
        files={"index": "old", "old": 1, "new": 1},
    )


def stale_lock() -> Small:
    """Take over the lock file of somebody dead, and that of somebody alive."""

    def actor(name: str) -> Callable[[World], Steps]:
        def act(world: World) -> Steps:
            yield Next(Kind.READ, reads="lock")
            if world.files.get("lock") == "dead":
                yield Next(Kind.UNLINK, writes="lock")
                world.files.pop("lock", None)
            yield Next(Kind.OPEN, reads="lock", writes="lock")
            if "lock" not in world.files:
                world.files["lock"] = name
                yield Next(Kind.READ, reads="lock")
                if world.files.get("lock") != name:
                    world.fail("stolen")
                yield Next(Kind.UNLINK, writes="lock")
                world.files.pop("lock", None)
            yield Next(Kind.EXIT)

        return act

    return Small({"a": actor("a"), "b": actor("b")}, files={"lock": "dead"})


def polled_too_early() -> Small:
    """Poll for a marker that is set before all is there."""

    def poll(world: World) -> Steps:
        for _ in range(4):
            yield Next(Kind.STAT, reads="ready")
            if "ready" in world.files:
                yield Next(Kind.READ, reads="f")
                if world.files["f"] != "whole":
                    world.fail("early")
                break
        yield Next(Kind.EXIT)

    def write(world: World) -> Steps:
        yield Next(Kind.MKDIR, writes="ready")
        world.files["ready"] = 1
        yield Next(Kind.WRITE, writes="f")
        world.files["f"] = "whole"
        yield Next(Kind.EXIT)

    return Small({"poll": poll, "write": write}, files={"f": "half"})


def disk_full() -> Small:
    """Publish what could not be written; no order does it without that error."""

    def write(world: World) -> Steps:
        yield Next(Kind.OPEN, writes="temp", faults=NO_SPACE)
        fault = yield Next(Kind.WRITE, writes="temp", faults=NO_SPACE)
        world.files["temp"] = "whole" if fault is None else ""
        yield Next(Kind.RENAME, reads="temp", writes="f")
        world.files["f"] = world.files["temp"]
        yield Next(Kind.EXIT)

    def read(world: World) -> Steps:
        yield Next(Kind.OPEN, reads="f")
        if world.files.get("f") == "":
            world.fail("empty")
        yield Next(Kind.EXIT)

    return Small({"write": write, "read": read})


def left_behind() -> Small:
    """Find what another left; it was killed, or it is just not done."""

    def act(world: World) -> Steps:
        yield Next(Kind.OPEN, reads="temp", writes="temp", faults=CRASH)
        if "temp" in world.files:
            world.fail("left")
        world.files["temp"] = 1
        yield Next(Kind.RENAME, writes="temp", faults=CRASH)
        world.files.pop("temp", None)
        yield Next(Kind.EXIT)

    return Small({"one": act, "two": act})


def needs_a_crash() -> Small:
    """Find a lock file that only a killed actor leaves locked for ever."""

    def act(world: World) -> Steps:
        yield Next(Kind.OPEN, reads="l", writes="l", ready=world.is_free("l"))
        world.locks["l"] = "held"
        yield Next(Kind.WRITE, faults=CRASH)
        yield Next(Kind.UNLINK, writes="l")
        del world.locks["l"]
        yield Next(Kind.EXIT)

    return Small({"one": act, "two": act})


RACES = {
    # One comes in between read and write of the other.
    "lost update": Race(lost_update(), "lost", 2),
    "lost update, longer": Race(lost_update(before=1, between=1), "lost", 2),
    "lost update of three": Race(lost_update(3), "lost", 3),
    # One reads, the others come and go, and it writes as if they had not.
    "two of three updates lost": Race(lost_update(3, most=1), "lost", 3),
    "lost update beside a reader": Race(lost_update_beside(3), "lost", 3),
    "read before the lock": Race(lost_update_with_lock(), "lost", 2),
    "check then create": Race(check_then_create(2), "exists", 2),
    "check then create, three": Race(check_then_create(3), "exists", 3),
    # Two have looked before the third creates, and both go on after.
    "check then create, two fail": Race(check_then_create(3, 2), "exists", 4),
    "torn read": Race(torn_read(), "torn", 2),
    "skewed read": Race(skewed_read("x", "y", "01"), "skewed", 2),
    "skewed read, other way": Race(skewed_read("y", "x", "01"), "skewed", 2),
    "skewed read, new then old": Race(skewed_read("x", "y", "10"), "skewed", 2),
    "the same seen twice": Race(seen_twice(), "twice", 4),
    "two turns each": Race(zigzag(2), "zigzag", 3),
    "three turns each": Race(zigzag(3), "zigzag", 5),
    "four turns each": Race(zigzag(4), "zigzag", 7),
    # Nobody comes to an end, so that nobody gives way in the end either.
    "locks in two orders": Race(deadlock("xy", "yx"), "deadlock", 1),
    "three philosophers": Race(deadlock("xy", "yz", "zx"), "deadlock", 2),
    "locks in two orders, three": Race(deadlock("xy", "yx", "z"), "deadlock", 2),
    "shared temp": Race(shared_temp(2), "missing", 2),
    "shared temp and a reader": Race(shared_temp(2, reader=True), "missing", 3),
    "shared temp of three": Race(shared_temp(3), "missing", 3),
    "unlink and rename": Race(unlink_gap(), "missing", 2),
    "evicted after a look": Race(evicted(), "missing", 2),
    "index and blob": Race(index_and_blob(), "dangling", 2),
    # Both see the dead one's, and the second unlinks what the first has taken.
    "stale lock": Race(stale_lock(), "stolen", 3),
    "polled too early": Race(polled_too_early(), "early", 2),
    "disk full": Race(disk_full(), "empty", 1, faults=1),
    # With a crash one switch is enough, but no crash is needed.
    "left behind": Race(left_behind(), "left", 2),
    # The other one waits at once and never takes a step.
    "killed with the lock": Race(needs_a_crash(), "deadlock", 0, faults=1),
}
