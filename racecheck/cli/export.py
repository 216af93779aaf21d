"""`racecheck export`: a test that fails until a race is gone."""

from __future__ import annotations

from pathlib import Path

import click

from racecheck import api
from racecheck.cli.json_file import check_target, replace_file
from racecheck.cli.parameters import (
    current_settings,
    find_scenarios,
    selection_argument,
    workdir_option,
)
from racecheck.explore.options import Options
from racecheck.model import Verdict
from racecheck.storage import decode


@click.command("export", short_help="Make a test of a recorded execution")
@click.argument("token")
@selection_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the test to a file, else to standard output.",
)
@workdir_option
def export_command(
    *,
    token: str,
    selection: tuple[str, ...],
    output: Path | None,
    workdir: Path | None,
) -> None:
    """Write a pytest file that tries the execution of TOKEN first and then explores.

    It fails as long as the race is there. The token is replayed once, to say in the
    file what it breaks.
    """
    if output is not None:
        check_target(output)
    scenarios = find_scenarios(selection, current_settings())
    result = api.replay(token, scenarios, Options(workdir=workdir))
    name = decode(token).scenario
    (loaded,) = (each for each in scenarios if each.name == name)
    folder = output.resolve().parent if output is not None else Path.cwd()
    file = Path(loaded.file).resolve()
    text = api.export("".join(token.split()), result.trace, file, beside=folder)
    if result.trace.verdict not in (Verdict.VIOLATED, Verdict.DEADLOCKED):
        said = f"the execution is {result.trace.verdict} today, so its test may pass"
        click.echo(f"racecheck: {said}", err=True)
    if output is None:
        click.echo(text, nl=False)
        return
    replace_file(output, text)
    click.echo(output)
