"""Every call of a machine is in exactly one part of the table, with its number."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from racecheck.errors import CannotRunError
from racecheck.kernel import rows
from racecheck.kernel.numbers import MACHINES, names, numbers
from racecheck.kernel.rows import QUIET, ROWS, Service, stops
from racecheck.kernel.seccomp import Condition
from racecheck.kernel.table import table
from racecheck.model.kind import Kind

_PARTS = {
    "rows": {row.name for row in ROWS},
    "services": {silent.name for silent in rows.SERVICES},
    "refused": set(rows.REFUSED),
    "carriers": rows.CARRIERS,
    "watchers": rows.WATCHERS,
    "waits": rows.WAITS,
    "harmless": rows.HARMLESS,
}
NO_CALLS = {Kind.RETURN, Kind.CRASH, Kind.START, Kind.WAKE, Kind.STALL}
_ALL = set[str]().union(*_PARTS.values())

# Where distributions put the headers, and which numbers are for 32-bit machines only.
_HEADERS = {
    "x86_64": ("x86_64-linux-gnu/asm/unistd_64.h", "asm/unistd_64.h"),
    "aarch64": ("asm-generic/unistd.h",),
}
_ONLY_32_BIT = range(403, 424)


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_those_of_the_kernel_headers(machine: str) -> None:
    found = [
        path
        for name in _HEADERS[machine]
        if (path := Path("/usr/include", name)).exists()
    ]
    if not found:
        pytest.skip(f"no kernel headers for {machine}")
    defined: dict[str, str] = dict(
        re.findall(r"#define __NR_?(\w+)\s+(\w+)", found[0].read_text(encoding="utf-8"))
    )
    # The generic header gives some numbers under a name for 32 and 64 bits first.
    calls = {
        name: int(defined.get(value.removeprefix("__NR"), value))
        for name, value in defined.items()
        if value.isdigit() or value.removeprefix("__NR") in defined
    }
    ours = numbers(machine)
    last = max(calls[name] for name in calls.keys() & ours.keys())

    assert {name: calls[name] for name in calls.keys() & ours.keys()} == {
        name: ours[name] for name in calls.keys() & ours.keys()
    }
    # What is left is the start of a range for each machine's own, and the count.
    assert set(calls.values()) - set(_ONLY_32_BIT) - set(ours.values()) <= {
        244,
        last + 1,
    }


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ("x86_64", {"openat": 257, "uprobe": 336, "statmount": 457, "listns": 470}),
        ("aarch64", {"fstat": 80, "newfstatat": 79, "fcntl": 25, "lseek": 62}),
        ("aarch64", {"ftruncate": 46, "truncate": 45, "statfs": 43, "mmap": 222}),
        ("aarch64", {"clone3": 435, "mseal": 462, "file_setattr": 469}),
    ],
)
def test_numbers_of_some_calls(machine: str, expected: dict[str, int]) -> None:
    assert expected.items() <= numbers(machine).items()


@pytest.mark.parametrize("machine", MACHINES)
def test_no_two_calls_share_a_number(machine: str) -> None:
    assert len(names(machine)) == len(numbers(machine))


def test_a_machine_without_a_table_is_named() -> None:
    with pytest.raises(CannotRunError, match="this machine is 'riscv64'"):
        numbers("riscv64")


@pytest.mark.parametrize(("one", "other"), [*combinations(_PARTS, 2)])
def test_parts_of_the_table_have_no_call_in_common(one: str, other: str) -> None:
    assert not _PARTS[one] & _PARTS[other]


@pytest.mark.parametrize("machine", MACHINES)
def test_each_call_of_a_machine_is_in_the_table(machine: str) -> None:
    assert numbers(machine).keys() <= _ALL


def test_each_name_in_the_table_is_a_call_of_some_machine() -> None:
    assert {name for machine in MACHINES for name in numbers(machine)} >= _ALL


@pytest.mark.parametrize("machine", MACHINES)
def test_a_table_by_number_has_the_same_parts(machine: str) -> None:
    found = table(machine)
    parts = [
        found.stops.keys(),
        found.services.keys(),
        found.refused.keys(),
        found.carriers,
        found.watchers,
        found.waits,
        found.harmless,
    ]

    assert sum(len(part) for part in parts) == len(numbers(machine))
    assert set[int]().union(*parts) == names(machine).keys()


def test_each_kind_that_a_call_can_have_has_a_row() -> None:
    assert {row.kind for row in ROWS} == set(Kind) - NO_CALLS


def test_no_row_has_more_than_six_arguments_or_one_twice() -> None:
    for row in ROWS:
        named = [name for name in row.args if name != "_"]
        assert len(row.args) <= 6, row
        assert len(named) == len(set(named)), row


def test_a_descriptor_to_look_up_from_has_a_path_to_look_up() -> None:
    for row in ROWS:
        for prefix in ("", "old", "new"):
            assert f"{prefix}dirfd" not in row.args or f"{prefix}path" in row.args, row


@pytest.mark.parametrize(
    ("name", "raw", "kind"),
    [
        ("openat", (0, 0, 0), Kind.OPEN),
        ("unlinkat", (0, 0, 0), Kind.UNLINK),
        ("unlinkat", (0, 0, 0x201), Kind.UNLINK),
        ("unlinkat", (0, 0, 0x200), Kind.RMDIR),
        ("unlinkat", (0, 0, (1 << 32) | 0x200), Kind.RMDIR),
        ("fcntl", (3, 0, 0), Kind.DUP),
        ("fcntl", (3, 1030, 0), Kind.DUP),
        ("fcntl", (3, 7, 0), Kind.LOCK),
        ("fcntl", (3, 38, 0), Kind.LOCK),
        ("fcntl", (3, 4, 0), Kind.OTHER),
        # F_SETLEASE makes others wait, F_GETFL only tells.
        ("fcntl", (3, 1024, 0), None),
        ("fcntl", (3, 3, 0), None),
        ("ioctl", (3, 0x40049409, 4), Kind.COPY),
        ("ioctl", (3, 0x5451, 0), Kind.OTHER),
        ("ioctl", (3, 0x5401, 0), None),
        ("mmap", (0, 9, 1, 2, 3, 0), Kind.MAP),
        ("mmap", (0, 9, 1, 0x22, (1 << 64) - 1, 0), None),
        ("mmap", (0, 9, 1, 0x22, 0xFFFFFFFF, 0), None),
        ("getpid", (), None),
        ("futex", (), None),
    ],
)
@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_finds_its_row_by_its_arguments(
    machine: str, name: str, raw: tuple[int, ...], kind: Kind | None
) -> None:
    row = table(machine).find(numbers(machine)[name], (*raw, *[0] * (6 - len(raw))))

    assert (row and row.kind) == kind
    assert row is None or row.name == name


def test_a_number_without_a_call_has_no_row_and_still_a_name() -> None:
    x32 = 0x40000000

    assert table("x86_64").find(x32, (0,) * 6) is None
    assert table("x86_64").name(x32) == f"call {x32}"
    assert table("aarch64").name(80) == "fstat"


def test_rows_of_one_name_exclude_each_other() -> None:
    for name in {row.name for row in ROWS}:
        same = [row for row in ROWS if row.name == name]
        if len(same) == 1:
            continue
        for value in {v for row in same for v in (row.when or _never()).values} | {
            12345
        }:
            applying = [row for row in same if row.applies([value] * 6)]
            assert len(applying) <= 1, (name, value)


def _never() -> Condition:
    return Condition(0, frozenset())


def test_arguments_that_a_row_is_for_do_stop() -> None:
    for row in ROWS:
        stop = stops(row.name)
        if stop is None or row.when is None or row.when.negate:
            continue
        assert stop.negate
        assert stop.argument == row.when.argument
        assert not row.when.values & stop.values, row


def test_arguments_of_which_nothing_is_known_stop() -> None:
    for name in ("fcntl", "ioctl"):
        stop = stops(name)
        assert stop == Condition(1, QUIET[name].values, negate=True)
        assert 0xABCDEF not in stop.values

    assert stops("openat") is None


def test_process_creation_and_signals_are_services() -> None:
    found = table("x86_64")
    served = {silent.name: silent.service for silent in found.services.values()}

    assert served["vfork"] is served["clone3"] is Service.SPAWN
    assert served["tgkill"] is Service.SIGNAL
    assert served["getpid"] is Service.PID
