"""What is said of each kind of race, whoever is in it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from racecheck.report.diagnosis.diagnosis import Diagnosis

if TYPE_CHECKING:
    from racecheck.model import Step

_PAGE = "docs/recipes.md"


class Known(Enum):
    """The kinds of race that are known, each with title, reason and repair."""

    WRONG_PID = (
        "wrong-pid",
        "Two live writers with one process id in their temporary name",
        (
            "A process id is unique only among the processes that see each other. In "
            "containers, on other machines and in threads of one process it is not, so "
            "two writers get the same temporary name, and each takes the file of the "
            "other for its own."
        ),
        "Let the kernel find a free name (mkstemp, or O_EXCL with a random part).",
    )
    SHARED_TEMP = (
        "shared-temp",
        "A temporary name that two writers share",
        (
            "Replacing a file by rename is safe only if nobody else touches the new "
            "file before. Here both writers use one temporary name: the second "
            "empties, fills or moves the file of the first, which then publishes half "
            "a file or finds none."
        ),
        "Give each writer a temporary name of its own, in the same folder.",
    )
    LIVE_TEMP = (
        "live-temp-removed",
        "The temporary file of a live writer is removed",
        (
            "Whoever tidies up took a file that is still being written for one that "
            "was left behind. A name or an age does not tell the two apart: a writer "
            "can be held up for as long as it likes. Its rename then finds nothing."
        ),
        (
            "Leave temporary files alone unless it is known that their writer is dead: "
            "let it hold a lock on the file, and take that lock before removing."
        ),
    )
    LEFT_BEHIND = (
        "missing-clean-up",
        "A temporary file is left behind after a failure or a crash",
        (
            "The file was made, and then the writer ended before it had moved or "
            "removed it. Nobody else knows that the file is no longer wanted, so such "
            "files add up."
        ),
        (
            "Remove the temporary file on every way out. Since no process cleans up "
            "after being killed, let something else remove what the dead have left."
        ),
    )
    THROUGH_LINK = (
        "write-through-link",
        "A file is written through a symbolic link",
        (
            "Opening a name for writing follows a symbolic link and empties what it "
            "leads to. That the name was removed or found free before does not help, "
            "since a link can be put there afterwards."
        ),
        (
            "Write to a new temporary file, opened with O_EXCL, and rename it over the "
            "name: rename replaces the link itself."
        ),
    )
    IN_PLACE = (
        "write-in-place",
        "A published file is written in place",
        (
            "From the moment it is opened until its last byte is written, the file is "
            "empty or half full, under the name by which others find it. Whoever opens "
            "it in that time reads a piece, and a crash in that time leaves it so."
        ),
        "Write to a temporary file in the same folder and rename it over the name.",
    )
    EVICTED = (
        "eviction-by-name",
        "A file is removed by name after it was replaced",
        (
            "The file that was judged and the file that is removed are not the same: "
            "in between, somebody put a new one under the name. Removing goes by name, "
            "and no call removes only if the name still means a certain file."
        ),
        ("Let removing and publishing exclude each other with a lock that both take."),
    )
    LOCK_REMOVED = (
        "lock-file-removed",
        "A lock file is removed while somebody holds it or waits for it",
        (
            "A lock belongs to the file, not to its name. Once the name is gone the "
            "next one makes a new file and locks that, while another still has the "
            "old: both believe that they are alone."
        ),
        (
            "Never remove a lock file; or, once the lock is taken, see that the name "
            "still means the file, and begin anew if not."
        ),
    )
    STALE_LOCK = (
        "stale-lock",
        "A lock outlives its holder",
        (
            "A lock that consists in a name being there stays after a crash. Others "
            "then wait for nobody; and if they remove it because it looks stale, two "
            "can find so at a time, and the slower one removes the lock of the "
            "quicker."
        ),
        (
            "Use flock or fcntl locks, which the kernel lets go of when their holder "
            "dies."
        ),
    )
    GAP = (
        "unlink-create-gap",
        "Between removing and making anew there is nothing",
        (
            "The name is removed first and made again by another call. In between "
            "whoever looks finds nothing, or makes the name itself, and a crash leaves "
            "it missing."
        ),
        (
            "Make the new one under another name and rename it over the old one, which "
            "leaves no moment without."
        ),
    )
    LOST_UPDATE = (
        "lost-update",
        "An update is lost",
        (
            "What was written comes of what was read before, and in between somebody "
            "else wrote. Each write was whole by itself, but the later one does not "
            "know of the other and takes it back."
        ),
        "Hold one lock from reading until the new state is in its place.",
    )
    TORN_READ = (
        "torn-read",
        "What belongs together is read in several opens",
        (
            "Each open finds what the name means at that moment. In between the name "
            "was given to something else, so the parts read are of two versions."
        ),
        "Open once and read all from that descriptor.",
    )
    CHECK_THEN_ACT = (
        "check-then-act",
        "A check no longer holds when it is acted upon",
        (
            "That a name is there, or is not, holds only at the moment of looking. "
            "Between the check and the act that relies on it another process may run, "
            "and here one changed just that name."
        ),
        (
            "Leave out the check: act, with a call that itself fails if the name is "
            "not as it should be, and handle that error."
        ),
    )

    def __init__(self, pattern: str, title: str, why: str, repair: str) -> None:
        self.pattern = pattern
        self.title = title
        self.why = why
        self.repair = repair

    def between(
        self, first: Step, second: Step, sentence: str, relied: Step | None = None
    ) -> Diagnosis:
        """Return it as the diagnosis of two steps.

        Args:
            first: The one that came first.
            second: The other.
            sentence: What happened.
            relied: The earlier step that the second relied on.
        """
        return Diagnosis(
            pattern=self.pattern,
            title=self.title,
            sentence=sentence,
            why=self.why,
            first=first.index,
            second=second.index,
            relied=relied.index if relied is not None else None,
            recipe=f"{_PAGE}#{self.pattern}",
            repair=self.repair,
        )
