"""What a diagnosis says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The kind of race that an execution shows.

    Where the two steps were taken in their programs, `places.place_of` tells. Names
    that a subject has given are in the sentence alone: all else is put into Markdown as
    it is.

    Attributes:
        pattern: Name of the kind, as in documents: `check-then-act`.
        title: What it is called in a heading.
        sentence: What happened here, in one sentence, with who and what.
        why: A paragraph on why that breaks what it breaks.
        first: Index of the racing step that came first.
        second: Index of the other.
        relied: Index of the earlier step that the first came after and the second
            relied on, or None.
        recipe: Page of the documentation that tells the repair, with its anchor.
        repair: The repair in one sentence.
    """

    pattern: str
    title: str
    sentence: str
    why: str
    first: int
    second: int
    relied: int | None = None
    recipe: str = ""
    repair: str = ""
