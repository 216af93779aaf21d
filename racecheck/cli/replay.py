"""`racecheck replay`: run one recorded execution again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from racecheck import api
from racecheck.cli import exit_codes
from racecheck.cli.json_file import check_target
from racecheck.cli.outputs import is_read_by_github
from racecheck.cli.parameters import (
    current_settings,
    find_scenarios,
    is_colored,
    selection_argument,
    text_width,
    workdir_option,
)
from racecheck.explore.options import Options, ReplayResult
from racecheck.report import explain, render
from racecheck.report.github import defused
from racecheck.report.printable import printable

if TYPE_CHECKING:
    from racecheck.model import Race


@click.command("replay", short_help="Run one recorded execution again")
@click.argument("token")
@selection_argument
@click.option(
    "--report",
    "page",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write a page of it, if it breaks something.",
)
@click.option(
    "--trace",
    "trace_file",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write a trace file of it, if it breaks something.",
)
@workdir_option
@click.pass_context
def replay_command(
    ctx: click.Context,
    /,
    *,
    token: str,
    selection: tuple[str, ...],
    page: Path | None,
    trace_file: Path | None,
    workdir: Path | None,
) -> None:
    """Run the execution that TOKEN stands for, and nothing else.

    Its scenario is looked for where `run` would. The exit status is 1 if the execution
    violates an invariant, 0 if it does not, and 3 if there is no verdict.
    """
    for file in (page, trace_file):
        if file is not None:
            check_target(file)
    settings = current_settings()
    scenarios = find_scenarios(selection, settings)
    result = api.replay(token, scenarios, Options(workdir=workdir))
    said = defused if is_read_by_github() else str
    click.echo(said(render(result.trace, width=text_width(), color=is_colored())))
    race = api.race_of(token, result, workdir)
    if race is not None:
        found = race.finding
        width = text_width()
        told = explain(result.trace, found.invariant, found.message, width=width)
        click.echo(f"\n{said(told)}")
        _write(race, page, trace_file)
    elif page is not None or trace_file is not None:
        click.echo("racecheck: nothing is broken, so nothing is written", err=True)
    click.echo(f"\n{result.trace.verdict}: {_followed(result)}")
    ctx.exit(exit_codes.exit_code_of_replay(result.trace.verdict))


def _write(race: Race, page: Path | None, trace_file: Path | None) -> None:
    """Write what was asked for."""
    # Imported here so that other replays do not pay for the template engine.
    from racecheck.report.folder import write_page  # noqa: PLC0415
    from racecheck.report.page import render_race  # noqa: PLC0415
    from racecheck.storage import write_trace  # noqa: PLC0415

    if page is not None:
        write_page(page, render_race(race))
    if trace_file is not None:
        write_trace(race, trace_file)


def _followed(result: ReplayResult) -> str:
    """Return how far the program followed the recording."""
    if result.left is not None:
        index, recorded, found = result.left
        return (
            f"the program left the recording at step {index}: "
            f"recorded {printable(recorded)}, but found {printable(found)}"
        )
    if result.same:
        return "all calls, arguments and results are as recorded"
    return "the order is as recorded, but not all calls, arguments and results are"
