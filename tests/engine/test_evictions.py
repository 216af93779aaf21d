"""Guards that an eviction is one however its path is spelled, and by whatever call."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from racecheck.api import Options, explore
from racecheck.invariants import (
    evicted_as_chosen,
    never_evicted,
    no_live_temp_evicted,
    no_needless_eviction,
)
from racecheck.model import Coverage, Verdict
from racecheck.scenario import Budget, Scenario, simulated

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from racecheck.model import Invariant, ScenarioResult

    Evict = Callable[[str], object]

pytestmark = pytest.mark.processes
SOME = Options(budget=Budget(executions=60))

_RENAMEAT2 = 276 if os.uname().machine == "aarch64" else 316
_AT_FDCWD = -100
_EXCHANGE = 2


def at_descriptor(name: str) -> None:
    folder = os.open("link", os.O_RDONLY | os.O_DIRECTORY)
    os.unlink(name, dir_fd=folder)
    os.close(folder)


def from_there(name: str) -> None:
    os.chdir("link")
    os.unlink(name)


def in_thread(name: str) -> None:
    thread = threading.Thread(target=lambda: os.unlink(f"./c/{name}"))
    thread.start()
    thread.join()


def with_its_folder(name: str) -> None:
    os.rename("c" if name == "keep" else "c/other.d", "gone")


def by_another(name: str) -> None:
    os.rename("c/another", f"c/{name}")


def by_exchange(name: str) -> None:
    ctypes.CDLL(None).syscall(
        _RENAMEAT2,
        _AT_FDCWD,
        b"another",
        _AT_FDCWD,
        f"c/{name}".encode(),
        _EXCHANGE,
    )


def as_folder(name: str) -> None:
    shutil.rmtree(f"c/{name}.d")


UNLINKS = {
    "dot": lambda name: os.unlink(f"./c/{name}"),
    "up": lambda name: os.unlink(f"c/../c//./{name}"),
    "link": lambda name: os.unlink(f"link/{name}"),
    "proc": lambda name: os.unlink(f"/proc/self/cwd/c/{name}"),
    "at_descriptor": at_descriptor,
    "from_there": from_there,
    "in_thread": in_thread,
}
OTHERS = {
    "with_its_folder": with_its_folder,
    "by_another": by_another,
    "by_exchange": by_exchange,
}


def fill(box: Path) -> None:
    (box / "c").mkdir()
    (box / "link").symlink_to("c")
    for name in ("keep", "other", "another"):
        (box / "c" / name).write_text(name)
    (box / "another").write_text("one outside")
    for name in ("keep", "other"):
        (box / "c" / f"{name}.d").mkdir()
        (box / "c" / f"{name}.d" / "piece").write_text(name)


def look(box: Path) -> list[str]:
    (box / "c" / "other").exists()
    return os.listdir(box / "c")


def evicting(evict: Callable[[], object], *invariants: Invariant) -> ScenarioResult:
    """Explore an evictor beside who looks what there is."""
    made = Scenario("evicting", invariants=invariants)
    made.setup(fill)
    made.evictor(lambda box: evict() and None, name="evict")  # noqa: ARG005  by name
    made.reader(look, raises=OSError)
    return explore(made, SOME)


@pytest.mark.parametrize("how", [*UNLINKS, *OTHERS])
def test_what_is_in_use_is_not_to_go_however_that_is_done(how: str) -> None:
    evict: Evict = {**UNLINKS, **OTHERS}[how]

    broken = evicting(lambda: evict("keep"), never_evicted("c/keep"))
    sound = evicting(lambda: evict("other"), never_evicted("c/keep"))

    assert (broken.verdict, sound.verdict) == (Verdict.VIOLATED, Verdict.PASSED)


@pytest.mark.parametrize("how", [*UNLINKS, "by_another"])
def test_an_eviction_is_needless_however_it_is_done(how: str) -> None:
    evict: Evict = {**UNLINKS, **OTHERS}[how]

    broken, sound = (
        evicting(
            lambda: evict("keep"), no_needless_eviction("c/*", cap=cap, temps="*.tmp")
        )
        for cap in (5, 4)
    )

    assert (broken.verdict, sound.verdict) == (Verdict.VIOLATED, Verdict.PASSED)


def test_a_folder_is_evicted_like_a_file() -> None:
    kept = never_evicted("c/keep.d")
    needless = no_needless_eviction("c/*.d", cap=2, temps="*.tmp")

    broken = evicting(lambda: as_folder("keep"), kept, needless)
    sound = evicting(lambda: as_folder("other"), kept)

    assert {each.invariant for each in broken.findings} == {
        "never_evicted",
        "no_needless_eviction",
    }
    assert sound.verdict is Verdict.PASSED


@pytest.mark.parametrize("how", UNLINKS)
@pytest.mark.parametrize("looks_again", [False, True])
def test_what_was_chosen_is_known_by_any_path(how: str, *, looks_again: bool) -> None:
    evict: Evict = UNLINKS[how]
    made = Scenario("chosen", invariants=[evicted_as_chosen()])
    made.setup(fill)

    @made.evictor
    def take(box: Path) -> None:
        os.stat(box / "c" / "keep")
        if looks_again:
            aside = box / "c" / "aside"
            os.rename("link/keep", aside)
            if aside.read_text() == "keep":
                evict("aside")
        else:
            evict("keep")

    @made.writer
    def replace(box: Path) -> None:
        os.rename(box / "c" / "other", box / "c" / "keep")

    result = explore(made, SOME)

    wanted = Verdict.PASSED if looks_again else Verdict.VIOLATED
    assert result.verdict is wanted


@pytest.mark.parametrize("how", [*UNLINKS, "with_its_folder", "by_another"])
def test_a_temp_file_in_use_is_not_to_go_however_that_is_done(how: str) -> None:
    evict: Evict = {**UNLINKS, **OTHERS}[how]
    made = Scenario("temp", invariants=[no_live_temp_evicted("c/keep")])

    @made.setup
    def others(box: Path) -> None:
        fill(box)
        (box / "c" / "keep").unlink()

    @made.evictor(raises=OSError)
    def tidy(box: Path) -> None:
        del box
        evict("keep")

    @made.writer(raises=OSError)
    def write(box: Path) -> None:
        (box / "c" / "keep").write_text("new")
        os.rename(box / "c" / "keep", box / "c" / "made")

    assert explore(made, SOME).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("temps", ["temp", "other"])
def test_the_end_of_an_operation_is_kept_in_order_with_an_eviction(temps: str) -> None:
    made = Scenario("ending", invariants=[no_live_temp_evicted(temps)])

    @made.writer
    def write(box: Path) -> None:
        # Nothing comes after it but the end.
        os.mkdir(box / "temp")

    @made.evictor(raises=FileNotFoundError)
    def tidy(box: Path) -> None:
        os.rmdir(box / "temp")

    result = explore(made, SOME)

    if temps == "temp":
        assert result.verdict is Verdict.VIOLATED
    else:
        assert result.verdict is Verdict.PASSED
        assert result.coverage is Coverage.COMPLETE


@pytest.mark.parametrize("platform", ["linux", "windows"])
@pytest.mark.parametrize("spelling", ["./c/{}", "c/../c/{}"])
def test_a_simulated_eviction_is_one_however_its_path_is_spelled(
    platform: str, spelling: str
) -> None:
    results = []
    for name in ("keep", "other"):
        made = Scenario(
            "simulated",
            invariants=[never_evicted("c/keep"), evicted_as_chosen()],
            engine=simulated(platform),
        )

        @made.setup
        def files(box: Path) -> None:
            (box / "c").mkdir()
            (box / "c" / "keep").write_text("keep")
            (box / "c" / "other").write_text("other")

        @made.evictor
        def tidy(box: Path, name: str = name) -> None:
            del box
            os.listdir("./c")
            os.unlink(spelling.format(name))

        made.reader(look)
        results.append(explore(made, SOME).verdict)

    assert results == [Verdict.VIOLATED, Verdict.PASSED]


def test_a_child_of_an_evictor_evicts_for_it() -> None:
    def remove() -> None:
        subprocess.run(["sh", "-c", "cd link && rm ./keep"], check=True)

    broken = evicting(remove, never_evicted("c/keep"))

    assert broken.verdict is Verdict.VIOLATED
