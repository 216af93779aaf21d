"""One encoding of plain data, for digests and files: equal values give equal bytes."""

from __future__ import annotations

import msgspec

# Fields of structs are put in order too, as there is no telling them from keys below.
_SORTED = msgspec.msgpack.Encoder(order="sorted")
_AS_IS = msgspec.msgpack.Encoder()
_BYTES = (bytes, bytearray, memoryview)
_SMALLEST = -(1 << 63)
_LARGEST = (1 << 64) - 1


def canonical_bytes(value: object) -> bytes:
    r"""Return plain data as msgpack, with the keys of every mapping in order.

    What msgpack cannot hold is replaced by text that says the same: bytes in a name
    that are no UTF-8 by escapes such as `\udcff`, integers of more than 64 bits by
    their digits. They come back as that text, which has the same canonical bytes.

    Raises:
        TypeError: It holds something that is no plain data.
        RecursionError: It is nested too deeply.
    """
    try:
        return _SORTED.encode(value)
    except (OverflowError, TypeError, UnicodeEncodeError):
        # Few values need it, and to look for them takes longer than to encode.
        return _AS_IS.encode(
            _writable(msgspec.to_builtins(value, builtin_types=_BYTES))
        )


def _writable(value: object) -> object:
    """Return the same with all replaced that msgpack cannot hold, and keys in order."""
    match value:
        case str():
            return value.encode(errors="backslashreplace").decode()
        case int() if not _SMALLEST <= value <= _LARGEST:
            return str(value)
        case list() | tuple():
            return tuple(_writable(item) for item in value)
        case dict():
            pairs = [(_writable(key), _writable(item)) for key, item in value.items()]
            return dict(sorted(pairs, key=_key_order))
        case _:
            return value


def _key_order(pair: tuple[object, object]) -> tuple[bool, str, bytes]:
    """Order keys as the encoder does where they are all text, and text first."""
    key, _ = pair
    if isinstance(key, str):
        return (False, key, b"")
    return (True, "", _AS_IS.encode(key))
