"""Processes see the time that their tracer sets, whoever they are and however they ask.

Most of it runs in a process of its own, since a process whose clocks have been replaced
is no good for running tests.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
import traceback
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from racecheck.kernel import ptrace, vdso
from racecheck.kernel.memory import Memory
from racecheck.kernel.numbers import MACHINES, names, numbers
from racecheck.kernel.registers import registers
from racecheck.kernel.seccomp import Filter
from racecheck.kernel.vdso import VDSO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

S = 1_000_000_000
REAL = (0, 5, 8, 11)
MONOTONIC = (1, 4, 6, 7, 9)

needs_vdso = pytest.mark.skipif(
    platform.machine() not in MACHINES, reason="no code for this processor"
)


class Times(NamedTuple):
    """What the clocks of a process are set to."""

    real: int
    monotonic: int


def some_times(count: int) -> list[Times]:
    """Return times from 1970 to 2242, some of them on a second and some just before."""
    draw = random.Random(count)
    fractions = (0, 1, 999, 1000, 999_999_999, draw.randrange(S))
    return [
        Times(
            draw.randrange(1 << 33) * S + draw.choice(fractions),
            draw.randrange(1 << 30) * S + draw.choice(fractions),
        )
        for _ in range(count)
    ]


TIMES = some_times(50)


def in_worker(work: Callable[[VDSO], object]) -> Any:  # noqa: ANN401  what JSON gives
    """Return what `work` returns in a process that has replaced its own clocks."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            memory = Memory(os.getpid())
            found = VDSO.find(os.getpid(), memory)
            if found is not None:
                found.patch(memory)
            result = {"value": found and work(found), "found": found is not None}
        except BaseException:  # noqa: BLE001  the parent raises it
            result = {"error": traceback.format_exc()}
        with contextlib.suppress(BaseException), open(write, "w") as file:
            json.dump(result, file)
        os._exit(0)
    os.close(write)
    with open(read) as file:
        answer = file.read()
    os.waitpid(pid, 0)
    result = json.loads(answer)
    if "error" in result:
        pytest.fail(result["error"])
    if not result["found"]:
        pytest.skip("the vDSO of this system cannot be replaced")
    return result["value"]


EPOCH = datetime.fromtimestamp(0, UTC)
MARK = "getppid"
"""A call that actors make where they want their clocks to be set."""


class Actor:
    """A process that stops at some calls and at an exec, and what it writes."""

    def __init__(self, body: Callable[[int], object], trapped: str = MARK) -> None:
        """Start it.

        Args:
            body: What it does, given a descriptor to write to.
            trapped: Names of the calls that it stops at.
        """
        numbers_ = {numbers()[name] for name in trapped.split()}
        filter_ = Filter(registers().audit_arch, set(names()) - numbers_, {})
        self._read, write = os.pipe()
        start, go = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            with contextlib.suppress(BaseException):
                os.close(go)
                if os.read(start, 1) == b"g":
                    filter_.install()
                    body(write)
            os._exit(1)
        os.close(write)
        os.close(start)
        try:
            ptrace.seize(self.pid)
            os.write(go, b"g")
        finally:
            os.close(go)
        self.memory = Memory(self.pid)

    def next(self) -> int | None:
        """Wait for its next stop; return the event, or None where it has ended."""
        while True:
            _, status = os.waitpid(self.pid, ptrace.WALL)
            if not os.WIFSTOPPED(status):
                self.memory.close()
                return None
            event = status >> 16
            if event == ptrace.EVENT_EXEC:
                self.memory.close()
                self.memory = Memory(self.pid)
            if event:
                return event
            ptrace.resume(self.pid, os.WSTOPSIG(status))

    def run(self, found: VDSO, times: Sequence[Times]) -> str:
        """Set its clocks at each call that it stops at; return what it has written."""
        for now in times:
            assert self.next() == ptrace.EVENT_SECCOMP
            found.set_clock(self.memory, now.real, now.monotonic)
            ptrace.resume(self.pid)
        assert self.next() is None
        return self.written()

    def written(self) -> str:
        """Return all that it has written and will write."""
        with open(self._read) as file:
            return file.read()


