"""What a step depends on and changes: path walks, inode names, resources, conflicts.

`look` before a step and `footprint` after it give what it read and changed; `conflicts`
says whether two steps of different actors can be taken in either order.
"""

from racecheck.footprint.before import Before, Scene, look
from racecheck.footprint.conflict import conflicts, dependence
from racecheck.footprint.draft import merge
from racecheck.footprint.names import Names
from racecheck.footprint.objects import OpenFile
from racecheck.footprint.places import path_in_box
from racecheck.footprint.resolver import Resolver
from racecheck.footprint.rules import Stamps, ending, footprint
from racecheck.footprint.walk import Bounds, Walk

__all__ = [
    "Before",
    "Bounds",
    "Names",
    "OpenFile",
    "Resolver",
    "Scene",
    "Stamps",
    "Walk",
    "conflicts",
    "dependence",
    "ending",
    "footprint",
    "look",
    "merge",
    "path_in_box",
]
