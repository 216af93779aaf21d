"""Races of released packages: caught in the release that has one, passed in the next.

    python benchmarks/published/run.py [--only NAME] [--venvs DIR] [--markdown FILE]

Each release gets a virtual environment with racecheck in it, as somebody would who
wants to check his own program; they are kept in `.venv-published` for the next time.
Ends with status 1 where a release does not do what the table says of it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HEAD = (
    "| package | release | what races | verdict | broken | coverage | executions | s |"
)


class Found(NamedTuple):
    """What came of one release.

    Attributes:
        cells: Its row of the table.
        is_right: Whether it is what the table expects.
    """

    cells: tuple[str, ...]
    is_right: bool


def environment(folder: Path, package: str, release: str) -> Path:
    """Return the interpreter of an environment with a release and racecheck in it."""
    venv = folder / f"{package}-{release}"
    python = venv / "bin" / "python"
    if not (venv / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        pip: list[str | Path] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        subprocess.run([*pip, ROOT, f"{package}=={release}"], check=True)
        (venv / "ready").touch()
    return python


def explore(package: dict[str, Any], release: str, folder: Path, budget: str) -> Found:
    """Run a package's scenario with one of its releases."""
    python = environment(folder, package["name"], release)
    name = package["name"]
    file = HERE / package.get("file", f"scenario_{name}.py")
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        results = Path(place, "results.json")
        command = [python, "-m", "racecheck", "run", file, "--budget", budget]
        done = subprocess.run(
            [*command, "--json", results],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        if not results.exists():
            cells = (name, release, "", done.stderr.strip(), "", "", "", "")
            return Found(cells, is_right=False)
        (result,) = json.loads(results.read_text())["scenarios"]
    seconds = time.monotonic() - start
    broken = [each["invariant"] for each in result["violations"]]
    if release == package["faulty"]:
        is_right = result["verdict"] == "violated" and set(broken) & set(
            package["breaks"]
        )
    else:
        is_right = result["verdict"] == "passed"
    cells = (
        name,
        release,
        package["races"] if release == package["faulty"] else "",
        result["verdict"] + (f" ({result['reason']})" if result["reason"] else ""),
        ", ".join(broken),
        result["coverage"],
        str(result["executions"]),
        f"{seconds:.1f}",
    )
    return Found(cells, is_right=bool(is_right))


def main() -> int:
    """Run what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", help="name of one package")
    parser.add_argument("--venvs", type=Path, default=ROOT / ".venv-published")
    parser.add_argument("--budget", default="5000", help="as for racecheck run")
    parser.add_argument("--markdown", type=Path, help="file to write the table to")
    asked = parser.parse_args()
    packages = tomllib.loads((HERE / "table.toml").read_text())["package"]
    lines = [HEAD, "|" + " --- |" * HEAD.count(" | ") + " --- |"]
    print("\n".join(lines))
    wrong = 0
    for package in packages:
        if asked.only not in (None, package["name"]):
            continue
        for release in (package["faulty"], package["fixed"]):
            found = explore(package, release, asked.venvs, asked.budget)
            lines.append(f"| {' | '.join(found.cells)} |")
            wrong += not found.is_right
            print(
                lines[-1] + ("" if found.is_right else "  <- NOT AS EXPECTED"),
                flush=True,
            )
    if asked.markdown is not None:
        asked.markdown.write_text("\n".join(lines) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
