"""`racecheck report`: pages from trace files."""

from __future__ import annotations

from pathlib import Path

import click

from racecheck.errors import RacecheckError


@click.command("report", short_help="Make pages of trace files")
@click.argument(
    "source",
    metavar="TRACE|DIR",
    type=click.Path(exists=True, path_type=Path),
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help="Where to write; beside the trace file, or into its folder, unless given.",
)
@click.option("--markdown", is_flag=True, help="Print a summary to paste in an issue.")
def report_command(*, source: Path, output: Path | None, markdown: bool) -> None:
    """Turn TRACE into one HTML file that needs no network, or each one in DIR.

    A folder that `racecheck run --report` has written gets its list of all scenarios
    anew as well.
    """
    # Imported here so that other commands do not pay for the template engine.
    from racecheck.report.folder import (  # noqa: PLC0415
        list_beside,
        render_folder,
        render_trace,
        write_page,
    )
    from racecheck.report.markdown import summarize  # noqa: PLC0415
    from racecheck.storage import read_trace  # noqa: PLC0415

    if markdown:
        traces = sorted(source.glob("*.trace")) if source.is_dir() else [source]
        text = "\n".join(summarize(read_trace(each)) for each in traces)
        if output is None:
            click.echo(text, nl=False)
        else:
            write_page(output, text)
        return
    if source.is_dir():
        for page in render_folder(source, output or source):
            click.echo(page)
        return
    target = output or source.with_suffix(".html")
    if target.is_dir():
        target /= f"{source.stem}.html"
    if target.resolve() == source.resolve():
        raise RacecheckError(f"{target} is the trace file itself; name another with -o")
    # Elsewhere a link to the list would lead nowhere.
    is_beside = target.parent.resolve() == source.parent.resolve()
    render_trace(source, target, index=list_beside(source) if is_beside else "")
    click.echo(target)
