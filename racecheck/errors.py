"""Every error that racecheck raises, each with the exit code it gives the command."""

from __future__ import annotations

from typing import ClassVar, Final


class EndRequestError(BaseException):
    """The process was asked to end.

    No `Exception`, as `KeyboardInterrupt` is none, so that nobody takes it for a
    failure of what was under way.
    """


class WorkerEndError(EndRequestError, SystemExit):
    """A worker was asked to end, which it does with this status."""


PASSING: Final = (KeyboardInterrupt, EndRequestError)
"""What is no failure of the code that it comes out of, whoever has written that."""


class RacecheckError(Exception):
    """Anything racecheck gives up on, told in one line.

    Attributes:
        exit_code: Exit status of the command line when this error ends it.
    """

    exit_code: ClassVar[int] = 3


class UsageError(RacecheckError):
    """The caller asked for something that does not exist or makes no sense."""

    exit_code = 2


class ScenarioError(UsageError):
    """A scenario cannot be loaded or is not well formed.

    The usual causes are a file that raises when it is imported, a misspelt name, and
    a parameter that nothing provides.
    """


class TokenError(UsageError):
    """A token is damaged, of another version, or of another scenario.

    The usual causes are a token that lost characters when it was copied, and a
    scenario whose actors or operations changed since the token was printed.
    """


class TraceFileError(UsageError):
    """A trace file cannot be read."""


class CannotRunError(RacecheckError):
    """This machine does not let racecheck control processes.

    The usual causes are a container profile that refuses ptrace or seccomp, a Yama
    scope of 2 or 3, a tracer that is there already (strace, gdb), and a system that
    is not Linux.
    """

    exit_code = 4


class ReplayDivergedError(RacecheckError):
    """The subject did not follow the recorded schedule.

    The usual cause is nondeterminism that racecheck does not control: a clock, a
    random source, or a process outside the scenario that touches the same files.

    Attributes:
        index: Step at which the execution left the recording.
        expected: What was recorded there.
        found: What came instead.
    """

    def __init__(self, index: int, expected: str, found: str) -> None:
        self.index = index
        self.expected = expected
        self.found = found
        super().__init__(f"step {index}: recorded {expected}, but found {found}")


class NoVerdictError(RacecheckError):
    """An exploration neither passed nor found a race, so that nothing is known.

    The usual causes are a subject that does something which racecheck does not control
    or that differs from run to run, actors that never meet, and an invariant that
    raises.
    """


class ExpectedRaceError(RacecheckError):
    """A scenario that is expected to break an invariant does not.

    The usual causes are a repaired subject whose scenario still expects the race, and a
    budget that is too small to find it.
    """

    exit_code = 1


class EngineError(RacecheckError):
    """The engine or its worker failed in a way that says nothing of the subject."""
