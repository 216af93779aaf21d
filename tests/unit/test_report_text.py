"""Guards how an execution looks as text: columns, marks, and room for all of it."""

from __future__ import annotations

import re
from textwrap import dedent

import msgspec
import pytest

from racecheck.model import (
    ActorEnd,
    ActorInfo,
    Decision,
    Ending,
    Fault,
    FaultKind,
    Kind,
    Schedule,
    Step,
    Value,
    Verdict,
    Violation,
)
from racecheck.report import render
from tests.unit.traces import FIRST, SECOND, ended, opened, step, trace

WHOLE = """\
head_image/two_writers/write_shared: violated no_silent_loss, no_lost_writes
10 steps, 3 context switches, seed 7

step  serve-1                                        serve-2
      writer, pid 1001                               writer, pid 1002
   0  openat(head.img.tmp, WRONLY|CREAT|TRUNC) = 3
   1  write(3:head.img.tmp, 4096 B) = 4096
   2                                                 openat(head.img.tmp, WRONLY|CREAT|TRUNC) = 3
   3  close(3:head.img.tmp) = 0
   4  rename(head.img.tmp, head.img) = 0
   5  returned True
  *** no_silent_loss broken: expected a whole image, but found 0 bytes
   6  exits with status 0
   7                                                 write(3:head.img.tmp, 4096 B) = 4096
   8                                                 rename(head.img.tmp, head.img) = ENOENT
   9                                                 raised FileNotFoundError: [Errno 2] No such
                                                     file or directory
  *** no_lost_writes broken at the end: expected each write to succeed
serve-2 ended with status 1

output of serve-2:
    Traceback
    FileNotFoundError"""  # noqa: E501  the lines are what is tested


def lines(*steps: Step, width: int = 100, **fields: object) -> list[str]:
    """Return what stands below the headings of a trace with these steps."""
    decisions = tuple(Decision(each.actor, each.fault) for each in steps)
    shown = render(
        trace(
            **{
                "steps": steps,
                "schedule": Schedule(7, decisions),
                "operations": (),
                "ends": (),
                "violations": (),
                "outputs": {},
                **fields,
            }
        ),
        width=width,
    )
    return shown.splitlines()[5:]


def faulty(kind: FaultKind, call: Step, **fault: object) -> Step:
    values = {"errno": "", "length": 0, **fault}
    return msgspec.structs.replace(call, fault=Fault(kind, **values))  # type: ignore[arg-type]  # checked by use


def test_an_execution_has_a_line_a_step_and_a_column_an_actor() -> None:
    assert render(trace()) == WHOLE


def test_colours_change_no_character_of_the_text() -> None:
    shown = render(trace(), color=True)

    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == WHOLE
    assert "\x1b[1;31m  *** no_silent_loss broken" in shown
    assert "\x1b" not in render(trace())


def test_the_reason_of_no_verdict_and_what_was_not_controlled_are_told() -> None:
    shown = render(
        trace(verdict=Verdict.UNKNOWN, reason="io_uring", uncontrolled=("a", "b"))
    ).splitlines()

    assert shown[0].endswith(": unknown (io_uring)")
    assert "not controlled: a; b" in shown


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("width", [20, 100, 160])
def test_no_line_is_longer_than_the_terminal(count: int, width: int) -> None:
    actors = tuple(
        ActorInfo(f"a_rather_long_actor_name-{i}", "writer", 1000 + i)
        for i in range(count)
    )
    path = "/".join(["a_folder_with_a_long_name"] * 6) + "/and_a_file.safetensors.tmp"
    steps = [opened(i, actor.name, path) for i, actor in enumerate(actors)]
    steps += [
        step(9, actor.name, "rename", Kind.RENAME, -2, oldpath=path, newpath=path[:-4])
        for actor in actors
    ]
    shown = lines(
        *steps,
        width=width,
        actors=actors,
        violations=(Violation("i" * 30, "message " * 40, 0),),
    )

    assert max(map(len, shown)) <= max(width, 80)
    # The result is what a line gives up last.
    assert all(line.endswith("= ENOENT") for line in shown if "rename" in line)


def test_a_long_path_keeps_its_last_part() -> None:
    (line,) = lines(opened(0, FIRST, "models/" * 20 + "config.json"))

    assert line == (
        "   0  openat(models/models/models/models/models/models/mod.../config.json, "
        "WRONLY|CREAT|TRUNC) = 3"
    )


