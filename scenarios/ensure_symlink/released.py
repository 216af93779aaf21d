"""The function of the report itself, as it was released: first faulty, then locked.

A run of the folder leaves this file out, since it needs 18 MB from PyPI the first time:

    racecheck run scenarios/ensure_symlink/released.py
"""

from scenarios.ensure_symlink.parts import (
    LOST,
    LOST_AND_MISSING,
    callers,
    leave_folder,
    leave_nothing,
    leave_stale_link,
)
from scenarios.ensure_symlink.wheels import Wheel

MODULE = "flashinfer/jit/cubin_loader.py"
FAULTY = Wheel(
    "flashinfer-python==0.6.7.post2",
    "flashinfer_python-0.6.7.post2-py3-none-any.whl",
    "71c435569bb7b2bb59f457a8e2bb8bc7bf0ca94535c1b3ce165bcfb176c18721",
)
LOCKED = Wheel(
    "flashinfer-python==0.6.7.post3",
    "flashinfer_python-0.6.7.post3-py3-none-any.whl",
    "9d3f1aa0313cf9e5cf99f7560b8e003c57876088c8abfe7a3d330cccd4873052",
)
WAYS = {
    "0.6.7.post2": FAULTY.function(MODULE, "ensure_symlink"),
    "0.6.7.post3": LOCKED.function(MODULE, "ensure_symlink"),
}

absent = callers("released_absent", 2, leave_nothing)
absent.over(way=WAYS, expect={"0.6.7.post2": LOST})

stale_link = callers("released_stale_link", 2, leave_stale_link)
stale_link.over(way=WAYS, expect={"0.6.7.post2": LOST_AND_MISSING})

stale_folder = callers("released_stale_folder", 2, leave_folder)
stale_folder.over(way=WAYS, expect={"0.6.7.post2": LOST_AND_MISSING})
