"""Text that a terminal can take, whatever bytes a subject has put into names."""

from __future__ import annotations

_ELLIPSIS = "..."


def printable(text: str) -> str:
    r"""Return text with all that is not printable escaped.

    A file can be called anything, also a sequence that moves the cursor, and its bytes
    need not be text at all.
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text
    )


def cut(text: str, width: int) -> str:
    """Return text of at most `width` characters, with dots for what is left out."""
    if len(text) <= width:
        return text
    return text[: max(0, width - len(_ELLIPSIS))] + _ELLIPSIS[: max(0, width)]


def cut_path(path: str, width: int) -> str:
    """Return a path of at most `width` characters.

    Its last part says the most, then its start, and folders in between the least.
    """
    if len(path) <= width:
        return path
    room = max(0, width - len(_ELLIPSIS))
    name = path[path.rstrip("/").rfind("/") :]
    if name.startswith("/") and len(name) <= room:
        return path[: room - len(name)] + _ELLIPSIS + name
    return _ELLIPSIS + path[len(path) - room :]


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 step`, `2 steps`, `2 context switches`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}{'es' if noun.endswith('ch') else 's'}"
