"""Guards that a token gives the same execution again, wherever it is replayed."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from racecheck.engine import Machine
from racecheck.engine.sandbox import Sandbox
from racecheck.explore.runner import Runner
from racecheck.explore.worker import replay
from racecheck.scenario import load
from tests.engine.lab import in_child

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
HARNESS = Path(__file__).with_name("harness.py")
HEAD_IMAGE = ROOT / "scenarios" / "head_image" / "scenario.py"
OVERLAY = ROOT / "scenarios" / "overlay" / "scenario.py"
LONG = os.environ.get("RACECHECK_TEST_LONG")

MESSY = """
import os, random, secrets, tempfile, time, uuid
from pathlib import Path

from racecheck.invariants import invariant
from racecheck.scenario import Scenario

@invariant
def never_holds(view, history):
    return "as it is meant to be" if len(history.ends) == 3 else None

messy = Scenario("messy", invariants=[never_holds])

@messy.actor(count=2, repeat=2)
def make(box: Path) -> None:
    names = {uuid.uuid4().hex[:6], "b", "c", str(os.getpid())}
    words = [*names, str(random.random()), secrets.token_hex(4), str(time.time())]
    words += [str(hash("text")), str(hash((None, str))), os.urandom(4).hex()]
    words += [str(time.monotonic()), Path("/dev/urandom").open("rb").read(4).hex()]
    if ADDRESSES:
        words += [str(id(object())), repr(make), str(id([]))]
    text = " ".join(words)
    descriptor, name = tempfile.mkstemp(dir=box)
    os.write(descriptor, text.encode())
    os.close(descriptor)
    os.rename(name, box / secrets.token_urlsafe(6))
    time.sleep(random.random())
    sorted(os.scandir(box), key=lambda entry: entry.stat().st_mtime_ns)
    os.symlink(box / "target", box / f"link.{os.urandom(2).hex()}")
    os.getcwd()

@messy.actor
def look(box: Path) -> None:
    for path in box.iterdir():
        path.is_symlink() or path.read_bytes()
        path.lstat()
"""


def harness(
    *args: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    umask: int = -1,
) -> dict[str, Any]:
    """Run the harness and return what it printed."""
    done = subprocess.run(
        [sys.executable, HARNESS, *args],
        env={**(os.environ if env is None else env), "PYTHONPATH": str(ROOT)},
        cwd=cwd,
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert "error" not in answer, answer
    return answer


def explored(
    file: Path, name: str, workdir: Path, scheduler: str = "dpor"
) -> dict[str, str]:
    """Return the tokens of what an exploration finds, by invariant."""
    answer = harness("explore", file, name, "200", workdir, scheduler)
    tokens: dict[str, str] = answer["tokens"]
    return tokens


@pytest.fixture(scope="module")
def race(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The token of a head image that was lost without a word."""
    workdir = tmp_path_factory.mktemp("race")
    tokens = explored(HEAD_IMAGE, "head_image/two_cold_serves/shared", workdir)
    return tokens["no_silent_loss"]


def replays(file: Path, name: str, token: str, count: int) -> list[bool]:
    """Replay a token often, in one process."""

    def body() -> list[bool]:
        (scenario,) = (e.scenario for e in load([file]) if e.name == name)
        with Machine() as machine:
            runner = Runner(machine, scenario)
            return [replay(runner, token).same for _ in range(count)]

    return in_child(body)


def test_a_token_gives_the_same_execution_a_hundred_times(race: str) -> None:
    name = "head_image/two_cold_serves/shared"

    assert replays(HEAD_IMAGE, name, race, 100) == [True] * 100


@pytest.mark.skipif(not LONG, reason="set RACECHECK_TEST_LONG to wait for it")
def test_a_token_gives_the_same_execution_in_a_hundred_workers(race: str) -> None:
    for _ in range(100):
        assert harness("replay", HEAD_IMAGE, race)["same"]


def test_links_and_sets_are_the_same_in_every_worker(tmp_path: Path) -> None:
    # The overlay is made of links with absolute paths, and whoever starts on it goes
    # through a set of names, whose order is that of their hashes.
    tokens = explored(OVERLAY, "overlay/two_jobs/faulty", tmp_path, "mixed")

    assert tokens
    token = max(tokens.values())
    assert harness("replay", OVERLAY, token)["same"]
    assert harness("replay", OVERLAY, token, tmp_path)["same"]


