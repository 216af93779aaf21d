"""Guards `racecheck.check`: anything callable acts, and nothing passes silently."""

from __future__ import annotations

import fcntl
import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import racecheck
from racecheck.api.workers import end_workers
from racecheck.errors import ScenarioError, TokenError, UsageError
from racecheck.model import Coverage, Ending, Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from racecheck.model import History, View
    from racecheck.scenario import Me, Planned

pytestmark = pytest.mark.processes


def save(box: Path) -> None:
    temp = box / "answer.tmp"
    temp.write_text("42\n")
    temp.rename(box / "answer")


def save_by_pid(box: Path) -> None:
    temp = box / f"answer.{os.getpid()}"
    temp.write_text("42\n")
    temp.rename(box / "answer")


class Store:
    def __init__(self, temp: str) -> None:
        self.temp = temp

    def save(self, box: Path) -> None:
        name = self.temp.format(os.getpid())
        (box / name).write_text("42\n")
        (box / name).rename(box / "answer")

    __call__ = save


def save_through(temp: str, box: Path) -> None:
    Store(temp).save(box)


def closure(temp: str) -> Callable[..., object]:
    def inner(box: Path) -> None:
        save_through(temp, box)

    return inner


FORMS: dict[str, Callable[[str], Callable[..., object]]] = {
    "method": lambda temp: Store(temp).save,
    "object": Store,
    "partial": lambda temp: functools.partial(save_through, temp),
    "closure": closure,
    "lambda": lambda temp: lambda box: save_through(temp, box),
}


def whole(data: bytes) -> bool:
    return data == b"42\n"


def test_a_race_is_raised_with_its_execution() -> None:
    with pytest.raises(racecheck.RaceFoundError) as caught:
        racecheck.check(
            [save, save], invariants=[racecheck.whole_images("answer", whole)]
        )
    error = caught.value
    lost = [step for step in error.trace.steps if step.kind is Kind.RENAME]
    assert [step.failed for step in lost] == [False, True]
    assert lost[0].actor != lost[1].actor
    assert error.findings[0].context_switches == 2
    assert error.token in str(error)
    assert "rename(answer.tmp, answer) = ENOENT" in str(error)
    assert f"racecheck.check(..., token={error.token!r})" in str(error)
    assert isinstance(error, AssertionError)


def test_its_token_is_replayed_and_nothing_else() -> None:
    invariants = [racecheck.whole_images("answer", whole)]
    with pytest.raises(racecheck.RaceFoundError) as caught:
        racecheck.check([save, save], invariants=invariants, name="one")
    with pytest.raises(racecheck.RaceFoundError) as again:
        racecheck.check(
            [save, save], invariants=invariants, name="one", token=caught.value.token
        )
    assert again.value.token == caught.value.token
    assert again.value.result is not None
    assert again.value.result.executions == 0
    with pytest.raises(TokenError, match="other actors"):
        racecheck.check([save] * 3, name="one", token=caught.value.token)


def test_a_token_shows_that_a_repair_works() -> None:
    with pytest.raises(racecheck.RaceFoundError) as caught:
        racecheck.check([racecheck.actor(save, name="s", count=2)], name="one")
    result = racecheck.check(
        [racecheck.actor(save_by_pid, name="s", count=2)],
        name="one",
        token=caught.value.token,
    )
    assert result.reason == "one execution was replayed"


@pytest.mark.parametrize("form", FORMS)
def test_anything_callable_acts(form: str) -> None:
    racy, repaired = FORMS[form]("answer.tmp"), FORMS[form]("answer.{}")
    with pytest.raises(racecheck.RaceFoundError):
        racecheck.check([racy, racy])
    result = racecheck.check([repaired, repaired])
    assert result.verdict is Verdict.PASSED
    assert result.coverage is Coverage.COMPLETE


