"""Guards the command line: exit statuses, output, JSON, and how errors are told."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import psutil
import pytest
from click.testing import CliRunner

from racecheck import api
from racecheck.api import version
from racecheck.cli import group, main
from racecheck.errors import CannotRunError, RacecheckError, TokenError
from racecheck.explore.options import Options, ReplayResult
from racecheck.model import Coverage, Progress, ScenarioResult, Verdict
from racecheck.scenario import Budget
from tests.unit.traces import finding, result, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from click.testing import Result

    from racecheck.scenario import Loaded

SCENARIOS = """
from racecheck.scenario import Scenario

one = Scenario("image/one", expect="deadlock")
one.writer(lambda: None, name="serve", count=2)
one.reader(lambda: None, name="load")
two = Scenario("two")
two.writer(lambda: None, name="build")
"""
LOST: dict[str, Any] = {"verdict": Verdict.VIOLATED, "findings": (finding(),)}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in a folder of one's own with two scenarios, whatever is configured here."""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "scenario.py").write_text(SCENARIOS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in [name for name in os.environ if name.startswith("RACECHECK_")]:
        monkeypatch.delenv(name)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name == "scenario":
            del sys.modules[name]


class Explorer:
    """Stands for `api.explore_all`: gives results, and keeps what it was asked."""

    def __init__(self) -> None:
        self.results: list[ScenarioResult | BaseException] = []
        self.names: list[str] = []
        self.options = Options()

    def __call__(
        self,
        scenarios: Sequence[Loaded],
        options: Options,
        on_progress: Callable[[Progress], None],
        on_result: Callable[[ScenarioResult], None] | None,
    ) -> Iterator[ScenarioResult]:
        self.names = [each.name for each in scenarios]
        self.options = options
        for each in self.results:
            on_progress(Progress(name="x", executions=3, seconds=0.5, found=("y",)))
            if isinstance(each, BaseException):
                raise each
            if on_result is not None:
                on_result(each)
            yield each


@pytest.fixture
def explorer(monkeypatch: pytest.MonkeyPatch) -> Explorer:
    stub = Explorer()
    monkeypatch.setattr(api, "explore_all", stub)
    return stub


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def explore(
    explorer: Explorer, *results: ScenarioResult | BaseException, flags: str = ""
) -> Result:
    explorer.results = list(results)
    return run("run", *flags.split())


def made(name: str = "two", **fields: object) -> ScenarioResult:
    return result(name, **fields)


# --- run: exit statuses


@pytest.mark.parametrize(
    ("fields", "flags", "status"),
    [
        ({}, "", 0),
        ({**LOST, "expected": ("no_lost_writes",)}, "", 0),
        ({**LOST, "as_expected": False}, "", 1),
        ({"verdict": Verdict.DEADLOCKED, "as_expected": False}, "", 1),
        ({"expected": ("no_lost_writes",), "as_expected": False}, "", 1),
        ({"verdict": Verdict.UNKNOWN, "as_expected": False}, "", 3),
        ({"verdict": Verdict.UNKNOWN, "as_expected": True}, "", 3),
        ({"verdict": Verdict.DIVERGED, "as_expected": False}, "", 3),
        ({"coverage": Coverage.COMPLETE}, "--require complete", 0),
        ({"coverage": Coverage.SAMPLED}, "--require complete", 3),
        ({"coverage": Coverage.CUT}, "--require complete", 3),
        ({**LOST, "as_expected": False}, "--require complete", 1),
    ],
)
def test_the_exit_status_says_what_came_of_it(
    explorer: Explorer, fields: dict[str, Any], flags: str, status: int
) -> None:
    ended = explore(explorer, made(**fields), flags=f"two {flags}")

    assert ended.exit_code == status


def test_a_surprise_comes_before_a_missing_verdict(explorer: Explorer) -> None:
    unknown = made("image/one", verdict=Verdict.UNKNOWN, as_expected=False)

    assert explore(explorer, unknown, made(**LOST, as_expected=False)).exit_code == 1


def test_a_scenario_without_a_result_is_no_pass(explorer: Explorer) -> None:
    ended = explore(explorer, made())

    assert ended.exit_code == 3
    assert ended.stderr == "racecheck: only 1 of 2 scenarios gave a result\n"


def test_what_was_not_looked_at_after_a_surprise_is_no_error(
    explorer: Explorer,
) -> None:
    ended = explore(explorer, made("image/one", as_expected=False), flags="-x")

    assert explorer.options.stop_first
    assert ended.exit_code == 1
    assert ended.stderr == ""


# --- run: what is asked for


def test_options_are_handed_on(explorer: Explorer, place: Path) -> None:
    flags = (
        "two --seed 7 --jobs 3 --budget 30s --scheduler pct --engine process --quick "
        f"--workdir {place} --fresh"
    )

    assert explore(explorer, made(), flags=flags).exit_code == 0
    assert explorer.names == ["two"]
    assert explorer.options == Options(
        seed=7,
        jobs=3,
        budget=Budget(seconds=30),
        scheduler="pct",
        quick=True,
        workdir=place,
        fresh=True,
        engine="process",
    )


def test_a_folder_for_boxes_is_told_with_its_file_system(
    explorer: Explorer, place: Path
) -> None:
    ended = explore(explorer, made(), flags=f"--workdir {place}")

    told, _, kind = ended.stderr.splitlines()[0].rpartition(" ")
    assert told == f"boxes are made in {place}, on"
    assert kind in {each.fstype for each in psutil.disk_partitions(all=True)}


def test_options_override_the_environment_and_that_the_project(
    explorer: Explorer, place: Path
) -> None:
    (place / "pyproject.toml").write_text(
        "[tool.racecheck]\nseed = 1\njobs = 2\nbudget = 3"
    )
    explorer.results = [made()]
    environment = {"RACECHECK_SEED": "10", "RACECHECK_JOBS": "20"}
    CliRunner().invoke(main, ["run", "two", "--seed", "0"], env=environment)

    assert explorer.options == Options(seed=0, jobs=20, budget=Budget(executions=3))


def test_paths_and_globs_select(explorer: Explorer) -> None:
    explore(explorer, made(), flags="scenarios/scenario.py image")

    assert explorer.names == ["image/one"]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--seed -1", "'-1' is no number from 0 to"),
        ("--seed 99999999999999999999", "is no number from 0 to"),
        (f"--seed {'9' * 5000}", "is no number from 0 to"),
        ("--jobs 0", "0 is not in the range"),
        (f"--jobs {10**20}", "is not in the range"),
        (f"--budget {10**20}", "a budget is at most 9223372036854775807 executions"),
        ("--budget soon", "a budget is a number of executions or a time"),
        ("--scheduler best", "'best' is not one of"),
        ("--engine fast", "'fast' is not one of"),
        ("--require luck", "'luck' is not"),
        ("--workdir nowhere", "does not exist"),
        ("--json .", "is a directory"),
        ("--json no/such.json", "cannot write no/such.json: its folder does not exist"),
        ("--json /proc/x.json", "cannot write /proc/x.json: "),
        ("--report /proc/x", "cannot write to /proc/x: "),
        ("--report /proc", "cannot write to /proc: "),
        ("--workdir /proc", "cannot make a folder in '/proc': "),
        ("--sede 1", "No such option"),
        ("nothing", "racecheck: no scenario is called 'nothing'"),
        ("no.py", "racecheck: no.py is no file and no folder"),
    ],
)
def test_bad_usage_exits_with_2(explorer: Explorer, flags: str, told: str) -> None:
    ended = explore(explorer, flags=flags)

    assert ended.exit_code == 2
    assert told in ended.stderr
    # One line, whoever it is that complains.
    assert ended.stderr.startswith("racecheck: ")
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""
    assert explorer.names == []


