"""Two programs link one file of a snapshot to its blob (huggingface_hub 1108)."""

from huggingface_hub import file_download

from racecheck.invariants import no_unexpected_errors
from racecheck.scenario import Scenario

hub = Scenario("published/huggingface_hub", invariants=[no_unexpected_errors()])


@hub.setup
def cache(box):
    (box / "blobs").mkdir()
    (box / "snapshots").mkdir()
    (box / "blobs" / "blob").touch()
    # Found out once in each process, with files of its own.
    file_download.are_symlinks_supported(str(box))


@hub.writer(count=2)
def link(box):
    blob, file = box / "blobs" / "blob", box / "snapshots" / "file"
    make = file_download._create_relative_symlink  # noqa: SLF001  it races, whoever calls
    make(str(blob), str(file))
