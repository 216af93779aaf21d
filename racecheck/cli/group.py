"""The command `racecheck` with its parts, and how every error ends."""

from __future__ import annotations

import os
import select
import sys
import traceback

import click

from racecheck.api.version import version
from racecheck.cli import exit_codes
from racecheck.cli.list import list_command
from racecheck.cli.replay import replay_command
from racecheck.cli.report import report_command
from racecheck.cli.run import run_command
from racecheck.errors import RacecheckError

_STDOUT = 1


class Group(click.Group):
    """A group of commands in which every error gives its line and its exit status."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was asked for."""
        try:
            _escape_what_cannot_be_encoded()
            return super().invoke(ctx)
        except RacecheckError as error:
            click.echo(f"racecheck: {error}", err=True)
            ctx.exit(error.exit_code)
        except (KeyboardInterrupt, click.Abort):
            click.echo("racecheck: interrupted", err=True)
            ctx.exit(exit_codes.INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except Exception as error:  # noqa: BLE001  told, and never taken for a verdict
            if isinstance(error, BrokenPipeError) and _nobody_reads():
                # Python would complain once more when it flushes the rest at its end.
                os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
            else:
                traceback.print_exc()
                click.echo(f"racecheck: internal error: {error!r}", err=True)
            ctx.exit(exit_codes.NO_VERDICT)


def _nobody_reads() -> bool:
    """Say whether the reader of standard output has gone, as `head` does."""
    poll = select.poll()
    poll.register(_STDOUT, 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))


def _escape_what_cannot_be_encoded() -> None:
    """Let messages hold any character, whatever the terminal's encoding is."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version(), prog_name="racecheck", message="%(prog)s %(version)s")
def main() -> None:
    """Find races between programs that share files, and replay them."""


main.add_command(run_command)
main.add_command(replay_command)
main.add_command(list_command)
main.add_command(report_command)
