"""Somebody puts a link in the place of a lock file (CVE-2025-68146)."""

from filelock import FileLock

from racecheck.invariants import invariant
from racecheck.scenario import Scenario


@invariant
def files_of_others_are_kept(view, history):
    """Require that taking a lock empties no other file."""
    found = view.read("precious")
    return None if found == b"text" else f"expected b'text', but found {found!r}"


lock = Scenario("published/filelock", invariants=[files_of_others_are_kept])


@lock.setup
def files(box):
    (box / "precious").write_text("text")


@lock.actor(raises=OSError)
def take(box):
    with FileLock(box / "lock"):
        pass


@lock.actor(raises=FileExistsError)
def attack(box):
    (box / "lock").symlink_to("precious")