def test_a_scenario_that_raises_when_imported_exits_with_2(place: Path) -> None:
    (place / "broken.py").write_text("\nraise ValueError('no')")
    ended = run("run", "broken.py")

    assert ended.exit_code == 2
    assert ended.stderr == "racecheck: broken.py:2: ValueError: no\n"


@pytest.mark.parametrize("arguments", [["--bogus"], ["nothing"], ["replay"]])
def test_what_no_command_understands_is_told_in_a_line(arguments: list[str]) -> None:
    ended = run(*arguments)

    assert ended.exit_code == 2
    assert ended.stderr.startswith("racecheck: ")
    assert ended.stderr.count("\n") == 1
    assert "--help" in ended.stderr


@pytest.mark.parametrize(
    "call",
    [
        "import os; os._exit(0)",
        "import sys; sys.exit(0)",
        "raise GeneratorExit",
        "import pytest; pytest.skip('not here', allow_module_level=True)",
    ],
)
def test_a_scenario_file_cannot_end_the_run_as_if_all_were_well(
    place: Path, call: str
) -> None:
    (place / "ending.py").write_text(call)
    for command in ("run", "list"):
        ended = run(command, "ending.py")

        assert ended.exit_code == 2
        assert ended.stderr.startswith("racecheck: ending.py:1: ")
        assert ended.stderr.count("\n") == 1


