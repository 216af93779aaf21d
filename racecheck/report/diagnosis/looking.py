"""When an actor last looked at a name that it then relied on."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from racecheck.report.diagnosis.case import entries, looks, path_of, sees

if TYPE_CHECKING:
    from racecheck.model import Step
    from racecheck.report.diagnosis.case import Case, Name


def last_look(
    case: Case, act: Step, name: Name, which: str | None = None
) -> Step | None:
    """Return the last step before one in which its actor looked at a name.

    Args:
        case: The execution.
        act: The one before which it was.
        name: The name.
        which: The argument of `act` that leads to the name, where a look that came
            only to a missing folder on that path counts as well.
    """
    for step in reversed(case.before(act)):
        if (
            step.actor == act.actor
            and step.operation == act.operation
            and looks(step)
            and (
                sees(step, name)
                or (which is not None and _missed_above(step, act, which))
            )
        ):
            return step
    return None


def _missed_above(look: Step, act: Step, which: str) -> bool:
    """Say whether a look at what another step names found no folder to look in.

    Such a look never came to the name itself: what it read last is the name of a
    folder above, which is there by the time of the other step.
    """
    if look.result != -errno.ENOENT:
        return False
    wanted = path_of(look).rstrip("/").split("/")
    used = path_of(act, which).rstrip("/").split("/")
    for below in range(1, len(wanted) + 1):
        last = [name for name in entries(look) if name.text == wanted[-below]]
        if last:
            same = wanted[-below:] == used[-below:]
            return below > 1 and same and bool(set(last) & entries(act))
    return False