def test_notebook_cells_act(tmp_path: Path) -> None:
    cells = [
        "import racecheck",
        (
            "SUFFIX = '.tmp'\n"
            "def save(box):\n"
            "    temp = box / f'answer{SUFFIX}'\n"
            "    temp.write_text('42')\n"
            "    temp.rename(box / 'answer')\n"
        ),
        (
            "try:\n    racecheck.check([save, save])\n"
            "except racecheck.RaceFoundError as error:\n"
            "    print(error.trace.scenario)\n"
        ),
    ]
    # As a notebook does it: each cell is compiled under a name that is no file.
    source = "\n".join(
        f"exec(compile({cell!r}, '<cell {number}>', 'exec'), globals())"
        for number, cell in enumerate(cells)
    )
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "check\n", done.stderr


def test_test_files_are_no_burden_to_actors() -> None:
    def look(box: Path) -> list[str]:
        (box / "seen").exists()
        (box / "seen").write_text("")
        return [
            name for name in ("pytest", "hypothesis", "rich") if name in sys.modules
        ]

    result = racecheck.check(
        [racecheck.reader(look, count=2)],
        invariants=[racecheck.served("reader", lambda found: found == [])],
    )
    assert result.verdict is Verdict.PASSED


def test_roles_and_options_are_said_by_wrappers() -> None:
    racecheck.check(
        [
            racecheck.writer(save_by_pid, count=2),
            racecheck.reader(
                lambda box: (box / "answer").read_text(), raises=FileNotFoundError
            ),
        ],
        invariants=[racecheck.no_lost_writes()],
    )
    with pytest.raises(racecheck.NoVerdictError, match="'writer' is no actor"):
        racecheck.check([save, save_by_pid], invariants=[racecheck.no_lost_writes()])


def test_arguments_come_by_name() -> None:
    def fill(box: Path) -> dict[str, object]:
        (box / "words").write_text("")
        return {"words": box / "words"}

    def say(words: Path, me: Me, word: str) -> str:
        with words.open("a") as file:
            file.write(f"{me.name} {me.index} {word}\n")
        return word

    result = racecheck.check(
        [
            racecheck.writer(racecheck.operation(say, word="yes"), name="yes"),
            racecheck.writer(
                [racecheck.operation(say, word=w) for w in "ab"], name="two"
            ),
        ],
        setup=fill,
        invariants=[
            racecheck.served("yes", lambda word: word == "yes", name="first"),
            racecheck.served("two", lambda word: word in ("a", "b"), name="second"),
            both_made_two,
        ],
    )
    assert result.verdict is Verdict.PASSED


@racecheck.invariant
def both_made_two(view: View, history: History) -> str | None:
    del view
    said = [each.value for each in history.operations if each.actor == "two"]
    return None if said in ([], ["a"], ["a", "b"]) else f"said {said}"


def test_operations_are_of_the_shape() -> None:
    def put(box: Path, key: str) -> None:
        (box / "temp").write_text(key)
        (box / "temp").rename(box / key)

    def both(*keys: str) -> list[Planned]:
        return [racecheck.operation(put, key=key) for key in keys]

    with pytest.raises(racecheck.RaceFoundError) as caught:
        racecheck.check(both("a", "b"), name="puts")
    with pytest.raises(TokenError, match="other actors, operations"):
        racecheck.check(both("a", "c"), name="puts", token=caught.value.token)


def test_crashes_come_anywhere() -> None:
    # The one that is left behind is what breaks it, and only a crash leaves one.
    invariants = [racecheck.temp_files_bounded("answer.*", per_crash=0)]
    writers = [racecheck.writer(save_by_pid, count=2)]
    racecheck.check(writers, invariants=invariants)
    with pytest.raises(racecheck.RaceFoundError) as caught:
        racecheck.check(writers, invariants=invariants, crashes=1)
    endings = [each.ending for each in caught.value.trace.operations]
    assert Ending.CRASHED in endings


def test_a_deadlock_is_a_race() -> None:
    def take(box: Path, names: str) -> None:
        with (box / names[0]).open("w") as one, (box / names[1]).open("w") as two:
            fcntl.flock(one, fcntl.LOCK_EX)
            fcntl.flock(two, fcntl.LOCK_EX)

    operations = [racecheck.operation(take, names=names) for names in ("ab", "ba")]
    with pytest.raises(racecheck.RaceFoundError, match="deadlock"):
        racecheck.check(operations)
    operations = [racecheck.operation(take, names="ab")] * 2
    assert racecheck.check(operations).verdict is Verdict.PASSED