def reports(report: Callable[[], object]) -> Callable[[int], None]:
    """Return a body that writes what `report` returns."""

    def body(descriptor: int) -> None:
        data = json.dumps(report()).encode()
        while data:
            data = data[os.write(descriptor, data) :]
        os._exit(0)

    return body


def times_in_python() -> list[Any]:
    os.getppid()
    local = time.localtime()
    return [
        time.time_ns(),
        abs(time.time() - time.time_ns() / 1e9) < 1e-5,  # which is as it is rounded
        str(datetime.now(UTC)),
        time.mktime(local),
        time.monotonic_ns(),
        time.perf_counter_ns(),
        [time.clock_gettime_ns(clock) for clock in REAL],
        [time.clock_gettime_ns(clock) for clock in MONOTONIC],
        time.clock_getres(time.CLOCK_REALTIME),
    ]


def expected_in_python(now: Times) -> list[Any]:
    return [
        now.real,
        True,
        str(EPOCH + timedelta(microseconds=now.real // 1000)),
        now.real // S,
        now.monotonic,
        now.monotonic,
        [now.real] * len(REAL),
        [now.monotonic] * len(MONOTONIC),
        1e-9,
    ]


@needs_vdso
@pytest.mark.processes
def test_a_forked_child_reads_what_its_tracer_has_set() -> None:
    def work(found: VDSO) -> object:
        actor = Actor(reports(lambda: [times_in_python() for _ in TIMES]))
        return json.loads(actor.run(found, TIMES))

    assert in_worker(work) == [expected_in_python(now) for now in TIMES]


class TimeVal(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("fraction", ctypes.c_int64))


def times_in_c() -> list[int]:
    libc = ctypes.CDLL(None)
    libc.time.restype = ctypes.c_int64
    value, zone, seconds = TimeVal(), ctypes.c_int64(-1), ctypes.c_int64()
    os.getppid()
    results = (
        libc.gettimeofday(ctypes.byref(value), ctypes.byref(zone)),
        libc.gettimeofday(None, None),
    )
    return [
        *results,
        value.seconds,
        value.fraction,
        zone.value,
        libc.time(ctypes.byref(seconds)),
        seconds.value,
        libc.time(None),
    ]


@needs_vdso
@pytest.mark.processes
def test_older_ways_to_ask_for_the_time() -> None:
    def work(found: VDSO) -> object:
        actor = Actor(reports(lambda: [times_in_c() for _ in TIMES]))
        return json.loads(actor.run(found, TIMES))

    assert in_worker(work) == [
        [0, 0, now.real // S, now.real % S // 1000, 0, *[now.real // S] * 3]
        for now in TIMES
    ]


@needs_vdso
@pytest.mark.processes
def test_a_process_can_be_made_to_ask_the_kernel_and_to_read_again() -> None:
    now = Times(1000 * S, 2000 * S)

    def report() -> object:
        found = []
        for _ in range(3):
            os.getppid()
            _, _, seconds, _, _, _, _, whole = times_in_c()
            found.append(
                [time.monotonic() == 2000, time.time() == 1000, seconds, whole]
            )
        return found

    def work(found: VDSO) -> object:
        actor = Actor(reports(report))
        before = time.time()
        # The functions of C ask for the id of the parent, too.
        for change in (None, None, found.by_call, None, found.by_table, None):
            assert actor.next() == ptrace.EVENT_SECCOMP
            found.set_clock(actor.memory, now.real, now.monotonic)
            if change is not None:
                change(actor.memory)
            ptrace.resume(actor.pid)
        assert actor.next() is None
        first, asked, last = json.loads(actor.written())
        return [first, asked[:2], all(t >= int(before) for t in asked[2:]), last]

    read = [True, True, 1000, 1000]
    assert in_worker(work) == [read, [False, False], True, read]


@needs_vdso
@pytest.mark.processes
def test_two_actors_have_clocks_of_their_own() -> None:
    first, second = Times(S, 2 * S), Times(3 * S, 4 * S)

    def report() -> object:
        os.getppid()
        before = [time.time_ns(), time.monotonic_ns()]
        os.getppid()
        return [before, [time.time_ns(), time.monotonic_ns()]]

    def work(found: VDSO) -> object:
        actors = [Actor(reports(report)), Actor(reports(report))]
        for now, actor in zip((first, second), actors, strict=True):
            assert actor.next() == ptrace.EVENT_SECCOMP
            found.set_clock(actor.memory, *now)
        for actor in actors:
            ptrace.resume(actor.pid)
            assert actor.next() == ptrace.EVENT_SECCOMP
        # What the other one is told, and the worker itself, makes no difference.
        found.set_clock(Memory(os.getpid()), 5 * S, 6 * S)
        found.set_clock(actors[0].memory, *second)
        for actor in actors:
            ptrace.resume(actor.pid)
            assert actor.next() is None
        return [time.time_ns(), *(json.loads(actor.written()) for actor in actors)]

    assert in_worker(work) == [
        5 * S,
        [[*first], [*second]],
        [[*second], [*second]],
    ]


@needs_vdso
@pytest.mark.processes
def test_processor_time_stays_real() -> None:
    def report() -> object:
        os.getppid()
        started, wall = time.process_time_ns(), time.monotonic_ns()
        while time.process_time_ns() < started + 20_000_000:
            pass
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return [
            time.process_time() - usage.ru_utime - usage.ru_stime,
            time.thread_time() - time.process_time(),
            time.monotonic_ns() - wall,
        ]

    def work(found: VDSO) -> object:
        return json.loads(Actor(reports(report)).run(found, TIMES[:1]))

    process, thread, wall = in_worker(work)
    assert abs(process) < 0.1
    assert abs(thread) < 0.1
    assert wall == 0


@needs_vdso
@pytest.mark.processes
def test_random_bytes_are_asked_of_the_kernel() -> None:
    def ask(address: int) -> list[int]:
        function = ctypes.CFUNCTYPE(
            ctypes.c_ssize_t,
            *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint),
            *(ctypes.c_void_p, ctypes.c_size_t),
        )(address)
        buffer = ctypes.create_string_buffer(256)
        return [
            # How a C library asks for the size of the state that it has to keep.
            function(None, 0, 0, buffer, 2**64 - 1),
            function(buffer, 8, 0, None, 0),
            int.from_bytes(buffer.raw[:8]),
        ]

    def work(found: VDSO) -> object:
        del found
        start = vdso._address(os.getpid())
        data = vdso._pages(Memory(os.getpid()), start)
        addresses = [
            start + one.start
            for one in vdso._functions(data, vdso._layout(data))
            if one.name.endswith("_getrandom")
        ]
        if not addresses:
            return None
        actor = Actor(reports(lambda: ask(addresses[0])), "getrandom")
        assert actor.next() == ptrace.EVENT_SECCOMP
        _, _, (buffer, count, *_) = ptrace.entry(actor.pid)
        actor.memory.write(buffer, bytes(range(count)))
        registers().skip(actor.pid, count)
        ptrace.resume(actor.pid)
        assert actor.next() is None
        return json.loads(actor.written())

    answer = in_worker(work)
    if answer is None:
        pytest.skip("the vDSO of this kernel has no getrandom")
    assert answer == [-38, 8, int.from_bytes(range(8))]


PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    static const int clocks[] = {0, 5, 11, 1, 4, 6, 7};
    for (int round = atoi(arguments[1]); round > 0; round--) {
        struct timeval now;
        struct timespec at;
        getppid();
        for (int i = 0; i < 7; i++) {
            clock_gettime(clocks[i], &at);
            printf("%lld ", at.tv_sec * 1000000000LL + at.tv_nsec);
        }
        gettimeofday(&now, NULL);
        printf("%lld ", now.tv_sec * 1000000LL + now.tv_usec);
        printf("%lld\\n", (long long) time(NULL));
    }
    return 0;
}
"""


def expected_of_program(now: Times) -> str:
    values = [now.real] * 3 + [now.monotonic] * 4
    return " ".join(map(str, [*values, now.real // 1000, now.real // S]))


@pytest.fixture(scope="module", params=["dynamic", "static"])
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A C program that says the time, linked in one way or the other."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(PROGRAM)
    options = ["-static"] if request.param == "static" else []
    made = subprocess.run(
        [compiler, "-w", *options, "-o", folder / "clock", folder / "clock.c"],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        if request.param == "static":
            pytest.skip("no static C library")
        pytest.fail(made.stderr)
    return folder / "clock"


@contextlib.contextmanager
def executed(*argv: str) -> Iterator[Actor]:
    """Give an actor that has just executed a program whose output it writes."""

    def body(descriptor: int) -> None:
        os.dup2(descriptor, 1)
        os.execvp(argv[0], argv)  # noqa: S606  running it is the point

    actor = Actor(body)
    try:
        assert actor.next() == ptrace.EVENT_EXEC
        yield actor
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(actor.pid, signal.SIGKILL)
            os.waitpid(actor.pid, ptrace.WALL)
        raise


def fill_up(memory: Memory, pid: int) -> None:
    """Leave no room behind the file."""
    address = vdso._address(pid)
    data = vdso._pages(memory, address)
    end = vdso._layout(data).end
    memory.write(address + end, b"\xcc" * (len(data) - end))


@needs_vdso
@pytest.mark.processes
@pytest.mark.compiler
@pytest.mark.parametrize("room", ["behind", "inside"])
def test_a_program_reads_what_its_tracer_has_set(program: Path, room: str) -> None:
    with executed(str(program), str(len(TIMES))) as actor:
        if room == "inside":
            fill_up(actor.memory, actor.pid)
        found = VDSO.find(actor.pid, actor.memory)
        if found is None:
            pytest.skip("the vDSO of this system cannot be replaced")
        found.patch(actor.memory)
        ptrace.resume(actor.pid)
        lines = actor.run(found, TIMES).splitlines()

    assert lines == [expected_of_program(now) for now in TIMES]


@needs_vdso
@pytest.mark.processes
def test_date_says_what_it_is_told() -> None:
    with executed("date", "+%s.%N") as actor:
        found = VDSO.find(actor.pid, actor.memory)
        if found is None:
            pytest.skip("the vDSO of this system cannot be replaced")
        found.patch(actor.memory)
        found.set_clock(actor.memory, 1_700_000_000_123_456_789, 0)
        ptrace.resume(actor.pid)
        assert actor.run(found, ()) == "1700000000.123456789\n"


@needs_vdso
@pytest.mark.processes
def test_what_has_been_replaced_is_found_again() -> None:
    def work(found: VDSO) -> object:
        actor = Actor(reports(lambda: times_in_python()[0]))
        assert actor.next() == ptrace.EVENT_SECCOMP
        again = VDSO.find(actor.pid, actor.memory)
        assert again is not None
        again.patch(actor.memory)
        again.set_clock(actor.memory, 42, 0)
        ptrace.resume(actor.pid)
        assert actor.next() is None
        return [again == found, json.loads(actor.written())]

    assert in_worker(work) == [True, 42]


# What follows looks at images that nobody runs.

X86_64, AARCH64, RISCV = 62, 183, 243
ADDRESS = 0x7FFF_0000_0000


class Pages(NamedTuple):
    """Memory with an image in it."""

    data: bytes

    def read(self, address: int, length: int) -> bytes:
        return self.data[address - ADDRESS :][:length]


def image(
    machine: int, functions: dict[str, int], *, behind: int = 2048, base: int = 0
) -> bytes:
    """Return a vDSO with functions of some sizes, as a linker would lay it out.

    Args:
        machine: Its processor.
        functions: Size of each function.
        behind: Room behind the file.
        base: Address that it is linked for.
    """
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in functions)
    symbols, names_at = 0x200, 0x200 + 24 * (len(functions) + 1)
    place = text = (names_at + len(strings) + 63) // 64 * 64
    table = bytes(24)
    for name, size in functions.items():
        entry = strings.index(name.encode())
        table += struct.pack("<IBBHQQ", entry, 0x12, 0, 7, base + place, size)
        place += (size + 15) // 16 * 16
    length = max(4096 - behind, place)
    data = bytearray(length + behind)
    data[:64] = struct.pack(
        *("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, machine, 1, base, 64, 0, 0),
        *(64, 56, 2, 64, 0, 0),
    )
    data[64:176] = struct.pack(
        *("<2I6Q2I6Q", 1, 5, 0, base, base, length, length, 4096),
        *(2, 4, 0x180, base + 0x180, base + 0x180, 48, 48, 8),
    )
    tags = (6, base + symbols, 5, base + names_at, 0, 0)
    data[0x180:0x1B0] = struct.pack("<6Q", *tags)
    data[symbols:names_at] = table
    data[names_at : names_at + len(strings)] = strings
    data[text:place] = b"\xcc" * (place - text)
    return bytes(data)


def replaced(data: bytes) -> tuple[int, bytes] | None:
    """Return where the table is, and the image as it is when it has been written."""
    plan = vdso._plan(data)
    if plan is None:
        return None
    changed = bytearray(data)
    for start, content in plan.writes:
        changed[start : start + len(content)] = content
    return plan.table, bytes(changed)


CLOCKS = {
    X86_64: {"__vdso_clock_gettime": 600, "__vdso_time": 40, "__vdso_getcpu": 40},
    AARCH64: {"__kernel_clock_gettime": 600, "__kernel_rt_sigreturn": 8},
}


def start_of(data: bytes, name: str) -> int:
    functions = vdso._functions(data, vdso._layout(data))
    return next(one.start for one in functions if one.name == name)


@pytest.mark.parametrize("machine", CLOCKS)
@pytest.mark.parametrize("behind", [2048, 0])
@pytest.mark.parametrize("base", [0, 0xFFFF_FFFF_FF70_0000])
def test_every_function_leads_to_the_code(machine: int, behind: int, base: int) -> None:
    data = image(machine, CLOCKS[machine], behind=behind, base=base)
    outcome = replaced(data)
    assert outcome is not None
    table, changed = outcome
    processor = vdso._PROCESSORS[machine]
    place = table - len(processor.code)

    assert len(changed) == len(data)
    assert table % 64 == 0
    assert changed[place:][: len(processor.code)] == processor.code
    for name in processor.functions.keys() & CLOCKS[machine].keys():
        start = start_of(data, name)
        target = place + processor.functions[name]
        assert led_to(machine, start, changed[start:]) == target


def led_to(machine: int, start: int, code: bytes) -> int:
    """Return where the jump at a place leads to."""
    if machine == X86_64:
        operation, distance = struct.unpack_from("<Bi", code)
        assert operation == 0xE9
        return int(start + 5 + distance)
    mark, branch = struct.unpack_from("<2I", code)
    assert mark == 0xD503245F
    assert branch >> 26 == 5
    return int(start + 4 + 4 * ((branch & 0x3FFFFFF ^ 0x2000000) - 0x2000000))


@pytest.mark.parametrize("machine", CLOCKS)
@pytest.mark.parametrize("behind", [2048, 0])
def test_every_function_for_the_time_can_ask_the_kernel(
    machine: int, behind: int
) -> None:
    data = image(machine, CLOCKS[machine], behind=behind)
    plan = vdso._plan(data)
    assert plan is not None
    processor = vdso._PROCESSORS[machine]
    place = plan.table - len(processor.code)
    names = [name for name in CLOCKS[machine] if name in processor.functions]

    assert [start for start, *_ in plan.ways] == [start_of(data, n) for n in names]
    for name, (start, reading, asking) in zip(names, plan.ways, strict=True):
        # Of a task that stands right there no more than the target is changed.
        assert len(reading) == len(asking)
        for jump, goal in ((reading, name), (asking, f"{name}_by_call")):
            assert led_to(machine, start, jump) == place + processor.functions[goal]


@pytest.mark.parametrize("machine", CLOCKS)
@pytest.mark.parametrize("behind", [2048, 0])
def test_a_replaced_image_is_replaced_by_the_same(machine: int, behind: int) -> None:
    once = replaced(image(machine, CLOCKS[machine], behind=behind))
    assert once is not None

    assert replaced(once[1]) == once


@pytest.mark.parametrize("machine", CLOCKS)
def test_code_comes_before_the_jumps_that_lead_to_it(machine: int) -> None:
    plan = vdso._plan(image(machine, CLOCKS[machine]))
    assert plan is not None
    (place, code), (start, jumps) = plan.writes

    assert code.startswith(vdso._PROCESSORS[machine].code)
    assert start + len(jumps) <= place


@pytest.mark.parametrize("machine", CLOCKS)
def test_other_functions_stay_as_they_are(machine: int) -> None:
    data = image(machine, CLOCKS[machine])
    outcome = replaced(data)
    assert outcome is not None
    name = list(CLOCKS[machine])[-1]
    start, size = start_of(data, name), CLOCKS[machine][name]

    assert name not in vdso._PROCESSORS[machine].functions
    assert outcome[1][start:][:size] == b"\xcc" * size


def test_a_function_that_only_jumps_is_large_enough_where_there_is_room() -> None:
    functions = {"__vdso_clock_gettime": 5, "__vdso_time": 16}

    assert replaced(image(X86_64, functions)) is not None
    assert replaced(image(X86_64, functions, behind=0)) is None
    assert replaced(image(X86_64, {**functions, "__vdso_time": 4})) is None
    assert replaced(image(X86_64, {"__vdso_clock_gettime": 4})) is None


@pytest.mark.parametrize("behind", [64, 192])
def test_too_little_room_is_not_used(behind: int) -> None:
    functions = {"__vdso_clock_gettime": 100}

    assert replaced(image(X86_64, functions, behind=behind)) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(4096),
        b"\x7fELF\x01\x01".ljust(4096, b"\0"),
        b"\x7fELF\x02\x01",
        b"\x7fELF\x02\x01".ljust(4096, b"\xff"),
        b"\x7fELF\x02\x01".ljust(40, b"\0") + b"\1".rjust(5, b"\0").ljust(4056, b"\0"),
        image(X86_64, CLOCKS[X86_64])[:0x100].ljust(4096, b"\xff"),
        image(RISCV, CLOCKS[X86_64]),
        image(X86_64, {"__vdso_getcpu": 40}),
    ],
    ids=(
        "none",
        "zeros",
        "32 bits",
        "short",
        "all ones",
        "huge",
        "damaged",
        "riscv",
        "no clocks",
    ),
)
def test_what_cannot_be_replaced_is_left_alone(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vdso, "_address", lambda _: ADDRESS)

    assert VDSO.find(1, Pages(data)) is None  # type: ignore[arg-type]  # it only reads


def test_a_process_that_is_gone_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(os.getpid())
    try:
        assert VDSO.find(1 << 30, memory) is None
        monkeypatch.setattr(vdso, "_AT_SYSINFO_EHDR", 12345)
        assert VDSO.find(os.getpid(), memory) is None
    finally:
        memory.close()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_code_is_what_its_listing_says(machine: str, tmp_path: Path) -> None:
    native = platform.machine() == machine
    start = "" if native else f"{machine}-linux-gnu-"
    tools = [shutil.which(f"{start}{tool}") for tool in ("as", "objcopy")]
    if None in tools:
        pytest.skip(f"no assembler for {machine}")
    listing, number = {
        "x86_64": (vdso._X86_64, X86_64),
        "aarch64": (vdso._AARCH64, AARCH64),
    }[machine]
    lines = [
        line if line.endswith(":") else line[vdso._HEX_COLUMNS :]
        for line in listing.splitlines()
    ]
    (tmp_path / "code.s").write_text("\n".join([*lines, ".balign 64", "table:", ""]))
    for command in (
        [tools[0], "-o", "code.o", "code.s"],
        [tools[1], "-O", "binary", "-j", ".text", "code.o", "code.bin"],
    ):
        subprocess.run([str(part) for part in command], cwd=tmp_path, check=True)
    made = (tmp_path / "code.bin").read_bytes()
    code = vdso._PROCESSORS[number].code

    assert len(made) == len(code)
    # Between code and table an assembler fills in other things.
    end = len(re.sub(rb"\0+\Z", b"", code))
    assert made[:end] == code[:end]