def test_a_step_that_names_its_file_is_believed() -> None:
    shown = lines(
        opened(0, FIRST, "a"),
        step(1, FIRST, "write", Kind.WRITE, 3, fd=3, count=3, file="b"),
        step(
            2,
            FIRST,
            "sendfile",
            Kind.COPY,
            3,
            outfd=3,
            infd=4,
            count=3,
            infile="c",
            outfile="d",
        ),
        step(
            3,
            FIRST,
            "newfstatat",
            Kind.STAT,
            dirfd=3,
            path="",
            flags="AT_EMPTY_PATH|AT_SYMLINK_NOFOLLOW",
        ),
    )

    assert [line[6:] for line in shown[1:]] == [
        "write(3:b, 3) = 3",
        "sendfile(3:d, 4:c, 3) = 3",
        "fstatat(3:a, SYMLINK_NOFOLLOW) = 0",
    ]


def test_descriptors_are_told_by_what_they_were_opened_as() -> None:
    shown = lines(
        opened(0, FIRST, "a"),
        step(1, FIRST, "dup", Kind.DUP, 4, oldfd=3),
        step(2, FIRST, "close", Kind.CLOSE, fd=3),
        step(3, FIRST, "fsync", Kind.SYNC, fd=3),
        step(4, FIRST, "fsync", Kind.SYNC, fd=4),
        step(5, FIRST, "fsync", Kind.SYNC, -9, fd=None),
        step(6, FIRST, "close", Kind.CLOSE, -5, fd=4),
        step(7, FIRST, "unlinkat", Kind.UNLINK, dirfd=4, path="x", flags="0"),
        step(8, SECOND, "fsync", Kind.SYNC, fd=4),
        step(9, FIRST, "close_range", Kind.CLOSE, fd=3, last=2**32 - 1, flags="0"),
        step(10, FIRST, "fsync", Kind.SYNC, fd=4),
        step(11, FIRST, "fstat", Kind.STAT, dirfd="cwd", fd=0),
    )

    assert [line.split("  ")[-1].strip() for line in shown] == [
        "openat(a, WRONLY|CREAT|TRUNC) = 3",
        "dup(3:a) = 4",
        "close(3:a) = 0",
        "fsync(3) = 0",
        "fsync(4:a) = 0",
        "fsync(-) = EBADF",
        "close(4:a) = EIO",
        "unlinkat(at 4:a, x) = 0",
        "fsync(4) = 0",
        "close_range(3, 4294967295) = 0",
        "fsync(4) = 0",
        "fstat(0) = 0",
    ]


def test_what_a_link_or_a_listing_gave_is_told() -> None:
    link = Step(
        0, FIRST, 0, "readlink", Kind.READLINK, {"path": "l"}, 3, {"target": "../t"}
    )
    names = {"names": "a\nb" + "\nlong" * 30}
    args: dict[str, Value] = {"fd": 3, "count": 32768}
    listing = Step(1, FIRST, 0, "getdents64", Kind.LISTING, args, 48, {**names})

    assert [line[6:] for line in lines(link, listing)] == [
        "readlink(l) = 3 ../t",
        "getdents(3) = 48 a b long long long long long long long long long long lon...",
    ]
    # There is no room for them in a narrow column, but for the result there is.
    path = {"path": "a" * 28}
    link = Step(
        0, SECOND, 0, "readlink", Kind.READLINK, {**path}, 3, {"target": "../t"}
    )
    assert lines(link)[0].endswith(f"readlink({'a' * 28}) = 3")


def test_faults_are_marked_where_they_were_injected() -> None:
    write = step(0, FIRST, "write", Kind.WRITE, -28, fd=3)
    rename = step(1, FIRST, "crash", Kind.CRASH, before="rename")
    shown = lines(
        faulty(FaultKind.ERRNO, write, errno="ENOSPC"),
        faulty(FaultKind.CRASH, rename),
        faulty(FaultKind.TEAR, step(2, SECOND, "write", Kind.WRITE, 9, fd=3), length=9),
        operations=(
            ended(FIRST, Ending.CRASHED, first=0, last=1),
            ended(SECOND, Ending.CRASHED, first=2, last=2),
        ),
        ends=(ActorEnd(FIRST, -9, crashed=True), ActorEnd(SECOND, -9, crashed=True)),
    )

    assert [line[4:].strip() for line in shown] == [
        "write(3) = ENOSPC [fault: ENOSPC]",
        "CRASHED before rename",
        "write(3) = 9 [fault: tear after 9 B]",
        "CRASHED",
    ]


