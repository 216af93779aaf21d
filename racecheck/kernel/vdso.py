"""Time that the tracer sets, and that a process reads without stopping for it.

A C library asks the vDSO for the time, code that the kernel maps into every process;
see vdso(7). Its functions are replaced by others that read a table in the same pages,
so that the tracer moves a process's clocks by writing 48 bytes. A fork copies the pages
as they are, an exec maps fresh ones:

    vdso = VDSO.find(pid, memory)
    if vdso is not None:
        vdso.patch(memory)
        vdso.set_clock(memory, realtime_ns, monotonic_ns)

A process can also be made to ask the kernel again (`by_call`), so that its tracer sees
each time that it looks at a clock.

Clocks of processor time stay what they are. Whoever makes a system call for the time,
or reads the processor's own counter, does not come by here.
"""

from __future__ import annotations

import mmap
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from racecheck.kernel.memory import Memory

# The functions as an assembler lists them, each under the name of the one it replaces.
# Of the two masks, 0xbf3 has a bit for each clock of the table, and 0x921 for those of
# them that show real time: REALTIME 0, REALTIME_COARSE 5, REALTIME_ALARM 8 and TAI 11.
# Other clocks are left to the kernel. Seconds and fraction are moved by one
# instruction, so that a process stopped at any place never puts halves of two times
# together. Asked for the state that getrandom keeps, with a length of -1, the answer is
# that there is none: the system call would succeed and leave out what was asked for.

_X86_64: Final = """\
__vdso_clock_gettime:
83 ff 0b                  cmp $11, %edi
77 28                     ja 2f
b8 f3 0b 00 00            mov $0xbf3, %eax
0f a3 f8                  bt %edi, %eax
73 1e                     jnc 2f
48 8d 15 aa 00 00 00      lea table(%rip), %rdx
b8 21 09 00 00            mov $0x921, %eax
0f a3 f8                  bt %edi, %eax
72 04                     jc 1f
48 83 c2 10               add $16, %rdx
1:
0f 10 02                  movups (%rdx), %xmm0
0f 11 06                  movups %xmm0, (%rsi)
31 c0                     xor %eax, %eax
c3                        ret
2:
b8 e4 00 00 00            mov $228, %eax
0f 05                     syscall
c3                        ret
__vdso_clock_getres:
83 ff 0b                  cmp $11, %edi
77 1d                     ja 2f
b8 f3 0b 00 00            mov $0xbf3, %eax
0f a3 f8                  bt %edi, %eax
73 13                     jnc 2f
31 c0                     xor %eax, %eax
48 85 f6                  test %rsi, %rsi
74 0b                     je 1f
48 89 06                  mov %rax, (%rsi)
48 c7 46 08 01 00 00 00   movq $1, 8(%rsi)
1:
c3                        ret
2:
b8 e5 00 00 00            mov $229, %eax
0f 05                     syscall
c3                        ret
__vdso_gettimeofday:
31 c0                     xor %eax, %eax
48 85 ff                  test %rdi, %rdi
74 0a                     je 1f
0f 10 05 73 00 00 00      movups table+32(%rip), %xmm0
0f 11 07                  movups %xmm0, (%rdi)
1:
48 85 f6                  test %rsi, %rsi
74 03                     je 2f
48 89 06                  mov %rax, (%rsi)
2:
c3                        ret
__vdso_time:
48 8b 05 40 00 00 00      mov table(%rip), %rax
48 85 ff                  test %rdi, %rdi
74 03                     je 1f
48 89 07                  mov %rax, (%rdi)
1:
c3                        ret
__vdso_getrandom:
49 83 f8 ff               cmp $-1, %r8
74 08                     je 1f
b8 3e 01 00 00            mov $318, %eax
0f 05                     syscall
c3                        ret
1:
48 c7 c0 da ff ff ff      mov $-38, %rax
c3                        ret
__vdso_clock_gettime_by_call:
b8 e4 00 00 00            mov $228, %eax
0f 05                     syscall
c3                        ret
__vdso_gettimeofday_by_call:
b8 60 00 00 00            mov $96, %eax
0f 05                     syscall
c3                        ret
__vdso_time_by_call:
b8 c9 00 00 00            mov $201, %eax
0f 05                     syscall
c3                        ret
"""