def test_what_has_no_verdict_does_not_pass() -> None:
    def alone(box: Path, me: Me) -> None:
        (box / me.name).mkdir()
        (box / me.name / "file").write_text("")

    with pytest.raises(racecheck.NoVerdictError, match="no two actors touched"):
        racecheck.check([lambda: None, lambda: None])

    def broken(view: View, history: History) -> None:
        raise KeyError(f"{view} {history}")

    with pytest.raises(racecheck.NoVerdictError, match="broken raised KeyError"):
        racecheck.check([save_by_pid] * 2, invariants=[racecheck.invariant(broken)])
    with pytest.raises(racecheck.NoVerdictError, match="passed, but complete"):
        racecheck.check([save_by_pid] * 2, budget=1, require="complete")


def test_a_subject_that_differs_from_run_to_run_is_told_of() -> None:
    def differ(box: Path) -> None:
        # The kernel's own, which nobody controls: three letters of it collide.
        letters = Path("/proc/sys/kernel/random/uuid").read_text()[:3]
        (box / f"answer.{letters}").write_text("42")
        (box / "answer.tmp").write_text("42")
        (box / "answer.tmp").rename(box / "answer")

    with pytest.raises(racecheck.NoVerdictError) as caught:
        racecheck.check([differ, differ])
    assert "diverged: step 0: recorded" in str(caught.value)
    assert str(caught.value).count("openat(cwd, answer.") == 2


def test_what_cannot_be_carried_is_said() -> None:
    with open(os.devnull) as file:
        generator = (each for each in [file])

        def use(box: Path) -> object:
            return box, next(generator)

        with pytest.raises(ScenarioError, match="cannot be carried"):
            racecheck.check([use, use])


def test_bad_requests_are_refused() -> None:
    with pytest.raises(ScenarioError, match="list of functions"):
        racecheck.check("save")
    with pytest.raises(ScenarioError, match="no actor"):
        racecheck.check([])
    with pytest.raises(ScenarioError, match="takes a function or a command"):
        racecheck.check([3])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="no scheduler"):
        racecheck.check([save], scheduler="luck")
    with pytest.raises(UsageError, match="require"):
        racecheck.check([save], require="everything")
    with pytest.raises(ScenarioError, match="cannot be given 'box'"):
        racecheck.operation(save, box=Path())


def test_a_worker_that_died_is_replaced() -> None:
    def parent(box: Path) -> int:
        (box / "x").write_text("")
        return 1

    racecheck.check([parent, parent])
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    workers = [pid for pid in children if b"boot.py" in _command_line(pid)]
    assert workers, children
    for pid in workers:
        os.kill(int(pid), 9)
        os.waitid(os.P_PID, int(pid), os.WEXITED | os.WNOWAIT)
    assert racecheck.check([parent, parent]).verdict is Verdict.PASSED
    end_workers()
    assert racecheck.check([parent, parent]).verdict is Verdict.PASSED


def _command_line(pid: str) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_importing_racecheck_imports_next_to_nothing() -> None:
    source = (
        "import sys; import racecheck; "
        "heavy = {'msgspec', 'click', 'hypothesis', 'dill'} & set(sys.modules); "
        "assert not heavy, heavy; racecheck.whole_images; racecheck.writer; "
        "assert 'hypothesis' not in sys.modules; assert 'check' in dir(racecheck)"
    )
    subprocess.run([sys.executable, "-c", source], check=True)
    with pytest.raises(AttributeError, match="chek"):
        racecheck.chek  # type: ignore[attr-defined]  # noqa: B018  # it is the test


def test_other_engines_can_run_it() -> None:
    with pytest.raises(racecheck.RaceFoundError) as caught:
        racecheck.check([save, save], engine="simulated", name="one")
    token = caught.value.token
    with pytest.raises(racecheck.RaceFoundError):
        racecheck.check([save, save], token=token, name="one")
    with pytest.raises(UsageError, match="no engine"):
        racecheck.check([save, save], engine="luck")
