"""A trace file gives its trace back, has equal bytes for equals, and is whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from racecheck.errors import TraceFileError
from racecheck.model import (
    ActorInfo,
    Buffer,
    Decision,
    Ending,
    Finding,
    Kind,
    Operation,
    Race,
    Schedule,
    Share,
    Step,
    Trace,
    Violation,
)
from racecheck.storage import read_trace, steps_digest, trace_file, write_trace
from tests.unit.trace_strategies import traces

HEADER = b"racecheck trace 2\n"
TRACE = Trace(
    scenario="head_image/shared",
    shape="00112233445566aa",
    actors=(ActorInfo("serve-1", "writer", 100), ActorInfo("load", "reader", 101)),
    schedule=Schedule(7, (Decision("serve-1"),)),
    steps=(
        Step(
            index=0,
            actor="serve-1",
            operation=0,
            call="openat",
            kind=Kind.OPEN,
            args={"path": "head.img", "flags": 0},
            result=-2,
            outputs={"data": Buffer(3, "00" * 8, b"abc")},
        ),
    ),
    violations=(Violation("no_lost_writes", "expected …", step=0),),
    outputs={"serve-1": "Traceback", "load": ""},
)


def of(trace: Trace) -> Race:
    """Return what a file holds of a trace."""
    switches = trace.schedule.context_switches()
    finding = Finding(
        invariant="no_lost_writes",
        message="expected every write to succeed",
        token="rc1-",  # noqa: S106  no secret
        steps=len(trace.steps),
        context_switches=switches,
        found_steps=len(trace.steps),
        found_context_switches=switches,
        confirmed=True,
        execution=1,
        trace=trace,
        original=trace,
        curve=(Share(0, 1, 20),),
    )
    return Race(finding=finding, about={"python": "3.11.7", "engine": "process"})


def with_value(value: object) -> Race:
    operation = Operation(
        "serve-1", "writer", 0, Ending.RETURNED, succeeded=True, value=value
    )
    return of(msgspec.structs.replace(TRACE, operations=(operation,)))


def refusal(path: Path) -> str:
    """Return the one line that a file is refused with."""
    with pytest.raises(TraceFileError) as caught:
        read_trace(path)
    line = str(caught.value)
    assert line
    assert "\n" not in line
    return line


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "execution.trace"


@settings(max_examples=60, deadline=None)
@given(traces())
def test_what_is_written_is_read(trace: Trace) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "execution.trace")
        write_trace(of(trace), path)

        assert read_trace(path) == of(trace)


def test_equal_traces_give_equal_bytes(path: Path, tmp_path: Path) -> None:
    # Equal, with every mapping in another order and no object shared.
    (step,) = TRACE.steps
    other = msgspec.structs.replace(
        TRACE,
        steps=(
            msgspec.structs.replace(step, args=dict(reversed(list(step.args.items())))),
        ),
        outputs=dict(reversed(list(TRACE.outputs.items()))),
    )
    elsewhere = tmp_path / "folder" / "other.trace"
    elsewhere.parent.mkdir()

    write_trace(of(TRACE), path)
    write_trace(of(other), elsewhere)

    assert other == TRACE
    assert path.read_bytes() == elsewhere.read_bytes()


def test_a_file_that_is_read_and_written_stays_the_same(path: Path) -> None:
    write_trace(with_value({"b": 1, "a": [2**70, "\udcff"]}), path)
    before = path.read_bytes()

    write_trace(read_trace(path), path)

    assert path.read_bytes() == before


def test_a_file_says_nothing_of_the_machine(path: Path) -> None:
    write_trace(of(TRACE), path)

    body = zstandard.decompress(path.read_bytes().removeprefix(HEADER))

    assert str(path.parent).encode() not in body
    assert os.fsencode(os.getcwd()) not in body


def test_names_that_are_no_text_are_escaped(path: Path) -> None:
    (step,) = TRACE.steps
    odd = msgspec.structs.replace(step, args={"path": "caf\udce9", "b": 1, "aa": 2})

    write_trace(of(msgspec.structs.replace(TRACE, steps=(odd,))), path)

    read = read_trace(path).finding.trace
    assert read.steps[0].args["path"] == "caf\\udce9"
    assert steps_digest(read.steps) == steps_digest([odd])


@pytest.mark.parametrize(
    ("value", "comes_back"),
    [
        ((1, 2), [1, 2]),
        ({1: "a", "b": 2}, {1: "a", "b": 2}),
        (2**70, str(2**70)),
        (b"\xff", b"\xff"),
    ],
)
def test_plain_values_of_every_kind_can_be_written(
    path: Path, value: object, comes_back: object
) -> None:
    write_trace(with_value(value), path)

    assert read_trace(path).finding.trace.operations[0].value == comes_back


def test_a_value_that_is_no_plain_data_is_refused(path: Path) -> None:
    with pytest.raises(TraceFileError, match=r"cannot write .*object"):
        write_trace(with_value(object()), path)

    assert os.listdir(path.parent) == []


def test_a_value_that_is_nested_too_deeply_is_refused(path: Path) -> None:
    value: list[object] = []
    for _ in range(1_000_000):
        value = [value]

    with pytest.raises(TraceFileError, match=r"cannot write .*(recursion|overflow)"):
        write_trace(with_value(value), path)


def test_a_trace_that_is_too_long_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_file, "_MAX_BODY", 10)

    with pytest.raises(TraceFileError, match="but 10 are allowed"):
        write_trace(of(TRACE), path)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=100) | st.binary(max_size=100).map(HEADER.__add__))
@example(b"")
@example(HEADER)
def test_any_bytes_are_refused(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "execution.trace")
        path.write_bytes(data)
        refusal(path)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=100))
@example(b"\x91" * 100_000)
@example(msgspec.msgpack.encode({"scenario": "\x00"}))
def test_any_body_in_a_right_frame_is_refused(body: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "execution.trace")
        path.write_bytes(HEADER + zstandard.compress(body))
        assert "is damaged" in refusal(path)


def test_a_file_cut_anywhere_is_refused(path: Path) -> None:
    write_trace(of(TRACE), path)
    data = path.read_bytes()

    for length in range(len(data)):
        path.write_bytes(data[:length])
        refusal(path)


def test_a_file_with_any_byte_changed_is_refused(path: Path) -> None:
    write_trace(of(TRACE), path)
    data = path.read_bytes()

    for index in range(len(data)):
        path.write_bytes(data[:index] + bytes([data[index] ^ 0x55]) + data[index + 1 :])
        refusal(path)


def test_a_file_with_something_behind_it_is_refused(path: Path) -> None:
    write_trace(of(TRACE), path)
    data = path.read_bytes()

    for rest in (b"\x00", b"\n", zstandard.compress(b""), data):
        path.write_bytes(data + rest)
        refusal(path)


def test_a_newer_version_is_named_before_its_body_is_looked_at(path: Path) -> None:
    path.write_bytes(b"racecheck trace 3\nwhatever comes")

    assert refusal(path) == f"{str(path)!r} has version 3, but only 2 is known"


def test_a_body_that_claims_to_be_huge_is_not_unpacked(path: Path) -> None:
    # Magic number, a descriptor for a size of 8 bytes in one segment, and that size.
    frame = bytes.fromhex("28b52ffd e0") + (1 << 60).to_bytes(8, "little")
    path.write_bytes(HEADER + frame + b"\x01\x00\x00")

    assert "a size of 1152921504606846976 bytes is not allowed" in refusal(path)


def test_a_body_that_hides_its_size_is_not_unpacked(path: Path) -> None:
    compressor = zstandard.ZstdCompressor(write_content_size=False)
    path.write_bytes(HEADER + compressor.compress(bytes(1 << 20)))

    assert "is not allowed" in refusal(path)


def test_a_file_that_is_not_there_is_refused(path: Path) -> None:
    assert refusal(path) == f"cannot read {str(path)!r}: No such file or directory"
    assert "Is a directory" in refusal(path.parent)
    assert "null byte" in refusal(Path("a\0b"))


def test_nothing_is_left_where_a_file_cannot_be_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(b"the old file")

    def full(fd: int) -> None:
        del fd
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(TraceFileError, match="No space left on device"):
        write_trace(of(TRACE), path)

    assert os.listdir(path.parent) == [path.name]
    assert path.read_bytes() == b"the old file"


def test_nothing_is_left_where_writing_is_interrupted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(fd: int) -> None:
        del fd
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_trace(of(TRACE), path)

    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("name", ["missing/execution.trace", "", "a\0b"])
def test_a_place_that_cannot_hold_a_file_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(TraceFileError, match="cannot write"):
        write_trace(of(TRACE), Path(name))

    assert os.listdir(tmp_path) == []


def test_a_file_is_readable_for_whom_the_umask_lets(path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_trace(of(TRACE), path)
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o644
