"""What happens inside an actor's process: it is prepared, runs, and reports.

`prepare` runs in the template, `run` in the actors that are forked from it. Up to
`Filter.install` nothing stops; from there on every call does, so what comes after it is
kept small.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import sys

# As it is now: what a subject makes of it is not to unwind into the worker.
from os import _exit
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from racecheck.engine import measuring
from racecheck.model import Ending, Frame, Program, legible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MARKER: Final = 0x7ACE7ACE
"""A descriptor that no process can have: writing to it is a message to the tracer.

The tracer reads the message from memory and skips the call, so that nothing in the
process can get in its way, and a subject may close what it likes.
"""

IDLE: Final = MARKER + 1
"""Another such descriptor: writing to it gives the seed of the next execution.

An actor that is to be reused waits in this call where it would end otherwise. If it has
nothing to do between its last operation and its end, the report of that is what it
writes; it may be told with EAGAIN that it has to come back with nothing.
"""

BEGIN: Final = MARKER + 2
"""Another: writing to it gives an actor its first orders; see `orders`."""

COVERED: Final = MARKER + 3
"""Another: writing to it tells which lines were run, where that is measured."""

MESSAGES: Final = frozenset({MARKER, IDLE, BEGIN, COVERED})
"""All of them."""

_LARGEST_VALUE: Final = 1 << 20
_LONGEST_LINE: Final = 300
_PADDING: Final = 64
_FREED: Final = 100
_kept: list[object] = []
_place: list[str] = [""]


class Report(msgspec.Struct, frozen=True):
    """How one operation ended, as the actor tells the tracer.

    Attributes:
        ending: `returned` or `raised`.
        succeeded: Whether that is success.
        expected: Whether the exception is declared behaviour.
        value: The value where it is plain data.
        shown: The value as `repr`, or the exception as a line.
        exception: Qualified name of the exception's class, or empty.
        frames: Where the exception was raised, innermost last.
    """

    ending: Ending
    succeeded: bool
    expected: bool = False
    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    shown: str = ""
    exception: str = ""
    frames: tuple[Frame, ...] = ()


_encoder = msgspec.msgpack.Encoder()
_NOTHING: Final = _encoder.encode(
    Report(Ending.RETURNED, succeeded=True, value=msgspec.Raw(b"\xc0"), shown="None")
)
"""The report of most operations, made once: a fresh process is slow to make one."""


def prepare(
    *, index: int, folder: str, streams: tuple[int, int], keep: Sequence[int] = ()
) -> None:
    """Make the process one that owes nothing to the worker it was forked from.

    Args:
        index: Position of the actor among the actors, from 1.
        folder: Folder to start in.
        streams: Descriptors of standard input, and of standard output and error.
        keep: Descriptors that stay open all the same.
    """
    for number, stream in enumerate((streams[0], streams[1], streams[1])):
        os.dup2(stream, number)
    # Nothing else is inherited, above all not the lock on the run's folder.
    start = 3
    for number in sorted(keep):
        os.closerange(start, number)
        start = number + 1
    os.closerange(start, _open_limit())
    _forget_children()
    os.chdir(folder)
    _place[0] = f"{folder}/"
    os.umask(0o022)
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Real processes differ in the addresses of their objects and in the state of
    # `random`. Actors forked from one worker would not, and temp names made of them
    # would collide where those of real processes do not: a race that is not there.
    for size in range(1, 512, 16):
        _kept.extend(bytes(size) for _ in range(_PADDING * index))
    # Bytes are never as small as these, of some of which Python keeps freed ones.
    more = range(_FREED + _PADDING * index)
    _kept.extend((object(), number + 0.5, [], {}) for number in more)


def _forget_children() -> None:
    """Let `multiprocessing` know that what the worker has started is not this one's."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util._finalizer_registry.clear()  # noqa: SLF001  as in a process that it forks
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process._children.clear()  # noqa: SLF001  as above
    tracker = sys.modules.get("multiprocessing.resource_tracker")
    if tracker is not None:
        # The descriptor by which it is reached has been closed.
        tracker._resource_tracker.__init__()  # noqa: SLF001  as if it never ran


def orders(seed: int, *, reused: bool) -> int:
    """Return what an actor is told as it begins.

    Args:
        seed: Seed of the execution.
        reused: Whether it waits for the next execution at its end.
    """
    return seed << 1 | reused


def reseed(program: Program, seed: int) -> None:
    """Give an actor the random numbers of an execution."""
    random.seed(f"{seed}/{program.name}")
    if program.reseed is not None:
        program.reseed(seed)


def _open_limit() -> int:
    # One more than the highest descriptor in use, which is far below the limit.
    return max(int(entry) for entry in os.listdir("/proc/self/fd")) + 1


