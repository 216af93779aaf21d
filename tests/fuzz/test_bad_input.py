"""Guards that nothing that is given to racecheck makes it do more than say no.

Whatever a token, a trace, a scenario file or a configuration holds: it is taken, or
refused with status 2 and one line, without a traceback, and nothing in a token or a
trace is run. `RACECHECK_EXAMPLES` sets how many are tried of each.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import msgspec
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from racecheck.storage.envelope import seal
from racecheck.storage.trace_file import VERSION
from tests.fuzz.commands import BAD_INPUT, FUZZ, refused_or_taken

NUMBERS = itertools.count()

# What could do harm, or be mistaken for markup or an option.
HOSTILE = st.sampled_from(
    [
        "__import__('os').system('touch /tmp/racecheck-was-here')",
        "$(touch /tmp/racecheck-was-here)",
        "c__builtin__\neval\n(S'1'\ntR.",
        "</script><script>alert(1)</script>",
        "../../../../etc/passwd",
        "--help",
        "\x00",
        "\x1b[2J",
        "\u202e",
        "é" * 300,
    ]
)
TEXTS = st.text(max_size=40) | HOSTILE
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
    ),
    max_leaves=12,
)


def sealed(head: bytes, body: object) -> str:
    """Return what has the outer form of a token, its checksum included."""
    return seal(head, msgspec.msgpack.encode(body))


@FUZZ
@given(
    TEXTS.map("rc1-".__add__)
    | TEXTS
    | st.builds(
        sealed, st.binary(min_size=16, max_size=16), st.lists(PLAIN, max_size=8) | PLAIN
    )
)
def test_tokens_are_refused(text: str) -> None:
    assert refused_or_taken("replay", "--", text, "scenario.py") == BAD_INPUT


def trace_body(value: object) -> bytes:
    body = msgspec.msgpack.encode(value)
    return b"racecheck trace %d\n" % VERSION + zstandard.compress(body)


@FUZZ
@given(st.binary(max_size=200) | PLAIN.map(trace_body))
def test_what_is_no_trace_is_refused(data: bytes) -> None:
    folder = Path(f"case-{next(NUMBERS)}")
    folder.mkdir()
    (folder / "given.trace").write_bytes(data)

    status = refused_or_taken(
        "report", str(folder / "given.trace"), "-o", f"{folder}/o"
    )

    assert status == BAD_INPUT
    assert os.listdir(folder) == ["given.trace"]


ARGUMENTS = st.dictionaries(
    st.sampled_from(
        ["invariants", "expect", "faults", "tags", "budget", "max_cpu_s", "same_pid"]
    ),
    PLAIN,
    max_size=3,
)


def declaring(name: object, arguments: dict[str, object]) -> str:
    said = "".join(f", {key}={value!r}" for key, value in arguments.items())
    return f"""
from racecheck.scenario import Scenario
from math import inf, nan

one = Scenario({name!r}{said})
one.writer(lambda: None, name="write")
"""


@FUZZ
@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60).map(
        "given = (\n".__add__
    )
    | st.builds(declaring, PLAIN, ARGUMENTS)
)
def test_scenario_files_are_taken_or_refused(source: str) -> None:
    file = Path(f"given_{next(NUMBERS)}.py")
    file.write_text(source, "utf-8", newline="")

    refused_or_taken("list", str(file))


TOML = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


def toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{quoted}"'
    return str(value)


@FUZZ
@given(
    st.dictionaries(
        st.sampled_from(["paths", "seed", "budget", "jobs", "unheard"]),
        TOML,
        min_size=1,
    ).map(lambda keys: "\n".join(f"{key} = {toml(keys[key])}" for key in keys))
    | st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60)
)
def test_configurations_are_taken_or_refused(place: Path, lines: str) -> None:
    text = f"[tool.racecheck]\n{lines}"
    (place / "pyproject.toml").write_text(text, "utf-8", newline="")

    refused_or_taken("list")


@FUZZ
@given(
    st.lists(
        TEXTS
        | st.sampled_from(
            ["--seed", "--jobs", "--budget", "--scheduler", "--engine", "-x", "--json"]
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_command_line_is_taken_or_refused(words: list[str]) -> None:
    # Under another name, nothing is found and nothing runs.
    refused_or_taken("list", *words)
