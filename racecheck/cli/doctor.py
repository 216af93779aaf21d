"""`racecheck doctor`: what works on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec

from racecheck.cli.json_file import SCHEMA, check_target, replace_file
from racecheck.cli.parameters import workdir_option
from racecheck.errors import CannotRunError

_MARKS = {"fine": "ok", "limited": "limited", "refused": "no"}


@click.command(
    "doctor", short_help="Say what works on this machine, and what to change"
)
@workdir_option
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path),
    help="File to write as well.",
)
@click.pass_context
def doctor_command(
    context: click.Context, *, workdir: Path | None, json_file: Path | None
) -> None:
    """Try what racecheck needs, each with a small process of its own.

    The exit status is 0 if the process engine works, and 4 if not.
    """
    # Imported here so that other commands do not pay for the engines.
    from racecheck.doctor import State, examine  # noqa: PLC0415

    if json_file is not None:
        check_target(json_file)
    found = []
    for each in examine(workdir):
        found.append(each)
        click.echo(f"{_MARKS[each.state]:8}{each.name:18}{each.found}")
        if each.advice:
            click.echo(f"{'':26}{each.advice}")
    if json_file is not None:
        checks = [msgspec.to_builtins(each) for each in found]
        text = json.dumps({"schema": SCHEMA, "checks": checks}, indent=2)
        replace_file(json_file, f"{text}\n")
    if any(each.needed and each.state is State.REFUSED for each in found):
        context.exit(CannotRunError.exit_code)
