"""How a path leads into the sandbox: through the folders and links outside of it.

Nothing that an actor may change lies outside, so this part of a lookup reads nothing
that a footprint would name, and what it finds can be remembered.
"""

from __future__ import annotations

import os

_MOST_LINKS = 40
# What udev makes these links in /dev to.
_DEVICES = {
    "fd": ("fd",),
    "stdin": ("fd", "0"),
    "stdout": ("fd", "1"),
    "stderr": ("fd", "2"),
}


class Outside:
    """Finds where absolute paths enter one sandbox."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._prefix = root + "/"
        self._real: dict[str, str] = {}

    def enter(self, process: int, path: str, *, follow: bool) -> tuple[str, list[str]]:
        """Split an absolute path into a folder and what is to be looked up from there.

        The folder is the root of the sandbox, or a magic link of `/proc/PID`, or a
        folder outside; only the last component is left to look up in the latter.

        Args:
            process: Id of the process, for what `/proc/self` means to it.
            path: The path.
            follow: Whether a symbolic link at the end is followed.
        """
        if path.startswith(self._prefix):
            return self.root, path[len(self._prefix) :].split("/")
        if path.startswith(("/proc/", "/dev/")):
            place = self._magic(process, path.split("/")[1:])
            if place is not None:
                current, rest = place
                if current != "/":
                    return place
                path = "/" + "/".join(rest)
        folder, _, name = path.rpartition("/")
        real = self._real.get(folder)
        if real is None:
            current, left = self._resolve(folder)
            if left is not None:
                return self.root, [*left, name]
            real = self._real[folder] = current
        whole = f"{real.rstrip('/')}/{name}"
        return self._end(whole, name, follow=follow)

    def _end(self, whole: str, name: str, *, follow: bool) -> tuple[str, list[str]]:
        """Split a path whose folder is real and outside."""
        if whole == self.root:
            return self.root, []
        if name not in {"", ".", ".."} and not (follow and os.path.islink(whole)):
            return whole.rpartition("/")[0] or "/", [name]
        real, left = self._resolve(whole)
        if left is not None:
            return self.root, left
        folder, _, name = real.rpartition("/")
        return folder or "/", [name] if name else []

    def _resolve(self, path: str) -> tuple[str, list[str] | None]:
        """Follow a path until it enters the sandbox, or to its end.

        Returns:
            The real path of where it ends, and what is left to look up from the root of
            the sandbox; None if it ends outside.
        """
        place = ""
        parts = path.split("/")
        links = 0
        while parts:
            part = parts.pop(0)
            if part in {"", "."}:
                continue
            if part == "..":
                place = place.rpartition("/")[0]
                continue
            place = f"{place}/{part}"
            if place == self.root:
                return place, parts
            try:
                text = os.readlink(place)
            except OSError:
                continue
            links += 1
            if links > _MOST_LINKS:
                break
            place = "" if text[0] == "/" else place.rpartition("/")[0]
            parts = text.split("/") + parts
        return place or "/", None

    @staticmethod
    def _magic(process: int, parts: list[str]) -> tuple[str, list[str]] | None:
        """Resolve the links of /proc that mean another thing to each process."""
        if parts[0] == "dev":
            parts = ["proc", "self", *_DEVICES.get(parts[1], ("",)), *parts[2:]]
        if parts[2:3] == ["task"]:
            parts = [*parts[:2], *parts[4:]]
        here = f"/proc/{process}"
        match parts:
            case [_, whose, *_] if whose not in {"self", "thread-self", str(process)}:
                return None
            case [_, _, "cwd", *rest]:
                return f"{here}/cwd", rest
            case [_, _, "root", *rest]:
                return "/", rest
            case [_, _, "fd", number]:
                return f"{here}/fd", [number]
            case [_, _, "fd", number, *rest]:
                return f"{here}/fd/{number}", rest
        return None
