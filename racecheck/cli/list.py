"""`racecheck list`: what scenarios there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from racecheck.cli.parameters import (
    current_settings,
    find_scenarios,
    selection_argument,
)

if TYPE_CHECKING:
    from racecheck.scenario import Scenario


@click.command("list", short_help="Show what scenarios there are")
@selection_argument
def list_command(*, selection: tuple[str, ...]) -> None:
    """Show names, actors with their roles, and what is expected."""
    scenarios = find_scenarios(selection, current_settings())
    rows = [
        (each.name, _actors(each.scenario), _expected(each.scenario))
        for each in scenarios
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _actors(scenario: Scenario) -> str:
    """Return the actors as declared: `serve x2 (writer), load (reader)`."""
    parts = {}
    for actor in scenario.actors:
        said = actor.declaration
        times = f" x{said.count}" if said.count > 1 else ""
        parts[said.name] = f"{said.name}{times} ({said.role})"
    return ", ".join(parts.values())


def _expected(scenario: Scenario) -> str:
    broken = ", ".join(sorted(scenario.expect))
    return f"violates {broken}" if broken else "passes"
