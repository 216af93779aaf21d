"""The format of the head image: nothing that is damaged passes for an image."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.head_image.geometry import (
    FULL,
    HEADER_NBYTES,
    SMALL,
    CodeType,
    Geometry,
    ScaleType,
)
from scenarios.head_image.image import MAGIC, Key, Refusal, builder_of, seal, validate
from scenarios.head_image.payload import (
    BLOCK_NBYTES,
    Stamp,
    build_image,
    stamped_sections,
    stamps_of,
)

KEY = Key("weights", options=(("group", "32"), ("symmetric", "yes")))
WHOLE = build_image(KEY)
# Has padding: 210 bytes of codes end at 338, and the scales begin at 384.
PADDED = Geometry(rows=30, cols=7, tile_rows=30, tile_cols=7)
# Has four blocks of codes and one of scales.
BLOCKS = Geometry(rows=32, cols=512)

texts = st.text(max_size=4)
options = st.lists(st.tuples(texts, texts), max_size=2).map(tuple)
keys = st.builds(Key, texts, texts, texts, options)
geometries = st.builds(
    Geometry,
    rows=st.integers(1, 9).map(lambda tiles: tiles * 4),
    cols=st.integers(1, 9).map(lambda tiles: tiles * 3),
    tile_rows=st.just(4),
    tile_cols=st.just(3),
    code_type=st.sampled_from(CodeType),
    scale_type=st.sampled_from(ScaleType),
    group_size=st.sampled_from([0, 1, 2, 4]),
)


def with_bytes(image: bytes, offset: int, value: bytes) -> bytes:
    """Put `value` into the header and make its checksum agree."""
    header = image[:offset] + value + image[offset + len(value) : HEADER_NBYTES - 4]
    return header + struct.pack("<I", zlib.crc32(header)) + image[HEADER_NBYTES:]


@given(keys, geometries, st.integers(0, 2**32 - 1))
def test_what_is_built_is_whole(key: Key, geometry: Geometry, builder: int) -> None:
    image = build_image(key, geometry, builder)

    assert validate(image, key, geometry) is None
    assert validate(image) is None
    assert len(image) == geometry.file_nbytes
    assert builder_of(image) == builder


def test_the_header_has_its_fields_where_the_format_says() -> None:
    image = build_image(KEY, PADDED, builder=7)

    assert image[:8] == MAGIC
    assert struct.unpack_from("<HHI", image, 8) == (1, 128, 7)
    assert struct.unpack_from("<4I2HI", image, 16) == (30, 7, 30, 7, 1, 1, 0)
    assert struct.unpack_from("<4QQ", image, 40) == (128, 210, 384, 28, 412)
    assert image[80:96] == KEY.digest()
    assert image[112:124] == bytes(12)
    assert struct.unpack_from("<I", image, 124) == (zlib.crc32(image[:124]),)
    assert image[338:384] == bytes(46)


def test_the_full_image_has_four_mebibytes_of_codes() -> None:
    assert FULL.codes_nbytes == 4 << 20
    assert FULL.scales_nbytes == 16 << 10
    assert FULL.file_nbytes == 128 + (4 << 20) + (16 << 10)


@pytest.mark.parametrize(
    ("geometry", "codes", "scales"),
    [
        (Geometry(64, 256, code_type=CodeType.U4), 64 * 256 // 2, 256 * 4),
        (Geometry(64, 256, scale_type=ScaleType.BF16), 64 * 256, 256 * 2),
        (Geometry(64, 256, group_size=32), 64 * 256, 2 * 256 * 4),
        (Geometry(3, 3, tile_rows=3, tile_cols=3, code_type=CodeType.U4), 5, 12),
    ],
    ids=["packed", "short-scales", "grouped", "odd"],
)
def test_sizes_follow_from_the_types(
    geometry: Geometry, codes: int, scales: int
) -> None:
    assert (geometry.codes_nbytes, geometry.scales_nbytes) == (codes, scales)


def test_every_shorter_prefix_is_refused() -> None:
    for length in range(len(WHOLE)):
        expected = Refusal.SHORT if length < HEADER_NBYTES else Refusal.SIZE
        assert validate(WHOLE[:length], KEY, SMALL) is expected


def test_every_flipped_bit_is_refused() -> None:
    for image in (WHOLE, build_image(KEY, PADDED)):
        for position in range(len(image) * 8):
            flipped = bytearray(image)
            flipped[position // 8] ^= 1 << position % 8
            assert validate(bytes(flipped)) is not None


def test_a_hole_at_the_front_is_refused_whatever_its_length() -> None:
    for length in range(1, len(WHOLE) + 1):
        holed = bytes(length) + WHOLE[length:]
        assert validate(holed, KEY, SMALL) is Refusal.MAGIC


@given(st.binary(min_size=1, max_size=200))
def test_appended_bytes_are_refused(more: bytes) -> None:
    assert validate(WHOLE + more, KEY, SMALL) is Refusal.SIZE


@given(st.binary(max_size=600))
def test_arbitrary_bytes_are_refused_without_an_error(data: bytes) -> None:
    assert validate(data) is not None
    assert validate(with_bytes(WHOLE, 16, data[:64])) in {None, Refusal.GEOMETRY}


@pytest.mark.parametrize(
    ("offset", "value", "refusal"),
    [
        (16, struct.pack("<I", 64), Refusal.GEOMETRY),
        (80, bytes(16), Refusal.KEY),
        (96, bytes(16), Refusal.HASH),
        (115, b"\1", Refusal.GEOMETRY),
    ],
    ids=["rows", "key", "hash", "reserved"],
)
def test_a_wrong_field_is_refused_even_under_a_right_checksum(
    offset: int, value: bytes, refusal: Refusal
) -> None:
    assert validate(with_bytes(WHOLE, offset, value), KEY, SMALL) is refusal


def test_another_version_is_told_from_damage() -> None:
    later = WHOLE[:8] + b"\2\0" + WHOLE[10:]

    assert validate(later, KEY, SMALL) is Refusal.VERSION


def test_a_size_that_only_the_header_claims_is_not_trusted() -> None:
    shorter = with_bytes(WHOLE, 72, struct.pack("<Q", SMALL.file_nbytes - 4))[:-4]

    assert validate(shorter, KEY, SMALL) is Refusal.GEOMETRY
    assert validate(shorter) is Refusal.GEOMETRY


@given(keys, keys)
def test_an_image_is_taken_for_its_own_key_only(one: Key, other: Key) -> None:
    same = sorted(one.options) == sorted(other.options) and (
        (one.pack, one.kernels, one.layout) == (other.pack, other.kernels, other.layout)
    )

    expected = None if same else Refusal.KEY
    assert validate(build_image(one), other, SMALL) is expected
    assert (build_image(one) == build_image(other)) == same


def test_the_order_of_options_does_not_change_an_image() -> None:
    assert build_image(Key("weights", options=KEY.options[::-1])) == WHOLE


def test_sections_of_another_size_are_not_sealed() -> None:
    with pytest.raises(ValueError, match=r"must take \(256, 32\) bytes"):
        seal(b"", b"", KEY)


@pytest.mark.parametrize(
    ("rows", "cols", "group_size"),
    [(0, 256, 0), (33, 256, 0), (32, 8, 0), (64, 256, 9)],
)
def test_a_shape_that_does_not_divide_is_no_geometry(
    rows: int, cols: int, group_size: int
) -> None:
    with pytest.raises(ValueError, match="must be"):
        Geometry(rows, cols, group_size=group_size)


@pytest.mark.parametrize("geometry", [SMALL, PADDED, BLOCKS])
def test_stamps_name_the_write_of_each_block(geometry: Geometry) -> None:
    image = b"".join(stamped_sections(3, 14, KEY, geometry))

    stamps = stamps_of(image, geometry)

    assert validate(image, KEY, geometry) is None
    assert stamps == [Stamp(3, 14, block) for block in range(len(stamps))]
    assert len(stamps) == (5 if geometry is BLOCKS else 2)


@given(st.integers(0, BLOCKS.file_nbytes))
def test_a_torn_file_is_told_block_by_block(cut: int) -> None:
    one, other = (b"".join(stamped_sections(w, 0, KEY, BLOCKS)) for w in (1, 2))

    stamps = stamps_of(one[:cut] + other[cut:], BLOCKS)

    writers = [stamp.writer for stamp in stamps if stamp]
    assert writers == sorted(writers)
    # One cut can mix one block at most.
    assert stamps.count(None) <= 1


def test_a_block_of_two_writes_has_no_stamp() -> None:
    one, other = (b"".join(stamped_sections(w, 0, KEY, BLOCKS)) for w in (1, 2))
    middle = HEADER_NBYTES + BLOCK_NBYTES // 2

    stamps = stamps_of(one[:middle] + other[middle:], BLOCKS)

    assert stamps == [None, *(Stamp(2, 0, block) for block in range(1, 5))]


def test_a_block_that_is_cut_short_has_no_stamp() -> None:
    image = b"".join(stamped_sections(1, 1, KEY))

    assert stamps_of(image[:-1]) == [Stamp(1, 1, 0), None]
    assert stamps_of(b"") == [None, None]
