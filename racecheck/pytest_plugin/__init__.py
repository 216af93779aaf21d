"""The pytest plug-in: options and marks for checks, and scenarios as tests.

It is loaded in every run of pytest in an environment that has racecheck, so this module
imports nothing that pytest has not; `collecting` is for runs with scenarios.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import pytest

from racecheck import suite

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from racecheck.pytest_plugin.collecting import ScenarioFile

_SUITE = pytest.StashKey[suite.Suite]()
_REPLAYS = pytest.StashKey[int]()
_MARK = (
    "racecheck(seed, budget, scheduler, engine, workdir, fresh): "
    "options of the checks that the test makes, where they do not say so themselves"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options; each can be given as a variable of the environment too."""
    group = parser.getgroup("racecheck", "races between processes that share files")
    group.addoption(
        "--racecheck",
        action="store_true",
        default=_is_set("RACECHECK"),
        help="Collect scenarios as well, those in the configured paths included.",
    )
    group.addoption(
        "--racecheck-seed",
        metavar="N",
        type=int,
        help="Seed of explorations; the same one finds the same.",
    )
    group.addoption(
        "--racecheck-budget",
        metavar="30s|5000",
        help="Time or executions for each scenario and each check.",
    )
    group.addoption(
        "--racecheck-quick",
        action="store_true",
        default=_is_set("RACECHECK_QUICK"),
        help="Spend a tenth of each budget.",
    )
    group.addoption(
        "--racecheck-report",
        metavar="DIR",
        nargs="?",
        const="reports",
        default=os.environ.get("RACECHECK_REPORT"),
        help="Write what is found to this folder; reports/ unless one is given.",
    )
    group.addoption(
        "--racecheck-replay",
        metavar="TOKEN",
        default=os.environ.get("RACECHECK_REPLAY", ""),
        help="Run the one execution that the token stands for, instead of exploring.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tell checks of the options, and let pytest look where scenarios are."""
    config.addinivalue_line("markers", _MARK)
    reports = config.getoption("racecheck_report")
    around = suite.Suite(
        seed=config.getoption("racecheck_seed"),
        budget=config.getoption("racecheck_budget"),
        quick=config.getoption("racecheck_quick"),
        token=config.getoption("racecheck_replay"),
        reports=config.invocation_params.dir / reports if reports else None,
        failures=config.rootpath / ".racecheck" / "failures",
    )
    config.stash[_SUITE] = around
    config.stash[_REPLAYS] = 0
    suite.enter(around)
    if around.is_asked or config.getoption("racecheck"):
        from racecheck.pytest_plugin.asked import check_options  # noqa: PLC0415  costs

        check_options(config, around)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take the options back."""
    around = config.stash.get(_SUITE, None)
    if around is not None:
        suite.leave(around)


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> ScenarioFile | None:
    """Collect a file of scenarios, if it was named or scenarios were asked for."""
    # The first question is the cheap one; most files in most projects end here.
    if "scenario" not in file_path.name or file_path.suffix != ".py":
        return None
    named = parent.session.isinitpath(file_path)
    if not named and not parent.config.getoption("racecheck"):
        return None
    from racecheck.pytest_plugin.collecting import collect  # noqa: PLC0415  costs

    return collect(file_path, parent)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tell checks which test they are in."""
    around = item.config.stash[_SUITE]
    marks: dict[str, object] = {}
    for mark in reversed(list(item.iter_markers("racecheck"))):
        marks.update(mark.kwargs)
    around.begin_test(marks)
    test = shlex.quote(item.nodeid)
    around.replay_with = f"pytest {test} --racecheck-replay {{}}".format
    try:
        return (yield)
    finally:
        item.config.stash[_REPLAYS] += around.replays
        around.replay_with = None
        around.begin_test({})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Let no test pass for a replay that was none."""
    result = yield
    around = item.config.stash[_SUITE]
    if around.token and around.checks and not around.replays:
        pytest.fail(
            "the token to replay is of no check that this test made; "
            "the name, the actors, the operations or the parameters differ",
            pytrace=False,
        )
    return result


@pytest.hookimpl(trylast=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Tell reports how much each check has looked at."""
    if call.when == "call":
        item.user_properties += [
            ("racecheck", line) for line in item.config.stash[_SUITE].told
        ]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End with an error if a token was to be replayed and none was."""
    config = session.config
    around = config.stash[_SUITE]
    # With xdist each of several processes runs a part of the tests.
    workeroutput = getattr(config, "workeroutput", None)
    if workeroutput is not None:
        workeroutput["racecheck_replays"] = config.stash[_REPLAYS]
    elif (
        around.token
        and not config.stash[_REPLAYS]
        and session.exitstatus == pytest.ExitCode.OK
    ):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Count the replays of a process of xdist's."""
    config = node.config  # type: ignore[attr-defined]  # xdist need not be there
    output = getattr(node, "workeroutput", {})
    config.stash[_REPLAYS] += output.get("racecheck_replays", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say so if a token was to be replayed and none was."""
    if config.stash[_SUITE].token and not config.stash[_REPLAYS]:
        terminalreporter.write_line(
            "racecheck: the token to replay is of none of the checks and scenarios "
            "that were run",
            red=True,
        )


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")
