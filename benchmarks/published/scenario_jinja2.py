"""Programs share compiled templates while one clears them away (Jinja 1654)."""

import pickle

from jinja2 import DictLoader, Environment, FileSystemBytecodeCache
from jinja2.bccache import bc_magic

from racecheck.invariants import no_unexpected_errors, whole_images
from racecheck.scenario import Scenario

KEY = FileSystemBytecodeCache("").get_cache_key("page")


def is_whole(data):
    """Say whether a file holds more than its magic number and its checksum."""
    head = len(bc_magic) + len(pickle.dumps("0" * 40, 2))
    return len(data) > head


jinja2 = Scenario(
    "published/jinja2",
    invariants=[
        no_unexpected_errors(),
        whole_images(f"__jinja2_{KEY}.cache", is_whole),
    ],
)


@jinja2.actor(count=2)
def load(box):
    cache = FileSystemBytecodeCache(str(box))
    loader = DictLoader({"page": "text"})
    pages = Environment(loader=loader, bytecode_cache=cache, autoescape=True)
    pages.get_template("page")


@jinja2.evictor
def clear(box):
    FileSystemBytecodeCache(str(box)).clear()
