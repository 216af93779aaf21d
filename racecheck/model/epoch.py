"""When executions begin, by the virtual clock."""

from typing import Final

EPOCH: Final = 1_700_000_000
"""Seconds since 1970 at the start of each execution, and the time of all files then.

Files that `setup` has made older keep their times.
"""