def test_what_a_scenario_file_forks_ends_as_it_likes(place: Path) -> None:
    (place / "forking.py").write_text(
        "import os\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7\n"
        "from racecheck import Scenario\n"
        "only = Scenario('only')\n"
        "only.writer(print, name='save', count=2)\n"
    )

    assert run("list", "forking.py").exit_code == 0


def test_a_bad_setting_exits_with_2(place: Path) -> None:
    (place / "pyproject.toml").write_text("[tool.racecheck]\njobs = 0")

    assert run("run").exit_code == 2


# --- run: what is told


def test_surprises_are_shown_in_full_and_what_was_expected_in_a_line(
    explorer: Explorer,
) -> None:
    token = "rc1-no_silent_loss"  # noqa: S105  no secret
    both = (finding("no_silent_loss"), finding(token=token))
    ended = explore(
        explorer,
        made("image/one", **LOST, expected=("no_lost_writes",)),
        made(verdict=Verdict.VIOLATED, findings=both, as_expected=False),
    )
    lines = ended.stdout.splitlines()

    assert ended.stderr == ""
    assert lines[0].startswith(
        "ok      image/one: violated no_lost_writes, as expected"
    )
    assert lines[1].strip().startswith("no_lost_writes in 10 steps")
    assert lines[1].endswith("rc1-no_lost_writes")
    assert lines[2].startswith("WRONG   two: violated no_silent_loss, no_lost_writes")
    assert lines[-1] == "2 scenarios: 1 as expected, 1 not"
    # Two findings of one execution: it is shown once.
    assert ended.stdout.count("   8  ") == 1
    assert lines.count("racecheck replay rc1-no_silent_loss") == 1


def test_verbose_shows_what_was_expected_in_full(explorer: Explorer) -> None:
    expected = made(**LOST, expected=("no_lost_writes",))
    plain = explore(explorer, expected, flags="two")
    verbose = explore(explorer, expected, flags="two -v")

    assert "rename(" not in plain.stdout
    assert "rename(" in verbose.stdout
    assert "\x1b" not in verbose.stdout


def test_text_that_the_terminal_cannot_encode_is_escaped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
    group._escape_what_cannot_be_encoded()
    click.echo("cut\u2026")

    assert written.getvalue() == rb"cut\u2026" + b"\n"


# --- run: JSON


def read(file: str = "out.json") -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(Path(file).read_text()))


def test_json_holds_every_field_of_the_results(explorer: Explorer) -> None:
    broken = made(**LOST, expected=("no_lost_writes",), executions=2)
    explore(explorer, broken, flags="two --seed 5 --json out.json")

    assert read() == {
        "schema": 1,
        "racecheck": version.version(),
        "seed": 5,
        "interrupted": False,
        "scenarios": [
            {
                "name": "two",
                "engine": "process",
                "verdict": "violated",
                "reason": "",
                "expected": ["no_lost_writes"],
                "as_expected": True,
                "coverage": "sampled",
                "assumptions": ["calls are atomic"],
                "bounds": {"max_steps": 10_000},
                "executions": 2,
                "steps": 10_000,
                "seconds": 2.5,
                "violations": [
                    {
                        "invariant": "no_lost_writes",
                        "message": "expected each write to succeed",
                        "token": "rc1-no_lost_writes",
                        "steps": 10,
                        "context_switches": 3,
                        "confirmed": True,
                        "seen": 0,
                    }
                ],
                "counts": [],
            }
        ],
    }


