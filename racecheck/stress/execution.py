"""One execution under stress: real processes, let loose together, and looked at.

`StressExecution.run` is the only entry point. It starts the actors, opens the gate, and
then waits for what they report, for their ends, and for the moments at which it looks
at the box, holds a process up or kills one. Whenever an invariant looks at a file, all
processes are stopped first, so that it sees a state that really was: the files as they
are between two calls of everybody.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from racecheck.engine.asked_to_end import AskedToEnd
from racecheck.engine.folder_view import FolderView
from racecheck.engine.record import Record
from racecheck.errors import EngineError
from racecheck.model import Decision, Fault, FaultKind, Kind
from racecheck.stress.child import GO, HEAD, LOST, READY, Told, be_actor, shuffled
from racecheck.stress.crowd import Crowd, kill_tree
from racecheck.stress.still_view import StillView

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from racecheck.engine.sandbox import Sandbox
    from racecheck.engine.template import Streams
    from racecheck.invariants import Judge
    from racecheck.model import FaultBound, Program, Step, Value
    from racecheck.stress.delays import Pace

WATCHER: Final = "racecheck"
"""Lane of the steps that are no actor's: the looks at which something was wrong."""

_READY_WITHIN_S: Final = 60.0
_LOOK_EVERY_S: Final = 0.004
_HOLD_EVERY_S: Final = 0.02
_HELD_FOR_S: Final = 0.003
_SHARE_OF_LOOKS: Final = 0.25
_MICRO: Final = 1_000_000
_NEVER: Final = float("inf")
_decoder = msgspec.msgpack.Decoder(Told)


@dataclass(slots=True, eq=False)
class _Actor:
    """One actor's process, as its worker knows it."""

    program: Program
    pid: int
    pidfd: int
    channel: socket.socket
    data: bytearray = field(default_factory=bytearray)
    ready: bool = False
    begun: bool = False
    crashed: bool = False
    dead: bool = False
    began: float = 0.0
    spans: list[tuple[float, float]] = field(default_factory=list)


