"""Two programs write one file atomically, through one temporary file (megfile 671)."""

from megfile import smart_open

from racecheck.invariants import no_unexpected_errors, whole_images
from racecheck.scenario import Scenario

megfile = Scenario(
    "published/megfile",
    invariants=[no_unexpected_errors(), whole_images("file", bool)],
)


@megfile.writer(count=2)
def write(box):
    with smart_open(str(box / "file"), "w", atomic=True) as file:
        file.write("text")
