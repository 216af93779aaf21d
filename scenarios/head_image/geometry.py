"""The shape of a head image, from which every size and offset in the file follows."""

import enum
import struct
from dataclasses import astuple, dataclass
from typing import Self

HEADER_NBYTES = 128
ALIGNMENT = 64

_LAYOUT = struct.Struct("<4I2HI5Q")
_GEOMETRY = struct.Struct("<4I2HI")


class CodeType(enum.IntEnum):
    """How one quantised weight is stored."""

    I8 = 1
    U4 = 2


class ScaleType(enum.IntEnum):
    """How one scale is stored."""

    F32 = 1
    BF16 = 2


@dataclass(frozen=True)
class Geometry:
    """Shape of an image; every size and offset in the file follows from it.

    Attributes:
        rows: Length of the reduced dimension, a multiple of `tile_rows`.
        cols: Number of output columns, a multiple of `tile_cols`.
        tile_rows: Rows that a kernel takes at once.
        tile_cols: Columns that a kernel takes at once.
        code_type: Storage of the weights.
        scale_type: Storage of the scales.
        group_size: Rows that share a scale; 0 gives each column a single one.
    """

    rows: int
    cols: int
    tile_rows: int = 32
    tile_cols: int = 256
    code_type: CodeType = CodeType.I8
    scale_type: ScaleType = ScaleType.F32
    group_size: int = 0

    def __post_init__(self) -> None:
        """Refuse shapes that no kernel could take.

        Raises:
            ValueError: If the rows or columns do not divide as they should.
        """
        if min(self.rows, self.cols, self.tile_rows, self.tile_cols) < 1:
            raise ValueError(f"every dimension must be at least 1, found {self!r}")
        if self.rows % self.tile_rows or self.cols % self.tile_cols:
            raise ValueError(f"the shape must be a whole number of tiles in {self!r}")
        if self.rows % (self.group_size or self.rows):
            raise ValueError(f"the rows must be a whole number of groups in {self!r}")

    @property
    def codes_nbytes(self) -> int:
        """Size of the codes without their padding."""
        count = self.rows * self.cols
        return count if self.code_type is CodeType.I8 else (count + 1) // 2

    @property
    def scales_offset(self) -> int:
        """Where the scales begin, which is also where the padding ends."""
        end = HEADER_NBYTES + self.codes_nbytes
        return end + -end % ALIGNMENT

    @property
    def scales_nbytes(self) -> int:
        """Size of the scales."""
        count = self.cols * self.rows // (self.group_size or self.rows)
        return count * (4 if self.scale_type is ScaleType.F32 else 2)

    @property
    def file_nbytes(self) -> int:
        """Exact size of the file."""
        return self.scales_offset + self.scales_nbytes

    def layout(self) -> bytes:
        """Return the part of the header that depends on the geometry."""
        codes = (HEADER_NBYTES, self.codes_nbytes)
        scales = (self.scales_offset, self.scales_nbytes)
        return _LAYOUT.pack(*astuple(self), *codes, *scales, self.file_nbytes)

    @classmethod
    def from_layout(cls, layout: bytes) -> Self | None:
        """Read a geometry back, or None where the layout describes none.

        The offsets and sizes beside it are not looked at: a caller compares `layout`
        with that of the result.
        """
        rows, cols, tall, wide, code, scale, group = _GEOMETRY.unpack_from(layout)
        try:
            types = CodeType(code), ScaleType(scale)
            return cls(rows, cols, tall, wide, *types, group)
        except ValueError:
            return None


SMALL = Geometry(rows=32, cols=8, tile_cols=8)
FULL = Geometry(rows=1024, cols=4096)