def test_a_replay_does_the_same_in_other_surroundings(
    race: str, tmp_path: Path
) -> None:
    copy = tmp_path / "other" / "checkout"
    shutil.copytree(ROOT / "scenarios", copy / "scenarios")
    elsewhere = copy / HEAD_IMAGE.relative_to(ROOT)
    more = {f"VARIABLE_{number}": "x" * number for number in range(100)}
    settings = {
        "PYTHONHASHSEED": "12345",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "C",
        "TZ": "Asia/Tokyo",
        "TMPDIR": str(tmp_path),
        "HOME": str(tmp_path),
    }

    expected = harness("replay", HEAD_IMAGE, race)
    found = [
        harness("replay", elsewhere, race, cwd=copy),
        harness("replay", HEAD_IMAGE, race, cwd=Path("/")),
        harness("replay", HEAD_IMAGE, race, umask=0o077),
        harness("replay", HEAD_IMAGE, race, env={**os.environ, **more}),
        harness("replay", HEAD_IMAGE, race, env={"PATH": "/bin", **settings}),
        harness("replay", HEAD_IMAGE, race, tmp_path),
    ]

    assert expected["same"]
    assert expected["left"] is None
    assert "no_silent_loss" in expected["broken"]
    for each in found:
        assert each == expected


@contextmanager
def busy() -> Iterator[None]:
    """Keep all processors busy, twice over."""
    count = 2 * len(os.sched_getaffinity(0))
    loops = [
        subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def test_a_replay_does_the_same_on_busy_processors(race: str) -> None:
    name = "head_image/two_cold_serves/shared"

    with busy():
        assert replays(HEAD_IMAGE, name, race, 20) == [True] * 20
        assert harness("replay", HEAD_IMAGE, race)["same"]


def messy(folder: Path, *, addresses: bool = False) -> Path:
    file = folder / "messy.py"
    file.write_text(f"ADDRESSES = {addresses}\n{MESSY}")
    return file


def test_a_messy_program_is_replayed_exactly(tmp_path: Path) -> None:
    file = messy(tmp_path)
    first = harness("explore", file, "messy", "1")
    again = harness("explore", file, "messy", "1")

    assert first["verdict"] == "violated", first
    assert first["tokens"] == again["tokens"]
    token = first["tokens"]["never_holds"]
    expected = harness("replay", file, token)
    assert expected["same"]
    with busy():
        other = harness(
            "replay",
            file,
            token,
            env={"PATH": "/bin", "PYTHONHASHSEED": "7", "TMPDIR": str(tmp_path)},
            umask=0,
            cwd=tmp_path,
        )
    assert other == expected


def can_fix_addresses() -> bool:
    """Say whether address randomisation can be turned off, which Docker refuses."""
    libc = ctypes.CDLL(None)
    fixed = libc.personality(0xFFFFFFFF) | 0x0040000
    return in_child(lambda: bool(libc.personality(fixed) != -1))


def test_addresses_are_the_same_in_a_replay(tmp_path: Path) -> None:
    if not can_fix_addresses():
        pytest.skip("address randomisation cannot be turned off here")
    file = messy(tmp_path, addresses=True)
    # Other tests run at the same time; see the next one.
    workdir = tmp_path / "work"
    workdir.mkdir()
    # The first time the file is compiled.
    harness("explore", file, "messy", "1", workdir)
    token = harness("explore", file, "messy", "1", workdir)["tokens"]["never_holds"]

    found = [harness("replay", file, token, workdir)["same"] for _ in range(2)]
    # Finders of modules look into this folder.
    for number in range(100):
        (tmp_path / f"another{number}").touch()
    found.append(harness("replay", file, token, workdir)["same"])

    assert found == [True] * 3


def test_addresses_are_the_same_beside_other_runs(tmp_path: Path) -> None:
    if not can_fix_addresses():
        pytest.skip("address randomisation cannot be turned off here")
    file = messy(tmp_path, addresses=True)
    workdir = tmp_path / "work"
    workdir.mkdir()
    harness("explore", file, "messy", "1", workdir)
    token = harness("explore", file, "messy", "1", workdir)["tokens"]["never_holds"]

    # Some are in use by other runs, one is what a killed run left.
    with ExitStack() as others:
        for _ in range(4):
            others.enter_context(Sandbox(workdir))
        (workdir / "racecheck-0004").mkdir()
        (workdir / "racecheck-0004" / "lock").touch()
        found = [harness("replay", file, token, workdir)["same"] for _ in range(2)]

    assert found == [True] * 2


def test_a_program_that_was_changed_is_seen_to_leave_the_recording(
    tmp_path: Path,
) -> None:
    file = messy(tmp_path)
    token = harness("explore", file, "messy", "1")["tokens"]["never_holds"]

    file.write_text(file.read_text().replace("os.getcwd()", "os.mkdir(box / 'made')"))
    found = harness("replay", file, token)

    assert not found["same"]
    index, recorded, instead = found["left"]
    assert recorded.endswith("getcwd")
    assert instead.endswith("mkdir")
    assert "mkdir(made" in found["steps"][index]
