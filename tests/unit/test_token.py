"""A token repeats its execution, is short, and is refused when it is not whole."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from racecheck.errors import TokenError
from racecheck.model import (
    ActorInfo,
    Decision,
    Fault,
    FaultKind,
    Kind,
    Schedule,
    Trace,
)
from racecheck.storage import Token, check_shape, decode, encode, steps_digest
from racecheck.storage.codes import FAULT_CODES, KIND_CODES
from racecheck.storage.envelope import MAX_BODY, seal
from tests.unit.trace_strategies import DIGESTS, FAULTS, INTEGERS, NAMES, traces

TOKEN = Token(
    scenario="head_image/shared",
    shape="00112233445566aa",
    seed=0x12345678,
    actors=(0, 0, 1, 1, 1, 0, 2),
    kinds=(
        Kind.OPEN,
        Kind.WRITE,
        Kind.OPEN,
        Kind.WRITE,
        Kind.RENAME,
        Kind.RENAME,
        Kind.READ,
    ),
    faults=((3, Fault(FaultKind.SHORT, length=4096)), (5, Fault(FaultKind.CRASH))),
    digest="8899aabbccddeeff",
)
HEAD = bytes.fromhex(TOKEN.shape + TOKEN.digest)
FIXED = (
    "rc1-ABEiM0RVZqqImaq7zN3u_5u6MSM1MSU-MzcxPVW_OCOxKDXlnJBJWMUMBiZGZgZGJs"
    "Yj7IzMjMzs7EyTpjAzLzgrwDCFlWEBAwC3T5o9"
)


@st.composite
def tokens(draw: st.DrawFn) -> Token:
    """Draw a token of up to 40 steps by up to 5 actors."""
    steps = draw(
        st.lists(st.tuples(st.integers(0, 4), st.sampled_from(Kind)), max_size=40)
    )
    faults = draw(st.dictionaries(st.integers(0, 39), FAULTS, max_size=4))
    return Token(
        scenario=draw(st.text(max_size=30)),
        shape=draw(DIGESTS),
        seed=draw(INTEGERS),
        actors=tuple(actor for actor, _ in steps),
        kinds=tuple(kind for _, kind in steps),
        faults=tuple(
            (index, fault)
            for index, fault in sorted(faults.items(), key=lambda item: item[0])
            if index < len(steps)
        ),
        digest=draw(DIGESTS),
    )


def refusal(text: str) -> str:
    """Return the one line that a text is refused with."""
    with pytest.raises(TokenError) as caught:
        decode(text)
    line = str(caught.value)
    assert line
    assert "\n" not in line
    assert len(line) < 200
    return line


@settings(max_examples=500, deadline=None)
@given(tokens())
def test_what_is_written_is_read(token: Token) -> None:
    assert decode(encode(token)) == token


@settings(max_examples=200, deadline=None)
@given(traces())
def test_a_token_has_the_schedule_of_its_trace(trace: Trace) -> None:
    token = decode(encode(Token.of(trace)))

    assert token.schedule(NAMES) == trace.schedule
    assert token.kinds == tuple(step.kind for step in trace.steps)
    assert token.digest == steps_digest(trace.steps)
    check_shape(token, trace.scenario, trace.shape)


def test_tokens_in_old_issues_keep_their_meaning() -> None:
    # This text was made once and must be read as the same token for ever.
    assert decode(FIXED) == TOKEN


def test_every_kind_has_a_code_of_one_byte_and_of_its_own() -> None:
    assert set(KIND_CODES) == set(Kind)
    assert set(FAULT_CODES) == set(FaultKind)
    assert len(set(KIND_CODES.values())) == len(Kind)
    assert len(set(FAULT_CODES.values())) == len(FaultKind)
    assert all(0 <= code < 256 for code in KIND_CODES.values())


def test_a_usual_token_fits_in_two_lines() -> None:
    # Two writers of a whole image each: 30 steps in 6 runs, with a seed of full size.
    writer = ["open", "open", "stat", "write", "write", "close", "rename", "return"]
    runs = ((0, 4), (1, 9), (0, 5), (2, 6), (1, 2), (2, 4))
    token = Token(
        scenario="head_image/two_writers/write_shared",
        shape=TOKEN.shape,
        seed=2**32 - 1,
        actors=tuple(actor for actor, length in runs for _ in range(length)),
        kinds=tuple(Kind(kind) for kind in (writer * 4)[:30]),
        digest=TOKEN.digest,
    )

    assert len(encode(token)) < 150


def test_a_long_execution_makes_no_long_token() -> None:
    token = Token(
        scenario="head_image/two_writers/write_shared",
        shape=TOKEN.shape,
        seed=1,
        actors=(0, 1) * 2000,
        kinds=(Kind.OPEN, Kind.WRITE, Kind.WRITE, Kind.CLOSE) * 1000,
        digest=TOKEN.digest,
    )

    assert len(encode(token)) < 300


@pytest.mark.parametrize("blank", [" ", "\n", "\r\n", "\n    ", "\t"])
def test_blanks_and_line_breaks_from_pasting_do_not_matter(blank: str) -> None:
    text = encode(TOKEN)

    broken = blank.join(text[start : start + 20] for start in range(0, len(text), 20))

    assert decode(blank + broken + blank) == TOKEN


def test_a_token_cut_anywhere_is_refused() -> None:
    text = encode(TOKEN)

    for length in range(len(text)):
        refusal(text[:length])


def test_a_token_with_any_character_changed_is_refused() -> None:
    text = encode(TOKEN)

    for index, character in enumerate(text):
        for other in "A_9" if character not in "A_9" else "Q-5":
            refusal(text[:index] + other + text[index + 1 :])


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=80) | st.text(max_size=80).map("rc1-".__add__))
@example("")
@example("rc1-")
def test_any_text_is_refused(text: str) -> None:
    refusal(text)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=24), st.binary(max_size=80))
def test_any_bytes_with_a_right_checksum_are_refused(head: bytes, body: bytes) -> None:
    refusal(seal(head, body))


PIECES = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=500, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.just("name"),
            st.integers(0, 5),
            st.just([0, 2]),
            st.just(b"\x01\x02"),
            st.just([[0, 0, "", 0]]),
            st.lists(st.integers(-1, 3), max_size=4),
            PIECES,
        ),
        min_size=4,
        max_size=6,
    )
)
def test_any_data_with_a_right_checksum_is_a_token_or_refused(
    body: list[object],
) -> None:
    text = seal(HEAD, msgspec.msgpack.encode(body))
    try:
        token = decode(text)
    except TokenError:
        refusal(text)
    else:
        assert decode(encode(token)) == token


def body(
    runs: object = (0, 2),
    kinds: object = b"\x01\x02",
    faults: object = (),
    seed: object = 7,
) -> bytes:
    return msgspec.msgpack.encode(["name", seed, runs, kinds, faults])


@pytest.mark.parametrize(
    ("packed", "says"),
    [
        (body(runs=(0, 3)), "steps and actors do not agree"),
        (body(runs=(0, 2**63)), "steps and actors do not agree"),
        (body(runs=(0, 1, 1)), "steps and actors do not agree"),
        (body(runs=(0, 3, 0, -1)), "steps and actors do not agree"),
        (body(runs=(-1, 2)), "steps and actors do not agree"),
        (body(runs="ab"), "damaged"),
        (body(kinds=b"\x01\xff"), r"codes of a later version: \[255\]"),
        (body(faults=[(0, 99, "", 0)]), r"codes of a later version: \[99\]"),
        (body(faults=[(2, 0, "", 0)]), "out of place, at step 2"),
        (body(faults=[(-1, 0, "", 0)]), "out of place, at step -1"),
        (body(faults=[(1, 0, "", 0), (0, 0, "", 0)]), "out of place, at step 0"),
        (body(faults=[(0, 2, "EVIL", 0)]), "makes no sense at step 0"),
        (body(faults=[(0, 2, "__name__", 0)]), "makes no sense at step 0"),
        (body(faults=[(0, 1, "", -1)]), "makes no sense at step 0"),
        (body(seed="7"), "damaged"),
        (body() + b"\x00", "damaged"),
        (msgspec.msgpack.encode(["name", 7, (), b"", (), "more"]), "damaged"),
        (b"", "damaged"),
        (b"\x91" * 100_000, "damaged"),
    ],
)
def test_what_no_execution_can_be_is_refused(packed: bytes, says: str) -> None:
    with pytest.raises(TokenError, match=says):
        decode(seal(HEAD, packed))


def test_a_token_with_something_behind_it_is_refused() -> None:
    for rest in ("A", "AAAA", "-", ".", ")", "=", encode(TOKEN)):
        refusal(encode(TOKEN) + rest)


def test_an_execution_too_long_for_a_token_is_refused() -> None:
    token = msgspec.structs.replace(
        TOKEN,
        actors=(0,) * MAX_BODY,
        kinds=(Kind.READ,) * MAX_BODY,
    )

    with pytest.raises(TokenError, match="too long for a token"):
        encode(token)


@pytest.mark.parametrize(
    "change", [{"seed": 2**64}, {"seed": -(2**63) - 1}, {"scenario": "\udc80"}]
)
def test_what_cannot_be_written_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(TokenError, match="gives no token"):
        encode(msgspec.structs.replace(TOKEN, **change))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"shape": "short"}, "two digests of 16 hex digits"),
        ({"digest": "X" * 16}, "two digests of 16 hex digits"),
        ({"kinds": ()}, "found 0 kinds for 7 steps"),
    ],
)
def test_a_token_that_does_not_fit_together_cannot_be_made(
    change: dict[str, object], says: str
) -> None:
    with pytest.raises(TokenError, match=says):
        msgspec.structs.replace(TOKEN, **change)


def test_a_token_has_a_lane_for_each_further_task_of_an_actor() -> None:
    # Numbers go round the actors, so that actor 2 of three is task 1 of the first of
    # two: how many there are is part of the shape, which is checked before.
    assert TOKEN.schedule(["a", "b", "c"]).decisions[3] == Decision(
        "b", Fault(FaultKind.SHORT, length=4096)
    )
    lanes = {decision.actor for decision in TOKEN.schedule(["a", "b"]).decisions}
    assert lanes == {"a", "b", "a:1"}
    with pytest.raises(TokenError, match="'head_image/shared' has none"):
        TOKEN.schedule([])


def test_a_token_of_no_steps_needs_no_actor() -> None:
    empty = Token.of(
        Trace(
            scenario="empty",
            shape=TOKEN.shape,
            actors=(),
            schedule=Schedule(3),
            steps=(),
        )
    )

    assert decode(encode(empty)).schedule([]) == Schedule(3)


def test_a_trace_without_a_step_for_each_decision_gives_no_token() -> None:
    trace = Trace(
        scenario="cut",
        shape=TOKEN.shape,
        actors=(ActorInfo("a", "writer", 100),),
        schedule=Schedule(3, (Decision("a"),)),
        steps=(),
    )

    with pytest.raises(TokenError, match="0 kinds for 1 steps"):
        Token.of(trace)


def test_a_token_of_another_scenario_is_refused() -> None:
    check_shape(TOKEN, "head_image/shared", TOKEN.shape)
    with pytest.raises(TokenError, match="is of 'head_image/shared', not of 'overlay'"):
        check_shape(TOKEN, "overlay", TOKEN.shape)
    with pytest.raises(TokenError, match="with other actors, operations or parameters"):
        check_shape(TOKEN, "head_image/shared", "ff" * 8)
