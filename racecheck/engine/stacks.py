"""Python stacks of stopped processes, read from their memory.

Nothing happens in the process that is looked at: it makes the calls that it always
makes, and has the memory that it always has. Actors are forked from this interpreter,
so that its own objects show where the interpreter keeps what: where is found out once,
by looking for known values in them. If that fails there are no stacks, and all else
goes on as before.
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import os
import struct
import sys
import types
from typing import TYPE_CHECKING, Final, NamedTuple

from racecheck.kernel.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_WORD: Final = 8
_FRAME_OF_OBJECT: Final = 24
"""`f_frame` of a frame object: after its head and `f_back`."""
_LENGTH: Final = 16
"""Where objects of varying size have their length."""
_STATE: Final = 32
"""Where strings have the bits that tell how their characters are stored."""
_BYTES: Final = 32
"""Where the bytes of a bytes object begin."""
_TAGS: Final = ~7
_MOST_FRAMES: Final = 200
_MOST_THREADS: Final = 1000
_LONGEST: Final = 1 << 20
_NEAR: Final = 1 << 13
"""Most bytes that the record of a thread lies below its thread pointer."""
_SAMPLES: Final = 12
_STATE_BITS: Final = (1 << 24) - 1
_ODD_LINE: Final = 0x1A2B3C4D


class Place(NamedTuple):
    """One place in a program."""

    file: str
    line: int
    function: str


class _Text(NamedTuple):
    """How a kind of string is stored."""

    start: int
    width: int
    encoding: str


class _Layout(NamedTuple):
    """Where the interpreter keeps what: addresses, and offsets in bytes."""

    head: int
    next: int
    ident: int
    holder: int
    current: int
    previous: int
    code: int
    instruction: int
    file: int
    function: int
    first_line: int
    lines: int
    bytecode: int
    state_mask: int
    texts: Mapping[int, _Text]


class Stacks:
    """Reads the stacks of processes that were forked from this one."""

    def __init__(self) -> None:
        """Find out how this interpreter lays out its memory."""
        try:
            self._layout: _Layout | None = _find_layout()
        except (AttributeError, LookupError, OSError, ValueError):
            # Another interpreter, or a version that keeps things elsewhere.
            self._layout = None

    @property
    def available(self) -> bool:
        """Whether stacks can be read under this interpreter."""
        return self._layout is not None

    def read(self, memory: Memory, thread: int) -> tuple[Place, ...]:
        """Return the stack of a stopped thread, innermost first.

        Args:
            memory: Memory of its process.
            thread: Its thread pointer.

        Returns:
            The stack; nothing if the process is about to begin or to end, or shows
            something that does not look like an interpreter.
        """
        if self._layout is None:
            return ()
        try:
            return tuple(_Reader(self._layout, memory).stack(thread))
        except (OSError, ValueError, LookupError, struct.error):
            return ()


class _Reader:
    """Reads one process."""

    def __init__(self, layout: _Layout, memory: Memory) -> None:
        self._layout = layout
        self._memory = memory

    def stack(self, thread: int) -> Iterator[Place]:
        layout = self._layout
        frame = self._word(self._state(thread) + layout.holder)
        if layout.current >= 0:
            frame = self._word(frame + layout.current)
        for _ in range(_MOST_FRAMES):
            if not frame:
                return
            code = self._word(frame + layout.code) & _TAGS
            # Entries from C have none, or stand for no function of a program's.
            if code and self._word(code + _WORD) == id(types.CodeType):
                at = self._word(frame + layout.instruction) - code - layout.bytecode
                place = self._place(code, at)
                if place is not None:
                    yield place
            frame = self._word(frame + layout.previous)

    def _state(self, thread: int) -> int:
        """Return the address of a thread's state."""
        layout = self._layout
        found: dict[int, int] = {}
        state = self._word(layout.head)
        while state and len(found) < _MOST_THREADS:
            distance = thread - self._word(state + layout.ident)
            if 0 <= distance <= _NEAR:
                found[distance] = state
            state = self._word(state + layout.next)
        return found[min(found, default=-1)]

    def _place(self, code: int, at: int) -> Place | None:
        layout = self._layout
        table = self._word(code + layout.lines)
        length = self._word(table + _LENGTH)
        first = int.from_bytes(self._memory.read(code + layout.first_line, 4), "little")
        if length > _LONGEST:
            raise ValueError(length)
        line = _line(self._memory.read(table + _BYTES, length), first, at)
        if line is None:
            return None
        return Place(
            self._text(self._word(code + layout.file)),
            line,
            self._text(self._word(code + layout.function)),
        )

    def _text(self, address: int) -> str:
        length = self._word(address + _LENGTH)
        state = int.from_bytes(self._memory.read(address + _STATE, 4), "little")
        text = self._layout.texts[state & self._layout.state_mask]
        if length > _LONGEST:
            raise ValueError(length)
        data = self._memory.read(address + text.start, length * text.width)
        return data.decode(text.encoding, "replace")

    def _word(self, address: int) -> int:
        return int.from_bytes(self._memory.read(address, _WORD), "little")


@functools.lru_cache(maxsize=4096)
def _line(table: bytes, first: int, at: int) -> int | None:
    """Return the line of an instruction, or None before the first one."""
    code = compile("", "", "exec").replace(co_linetable=table, co_firstlineno=first)
    found = None
    for start, end, line in code.co_lines():
        if start <= at < end:
            found = line
    return found


