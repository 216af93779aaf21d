"""Hypothesis strategies for steps, schedules and traces."""

from __future__ import annotations

import errno

import msgspec
from hypothesis import strategies as st

from racecheck.model import (
    ActorEnd,
    ActorInfo,
    Buffer,
    Content,
    Decision,
    Detail,
    Ending,
    Fault,
    FaultKind,
    Footprint,
    Frame,
    Held,
    Kind,
    Moment,
    Node,
    Operation,
    Resource,
    Schedule,
    Step,
    Trace,
    Verdict,
    Violation,
    Write,
)

DIGESTS = st.binary(min_size=8, max_size=8).map(bytes.hex)
INTEGERS = st.integers(-(2**63), 2**64 - 1)
LENGTHS = st.integers(0, 2**40)
TEXTS = st.text(max_size=20)
NAMES = ("serve-1", "serve-2", "load")

VALUES = st.one_of(
    st.none(),
    INTEGERS,
    TEXTS,
    st.builds(Buffer, LENGTHS, DIGESTS, st.binary(max_size=16)),
)
FAULTS = st.one_of(
    st.just(Fault(FaultKind.CRASH)),
    st.builds(Fault, st.just(FaultKind.TEAR), length=LENGTHS),
    st.builds(Fault, st.just(FaultKind.SHORT), length=LENGTHS),
    st.builds(
        Fault,
        st.just(FaultKind.ERRNO),
        errno=st.sampled_from(sorted(errno.errorcode.values())),
    ),
)
RESOURCES = st.builds(
    Resource, st.sampled_from(["entry", "data"]), TEXTS, TEXTS, LENGTHS, LENGTHS
)
STEPS = st.builds(
    Step,
    index=st.just(0),
    actor=st.sampled_from(NAMES),
    operation=st.integers(0, 3),
    call=st.sampled_from(["openat", "write", "renameat2"]),
    kind=st.sampled_from(Kind),
    args=st.dictionaries(TEXTS, VALUES, max_size=3),
    result=st.integers(-133, 2**40),
    outputs=st.dictionaries(TEXTS, VALUES, max_size=2),
    fault=st.none() | FAULTS,
    footprint=st.builds(
        Footprint,
        st.lists(RESOURCES, max_size=2).map(tuple),
        st.lists(st.builds(Write, RESOURCES, TEXTS), max_size=2).map(tuple),
    ),
)
FRAMES = st.lists(
    st.builds(Frame, TEXTS, st.integers(1, 999), TEXTS, st.booleans()), max_size=2
).map(tuple)
CONTENTS = (Content(-1, 0, 0, b"\x00\xff", 2), Content(0, 1, 1, b"abc", 9))
NODES = st.builds(
    Node,
    st.sampled_from(["file", "link"]),
    st.integers(0, 0o7777),
    TEXTS,
    st.integers(-1, len(CONTENTS) - 1),
    TEXTS,
)


@st.composite
def details(draw: st.DrawFn, steps: int) -> Detail:
    """Draw what was recorded beside so many steps."""
    frames = draw(FRAMES)
    stacks: tuple[tuple[int, ...], ...] = (
        (tuple(range(len(frames))), (len(frames) - 1,)) if frames else ()
    )
    programs = tuple(draw(st.lists(TEXTS, max_size=2)))
    held = st.builds(
        Held,
        st.sampled_from([*NAMES, f"{NAMES[0]}:2"]),
        TEXTS,
        TEXTS,
        st.booleans(),
        LENGTHS,
        LENGTHS,
        st.integers(0, max(0, steps - 1)),
    )
    printed = st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=2)
    moments = st.builds(
        Moment,
        st.integers(-1, len(stacks) - 1),
        st.integers(-1, len(programs) - 1),
        st.dictionaries(TEXTS, NODES, max_size=2),
        st.lists(TEXTS, max_size=2).map(tuple),
        st.none() | st.lists(held, max_size=2).map(tuple),
        printed,
        st.none() | printed,
    )
    return Detail(
        moments=tuple(draw(st.lists(moments, min_size=steps, max_size=steps))),
        stacks=stacks,
        frames=frames,
        sources=draw(
            st.dictionaries(
                TEXTS,
                st.dictionaries(st.integers(1, 999), TEXTS, max_size=3),
                max_size=2,
            )
        ),
        programs=programs,
        printed=draw(printed),
        start=draw(st.dictionaries(TEXTS, NODES, max_size=2)),
        contents=CONTENTS,
    )


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | INTEGERS
    | st.floats(allow_nan=False)
    | TEXTS
    # Lists come back as lists, and only text is a key in data that is meant for JSON.
    | st.binary(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=5,
)
OPERATIONS = st.builds(
    Operation,
    actor=st.sampled_from(NAMES),
    role=st.just("writer"),
    index=st.integers(0, 3),
    ending=st.sampled_from(Ending),
    succeeded=st.booleans(),
    value=PLAIN,
    shown=TEXTS,
    frames=st.lists(
        st.builds(Frame, TEXTS, st.integers(1, 999), TEXTS), max_size=2
    ).map(tuple),
    status=st.none() | st.integers(-64, 255),
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Draw a trace with a step for each decision."""
    steps = tuple(
        msgspec.structs.replace(step, index=index)
        for index, step in enumerate(draw(st.lists(STEPS, max_size=8)))
    )
    place = st.none() | st.integers(0, len(steps) - 1) if steps else st.none()
    return Trace(
        scenario=draw(TEXTS),
        shape=draw(DIGESTS),
        actors=tuple(ActorInfo(name, "writer", 100) for name in NAMES),
        schedule=Schedule(
            draw(INTEGERS), tuple(Decision(step.actor, step.fault) for step in steps)
        ),
        steps=steps,
        operations=tuple(draw(st.lists(OPERATIONS, max_size=2))),
        ends=(ActorEnd("load", -9, crashed=True),),
        verdict=draw(st.sampled_from(Verdict)),
        reason=draw(TEXTS),
        violations=(Violation("no_lost_writes", "expected …", step=draw(place)),),
        uncontrolled=("io_uring_setup",),
        outputs=draw(st.dictionaries(st.sampled_from(NAMES), TEXTS)),
        detail=draw(st.none() | details(len(steps))),
    )
