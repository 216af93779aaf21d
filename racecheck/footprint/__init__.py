"""What a step depends on and changes: path walks, inode names, resources, conflicts."""

from racecheck.footprint.names import Names
from racecheck.footprint.walk import Resolver, Walk

__all__ = ["Names", "Resolver", "Walk"]