_AARCH64: Final = """\
__kernel_clock_gettime:
71002c1f                  cmp w0, #11
540001a8                  b.hi 2f
52817e62                  mov w2, #0xbf3
1ac02442                  lsr w2, w2, w0
36000142                  tbz w2, #0, 2f
10000763                  adr x3, table
52812422                  mov w2, #0x921
1ac02442                  lsr w2, w2, w0
37000042                  tbnz w2, #0, 1f
91004063                  add x3, x3, #16
1:
a9401464                  ldp x4, x5, [x3]
a9001424                  stp x4, x5, [x1]
d2800000                  mov x0, #0
d65f03c0                  ret
2:
d2800e28                  mov x8, #113
d4000001                  svc #0
d65f03c0                  ret
__kernel_clock_getres:
71002c1f                  cmp w0, #11
54000128                  b.hi 2f
52817e62                  mov w2, #0xbf3
1ac02442                  lsr w2, w2, w0
360000c2                  tbz w2, #0, 2f
d2800000                  mov x0, #0
b4000061                  cbz x1, 1f
d2800022                  mov x2, #1
a9000820                  stp x0, x2, [x1]
1:
d65f03c0                  ret
2:
d2800e48                  mov x8, #114
d4000001                  svc #0
d65f03c0                  ret
__kernel_gettimeofday:
b4000080                  cbz x0, 1f
10000523                  adr x3, table+32
a9401464                  ldp x4, x5, [x3]
a9001404                  stp x4, x5, [x0]
1:
d2800000                  mov x0, #0
b4000041                  cbz x1, 2f
f9000020                  str x0, [x1]
2:
d65f03c0                  ret
__kernel_getrandom:
b100049f                  cmn x4, #1
54000080                  b.eq 1f
d28022c8                  mov x8, #278
d4000001                  svc #0
d65f03c0                  ret
1:
928004a0                  mov x0, #-38
d65f03c0                  ret
__kernel_clock_gettime_by_call:
d2800e28                  mov x8, #113
d4000001                  svc #0
d65f03c0                  ret
__kernel_gettimeofday_by_call:
d2801528                  mov x8, #169
d4000001                  svc #0
d65f03c0                  ret
"""

_HEX_COLUMNS: Final = 26
_ALIGNMENT: Final = 64

_TABLE: Final = struct.Struct("<6q")
"""Seconds and fraction: of real time in ns, of monotonic time, of real time in us."""


class _Processor(NamedTuple):
    """What is put in place of the functions on one processor.

    Attributes:
        code: The functions, filled up to where the table follows.
        functions: Where each begins in it, by the name of what it replaces.
        jump: Makes code that goes on at a distance from its own start.
    """

    code: bytes
    functions: Mapping[str, int]
    jump: Callable[[int], bytes]


