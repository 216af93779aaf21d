"""Bytes as text that survives being pasted: versioned, compressed and checked.

The text is `rc1-` and, in URL-safe base64 without padding:

    head       bytes that do not compress, of a fixed number
    body       compressed with deflate, without a header of its own
    checksum   4 bytes, over the prefix and all before it
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib

from racecheck.errors import TokenError

PREFIX = "rc1-"
MAX_BODY = 1 << 20
"""Bytes of a body, before it is compressed."""

_MAX_TEXT = 2 * MAX_BODY
_CHECKSUM_SIZE = 4
_VERSION = re.compile(r"(rc[0-9]{1,9})-")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_SHOWN = 12


def seal(head: bytes, body: bytes) -> str:
    """Return bytes as text.

    Equal bytes give equal texts under one build of zlib. Another may compress them to
    another text, which opens to the same bytes.

    Raises:
        TokenError: The body is longer than would be opened again.
    """
    if len(body) > MAX_BODY:
        raise TokenError(
            f"the execution is too long for a token: it takes {len(body)} bytes, but"
            f" {MAX_BODY} are allowed"
        )
    compressor = zlib.compressobj(
        zlib.Z_BEST_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS
    )
    data = head + compressor.compress(body) + compressor.flush()
    return PREFIX + _to_base64(data + _checksum(data))


def unseal(text: str, head_size: int) -> tuple[bytes, bytes]:
    """Return the head and the body of a text, whatever blanks and breaks it got.

    Raises:
        TokenError: It is something else, of another version, or not whole.
    """
    # Nothing is decompressed that is not whole, and nothing without a limit: a token
    # may come from anyone.
    data = _from_base64(_payload("".join(text.split())))
    if len(data) <= head_size + _CHECKSUM_SIZE:
        raise TokenError("the token is too short: its end is missing")
    data, checksum = data[:-_CHECKSUM_SIZE], data[-_CHECKSUM_SIZE:]
    if checksum != _checksum(data):
        raise TokenError(
            "the token is damaged: its checksum does not match, so it was changed or"
            " copied only in part"
        )
    return data[:head_size], _inflate(data[head_size:])


def _payload(text: str) -> str:
    """Return what follows the prefix."""
    if len(text) > _MAX_TEXT:
        raise TokenError(
            f"a token has at most {_MAX_TEXT} characters, found {len(text)}"
        )
    if text.startswith(PREFIX):
        return text.removeprefix(PREFIX)
    if version := _VERSION.match(text):
        raise TokenError(
            f"the token has version {version[1]!r}, but only {PREFIX[:-1]!r} is known"
        )
    raise TokenError(f"a token starts with {PREFIX!r}, found {text[:_SHOWN]!r}")


def _to_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _from_base64(text: str) -> bytes:
    if foreign := _FOREIGN.search(text):
        raise TokenError(f"a token has no {foreign[0]!r} in it")
    if len(text) % 4 == 1:
        raise TokenError("the token is damaged: a character is missing or too many")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    # The last character holds bits that stand for nothing and that no checksum covers.
    if _to_base64(data) != text:
        raise TokenError("the token is damaged: its last character was changed")
    return data


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(PREFIX.encode() + data, digest_size=_CHECKSUM_SIZE).digest()


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        body = inflater.decompress(data, MAX_BODY + 1)
    except zlib.error as error:
        raise TokenError(f"the token is damaged: {error}") from None
    if len(body) > MAX_BODY:
        raise TokenError(f"the token is too long: it holds more than {MAX_BODY} bytes")
    if not inflater.eof or inflater.unused_data:
        raise TokenError("the token is damaged: its body does not end where it should")
    return body
