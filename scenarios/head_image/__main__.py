"""Write or read one head image: `python -m scenarios.head_image write PATH`."""

import argparse
import sys
from pathlib import Path

from scenarios.head_image.geometry import FULL, SMALL
from scenarios.head_image.image import Key, Refusal, builder_of, read_head_image
from scenarios.head_image.payload import pack_sections
from scenarios.head_image.writers import WRITERS

SIZES = {"4MiB": FULL, "small": SMALL}
KEY = Key(pack="sample")


def main() -> int:
    """Run one command.

    Returns:
        0 if it did what it was asked to, 1 otherwise.
    """
    arguments = _parser().parse_args()
    try:
        command = _write if arguments.command == "write" else _read
        return command(arguments)
    except OSError as error:
        return _fail(f"{str(arguments.path)!r}: {error.strerror}")


def _write(arguments: argparse.Namespace) -> int:
    path, variant = arguments.path, arguments.variant
    sections = pack_sections(KEY, SIZES[arguments.size])
    if not WRITERS[variant](path, sections):
        return _fail(f"the {variant} writer could not write {str(path)!r}")
    print(f"wrote {sum(map(len, sections))} bytes to {path}")
    return 0


def _read(arguments: argparse.Namespace) -> int:
    path = arguments.path
    image = read_head_image(path, KEY, SIZES[arguments.size])
    if isinstance(image, Refusal):
        return _fail(f"{str(path)!r} is no usable image: {image}")
    print(f"{path} is whole: {len(image)} bytes by builder {builder_of(image)}")
    return 0


def _fail(message: str) -> int:
    print(f"head_image: {message}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scenarios.head_image", description=__doc__.partition(":")[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("write", help="write the sample image")
    read = commands.add_parser("read", help="say whether an image is whole")
    for command in (write, read):
        command.add_argument("path", type=Path, metavar="PATH")
        command.add_argument("--size", choices=SIZES, default="4MiB")
    write.add_argument("--variant", choices=WRITERS, default="pid")
    return parser


if __name__ == "__main__":
    sys.exit(main())