class StressExecution:
    """One execution of a scenario's programs; used once.

    Attributes:
        record: Its history.
        decisions: Who took each step, with the fault there.
        notes: What makes it worth nothing as a pass, each once.
        overlapped: Whether operations of two actors ran at the same time.
        crashes: How many actors were killed.
        seconds: From the opening of the gate to the last end.
        pids: Process ids, by actor.
        seed: Seed of all that is left to chance here.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        programs: Sequence[Program],
        streams: Sequence[Streams],
        *,
        seed: int,
        pace: Pace,
        bounds: Sequence[FaultBound] = (),
        lasts_s: float = 0.05,
        max_cpu_s: float = 10.0,
        patience_s: float = 60.0,
        ending: AskedToEnd | None = None,
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            ending: Says whether the process was asked to end.
            sandbox: Where the actors work.
            programs: What they run.
            streams: Their standard streams.
            seed: Seed of all that is left to chance here.
            pace: How actors are delayed.
            bounds: How many crashes there may be, and whose.
            lasts_s: How long an execution takes, for when to kill.
            max_cpu_s: Processor time that an operation may take.
            patience_s: Real time in which somebody has to get on.
        """
        self.record = Record(programs, self._open_files)
        self.decisions: list[Decision] = []
        self.notes: list[str] = []
        self.overlapped = False
        self.crashes = 0
        self.seconds = 0.0
        self.pids: dict[str, int] = {}
        self._sandbox = sandbox
        self._programs = tuple(programs)
        self._streams = streams
        self.seed = seed
        self._pace = pace
        self._max_cpu_s = max_cpu_s
        self._patience_s = patience_s
        self._random = shuffled(seed)
        self._crowd = Crowd()
        self._view = StillView(FolderView(str(sandbox.box)), self._crowd.stop)
        self._actors: list[_Actor] = []
        self._selector = selectors.DefaultSelector()
        self._ending = ending or AskedToEnd()
        self._kills = self._plan_kills(bounds, lasts_s)
        self._started = 0.0
        self._stuck = ""
        self._pause_s = _LOOK_EVERY_S

    def run(self, judge: Judge) -> None:
        """Run all actors to their ends.

        Raises:
            EngineError: An actor could not be started, or not be stopped.
            SystemExit: The process was asked to end meanwhile.
            OSError: The system refuses to fork.
        """
        self._sandbox.restore()
        self._ending.busy = True
        judge.start(self._view)
        self._gate, closing = os.pipe()
        try:
            for index, program in enumerate(self._programs):
                self._fork(index, program, closing)
            self._await_ready()
            self._started = time.monotonic()
            for actor in self._actors:
                if actor.program.after is None:
                    self._begin(actor)
            os.close(closing)
            closing = -1
            self._watch(judge)
            self.seconds = time.monotonic() - self._started
        finally:
            self._finish(closing)
        self.overlapped = self.overlapped or _overlap(self._actors)
        with self._still():
            judge.on_end(self._view, self.record)
        self._ending.busy = False
        if self._ending.asked:
            self._ending.end()

    # --- starting ---------------------------------------------------------------------

    def _fork(self, index: int, program: Program, closing: int) -> None:
        ours, theirs = socket.socketpair()
        self._streams[index].renew()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(closing)
                be_actor(
                    program,
                    index=index + 1,
                    folder=str(self._sandbox.box),
                    streams=(self._streams[index].input, self._streams[index].output),
                    channel=theirs,
                    gate=self._gate if program.after is None else -1,
                    seed=self.seed,
                    pace=self._pace,
                    max_cpu_s=self._max_cpu_s * program.repeat,
                )
            finally:
                os._exit(LOST)
        theirs.close()
        ours.settimeout(0)
        actor = _Actor(program, pid, os.pidfd_open(pid), ours)
        self._actors.append(actor)
        self.pids[program.name] = pid
        self._selector.register(ours, selectors.EVENT_READ, actor)
        self._selector.register(actor.pidfd, selectors.EVENT_READ, actor)

    def _await_ready(self) -> None:
        until = time.monotonic() + _READY_WITHIN_S
        while not all(actor.ready for actor in self._actors):
            if self._ending.asked:
                self._ending.end()
            if time.monotonic() > until:
                raise EngineError("an actor was not ready to begin in time")
            for key, _ in self._selector.select(1.0):
                if key.fd == key.data.pidfd:
                    raise EngineError(f"{key.data.program.name} died before it began")
                key.data.ready = key.data.channel.recv(1) == READY

    def _begin(self, actor: _Actor) -> None:
        actor.begun = True
        actor.began = time.monotonic()
        self.record.begin(actor.program.name)
        self._step(actor, "start", Kind.START)
        if actor.program.after is not None:
            with contextlib.suppress(OSError):
                actor.channel.send(GO)

    # --- watching ---------------------------------------------------------------------

    def _watch(self, judge: Judge) -> None:
        """Wait for what happens, and make something happen now and then."""
        now = time.monotonic()
        moved = now
        look = now + self._soon(self._pause_s)
        hold = now + self._soon(_HOLD_EVERY_S) if self._pace.share else _NEVER
        held: tuple[float, int] = (_NEVER, 0)
        while any(actor.begun and not actor.dead for actor in self._actors):
            if self._ending.asked:
                self._ending.end()
            now = time.monotonic()
            kill = self._started + self._kills[0][0] if self._kills else _NEVER
            due = min(look, hold, held[0], kill, moved + self._patience_s)
            events = self._selector.select(max(0.0, due - now))
            # Reports first: who has reported and died has done both.
            for key, _ in sorted(
                events, key=lambda each: each[0].fd != each[0].fileobj
            ):
                moved = time.monotonic()
                self._hear(key.data, judge)
            for key, _ in events:
                if key.fd == key.data.pidfd and not key.data.dead:
                    self._bury(key.data, judge)
            now = time.monotonic()
            if now >= kill:
                self._kill(self._kills.pop(0)[1])
            if now >= held[0]:
                self._crowd.release(held[1])
                held = (_NEVER, 0)
                hold = now + self._soon(_HOLD_EVERY_S)
            elif now >= hold:
                hold = _NEVER
                pids = [each.pid for each in self._actors if each.begun]
                held = (now + self._soon(_HELD_FOR_S), self._random.choice(pids))
                self._crowd.hold(held[1])
            if now >= look:
                self._look(judge)
                look = time.monotonic() + self._soon(self._pause_s)
            if now >= moved + self._patience_s:
                self._give_up()

    def _soon(self, mean_s: float) -> float:
        return self._random.expovariate(1 / mean_s)

    def _look(self, judge: Judge) -> None:
        """Judge the box as it is at this moment."""
        began = time.monotonic()
        step = self.record.step(WATCHER, "look", Kind.OTHER, self._args())
        broken = len(judge.violations)
        with self._still():
            judge.on_step(self._view, self.record, step)
        if len(judge.violations) == broken:
            # Of the many looks only those tell something at which something was wrong.
            self.record.forget_last()
        else:
            self.decisions.append(Decision(WATCHER))
        # However large the files: most of the time is for the actors.
        took = time.monotonic() - began
        self._pause_s = max(_LOOK_EVERY_S, took / _SHARE_OF_LOOKS)

    def _hear(self, actor: _Actor, judge: Judge) -> None:
        """Take in what an actor has reported, if it has."""
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            while data := actor.channel.recv(1 << 16):
                actor.data += data
        while len(actor.data) >= HEAD:
            size = HEAD + int.from_bytes(actor.data[:HEAD], "big")
            if len(actor.data) < size:
                return
            told = _decoder.decode(bytes(actor.data[HEAD:size]))
            del actor.data[:size]
            self._returned(actor, told, judge)

    def _returned(self, actor: _Actor, told: Told, judge: Judge) -> None:
        actor.spans.append((told.began, told.ended))
        args = self._args()
        args["took us"] = int((told.ended - told.began) * _MICRO)
        step = self._step(actor, "return", Kind.RETURN, args)
        # The operation returns at the moment of this look: its last call is done, and
        # the actor does nothing until it is told to go on.
        with self._still():
            judge.on_step(self._view, self.record, step)
            operation = self.record.returned(actor.program, told.report)
            judge.on_return(self._view, self.record, operation)
        if operation.succeeded:
            self._start_awaiting()
        with contextlib.suppress(OSError):
            actor.channel.send(GO)

    def _bury(self, actor: _Actor, judge: Judge) -> None:
        """Take note of the end of an actor."""
        self._hear(actor, judge)
        _, status = os.waitpid(actor.pid, 0)
        actor.dead = True
        if actor.program.argv:
            actor.spans.append((actor.began, time.monotonic()))
        self._selector.unregister(actor.channel)
        self._selector.unregister(actor.pidfd)
        actor.channel.close()
        os.close(actor.pidfd)
        code = os.waitstatus_to_exitcode(status)
        name = actor.program.name
        args = {**self._args(), "status": code}
        if actor.crashed:
            step = self._step(
                actor, "crash", Kind.CRASH, args, fault=Fault(FaultKind.CRASH)
            )
        else:
            step = self._step(actor, "exit_group", Kind.EXIT, args)
        stuck = self._stuck
        if code == -signal.SIGXCPU:
            stuck = f"computed for more than {self._max_cpu_s:g} s"
        elif code == -signal.SIGKILL and not (actor.crashed or stuck):
            self._note(f"{name} was killed, and not by racecheck")
        elif code == LOST and self.record.made(name) < actor.program.repeat:
            self._note(f"{name} could not report how it went")
        with self._still():
            operation = self.record.ended(
                actor.program, code, crashed=actor.crashed, stuck=stuck
            )
            judge.on_step(self._view, self.record, step)
            if operation is not None:
                judge.on_return(self._view, self.record, operation)
        if operation is not None and operation.succeeded:
            self._start_awaiting()

    def _start_awaiting(self) -> None:
        for actor in self._actors:
            after = actor.program.after
            waits = after is not None and not (actor.begun or actor.dead)
            if waits and self.record.has_succeeded(after or ""):
                self._begin(actor)

    # --- faults -----------------------------------------------------------------------

    def _plan_kills(
        self, bounds: Sequence[FaultBound], lasts_s: float
    ) -> list[tuple[float, str]]:
        """Draw who is killed when, in order; some executions go without."""
        planned = []
        for bound in bounds:
            whose = [
                program.name
                for program in self._programs
                if bound.actor in ("", program.name)
            ]
            for _ in range(self._random.randint(0, min(bound.most, len(whose)))):
                name = whose.pop(self._random.randrange(len(whose)))
                planned.append((self._random.uniform(0, lasts_s), name))
        return sorted(planned)

    def _kill(self, name: str) -> None:
        for actor in self._actors:
            if actor.program.name == name and actor.begun and not actor.dead:
                actor.crashed = True
                self.crashes += 1
                kill_tree(actor.pid)

    def _give_up(self) -> None:
        """Kill all, since nobody gets on; real time cannot tell slow from stuck."""
        waiting = [
            each.program.name for each in self._actors if each.begun and not each.dead
        ]
        self._stuck = f"nothing ended for {self._patience_s:g} s"
        self._note(f"stuck: {self._stuck}, with {', '.join(waiting)} still running")
        for actor in self._actors:
            if not actor.dead:
                kill_tree(actor.pid)

    # --- ending -----------------------------------------------------------------------

    def _finish(self, closing: int) -> None:
        """End and reap every process, whatever has happened."""
        if closing >= 0:
            os.close(closing)
        os.close(self._gate)
        for actor in self._actors:
            if not actor.dead and not actor.begun:
                # It was never let go.
                kill_tree(actor.pid)
        mine = [actor.pid for actor in self._actors if not actor.dead]
        for pid in self._crowd.end(mine):
            self._note(f"a process was left running ({pid})")
        for actor in self._actors:
            if not actor.dead:
                os.waitpid(actor.pid, 0)
                actor.channel.close()
                os.close(actor.pidfd)
        self._selector.close()

    # --- small things -----------------------------------------------------------------

    @contextlib.contextmanager
    def _still(self) -> Iterator[None]:
        """Let all go on in the end, should somebody have made them stand still."""
        try:
            yield
        finally:
            self._crowd.go_on()

    def _args(self) -> dict[str, Value]:
        return {"at us": int((time.monotonic() - self._started) * _MICRO)}

    def _step(
        self,
        actor: _Actor,
        call: str,
        kind: Kind,
        args: dict[str, Value] | None = None,
        fault: Fault | None = None,
    ) -> Step:
        name = actor.program.name
        self.decisions.append(Decision(name, fault))
        return self.record.step(name, call, kind, args or self._args(), fault=fault)

    def _open_files(self, name: str) -> list[str]:
        """Return what an actor has open in the box, which it does not go on with."""
        box = f"{self._sandbox.box}/"
        folder = f"/proc/{self.pids[name]}/fd"
        found = []
        for descriptor in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                path = os.readlink(f"{folder}/{descriptor}")
                if path.startswith(box):
                    found.append(path.removeprefix(box))
        return sorted(found)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _overlap(actors: Sequence[_Actor]) -> bool:
    """Say whether operations of two actors ran at the same time."""
    spans = sorted(
        (*span, actor.program.name) for actor in actors for span in actor.spans
    )
    latest: dict[str, float] = {}
    for began, ended, name in spans:
        if any(end > began for other, end in latest.items() if other != name):
            return True
        latest[name] = max(ended, latest.get(name, 0.0))
    return False
