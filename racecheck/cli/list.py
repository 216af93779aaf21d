"""`racecheck list`: what scenarios there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from racecheck.cli.parameters import (
    current_settings,
    find_scenarios,
    selection_argument,
)
from racecheck.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from racecheck.scenario import Loaded, Scenario


@click.command("list", short_help="Show what scenarios there are")
@click.option("--tags", "by_tag", is_flag=True, help="Show them under their tags.")
@selection_argument
def list_command(*, selection: tuple[str, ...], by_tag: bool) -> None:
    """Show names, actors with their roles, what is expected, and tags."""
    scenarios = find_scenarios(selection, current_settings())
    _show(_tag_rows(scenarios) if by_tag else _rows(scenarios))


def _show(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _rows(scenarios: Iterable[Loaded]) -> list[tuple[str, ...]]:
    return [
        (
            each.name,
            _actors(each.scenario),
            _expected(each.scenario),
            " ".join(sorted(each.scenario.tags)),
        )
        for each in scenarios
    ]


def _tag_rows(scenarios: Sequence[Loaded]) -> list[tuple[str, ...]]:
    tags = {tag for each in scenarios for tag in each.scenario.tags}
    if not tags:
        raise UsageError("none of these scenarios has a tag")
    return [
        (tag, each.name, _expected(each.scenario))
        for tag in sorted(tags)
        for each in scenarios
        if tag in each.scenario.tags
    ]


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
