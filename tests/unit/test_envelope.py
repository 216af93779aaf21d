"""Sealed text opens to what was sealed, and everything else is refused in one line."""

from __future__ import annotations

import base64
import hashlib
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from racecheck.errors import TokenError
from racecheck.storage.envelope import MAX_BODY, PREFIX, seal, unseal

HEAD = bytes(range(16))


def refusal(text: str) -> str:
    """Return the one line that a text is refused with."""
    with pytest.raises(TokenError) as caught:
        unseal(text, len(HEAD))
    line = str(caught.value)
    assert line
    assert "\n" not in line
    return line


def seal_by_hand(deflated: bytes) -> str:
    """Seal what need not be what `seal` would make."""
    data = HEAD + deflated
    checksum = hashlib.blake2b(PREFIX.encode() + data, digest_size=4).digest()
    return PREFIX + base64.urlsafe_b64encode(data + checksum).decode().rstrip("=")


def deflate(chunk: bytes, times: int = 1) -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    parts = [compressor.compress(chunk) for _ in range(times)]
    return b"".join([*parts, compressor.flush()])


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_what_is_sealed_opens(body: bytes) -> None:
    assert unseal(seal(HEAD, body), len(HEAD)) == (HEAD, body)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a token starts with 'rc1-', found ''"),
        ("head_image/shared", "a token starts with 'rc1-', found 'head_image/s'"),
        ("RC1-AAAA", "a token starts with 'rc1-', found 'RC1-AAAA'"),
        ("rc9-AAAA", "the token has version 'rc9', but only 'rc1' is known"),
        ("rc10-AAAA", "the token has version 'rc10', but only 'rc1' is known"),
        ("rc1-AAAA", "the token is too short: its end is missing"),
        ("rc1-AA==", "a token has no '=' in it"),
        ("rc1-" + "\u00e9" * 40, "a token has no '\u00e9' in it"),
        ("rc1-AAAAA", "the token is damaged: a character is missing or too many"),
        ("rc1-" + "A" * 80, "its checksum does not match"),
        ("rc1-" + "A" * 3_000_000, "a token has at most 2097152 characters"),
    ],
)
def test_the_refusal_says_what_is_wrong(text: str, says: str) -> None:
    assert says in refusal(text)


def test_bits_that_stand_for_nothing_must_not_be_set() -> None:
    # Of the last of 3 characters, which stand for 2 bytes, 2 bits are not used.
    texts = [seal(HEAD, bytes(range(size))) for size in range(100, 120)]
    text = next(text for text in texts if len(text) % 4 == 3)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    changed = text[:-1] + alphabet[alphabet.index(text[-1]) + 1]

    assert "its last character was changed" in refusal(changed)


def test_a_bomb_is_not_unpacked() -> None:
    # 256 MiB of zeros, in a text of 350 kB.
    text = seal_by_hand(deflate(bytes(1 << 20), times=256))

    tracemalloc.start()
    try:
        line = refusal(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert "it holds more than 1048576 bytes" in line
    assert peak < 16 << 20


def test_the_longest_body_opens_and_a_longer_one_is_not_sealed() -> None:
    assert unseal(seal(HEAD, bytes(MAX_BODY)), len(HEAD)) == (HEAD, bytes(MAX_BODY))
    with pytest.raises(TokenError, match="it takes 1048577 bytes, but 1048576"):
        seal(HEAD, bytes(MAX_BODY + 1))


@pytest.mark.parametrize(
    ("deflated", "says"),
    [
        (deflate(b"body") + b"more", "does not end where it should"),
        (deflate(b"a longer body that is cut")[:-4], "does not end where it should"),
        (b"\xff" * 20, "the token is damaged: Error -3"),
    ],
)
def test_a_body_that_is_not_one_whole_body_is_refused(
    deflated: bytes, says: str
) -> None:
    assert says in refusal(seal_by_hand(deflated))