# --- finding out where things are -----------------------------------------------------


class _Shown(NamedTuple):
    """A thread that stands still, with two frames of which all is known."""

    state: int
    ident: int
    inner: types.FrameType


def _find_layout() -> _Layout:
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != _WORD:
        raise LookupError("another kind of interpreter")
    memory = Memory(os.getpid())
    try:
        return _with_thread(lambda shown: _look(memory, shown))
    finally:
        memory.close()


def _with_thread(look: Callable[[_Shown], _Layout]) -> _Layout:
    """Look at a thread that waits meanwhile."""
    api = ctypes.pythonapi
    api.PyThreadState_Get.restype = ctypes.c_void_p
    begun, done = _thread.allocate_lock(), _thread.allocate_lock()
    begun.acquire()
    done.acquire()
    told: list[tuple[int, int]] = []

    def inner() -> None:
        told.append((api.PyThreadState_Get(), _thread.get_ident()))
        begun.release()
        done.acquire()

    def outer() -> None:
        inner()

    _thread.start_new_thread(outer, ())
    try:
        begun.acquire()
        state, ident = told[0]
        frame = sys._current_frames()[ident]  # noqa: SLF001  there is no other way
        while frame.f_code is not inner.__code__:
            assert frame.f_back is not None  # noqa: S101  it is called by `inner`
            frame = frame.f_back
        return look(_Shown(state, ident, frame))
    finally:
        done.release()


def _look(memory: Memory, shown: _Shown) -> _Layout:
    api = ctypes.pythonapi
    for function in (api.PyInterpreterState_Get, api.PyThreadState_Next):
        function.restype = ctypes.c_void_p
    interpreter = api.PyInterpreterState_Get()
    after = api.PyThreadState_Next(ctypes.c_void_p(shown.state)) or 0
    inner = shown.inner
    outer = inner.f_back
    if outer is None:
        raise LookupError("a function without a caller")
    code = inner.f_code
    frame = _word(memory, id(inner) + _FRAME_OF_OBJECT)
    caller = _word(memory, id(outer) + _FRAME_OF_OBJECT)
    held = _words(memory, frame, 16)
    parts = _words(memory, id(code), 64)
    holder, current = _find_current(memory, shown.state, frame)
    bytecode = types.CodeType.__basicsize__
    odd = code.replace(co_firstlineno=_ODD_LINE)
    lines = ctypes.string_at(id(odd), bytecode)
    texts, mask = _texts()
    return _Layout(
        head=interpreter
        + _WORD * _words(memory, interpreter, 1 << 13).index(shown.state),
        next=_WORD * _words(memory, shown.state, 64).index(after),
        ident=_WORD * _words(memory, shown.state, 64).index(shown.ident),
        holder=holder,
        current=current,
        previous=_WORD * held.index(caller),
        code=_WORD * [word & _TAGS for word in held].index(id(code)),
        instruction=_WORD * held.index(id(code) + bytecode + inner.f_lasti),
        file=_WORD * parts.index(id(code.co_filename)),
        function=_WORD * parts.index(id(code.co_qualname)),
        first_line=lines.index(struct.pack("=i", _ODD_LINE)),
        lines=_WORD * parts.index(id(code.co_linetable)),
        bytecode=bytecode,
        state_mask=mask,
        texts=texts,
    )


def _find_current(memory: Memory, state: int, frame: int) -> tuple[int, int]:
    """Return where a thread's state has its innermost frame.

    That is in itself, or in what a word of it points to; the second number is -1 if it
    is in itself.
    """
    for place, word in enumerate(_words(memory, state, 64)):
        if word == frame:
            return place * _WORD, -1
        try:
            beyond = _words(memory, word, 4)
        except (OSError, OverflowError):
            continue
        if frame in beyond:
            return place * _WORD, _WORD * beyond.index(frame)
    raise LookupError("no innermost frame")


def _texts() -> tuple[dict[int, _Text], int]:
    """Return how strings are stored, by the bits that tell of it, and those bits."""
    samples = {
        "ascii": "xyz",
        "latin-1": "\xe9\xe8\xe7",
        "utf-16-le": "\u0100\u0101\u0102",
        "utf-32-le": "\U0001d4b3\U0001d4b4\U0001d4b5",
    }
    texts = {}
    differ, vary = 0, 0
    first = None
    for width, (encoding, sample) in zip((1, 1, 2, 4), samples.items(), strict=True):
        # Made anew, since those in the source are kept once and marked as such; and
        # several, since what is between the bits is whatever was there.
        made = ["".join([*sample, *sample[:size]]) for size in range(_SAMPLES)]
        states = [
            int.from_bytes(ctypes.string_at(id(each) + _STATE, 4), "little")
            for each in made
        ]
        start = made[0].__sizeof__() - (len(made[0]) + 1) * width
        first = states[0] if first is None else first
        differ |= states[0] ^ first
        for state in states:
            vary |= state ^ states[0]
        texts[states[0]] = _Text(start, width, encoding)
    mask = differ & ~vary & _STATE_BITS
    return {state & mask: text for state, text in texts.items()}, mask


def _words(memory: Memory, address: int, count: int) -> tuple[int, ...]:
    data = memory.read(address, count * _WORD)
    whole = len(data) // _WORD
    return struct.unpack(f"={whole}Q", data[: whole * _WORD])


def _word(memory: Memory, address: int) -> int:
    return _words(memory, address, 1)[0]
