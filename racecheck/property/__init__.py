"""Workloads as Hypothesis strategies: it invents who does what, and shrinks it.

`workloads` is what `given` takes; `racecheck.check` explores the orders of each that is
drawn. This is the only package that imports hypothesis.
"""

from racecheck.property.boxes import boxes
from racecheck.property.groups import Group, actors, evictors, readers, writers
from racecheck.property.parts import fault_plans, operations, payloads
from racecheck.property.workloads import Drawn, workloads

__all__ = [
    "Drawn",
    "Group",
    "actors",
    "boxes",
    "evictors",
    "fault_plans",
    "operations",
    "payloads",
    "readers",
    "workloads",
    "writers",
]
