"""Races of released packages: caught in the release that has one, passed in the next.

    python benchmarks/published/run.py [--only NAME] [--venvs DIR] [--markdown FILE]

Each release gets a virtual environment with racecheck in it, as somebody would who
wants to check his own program. They are removed afterwards, unless `--venvs` says where
to keep them for the next time. Ends with status 1 where a release does not do what the
table says of it, or the cause of its race is not named.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
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
    "| package | release | what races | verdict | broken | cause | coverage "
    "| executions | s |"
)
CAUSE = re.compile(r"recipes\.md#([\w-]+)")
"""Where what `racecheck run` prints of an execution names the kind of its race."""


class Found(NamedTuple):
    """What came of one release.

    Attributes:
        cells: Its row of the table.
        is_right: Whether it is what the table expects.
    """

    cells: tuple[str, ...]
    is_right: bool


class Environments(NamedTuple):
    """Where environments are made.

    Attributes:
        folder: Holds an environment for each release.
        wheels: Holds what is built of racecheck, once for all of them.
    """

    folder: Path
    wheels: Path

    def path(self, package: dict[str, Any], release: str) -> Path:
        """Return the folder of the environment of a release."""
        return self.folder / f"{package['name']}-{release}"

    def python(self, package: dict[str, Any], release: str) -> Path:
        """Return the interpreter of one with a release and racecheck in it.

        Raises:
            subprocess.CalledProcessError: It cannot be made.
        """
        venv = self.path(package, release)
        python = venv / "bin" / "python"
        if (venv / "ready").exists():
            return python
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        pip: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check"]
        if not any(self.wheels.iterdir()):
            build = ("wheel", "--quiet", "--no-deps", "--wheel-dir")
            subprocess.run([*pip, *build, self.wheels, ROOT], check=True)
        name, extra = package["name"], package.get("extra")
        wanted = f"{name}[{extra}]" if extra else name
        # One after the other: the release may be of something that racecheck would
        # have a later one of, as for its plug-in, which is not used here.
        for what in (*map(str, self.wheels.iterdir()), f"{wanted}=={release}"):
            subprocess.run([*pip, "install", "--quiet", what], check=True)
        (venv / "ready").touch()
        return python


def explore(
    package: dict[str, Any], release: str, environments: Environments, budget: str
) -> Found:
    """Run a package's scenario with one of its releases."""
    name = package["name"]
    try:
        python = environments.python(package, release)
    except subprocess.CalledProcessError as error:
        return Found((name, release, "", str(error), *[""] * 5), is_right=False)
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
            said = done.stderr.strip()
            return Found((name, release, "", said, *[""] * 5), is_right=False)
        (result,) = json.loads(results.read_text())["scenarios"]
    seconds = time.monotonic() - start
    broken = [each["invariant"] for each in result["violations"]]
    causes = sorted(set(CAUSE.findall(done.stdout)))
    if release == package["faulty"]:
        is_right = (
            result["verdict"] == "violated"
            and bool(set(broken) & set(package["breaks"]))
            and causes == [package["cause"]]
        )
    else:
        is_right = result["verdict"] == "passed"
    cells = (
        name,
        release,
        package["races"] if release == package["faulty"] else "",
        result["verdict"] + (f" ({result['reason']})" if result["reason"] else ""),
        ", ".join(broken),
        ", ".join(causes),
        result["coverage"],
        str(result["executions"]),
        f"{seconds:.1f}",
    )
    return Found(cells, is_right=is_right)


def main() -> int:
    """Run what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", help="name of one package")
    parser.add_argument("--venvs", type=Path, help="folder to keep environments in")
    parser.add_argument("--budget", default="5000", help="as for racecheck run")
    parser.add_argument("--markdown", type=Path, help="file to write the table to")
    asked = parser.parse_args()
    packages = tomllib.loads((HERE / "table.toml").read_text())["package"]
    lines = [HEAD, "|" + " --- |" * (HEAD.count("|") - 1)]
    print("\n".join(lines))
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="published-") as temporary:
        wheels, venvs = Path(temporary, "wheels"), Path(temporary, "venvs")
        wheels.mkdir()
        environments = Environments(asked.venvs or venvs, wheels)
        for package in packages:
            if asked.only not in (None, package["name"]):
                continue
            for release in (package["faulty"], package["fixed"]):
                found = explore(package, release, environments, asked.budget)
                lines.append(f"| {' | '.join(found.cells)} |")
                wrong += not found.is_right
                mark = "" if found.is_right else "  <- NOT AS EXPECTED"
                print(lines[-1] + mark, flush=True)
                if asked.venvs is None:
                    made = environments.path(package, release)
                    shutil.rmtree(made, ignore_errors=True)
    if asked.markdown is not None:
        asked.markdown.write_text("\n".join(lines) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
