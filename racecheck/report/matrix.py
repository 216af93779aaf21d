"""What explorations say of whole systems: a table of variants against scenarios each.

A scenario is called `system/what happens/variant`, so that its name says where in which
table it stands. `Matrix` is put together from results, or read back from its Markdown
form, in which it is kept beside the documentation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from racecheck.model import Coverage, Verdict
from racecheck.report.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from racecheck.model import ScenarioResult

_PARTS = 3
_GAP = 2
_HEADING = re.compile(r"## (?P<system>\S+)")
_LEGEND = "~: not every order; !: not as expected"


@dataclass(slots=True)
class Matrix:
    """Cells by system, by what happens and by variant, in the order they came in.

    Attributes:
        tables: Text of a cell, empty where there is none, by system, and then by what
            happens and variant.
    """

    tables: dict[str, dict[tuple[str, str], str]] = field(default_factory=dict)

    @classmethod
    def from_results(
        cls, results: Iterable[ScenarioResult], *, short: bool = False
    ) -> Matrix:
        """Make a matrix of results.

        Args:
            results: What explorations say. Names of less than three parts have no
                place in it.
            short: Whether cells have to fit a terminal.
        """
        made = cls()
        for result in results:
            made.put(result.name, _short(result) if short else _long(result))
        return made

    @classmethod
    def from_markdown(cls, text: str) -> Matrix:
        """Read what `markdown` has written; other lines are left out."""
        made = cls()
        system = ""
        happenings: list[str] = []
        for line in text.splitlines():
            if heading := _HEADING.fullmatch(line):
                system, happenings = heading["system"], []
            elif line.startswith("| ") and system and not line.startswith("| ---"):
                first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
                if not happenings:
                    happenings = cells
                    continue
                # Empty ones too, which keep columns and rows where they are.
                for happening, cell in zip(happenings, cells, strict=False):
                    made.put(f"{system}/{happening}/{first}", cell)
        return made

    @classmethod
    def strange_line(cls, text: str) -> str | None:
        """Return the first line that `markdown` has not written, if there is one."""
        kept = cls.from_markdown(text).markdown().splitlines()
        for line in filter(None, map(str.rstrip, text.splitlines())):
            if line not in kept:
                return line
            kept.remove(line)
        return None

    def put(self, name: str, cell: str) -> None:
        """Put the cell of a scenario in its place, if its name says one."""
        parts = name.split("/")
        if len(parts) < _PARTS:
            return
        happening = "/".join(parts[1:-1])
        self.tables.setdefault(parts[0], {})[happening, parts[-1]] = cell

    def names(self) -> dict[str, str]:
        """Return each cell by the name of its scenario."""
        return {
            f"{system}/{happening}/{variant}": cell
            for system, table in self.tables.items()
            for (happening, variant), cell in table.items()
            if cell
        }

    def is_table(self) -> bool:
        """Say whether there is more in it than a list."""
        return any(
            len({variant for _, variant in table}) > 1
            and len({happening for happening, _ in table}) > 1
            for table in self.tables.values()
        )

    def text(self, width: int) -> str:
        """Return it for a terminal, with as many columns side by side as there is room.

        Args:
            width: Characters to a line.
        """
        lines = [line for system in self.tables for line in self._text(system, width)]
        return "\n".join([*lines, _LEGEND])

    def markdown(self) -> str:
        """Return it as tables in Markdown, one a system, sorted by system."""
        return "\n".join(
            line for system in sorted(self.tables) for line in self._markdown(system)
        )

    def _text(self, system: str, width: int) -> Iterator[str]:
        table = self.tables[system]
        happenings, variants = _axes(table)
        first = max(map(len, (system, *variants))) + _GAP
        sizes = {
            happening: max(
                len(happening),
                *(len(table.get((happening, variant), "")) for variant in variants),
            )
            + _GAP
            for happening in happenings
        }
        for block in _blocks(sizes, width - first):
            yield _line(system, block, first, sizes, block)
            for variant in variants:
                cells = [table.get((happening, variant), "") for happening in block]
                if any(cells):
                    yield _line(variant, cells, first, sizes, block)
            yield ""

    def _markdown(self, system: str) -> Iterator[str]:
        table = self.tables[system]
        happenings, variants = _axes(table)
        yield f"## {system}"
        yield ""
        yield f"| | {' | '.join(happenings)} |"
        yield f"|{' --- |' * (len(happenings) + 1)}"
        for variant in variants:
            cells = (table.get((happening, variant), "") for happening in happenings)
            yield f"| {variant} | {' | '.join(cells)} |"
        yield ""


def _axes(table: dict[tuple[str, str], str]) -> tuple[list[str], list[str]]:
    """Return what happens, and the variants, each once and in their order."""
    return (
        list(dict.fromkeys(happening for happening, _ in table)),
        list(dict.fromkeys(variant for _, variant in table)),
    )


def _blocks(sizes: dict[str, int], room: int) -> Iterator[list[str]]:
    """Divide columns into lines of them that have room; each has one at least."""
    block: list[str] = []
    used = 0
    for happening, size in sizes.items():
        if block and used + size > room:
            yield block
            block, used = [], 0
        block.append(happening)
        used += size
    if block:
        yield block


def _line(
    start: str,
    cells: Sequence[str],
    first: int,
    sizes: dict[str, int],
    block: list[str],
) -> str:
    parts = (cell.ljust(sizes[key]) for cell, key in zip(cells, block, strict=True))
    return (start.ljust(first) + "".join(parts)).rstrip()


def _short(result: ScenarioResult) -> str:
    covered = "" if result.coverage is Coverage.COMPLETE else "~"
    # What was found was found, however much else there may be.
    if result.verdict not in (Verdict.PASSED, Verdict.UNKNOWN):
        covered = ""
    surprise = "" if result.as_expected else "!"
    return f"{result.verdict}{surprise} {covered}{result.executions}"


def _long(result: ScenarioResult) -> str:
    found = ", ".join(sorted(finding.invariant for finding in result.findings))
    what = f"{result.verdict} {found}".strip()
    engine = "" if result.engine == "process" else f", {result.engine}"
    return printable(f"{what} ({result.coverage}, {result.executions}{engine})")
