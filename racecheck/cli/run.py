"""`racecheck run`: explore scenarios."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from racecheck import api
from racecheck.cli import exit_codes
from racecheck.cli.matrix_file import check_matrix, update_matrix
from racecheck.cli.outputs import Outputs, output_options
from racecheck.cli.parameters import (
    BudgetType,
    SeedType,
    current_settings,
    find_scenarios,
    is_colored,
    selection_argument,
    text_width,
    verbose_option,
    workdir_option,
)
from racecheck.cli.progress import display
from racecheck.cli.writing import Writer
from racecheck.errors import EngineError
from racecheck.explore.options import ENGINES, SCHEDULERS, Options
from racecheck.report import (
    Matrix,
    counts_lines,
    explain,
    finding_line,
    render,
    summary,
    totals,
)
from racecheck.report.github import annotate, defused
from racecheck.scenario import quick_ones
from racecheck.scenario.config import MAX_JOBS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import ScenarioResult
    from racecheck.scenario import Budget, Loaded


@click.command("run", short_help="Explore scenarios")
@selection_argument
@click.option(
    "--seed",
    type=SeedType(),
    metavar="N",
    help="Seed of the exploration; the same one finds the same.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, MAX_JOBS),
    metavar="N",
    help="Executions at the same time.",
)
@click.option(
    "--budget",
    type=BudgetType(),
    metavar="30s|5000",
    help="Time or executions for each scenario.",
)
@click.option(
    "--scheduler",
    type=click.Choice(SCHEDULERS),
    default=SCHEDULERS[0],
    show_default=True,
    help="Who decides which actor goes on.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    help="What runs the actors, unless their scenario says so.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Make do with a quick look.",
)
@click.option("-x", "stop_first", is_flag=True, help="Stop at the first surprise.")
@workdir_option
@click.option("--fresh", is_flag=True, help="Start all processes anew each time.")
@click.option(
    "--require",
    type=click.Choice(["complete"]),
    help="Exit with 3 where an answer covers less.",
)
@output_options
@click.option(
    "--matrix",
    "matrix_file",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Bring the tables of a page in Markdown up to date.",
)
@verbose_option
@click.pass_context
def run_command(
    ctx: click.Context,
    /,
    *,
    selection: tuple[str, ...],
    seed: int | None,
    jobs: int | None,
    budget: Budget | None,
    scheduler: str,
    engine: str | None,
    quick: bool,
    stop_first: bool,
    workdir: Path | None,
    fresh: bool,
    require: str | None,
    matrix_file: Path | None,
    verbose: bool,
    **files: Any,  # noqa: ANN401  what `Outputs` says
) -> None:
    """Explore the scenarios in files and folders, or those that a GLOB matches.

    The exit status is 0 if each did what it is expected to do, 1 if one did not, and 3
    if there is no verdict.
    """
    outputs = Outputs(**files)
    outputs.check()
    if matrix_file is not None:
        check_matrix(matrix_file)
    settings = current_settings()
    scenarios = find_scenarios(selection, settings)
    if quick:
        scenarios = quick_ones(scenarios)
    options = Options(
        seed=settings.seed if seed is None else seed,
        jobs=settings.jobs if jobs is None else jobs,
        budget=settings.budget if budget is None else budget,
        scheduler=scheduler,
        workdir=workdir,
        fresh=fresh,
        curve=outputs.report_folder is not None,
        stop_first=stop_first,
        engine=engine or "",
        quick=quick,
    )
    if workdir is not None:
        # Imported here, since it takes its time.
        from racecheck.doctor.places import file_system  # noqa: PLC0415  as said

        # What holds on one file system need not on another.
        kind = file_system(workdir.resolve())
        click.echo(f"boxes are made in {workdir}, on {kind}", err=True)
    writer = Writer(outputs, options, [each.name for each in scenarios])
    results: list[ScenarioResult] = []
    interrupted = True
    try:
        _explore(
            scenarios,
            options,
            results,
            writer,
            verbose=verbose,
            for_github=outputs.is_for_github,
        )
        interrupted = False
    finally:
        # Also when it was interrupted, or one scenario could not be run.
        writer.end(results, interrupted=interrupted)
        if outputs.report_folder is not None:
            click.echo(f"report: {outputs.report_folder / 'index.html'}", err=True)
        if outputs.is_for_github:
            _annotate(results)
        if interrupted:
            left = len(scenarios) - len(results)
            # Why it has ended is told after this, also if nobody reads the results.
            with suppress(OSError):
                click.echo(f"{totals(results)}, {left} not done")
    matrix = Matrix.from_results(results, short=True)
    if matrix.is_table():
        click.echo(f"\n{matrix.text(text_width())}\n")
    click.echo(totals(results))
    if matrix_file is not None:
        everything = not selection and not quick and len(results) == len(scenarios)
        update_matrix(matrix_file, results, all_of=everything)
    ctx.exit(exit_codes.exit_code_of_run(results, require_complete=require is not None))


def _explore(
    scenarios: tuple[Loaded, ...],
    options: Options,
    results: list[ScenarioResult],
    writer: Writer,
    *,
    verbose: bool,
    for_github: bool,
) -> None:
    """Explore scenarios, and show and keep each result as it comes."""
    # Where a surprise ends the run, what comes after it in turn does not count.
    early = writer.add if not options.stop_first else None
    with display(len(scenarios)) as progress:
        for result in api.explore_all(
            scenarios, options, progress.update, on_result=early
        ):
            results.append(result)
            writer.add(result)
            told = _describe(result, verbose=verbose)
            if for_github:
                told = defused(told)
            progress.write(told, done=result.name)
    # Never a pass for what was not looked at.
    if len(results) < len(scenarios) and all(result.as_expected for result in results):
        raise EngineError(
            f"only {len(results)} of {len(scenarios)} scenarios gave a result"
        )


def _annotate(results: Sequence[ScenarioResult]) -> None:
    """Print annotations of results, which GitHub shows at their lines."""
    for result in results:
        for line in annotate(result):
            click.echo(line)


def _describe(result: ScenarioResult, *, verbose: bool) -> str:
    """Return the line of a scenario with its findings; surprises are shown in full."""
    color = is_colored()
    parts = [summary(result, color=color)]
    parts += [f"        {line}" for line in counts_lines(result)]
    shown: set[str] = set()
    for finding in result.findings:
        parts.append(f"        {finding_line(finding)}")
        surprise = finding.invariant not in result.expected
        # One execution can break several invariants, and is shown once.
        one = finding.token or str(finding.execution)
        if (surprise or verbose) and one not in shown:
            shown.add(one)
            trace = render(finding.trace, width=text_width(), color=color)
            parts.append(f"\n{trace}\n")
            parts.append(
                explain(
                    finding.trace,
                    finding.invariant,
                    finding.message,
                    width=text_width(),
                )
                + "\n"
            )
            if finding.token:
                parts.append(f"racecheck replay {finding.token}\n")
    return "\n".join(parts)
