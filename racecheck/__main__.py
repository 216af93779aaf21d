"""The command `racecheck`, as a script and as `python -m racecheck`."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """Run the command; who interrupts it while it is still loading sees no trace."""
    try:
        from racecheck.cli import main  # noqa: PLC0415  what takes its time
        from racecheck.cli.standard_error import go_on_without  # noqa: PLC0415  as said
    except KeyboardInterrupt:
        sys.stderr.write("racecheck: interrupted\n")
        os._exit(130)
    go_on_without()
    main(prog_name="racecheck")


if __name__ == "__main__":
    run()
