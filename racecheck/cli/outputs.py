"""Files that a run writes beside what it prints, and the options that ask for them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from racecheck.cli.json_file import check_folder, check_target

if TYPE_CHECKING:
    from collections.abc import Callable

_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)


def output_options(command: Callable[..., object]) -> Callable[..., object]:
    """Let a command take what `Outputs` is made of."""
    for option in reversed(
        (
            click.option(
                "--json",
                "json_file",
                type=_FILE,
                metavar="FILE",
                help="Write the results to a file as well.",
            ),
            click.option(
                "--junit",
                "junit_file",
                type=_FILE,
                metavar="FILE",
                help="Write them as JUnit XML.",
            ),
            click.option(
                "--markdown",
                "markdown_file",
                type=_FILE,
                metavar="FILE",
                help="Write a summary in Markdown.",
            ),
            click.option(
                "--github/--no-github",
                default=None,
                help="Print annotations; by default where GITHUB_ACTIONS is set.",
            ),
            click.option(
                "--report",
                "report_folder",
                is_flag=False,
                flag_value="reports",
                type=click.Path(file_okay=False, path_type=Path),
                metavar="[DIR]",
                help="Write a page for each race and one that lists all; to reports/ "
                "by default.",
            ),
        )
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """What a run writes beside what it prints.

    Attributes:
        json_file: File for the results, or None.
        junit_file: File for them as JUnit XML, or None.
        markdown_file: File for a summary in Markdown, or None.
        github: Whether to print annotations; None leaves it to the environment.
        report_folder: Folder for pages, or None.
    """

    json_file: Path | None
    junit_file: Path | None
    markdown_file: Path | None
    github: bool | None
    report_folder: Path | None

    def check(self) -> None:
        """Refuse what could not be written in the end, before anything is run.

        Raises:
            UsageError: A folder does not exist, or nothing can be written to it.
        """
        for file in (self.json_file, self.junit_file, self.markdown_file):
            if file is not None:
                check_target(file)
        if self.report_folder is not None:
            check_folder(self.report_folder)

    @property
    def is_for_github(self) -> bool:
        """Whether annotations are printed."""
        return is_read_by_github() if self.github is None else self.github


def is_read_by_github() -> bool:
    """Say whether the output is that of a job of GitHub's."""
    return os.environ.get("GITHUB_ACTIONS") == "true"