def _processor(listing: str, jump: Callable[[int], bytes]) -> _Processor:
    code = bytearray()
    functions = {}
    for line in listing.splitlines():
        if line.endswith(":"):
            functions[line[:-1]] = len(code)
            continue
        for word in line[:_HEX_COLUMNS].split():
            code += int(word, 16).to_bytes(len(word) // 2, "little")
    return _Processor(bytes(code).ljust(_aligned(len(code)), b"\0"), functions, jump)


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _jump_x86_64(distance: int) -> bytes:
    return struct.pack("<Bi", 0xE9, distance - 5)  # jmp


def _jump_aarch64(distance: int) -> bytes:
    # bti c, without which it may not be called where such targets are marked; then b.
    return struct.pack("<2I", 0xD503245F, 0x14000000 | (distance - 4 >> 2 & 0x3FFFFFF))


_PROCESSORS: Final = {
    62: _processor(_X86_64, _jump_x86_64),  # EM_X86_64
    183: _processor(_AARCH64, _jump_aarch64),  # EM_AARCH64
}


class VDSO(NamedTuple):
    """A vDSO with what replaces its functions.

    Good for the address space that it was found in, and for all forked from that.

    Attributes:
        writes: Where to write and what, in this order.
        table: Address of the table.
        ways: Where a function for the time begins, with the jump to code that reads
            the table, and the one to code that asks the kernel.
    """

    writes: tuple[tuple[int, bytes], ...]
    table: int
    ways: tuple[tuple[int, bytes, bytes], ...]

    @classmethod
    def find(cls, pid: int, memory: Memory) -> VDSO | None:
        """Look for the vDSO of a process, and for room in it.

        Args:
            pid: The process: this one, or one that is stopped.
            memory: Its memory.

        Returns:
            None if it has none, or one whose functions cannot be replaced: of another
            processor or word size, or without room.
        """
        try:
            address = _address(pid)
            plan = _plan(_pages(memory, address))
        except (OSError, ArithmeticError, LookupError, ValueError, struct.error):
            return None
        if plan is None:
            return None
        writes = tuple((address + start, content) for start, content in plan.writes)
        ways = tuple((address + start, a, b) for start, a, b in plan.ways)
        return cls(writes, address + plan.table, ways)

    def patch(self, memory: Memory) -> None:
        """Replace the functions; the clocks of the table are at zero then.

        Args:
            memory: Memory of this process, or of one whose tasks are all stopped.

        Raises:
            OSError: The kernel does not let it be written. It can be told to let
                nobody do so, or only tracers (`proc_mem.force_override`).
        """
        for start, content in self.writes:
            memory.write(start, content)

    def by_call(self, memory: Memory) -> None:
        """Have a process make a call each time that it wants to know the time.

        A task that stands in one of the functions goes on in the code that it is in:
        the jumps before that are all that is changed.

        Args:
            memory: Memory of the process, all of whose tasks are stopped.
        """
        for start, _, jump in self.ways:
            memory.write(start, jump)

    def by_table(self, memory: Memory) -> None:
        """Have a process read the table again.

        Args:
            memory: Memory of the process, all of whose tasks are stopped.
        """
        for start, jump, _ in self.ways:
            memory.write(start, jump)

    def set_clock(self, memory: Memory, realtime_ns: int, monotonic_ns: int) -> None:
        """Set the clocks of a process, all of whose tasks are stopped.

        Args:
            memory: Memory of the process.
            realtime_ns: Time since 1970.
            monotonic_ns: Time since a start that the caller chose.
        """
        seconds, fraction = divmod(realtime_ns, 1_000_000_000)
        monotonic = divmod(monotonic_ns, 1_000_000_000)
        memory.write(
            self.table,
            _TABLE.pack(seconds, fraction, *monotonic, seconds, fraction // 1000),
        )


# What is known of elf(5), in 64 bits with the low byte first.
_MAGIC: Final = b"\x7fELF\x02\x01"
_HEADER: Final = struct.Struct("<18xH12xQQ6x4H")
_SEGMENT: Final = struct.Struct("<I4xQQ8xQ16x")
_DYNAMIC: Final = struct.Struct("<2Q")
_SYMBOL: Final = struct.Struct("<IBxHQQ")
_LARGEST: Final = 1 << 20
_AT_SYSINFO_EHDR: Final = 33
_PT_LOAD: Final = 1
_PT_DYNAMIC: Final = 2
_DT_STRTAB: Final = 5
_DT_SYMTAB: Final = 6
_ADDRESSES: Final = (4, 5, 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFC)
"""Tags of the tables that can follow the symbols: hashes, names and versions."""


class _Function(NamedTuple):
    """An exported function, and where it lies."""

    name: str
    start: int
    end: int


class _Layout(NamedTuple):
    """What the head of a vDSO says of the rest.

    Attributes:
        machine: Its processor, as ELF counts them.
        end: Where the file ends; what follows has no meaning to anybody.
        base: Address that its first byte was linked for.
        dynamic: Where it says what dynamic linking needs.
    """

    machine: int
    end: int
    base: int
    dynamic: slice


class _Plan(NamedTuple):
    """What a `VDSO` has, with places counted from its first byte."""

    writes: tuple[tuple[int, bytes], ...]
    table: int
    ways: tuple[tuple[int, bytes, bytes], ...]


def _address(pid: int) -> int:
    with open(f"/proc/{pid}/auxv", "rb") as file:
        values: dict[int, int] = dict(struct.iter_unpack("=2Q", file.read()))
    return values[_AT_SYSINFO_EHDR]


def _pages(memory: Memory, address: int) -> bytes:
    """Return the vDSO as it is in memory: whole pages, of which the file is a part."""
    head = memory.read(address, mmap.PAGESIZE)
    count = -(-_layout(head).end // mmap.PAGESIZE)
    return memory.read(address, count * mmap.PAGESIZE)


def _layout(head: bytes) -> _Layout:
    if not head.startswith(_MAGIC):
        raise ValueError("no ELF file of 64 bits")
    machine, segments, sections, size, count, section_size, section_count = (
        _HEADER.unpack_from(head)
    )
    end = sections + section_size * section_count
    base = 0
    dynamic = slice(0)
    for index in range(count):
        kind, offset, virtual, length = _SEGMENT.unpack_from(
            head, segments + index * size
        )
        if kind == _PT_LOAD:
            base = virtual - offset
            end = max(end, offset + length)
        elif kind == _PT_DYNAMIC:
            dynamic = slice(offset, offset + length)
    if end > _LARGEST:
        raise ValueError("no vDSO is that large")
    return _Layout(machine, end, base, dynamic)


def _functions(data: bytes, layout: _Layout) -> Iterator[_Function]:
    tags = dict(_DYNAMIC.iter_unpack(data[layout.dynamic]))
    symbols, names = tags[_DT_SYMTAB], tags[_DT_STRTAB]
    # How many symbols there are is nowhere said: they end where the next table begins.
    follows = min(tags[tag] for tag in _ADDRESSES if tags.get(tag, 0) > symbols)
    length = (follows - symbols) // _SYMBOL.size * _SYMBOL.size
    symbols -= layout.base
    names -= layout.base
    for name, _, section, value, size in _SYMBOL.iter_unpack(
        data[symbols : symbols + length]
    ):
        if section:
            text = data[names + name : data.index(b"\0", names + name)].decode("ascii")
            start = value - layout.base
            yield _Function(text, start, start + size)


@lru_cache(maxsize=8)  # programs that are executed have the same as the first
def _plan(data: bytes) -> _Plan | None:
    """Put the code where there is room, and a jump to it into each function."""
    layout = _layout(data)
    processor = _PROCESSORS[layout.machine]
    functions = [
        one for one in _functions(data, layout) if one.name in processor.functions
    ]
    place = _room(data, layout, processor, functions) if functions else None
    if place is None:
        return None
    code = (place, processor.code + bytes(_TABLE.size))
    jumps = []
    ways = []
    for one in functions:
        jump = processor.jump(place + processor.functions[one.name] - one.start)
        if one.start + len(jump) > one.end:
            return None
        jumps.append((one.start, jump))
        asking = processor.functions.get(f"{one.name}_by_call")
        if asking is not None:
            ways.append((one.start, jump, processor.jump(place + asking - one.start)))
    # Whoever asks for the time between two writes, be it a signal handler of a process
    # that patches itself, has to find all as it was or all as it is to be.
    inside = any(one.start < place < one.end for one in functions)
    groups = [[code, *jumps]] if inside else [[code], jumps]
    writes = tuple(_joined(data, parts) for parts in groups)
    return _Plan(writes, place + len(processor.code), tuple(ways))


def _joined(data: bytes, parts: Iterable[tuple[int, bytes]]) -> tuple[int, bytes]:
    """Return one thing to write for several, with what lies between as it is."""
    changed = bytearray(data)
    first, last = len(data), 0
    for start, part in parts:
        end = start + len(part)
        changed[start:end] = part
        first, last = min(first, start), max(last, end)
    return first, bytes(changed[first:last])


def _room(
    data: bytes, layout: _Layout, processor: _Processor, functions: Iterable[_Function]
) -> int | None:
    """Return where code and table fit: behind the file, or in a replaced function."""
    found = data.find(processor.code)
    if found >= 0:
        # Replaced before, here or in a process that this one was forked from.
        return found
    needed = len(processor.code) + _TABLE.size
    place = _aligned(layout.end)
    if place + needed <= len(data) and not any(data[place : place + needed]):
        # The better place: nothing says to unwinders what frames look like there, and
        # what is said of a function would be wrong.
        return place
    jump = len(processor.jump(0))
    for one in sorted(functions, key=lambda one: one.start - one.end):
        place = _aligned(one.start + jump)
        if place + needed <= one.end:
            return place
    return None
