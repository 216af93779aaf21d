"""Coverage of what actors run, where the caller measures its own.

An actor cannot write a file of its own, since that would be a step, or refused. So it
measures in memory and tells what it has run in a message; the worker puts all together
and writes the file. An actor that is killed tells nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coverage import Coverage, CoverageData

_measured: list[Coverage] = []
_told: list[CoverageData] = []


def begin(config: str) -> None:
    """Measure this process and all its forks from here on.

    Args:
        config: File or data that `Coverage` takes; empty to do nothing.
    """
    if not config:
        return
    import coverage  # noqa: PLC0415  only then it has to be there

    measured = coverage.Coverage(data_file=None, config_file=config)
    # These would have actors write files, and what they start measure itself.
    measured.set_option("run:patch", [])
    measured.start()
    _measured.append(measured)


def is_on() -> bool:
    """Say whether this process is measured."""
    return bool(_measured)


def tell() -> bytes:
    """Return what has been run so far, or nothing if nobody asks."""
    if not _measured:
        return b""
    (measured,) = _measured
    measured.stop()
    data = measured.get_data().dumps()
    # What is told again does no harm; to forget it, a folder would be looked for.
    measured.start()
    return bytes(data)


def take(data: bytes) -> None:
    """Take in what an actor has told."""
    from coverage import CoverageData  # noqa: PLC0415  as above

    told = CoverageData(no_disk=True)
    told.loads(data)
    if not _told:
        _told.append(CoverageData(no_disk=True))
    _told[0].update(told)


def finish() -> None:
    """Write down what was told, and what this process has run itself."""
    if not _measured:
        return
    from coverage import CoverageData  # noqa: PLC0415  as above

    (measured,) = _measured
    measured.stop()
    # `combine` finds files that are called like this one with something behind it.
    written = CoverageData(str(measured.get_option("run:data_file")), suffix=True)
    for data in (measured.get_data(), *_told):
        written.update(data)
    written.write()
    _measured.clear()
    _told.clear()
