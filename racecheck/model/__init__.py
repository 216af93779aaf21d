"""Frozen data and protocols that all the other packages share."""

from racecheck.model.detail import Content, Detail, Held, Moment, Node
from racecheck.model.footprint import EMPTY, Footprint, Resource, Write
from racecheck.model.history import ActorEnd, Ending, Frame, Operation
from racecheck.model.invariant import Invariant
from racecheck.model.kind import MUTATING, TORN, Kind
from racecheck.model.program import Invocation, Program
from racecheck.model.result import (
    Counts,
    Finding,
    Progress,
    Race,
    ScenarioResult,
    Share,
)
from racecheck.model.schedule import (
    Decision,
    Fault,
    FaultBound,
    FaultKind,
    PlannedFault,
    Schedule,
    SchedulingPoint,
    context_switches,
    from_lane,
    lane_of,
)
from racecheck.model.scheduler import Scheduler
from racecheck.model.simulation import Simulation
from racecheck.model.step import Buffer, Step, Value, legible, show, show_result
from racecheck.model.trace import ActorInfo, Trace
from racecheck.model.verdict import Coverage, Verdict, Violation
from racecheck.model.view import History, Place, View

__all__ = [
    "EMPTY",
    "MUTATING",
    "TORN",
    "ActorEnd",
    "ActorInfo",
    "Buffer",
    "Content",
    "Counts",
    "Coverage",
    "Decision",
    "Detail",
    "Ending",
    "Fault",
    "FaultBound",
    "FaultKind",
    "Finding",
    "Footprint",
    "Frame",
    "Held",
    "History",
    "Invariant",
    "Invocation",
    "Kind",
    "Moment",
    "Node",
    "Operation",
    "Place",
    "PlannedFault",
    "Program",
    "Progress",
    "Race",
    "Resource",
    "ScenarioResult",
    "Schedule",
    "Scheduler",
    "SchedulingPoint",
    "Share",
    "Simulation",
    "Step",
    "Trace",
    "Value",
    "Verdict",
    "View",
    "Violation",
    "Write",
    "context_switches",
    "from_lane",
    "lane_of",
    "legible",
    "show",
    "show_result",
]
