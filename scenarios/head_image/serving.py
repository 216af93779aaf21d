"""How a serve uses the cache: it reads the image, and packs it if there is none."""

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from scenarios.head_image.geometry import SMALL
from scenarios.head_image.guards import Guard
from scenarios.head_image.image import Key, Refusal, seal
from scenarios.head_image.payload import pack_sections
from scenarios.head_image.reading import Reader
from scenarios.head_image.writers import Writer

PACK_S = 70
"""How long it takes to pack an image."""


class Served(TypedDict):
    """What came of one serve.

    Attributes:
        image: What it serves.
        packs: How often it packed.
        seconds: How long it took.
    """

    image: bytes
    packs: int
    seconds: float


@dataclass(frozen=True)
class ForgetfulKey(Key):
    """A key that leaves out the options, though they change the image."""

    def digest(self) -> bytes:
        """Return what stands for all but the options."""
        return Key(self.pack, self.kernels, self.layout).digest()


def pack(key: Key, builder: int = 1) -> tuple[bytes, bytes]:
    """Pack an image from all that a key names, and write the key into its header."""
    everything = Key(key.pack, key.kernels, key.layout, key.options)
    _, codes, scales = pack_sections(everything)
    header, codes, scales = seal(
        codes[: SMALL.codes_nbytes], scales, key, builder=builder
    )
    return header, codes + scales


def serve_from_cache(path: Path, key: Key, read: Reader, write: Writer) -> Served:
    """Serve the image at a path, packed if it is refused."""
    start = time.monotonic()
    image = read(path, key)
    packs = 0
    if isinstance(image, Refusal):
        sections = pack(key)
        packs = 1
        # Served all the same where it cannot be written.
        write(path, sections)
        image = b"".join(sections)
    return Served(image=image, packs=packs, seconds=time.monotonic() - start)


def refuse(path: Path, key: Key) -> Refusal:
    """Take no image from the cache, whatever is there."""
    del path, key
    return Refusal.MISSING


def one_path(path: Path, key: Key) -> Path:
    """Give all images the same path."""
    del key
    return path


def path_of_key(path: Path, key: Key) -> Path:
    """Give the image of each key a path of its own."""
    digest = hashlib.blake2b(key.digest(), digest_size=4).hexdigest()
    return path.with_name(f"{path.stem}-{digest}{path.suffix}")


def pack_under(guard: Guard, path: Path, key: Key, write: Writer) -> float:
    """Pack for a minute and write, within a guard; return how long it took."""
    start = time.monotonic()
    with guard(path):
        time.sleep(PACK_S)
        write(path, pack(key))
    return time.monotonic() - start