def test_an_interrupt_writes_what_there_is(explorer: Explorer) -> None:
    ended = explore(explorer, made(), KeyboardInterrupt(), flags="two --json out.json")

    assert ended.exit_code == 130
    assert ended.stderr == "racecheck: interrupted\n"
    assert ended.stdout.startswith("ok      two: passed")
    assert ended.stdout.endswith("\n1 scenario: 1 as expected, 0 not done\n")
    assert [each["name"] for each in read()["scenarios"]] == ["two"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_who_is_asked_to_end_writes_what_there_is(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:

    def explore_all(*_: object, **__: object) -> Iterator[ScenarioResult]:
        yield made("image/one")
        os.kill(os.getpid(), number)
        yield made("two")

    monkeypatch.setattr(api, "explore_all", explore_all)
    # Whoever started the tests, or another test, may have it ignored or handled.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        ended = run("run", "--json", "out.json")
        after = signal.getsignal(number)
    finally:
        signal.signal(number, before)

    assert ended.exit_code == 128 + number
    assert ended.stderr == f"racecheck: ended by {number.name}\n"
    assert ended.stdout.endswith("as expected, 1 not done\n")
    assert read()["interrupted"] is True
    assert [each["name"] for each in read()["scenarios"]] == ["image/one"]
    assert after is signal.SIG_DFL


def test_an_error_writes_what_there_is(explorer: Explorer) -> None:
    refused = CannotRunError("ptrace is refused by the container's profile")
    ended = explore(explorer, made(), refused, flags="--json out.json")

    assert ended.exit_code == 4
    assert ended.stderr == "racecheck: ptrace is refused by the container's profile\n"
    assert [each["name"] for each in read()["scenarios"]] == ["two"]


def test_a_file_is_replaced_by_rename_and_keeps_the_usual_mode(
    explorer: Explorer, place: Path
) -> None:
    old = place / "out.json"
    old.write_text("old")
    link = place / "link.json"
    link.symlink_to(old)
    with old.open() as stream:
        explore(explorer, made(), flags="two --json link.json")
        assert stream.read() == "old"

    assert link.is_symlink()
    assert read()["schema"] == 1
    umask = os.umask(0)
    os.umask(umask)
    assert old.stat().st_mode & 0o777 == 0o666 & ~umask
    assert sorted(path.name for path in place.glob("*json*")) == [
        "link.json",
        "out.json",
    ]


def test_a_device_is_written_and_not_replaced(explorer: Explorer) -> None:
    assert explore(explorer, made(), flags="two --json /dev/null").exit_code == 0
    assert not Path("/dev/null").is_file()


def test_a_failed_write_is_told_and_leaves_nothing(
    explorer: Explorer, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ended = explore(explorer, made(), flags="two --json out.json")

    assert ended.exit_code == 3
    assert "racecheck: cannot write out.json: No space left" in ended.stderr
    assert list(place.glob("*.json*")) == list(place.glob(".*.tmp")) == []


# --- all commands: errors


def test_any_other_error_is_internal_and_exits_with_3(explorer: Explorer) -> None:
    ended = explore(explorer, ZeroDivisionError("oh"))

    assert ended.exit_code == 3
    assert "Traceback" in ended.stderr
    assert ended.stderr.endswith("internal error: ZeroDivisionError('oh')\n")


def test_an_error_of_racecheck_is_one_line(explorer: Explorer) -> None:
    ended = explore(explorer, RacecheckError("no luck"))

    assert (ended.exit_code, ended.stderr) == (3, "racecheck: no luck\n")


def test_another_broken_pipe_than_standard_output_is_internal(
    explorer: Explorer,
) -> None:
    ended = explore(explorer, BrokenPipeError())

    assert ended.exit_code == 3
    assert "internal error: BrokenPipeError()" in ended.stderr


def test_a_reader_that_goes_away_is_no_error_of_ours() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = start("list", stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)

    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def test_output_that_cannot_be_written_is_told_in_a_line() -> None:
    with open("/dev/full", "wb") as full:
        done = start("list", stdout=full.fileno(), stderr=subprocess.PIPE)

    assert done.returncode == 3
    assert done.stderr == (
        b"racecheck: cannot write the results: No space left on device\n"
    )


# --- replay


def replay(
    monkeypatch: pytest.MonkeyPatch,
    answer: ReplayResult | RacecheckError,
    *flags: str,
) -> tuple[Result, list[object]]:
    asked: list[object] = []

    def stub(token: str, scenarios: Sequence[Loaded], options: Options) -> ReplayResult:
        asked.extend((token, [each.name for each in scenarios], options))
        if isinstance(answer, RacecheckError):
            raise answer
        return answer

    monkeypatch.setattr(api, "replay", stub)
    return run("replay", "rc1-x", *flags), asked


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        (Verdict.PASSED, 0),
        (Verdict.VIOLATED, 1),
        (Verdict.DEADLOCKED, 1),
        (Verdict.DIVERGED, 3),
        (Verdict.UNKNOWN, 3),
    ],
)
def test_the_exit_status_of_a_replay_is_that_of_its_execution(
    monkeypatch: pytest.MonkeyPatch, verdict: Verdict, status: int
) -> None:
    ended, _ = replay(monkeypatch, ReplayResult(trace=trace(verdict=verdict)))

    assert ended.exit_code == status


def test_a_replay_shows_the_execution_and_how_far_it_followed(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    ended, asked = replay(
        monkeypatch, ReplayResult(trace=trace()), "two", "--workdir", str(place)
    )

    assert asked == ["rc1-x", ["two"], Options(workdir=place)]
    assert "rename(head.img.tmp, head.img) = ENOENT" in ended.stdout
    assert ended.stdout.endswith(
        "\nviolated: all calls, arguments and results are as recorded\n"
    )


def test_a_replay_says_where_the_program_left_the_recording(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passed = trace(verdict=Verdict.PASSED)
    left = ReplayResult(
        trace=passed, left=(4, "serve-1: rename", "serve-1: \x1b"), same=False
    )

    assert replay(monkeypatch, left)[0].stdout.endswith(
        "\npassed: the program left the recording at step 4: "
        "recorded serve-1: rename, but found serve-1: \\x1b\n"
    )


def test_a_replay_with_other_results_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, _ = replay(monkeypatch, ReplayResult(trace=trace(), same=False))

    assert "but not all calls, arguments and results are" in ended.stdout


def test_a_token_that_cannot_be_read_exits_with_2(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended, _ = replay(monkeypatch, TokenError("the token is cut short"))

    assert (ended.exit_code, ended.stderr) == (2, "racecheck: the token is cut short\n")


# --- list, help, version


def test_list_shows_names_roles_and_expectations() -> None:
    ended = run("list")

    assert ended.exit_code == 0
    assert ended.stdout.splitlines() == [
        "image/one  serve x2 (writer), load (reader)  violates deadlock",
        "two        build (writer)                    passes",
    ]
    assert run("list", "two").stdout.splitlines() == ["two  build (writer)  passes"]
    assert run("list", "three").exit_code == 2


def test_list_shows_scenarios_under_their_tags(place: Path) -> None:
    (place / "tagged.py").write_text(
        "from racecheck.scenario import Scenario\n"
        "made = Scenario('made', tags=['B01'])\n"
        "made.writer(lambda n: n, name='serve')\n"
        "made.over(n=[1, 2], tags={'2': ['B02']})\n"
    )

    assert run("list", "tagged.py", "B02").stdout == (
        "made/2  serve (writer)  passes  B01 B02\n"
    )
    assert run("list", "--tags", "tagged.py").stdout.splitlines() == [
        "B01  made/1  passes",
        "B01  made/2  passes",
        "B02  made/2  passes",
    ]
    refused = run("list", "--tags", "two")
    assert refused.exit_code == 2


def test_the_version_is_told() -> None:
    assert re.fullmatch(r"racecheck \d[\w.+]*\n", run("--version").stdout)


def test_a_bare_checkout_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "DISTRIBUTION", "no-such-distribution")

    assert version.version() == "0+unknown"


@pytest.mark.parametrize("command", ["run", "replay", "list"])
def test_every_command_has_help(command: str) -> None:
    assert (
        f"racecheck {command}"
        in CliRunner().invoke(main, [command, "-h"], prog_name="racecheck").stdout
    )


def start(*arguments: str, **streams: int | None) -> subprocess.CompletedProcess[bytes]:
    root = str(Path(__file__).parents[2])
    return subprocess.run(
        [sys.executable, "-m", "racecheck", *arguments],
        env={**os.environ, "PYTHONPATH": root},
        check=False,
        **cast("Any", streams),
    )


def test_it_runs_as_a_module() -> None:
    done = start("list", "two", stdout=subprocess.PIPE)

    assert (done.returncode, done.stdout) == (0, b"two  build (writer)  passes\n")


def test_it_runs_with_closed_streams() -> None:
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -m racecheck list two <&- 2>&-', sys.executable],
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, b"two  build (writer)  passes\n")
