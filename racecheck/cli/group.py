"""The command `racecheck` with its parts, and how every error ends."""

from __future__ import annotations

import select
import sys
import traceback
from typing import Any

import click

from racecheck.api.version import version
from racecheck.cli import exit_codes
from racecheck.cli.doctor import doctor_command
from racecheck.cli.ending import (
    AskedToEndError,
    cannot_write,
    drop_output,
    end_as_unread,
    ends_when_asked,
)
from racecheck.cli.export import export_command
from racecheck.cli.list import list_command
from racecheck.cli.replay import replay_command
from racecheck.cli.report import report_command
from racecheck.cli.run import run_command
from racecheck.errors import RacecheckError

_STDOUT = 1


class Group(click.Group):
    """A group of commands in which every error gives its line and its exit status."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401  as click has it
    ) -> click.Context:
        """Parse what stands before the command."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            click.echo(f"racecheck: {_in_a_line(error)}", err=True)
            raise click.exceptions.Exit(error.exit_code) from error

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was asked for."""
        try:
            _escape_what_cannot_be_encoded()
            with ends_when_asked():
                return super().invoke(ctx)
        except RacecheckError as error:
            click.echo(f"racecheck: {error}", err=True)
            ctx.exit(error.exit_code)
        except (KeyboardInterrupt, click.Abort):
            click.echo("racecheck: interrupted", err=True)
            ctx.exit(exit_codes.INTERRUPTED)
        except AskedToEndError as asked:
            click.echo(f"racecheck: ended by {asked}", err=True)
            ctx.exit(asked.exit_code)
        except click.exceptions.Exit:
            raise
        except click.ClickException as error:
            click.echo(f"racecheck: {_in_a_line(error)}", err=True)
            ctx.exit(error.exit_code)
        except Exception as error:  # noqa: BLE001  told, and never taken for a verdict
            if isinstance(error, BrokenPipeError) and _nobody_reads():
                end_as_unread()
            if isinstance(error, OSError) and cannot_write(error):
                drop_output()
                click.echo(
                    f"racecheck: cannot write the results: {error.strerror}", err=True
                )
            else:
                traceback.print_exc()
                click.echo(f"racecheck: internal error: {error!r}", err=True)
            ctx.exit(exit_codes.NO_VERDICT)


def _in_a_line(error: click.ClickException) -> str:
    """Return a message of click's, with where to read on."""
    message = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    return f"{message.rstrip('.')}; see {context.command_path} --help"


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
main.add_command(doctor_command)
main.add_command(report_command)
main.add_command(export_command)