@pytest.mark.parametrize(
    ("ending", "fields", "text"),
    [
        (Ending.RETURNED, {"succeeded": True, "shown": "3"}, "returned 3"),
        (Ending.RETURNED, {"shown": "False"}, "returned False, which is no success"),
        (Ending.RAISED, {"shown": "KeyError: 1"}, "raised KeyError: 1"),
        (
            Ending.RAISED,
            {"shown": "KeyError: 1", "expected": True},
            "raised KeyError: 1, as it may",
        ),
    ],
)
def test_an_operation_ends_with_what_it_returned_or_raised(
    ending: Ending, fields: dict[str, object], text: str
) -> None:
    operation = ended(FIRST, ending, first=0, last=0, **fields)

    (line,) = lines(step(0, FIRST, "return", Kind.RETURN), operations=(operation,))
    assert line == f"   0  {text}"


def test_a_return_of_no_operation_is_told_as_such() -> None:
    assert lines(step(0, FIRST, "return", Kind.RETURN)) == ["   0  returned"]


def test_a_command_ends_with_its_exit_status() -> None:
    exited = ended(FIRST, Ending.EXITED, first=0, last=0)
    killed = ended(SECOND, Ending.EXITED, shown="signal 11", first=1, last=1)

    assert lines(
        step(0, FIRST, "exit_group", Kind.EXIT, status=3),
        step(1, SECOND, "fsync", Kind.SYNC, fd=3),
        operations=(exited, killed),
        ends=(ActorEnd(FIRST, 3), ActorEnd(SECOND, -11)),
    ) == [
        "   0  exits with status 3, which is no success",
        "   1" + " " * 49 + "fsync(3) = 0",
        " " * 53 + "exited signal 11",
        "serve-1 ended with status 3",
        "serve-2 ended with signal 11",
    ]


def test_an_operation_without_a_step_is_told_at_the_end() -> None:
    waiting = ended(SECOND, Ending.UNFINISHED, shown="stuck")

    assert lines(operations=(waiting,)) == [
        "serve-2 operation 0 unfinished stuck, without a step"
    ]


def test_names_and_output_cannot_move_the_cursor() -> None:
    shown = lines(
        opened(0, FIRST, "a\x1b[2Jb\n\udcff"),
        outputs={FIRST: "x\x1b]0;y\n" + "line\n" * 50},
    )

    assert shown[0].startswith(r"   0  openat(a\x1b[2Jb\n\udcff,")
    assert shown[2:4] == ["output of serve-1:", r"    x\x1b]0;y"]
    assert shown[-1] == "    ... 11 more lines"
    assert not any("\x1b" in line for line in shown)


def test_a_trace_without_actors_or_steps_renders() -> None:
    shown = render(
        trace(actors=(), steps=(), operations=(), violations=(), ends=(), outputs={})
    )

    assert shown == dedent(
        """\
        head_image/two_writers/write_shared: violated
        0 steps, 3 context switches, seed 7

        step
        """
    )


def test_steps_of_further_threads_and_children_are_marked() -> None:
    first = opened(0, FIRST, "a")
    second = msgspec.structs.replace(opened(1, FIRST, "a"), task=2)

    shown = lines(first, second)

    assert [line[6:].split("(")[0] for line in shown[:2]] == ["openat", ":2 openat"]


def test_of_very_many_steps_the_first_and_those_before_the_end_are_told() -> None:
    steps = [opened(0, FIRST, "early")]
    steps += [
        step(index, SECOND, "read", Kind.READ, 1, fd=3) for index in range(1, 4999)
    ]
    steps += [step(4999, FIRST, "close", Kind.CLOSE, fd=3)]
    violations = (Violation("whole", "expected more", step=2500, actor=SECOND),)

    shown = lines(*steps, violations=violations)

    numbers = [int(line[:6]) for line in shown if line[:6].strip().isdecimal()]
    assert numbers == [*range(200), *range(2301, 2501), *range(4800, 5000)]
    gaps = [line for line in shown if line.startswith(" ...")]
    assert gaps == [" ...  2,101 steps", " ...  2,299 steps"]
    assert any("whole broken: expected more" in line for line in shown)
    # What was left out is known all the same.
    assert "close(3:early)" in shown[-1]


def test_a_thousand_steps_are_all_told() -> None:
    steps = [step(index, FIRST, "read", Kind.READ, 1, fd=3) for index in range(1000)]

    assert len(lines(*steps)) == 1000
