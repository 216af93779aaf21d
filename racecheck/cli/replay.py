"""`racecheck replay`: run one recorded execution again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from racecheck import api
from racecheck.cli import exit_codes
from racecheck.cli.parameters import (
    current_settings,
    find_scenarios,
    is_colored,
    selection_argument,
    text_width,
    workdir_option,
)
from racecheck.explore.options import Options, ReplayResult
from racecheck.explore.traces import broken
from racecheck.report import explain, render
from racecheck.report.printable import printable

if TYPE_CHECKING:
    from pathlib import Path


@click.command("replay", short_help="Run one recorded execution again")
@click.argument("token")
@selection_argument
@workdir_option
@click.pass_context
def replay_command(
    ctx: click.Context, *, token: str, selection: tuple[str, ...], workdir: Path | None
) -> None:
    """Run the execution that TOKEN stands for, and nothing else.

    Its scenario is looked for where `run` would. The exit status is 1 if the execution
    violates an invariant, 0 if it does not, and 3 if there is no verdict.
    """
    settings = current_settings()
    scenarios = find_scenarios(selection, settings)
    result = api.replay(token, scenarios, Options(workdir=workdir))
    click.echo(render(result.trace, width=text_width(), color=is_colored()))
    found = broken(result.trace)
    if found:
        messages = {each.invariant: each.message for each in result.trace.violations}
        message = messages.get(found[0], result.trace.reason)
        told = explain(result.trace, found[0], message, width=text_width())
        click.echo(f"\n{told}")
    click.echo(f"\n{result.trace.verdict}: {_followed(result)}")
    ctx.exit(exit_codes.exit_code_of_replay(result.trace.verdict))


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
