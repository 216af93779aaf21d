"""The page that lists all scenarios of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from racecheck.report.page.environment import asset, environment
from racecheck.report.printable import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def render_index(
    document: Mapping[str, Any], pages: Mapping[tuple[str, str], str]
) -> str:
    """Return the page of a run; equal results give equal pages.

    Args:
        document: The results, as `--json` writes them.
        pages: Addresses of the pages of races, by scenario and invariant.
    """
    scenarios = [_scenario(each, pages) for each in document["scenarios"]]
    words = [each["word"] for each in scenarios]
    counts = [
        f"{words.count('ok')} as expected",
        *(
            f"{words.count(word)} {said}"
            for word, said in (("wrong", "not"), ("unknown", "without a verdict"))
            if words.count(word)
        ),
    ]
    return (
        environment()
        .get_template("index.html")
        .render(
            title=f"{plural(len(scenarios), 'scenario')}: {', '.join(counts)}",
            version=document["racecheck"],
            seed=document["seed"],
            scenarios=scenarios,
            matrices=_matrices(scenarios),
            verdicts=sorted({each["verdict"] for each in scenarios}),
            coverages=sorted({each["coverage"] for each in scenarios}),
            style=asset("page.css") + asset("index.css"),
            script=asset("index.js"),
        )
    )


def _scenario(
    result: Mapping[str, Any], pages: Mapping[tuple[str, str], str]
) -> dict[str, Any]:
    parts = str(result["name"]).split("/")
    word = "ok" if result["as_expected"] else "wrong"
    if result["verdict"] in {"unknown", "diverged"}:
        word = "unknown"
    return {
        **result,
        "word": word,
        "system": parts[0],
        "situation": "/".join(parts[1:-1]),
        "variant": parts[-1] if len(parts) > 1 else "",
        "races": [
            {**each, "page": pages.get((result["name"], each["invariant"]), "")}
            for each in result["violations"]
        ],
    }


def _matrices(scenarios: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a table a system: a row a variant, a column a situation."""
    made = []
    for system in dict.fromkeys(each["system"] for each in scenarios):
        of_system = [each for each in scenarios if each["system"] == system]
        columns = list(dict.fromkeys(each["situation"] for each in of_system))
        rows = list(dict.fromkeys(each["variant"] for each in of_system))
        cells = {(each["variant"], each["situation"]): each for each in of_system}
        turned = len(columns) > len(rows)
        if turned:
            columns, rows = rows, columns
            cells = {(key[1], key[0]): each for key, each in cells.items()}
        made.append(
            {
                "system": system,
                "columns": columns,
                "rows": [
                    {"name": row, "cells": [cells.get((row, each)) for each in columns]}
                    for row in rows
                ],
                "turned": turned,
            }
        )
    return made
