"""Starting an actor: forked, traced, and let go."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from racecheck.engine import actor as inside
from racecheck.engine.task import Actor
from racecheck.kernel import ptrace

if TYPE_CHECKING:
    from racecheck.engine.clock import Clock
    from racecheck.engine.machine import Machine
    from racecheck.model import Program


def spawn(
    machine: Machine, program: Program, clock: Clock, *, index: int, seed: int
) -> Actor:
    """Fork an actor, trace it and let it go.

    The child waits until it is traced, and ends by itself if the tracer dies first, so
    that no actor is ever left alone. It runs freely until its first trapped call.
    """
    sandbox = machine.sandbox
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(write)
            if os.read(read, 1) != b"g":
                os._exit(0)
            inside.prepare(
                index=index,
                name=program.name,
                seed=seed,
                folder=str(sandbox.box),
                output=f"{sandbox.outputs}/{program.name}",
            )
            if program.reseed is not None:
                program.reseed(seed)
            machine.filter.install()
            inside.run(program)
        finally:
            # Whatever happened, the child must not go on as a second worker.
            os._exit(70)
    os.close(read)
    actor = Actor(program, pid, seed)
    try:
        ptrace.seize(pid)
        process = actor.process
        process.vdso = machine.vdso
        if process.vdso is not None:
            # Before it runs: what it reads of the clock first is what it starts from.
            process.vdso.patch(process.memory)
            clock.show(process.vdso, process.memory, program)
            process.clock = clock.version
        os.write(write, b"g")
    finally:
        os.close(write)
    return actor
