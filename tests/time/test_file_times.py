"""Guards that files are as old as the clock says, however somebody asks for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from racecheck.engine.clock import EPOCH_NS
from racecheck.errors import ScenarioError
from racecheck.model import Verdict
from racecheck.scenario import Scenario, command, make_old
from racecheck.scheduling import RandomWalkScheduler
from tests.engine.lab import Seen, run, run_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.processes

EPOCH = EPOCH_NS // 1_000_000_000
HOUR = 3600


def alone(act: Callable[..., object]) -> Any:  # noqa: ANN401  whatever it returns
    """Run an actor by itself, in a box with an old file, and return what it does."""
    made = Scenario("times")

    @made.setup
    def setup(box: Path) -> None:
        (box / "old").write_text("old")
        (box / "folder").mkdir()

    made.actor(act, name="one")
    seen = run(made)
    assert seen.trace.verdict is Verdict.PASSED, seen.trace.reason
    return seen.operation("one").value


def entry(path: Path) -> os.stat_result:
    with os.scandir(path.parent) as entries:
        return next(each for each in entries if each.name == path.name).stat()


def opened(path: Path) -> os.stat_result:
    with path.open() as file:
        return os.fstat(file.fileno())


def told(*argv: str) -> Callable[[Path], float]:
    def ask(path: Path) -> float:
        words = [str(path) if word == "PATH" else word for word in argv]
        done = subprocess.run(
            words, stdout=subprocess.PIPE, check=True, encoding="ascii"
        )
        return float(done.stdout)

    return ask


WAYS: dict[str, Callable[[Path], float]] = {
    "stat": lambda path: path.stat().st_mtime,
    "lstat": lambda path: path.lstat().st_mtime,
    "scandir": lambda path: entry(path).st_mtime,
    "fstat": lambda path: opened(path).st_mtime,
    "getmtime": os.path.getmtime,
    "change": lambda path: path.stat().st_ctime,
    # coreutils asks by statx.
    "stat -c": told("stat", "-c", "%Y", "PATH"),
    "date -r": told("date", "+%s", "-r", "PATH"),
    "find": told("find", "PATH", "-printf", "%T@"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_file_written_an_hour_later_is_an_hour_younger(way: str) -> None:
    def act(box: Path) -> list[float]:
        os.chdir(box)
        time.sleep(HOUR)
        (box / "new").write_text("new")
        return [WAYS[way](box / "old"), WAYS[way](box / "new"), time.time()]

    assert alone(act) == [EPOCH, EPOCH + HOUR, EPOCH + HOUR]


def test_shells_compare_files_by_the_same_times() -> None:
    made = Scenario("times")
    script = """
        echo old > old
        sleep 1
        echo new > new
        find . -type f -newer old
        [ new -nt old ] && echo younger
        sleep 1799
        find . -type f -mmin +29.99 -print
        ls -tr --time-style=+%s -l old new | cut -d ' ' -f 6-
    """
    made.actor(command(["sh", "-c", script]), name="one")

    seen = run(made)

    assert seen.trace.verdict is Verdict.PASSED
    assert seen.printed["one"].splitlines() == [
        "./new",
        "younger",
        "./old",
        f"{EPOCH} old",
        f"{EPOCH + 1} new",
    ]


def stamps(path: Path) -> list[float]:
    status = path.stat()
    return [status.st_atime - EPOCH, status.st_mtime - EPOCH, status.st_ctime - EPOCH]


def test_times_that_are_set_are_those_that_were_meant() -> None:
    def act(box: Path) -> list[list[float]]:
        old = box / "old"
        found = [stamps(old)]
        time.sleep(100)
        os.utime(old)
        found.append(stamps(old))
        time.sleep(100)
        os.utime(old, (EPOCH + 10, EPOCH + 20))
        found.append(stamps(old))
        time.sleep(100)
        os.utime(old, ns=((EPOCH + 1) * 10**9, (EPOCH + 2) * 10**9 + 5))
        found.append([old.stat().st_mtime_ns % 10**9, *stamps(old)[::2]])
        subprocess.run(["touch", "-d", f"@{EPOCH - 5}", old], check=True)
        found.append(stamps(old))
        subprocess.run(["touch", "-a", old], check=True)
        found.append(stamps(old))
        return found

    assert alone(act) == [
        [0, 0, 0],
        [100, 100, 100],
        [10, 20, 200],
        [5, 1, 300],
        [-5, -5, 300],
        [300, -5, 300],
    ]


def test_files_are_as_old_as_setup_made_them() -> None:
    made = Scenario("ages")

    @made.setup
    def setup(box: Path) -> None:
        (box / "new").write_text("new")
        (box / "old").write_text("old")
        (box / "link").symlink_to("new")
        make_old(box / "old", HOUR)
        make_old(box / "link", 2 * HOUR)
        # As a checkout or a copy would bring it along: not what the clock says.
        os.utime(box / "new", (EPOCH + 7, EPOCH + 7))

    @made.actor
    def one(box: Path) -> list[float]:
        found = [*stamps(box / "old"), stamps(box / "new")[1]]
        found.append((box / "link").lstat().st_mtime - EPOCH)
        time.sleep(5)
        (box / "old").write_text("newer")
        return [*found, *stamps(box / "old")]

    seen = run(made)

    assert seen.operation("one").value == [
        *(-HOUR, -HOUR, 0, 0, -2 * HOUR),
        *(-HOUR, 5, 5),
    ]


@pytest.mark.parametrize("age", [0, -1, 1.5, True, EPOCH + 1])
def test_what_is_no_age_is_refused(age: Any, tmp_path: Path) -> None:  # noqa: ANN401  any
    with pytest.raises(ScenarioError, match="an age is"):
        make_old(tmp_path, age)


CHANGES: dict[str, Callable[[Path], object]] = {
    "write": lambda box: (box / "old").write_text("longer"),
    "append": lambda box: os.write(
        os.open(box / "old", os.O_WRONLY | os.O_APPEND), b"."
    ),
    "truncate": lambda box: os.truncate(box / "old", 1),
    "chmod": lambda box: (box / "old").chmod(0o600),
    "rename": lambda box: (box / "old").rename(box / "new").rename(box / "old"),
    "link": lambda box: (box / "link").hardlink_to(box / "old"),
    "read": lambda box: (box / "old").read_text(),
}


@pytest.mark.parametrize(
    ("change", "file", "folder"),
    [
        ("write", [0, 5, 5], [0, 0, 0]),
        ("append", [0, 5, 5], [0, 0, 0]),
        ("truncate", [0, 5, 5], [0, 0, 0]),
        ("chmod", [0, 0, 5], [0, 0, 0]),
        ("rename", [0, 0, 5], [0, 5, 5]),
        ("link", [0, 0, 5], [0, 5, 5]),
        ("read", [0, 0, 0], [0, 0, 0]),
    ],
)
def test_a_change_gives_those_times_that_the_kernel_would_give(
    change: str, file: list[float], folder: list[float]
) -> None:
    def act(box: Path) -> list[list[float]]:
        time.sleep(5)
        CHANGES[change](box)
        return [stamps(box / "old"), stamps(box)]

    assert alone(act) == [file, folder]


def test_folders_get_the_time_of_what_happens_in_them() -> None:
    def act(box: Path) -> list[float]:
        folder, found = box / "folder", []
        doings: list[Callable[[], object]] = [
            (folder / "file").touch,
            lambda: (folder / "file").write_text("more"),
            (folder / "file").unlink,
            (folder / "inner").mkdir,
            (folder / "inner").rmdir,
            lambda: (folder / "link").symlink_to("nowhere"),
        ]
        for do in doings:
            time.sleep(10)
            do()
            found.append(folder.stat().st_mtime - EPOCH)
        return found

    # A write into a file is nothing that happens in its folder.
    assert alone(act) == [10, 10, 30, 40, 50, 60]


def test_a_copy_with_its_times_is_as_old_as_the_original() -> None:
    def act(box: Path) -> list[list[float]]:
        time.sleep(50)
        shutil.copy(box / "old", box / "copy")
        shutil.copy2(box / "old", box / "same")
        subprocess.run(["cp", "-p", box / "old", box / "kept"], check=True)
        return [stamps(box / name)[1:] for name in ("copy", "same", "kept")]

    assert alone(act) == [[50, 50], [0, 50], [0, 50]]


def sweeping(older_than_s: int) -> Scenario:
    """Return a cache whose files are removed when they have been there for long."""
    made = Scenario("times/sweep")

    @made.writer
    def write(box: Path) -> None:
        (box / "cache").mkdir()
        (box / "cache" / "old").write_text("old")
        time.sleep(HOUR)
        (box / "cache" / "new").write_text("new")
        (box / "go").touch()

    @made.evictor
    def sweep(box: Path) -> list[str]:
        while not (box / "go").exists():
            time.sleep(60)
        removed = []
        for path in sorted((box / "cache").iterdir()):
            if time.time() - path.stat().st_mtime > older_than_s:
                path.unlink()
                removed.append(path.name)
        return removed

    return made


def test_a_sweep_by_age_removes_what_is_old_and_nothing_else() -> None:
    found = run_all(sweeping(1800), [RandomWalkScheduler(seed) for seed in range(50)])

    assert {seen.trace.verdict for seen in found} == {Verdict.PASSED}
    assert [swept(seen) for seen in found] == [["old"]] * 50


def test_a_sweep_of_what_is_not_old_enough_removes_nothing() -> None:
    assert swept(run(sweeping(2 * HOUR))) == []


def swept(seen: Seen) -> object:
    return seen.operation("sweep").value


def test_a_sweep_by_find_removes_what_is_old_and_nothing_else() -> None:
    made = Scenario("times/find")
    script = """
        mkdir cache; echo old > cache/old; sleep 3600; echo new > cache/new
        find cache -type f -mmin +30 -delete
        ls cache
    """
    made.actor(command(["sh", "-c", script]), name="one")

    assert run(made).printed["one"] == "new\n"