def run(program: Program) -> NoReturn:
    """Run a program to its end, reporting each operation; over and over if reused."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        told = os.write(BEGIN, b"")
        reused = bool(told & 1)
        reseed(program, told >> 1)
        if program.argv:
            execute(program.argv)
        assert program.function is not None  # noqa: S101  a program is one or the other
        while True:
            seed = None
            for left in range(program.repeat, 0, -1):
                seed = _operate(program, program.function, idle=reused and left == 1)
            if seed is None:
                if wait_for_others():
                    # Python does that once, and what it does is not undone.
                    reused = False
                flush()
                _tell_coverage()
                if not reused:
                    break
                seed = os.write(IDLE, b"")
            reseed(program, seed)
    except BaseException as error:  # noqa: BLE001  nothing may unwind into the worker
        with contextlib.suppress(BaseException):
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            flush()
            _tell_coverage()
        _exit(1)
    _exit(0)


def _tell_coverage() -> None:
    if covered := measuring.tell():
        os.write(COVERED, covered)


def wait_for_others() -> bool:
    """Do what Python does at the end of a program: wait for threads and children.

    Threads that are daemons end with the process, as they do there.

    Returns:
        Whether there was anything to do.
    """
    waited = False
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        threading._shutdown()  # noqa: SLF001  what the interpreter calls
        waited = True
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util and process and (util._finalizer_registry or process.active_children()):  # noqa: SLF001  to do nothing where there is nothing to do
        util._exit_function()  # noqa: SLF001  what is registered with `atexit`
        waited = True
    tracker = sys.modules.get("multiprocessing.resource_tracker")
    if tracker is not None and tracker._resource_tracker._fd is not None:  # noqa: SLF001  as above
        tracker._resource_tracker._stop()  # noqa: SLF001  else it ends a moment later
        waited = True
    return waited


def execute(argv: tuple[str, ...]) -> None:
    """Become another program; end with status 127 if there is none."""
    # Python ignores it, and programs take it for granted that nobody does.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606  running it is the point
    except OSError as error:
        sys.stderr.write(f"cannot execute {argv[0]}: {error.strerror}\n")
        flush()
        _exit(127)


def _operate(
    program: Program, function: Callable[..., object], *, idle: bool
) -> int | None:
    """Make one operation and report it.

    Args:
        program: What the actor runs.
        function: Its function.
        idle: Whether to wait for the next execution after that.

    Returns:
        The seed of the next execution, if it has come to that already.
    """
    try:
        value = function(**program.arguments)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  it is an outcome, whatever it is
        _send(raised(error, program))
    else:
        if value is not None or program.succeeds is not None:
            _send(returned(value, program))
            return None
        flush()
        # A value, or an exception, could do something when it is given up.
        if idle and _is_alone():
            try:
                return os.write(IDLE, _NOTHING)
            except BlockingIOError:
                return None
        os.write(MARKER, _NOTHING)
    return None


def _is_alone() -> bool:
    """Say whether there is nothing to do or to wait for at the end of the program."""
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        return False
    # What may have children, or things to do at the end, has loaded this.
    return "multiprocessing.util" not in sys.modules and not measuring.is_on()


def outcome(
    program: Program, *, passing: tuple[type[BaseException], ...] = (SystemExit,)
) -> Report:
    """Call the subject once and report how that ended, for engines that do not trace.

    Args:
        program: What the actor runs, a function.
        passing: Exceptions that are no outcome and are left alone.
    """
    assert program.function is not None  # noqa: S101  commands report nothing
    try:
        value = program.function(**program.arguments)
    except passing:
        raise
    except BaseException as error:  # noqa: BLE001  it is an outcome, whatever it is
        return raised(error, program)
    return returned(value, program)


def returned(value: object, program: Program) -> Report:
    """Report an operation that returned."""
    succeeded = program.succeeds is None or bool(program.succeeds(value))
    return Report(Ending.RETURNED, succeeded, value=_plain(value), shown=_show(value))


def raised(error: BaseException, program: Program) -> Report:
    """Report an operation that raised."""
    kind = type(error)
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != __file__:
            frames.append(
                Frame(legible(code.co_filename), trace.tb_lineno, code.co_qualname)
            )
        trace = trace.tb_next
    return Report(
        Ending.RAISED,
        succeeded=False,
        expected=isinstance(error, program.raises),
        shown=_line(f"{kind.__name__}: {_text(error)}".removesuffix(": ")),
        exception=f"{kind.__module__}.{kind.__qualname__}",
        frames=tuple(frames),
    )


def _plain(value: object) -> msgspec.Raw:
    try:
        data = _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return msgspec.Raw(b"\xc0")
    return msgspec.Raw(data if len(data) <= _LARGEST_VALUE else b"\xc0")


def _show(value: object) -> str:
    try:
        return _line(repr(value))
    except Exception as error:  # noqa: BLE001  a subject's repr may do anything
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as failed:  # noqa: BLE001  a subject's str may do anything
        return f"<str raised {type(failed).__name__}>"


def _line(text: str) -> str:
    # Absolute paths would make equal executions differ from one run to the next.
    text = legible(" ".join(text.split())).replace(_place[0], "")
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…"


def _send(report: Report) -> None:
    flush()
    os.write(MARKER, _encoder.encode(report))


def flush() -> None:
    """Write out what the subject has printed."""
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105  a process that was just forked is slow to make objects
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
