"""Further builders of an overlay, each made of a few pieces and told in a line.

The pieces are phases, how a link or a file comes to its place, which names are linked,
and what the marker says. `build_stage_folder` goes another way and is written out.
"""

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType

from scenarios.overlay.overlay import (
    CONFIG_NAME,
    MARKER_NAME,
    Builder,
    Overrides,
    build_faulty,
    build_fixed,
    build_proposed,
    config_text,
    is_finished,
    link_target,
    listing,
    marker_text,
)

Make = Callable[[Path], object]
"""Makes a link or a file at a path where nothing is."""

Put = Callable[[Path, Make], None]
"""Takes a path and what makes the thing that shall be there."""

Stamp = Callable[[Path, Overrides], str]
"""Says what the marker of a finished overlay holds."""


def overrides_only(model: Path, overrides: Overrides) -> str:
    """Say for which values an overlay was built."""
    del model
    return marker_text(overrides)


def overrides_and_names(model: Path, overrides: Overrides) -> str:
    """Say for which values an overlay was built, and of which files."""
    return stamp_of(listing(model), overrides)


def stamp_of(names: list[str], overrides: Overrides) -> str:
    """Return what a marker holds that names files."""
    return json.dumps({"files": names, "for": marker_text(overrides)})


def built(*phases: Builder, stamp: Stamp = overrides_only) -> Builder:
    """Go through phases, unless the marker says that somebody has."""

    def build(model: Path, overlay: Path, overrides: Overrides) -> None:
        path = overlay / MARKER_NAME
        if path.exists() and path.read_text() == stamp(model, overrides):
            return
        overlay.mkdir(parents=True, exist_ok=True)
        for phase in phases:
            phase(model, overlay, overrides)

    return build


def links(put: Put, linked: Callable[[Path], list[str]]) -> Builder:
    """Link to files of the model."""

    def build(model: Path, overlay: Path, overrides: Overrides) -> None:
        del overrides
        for name in linked(model):
            target = link_target(model, overlay, name)
            put(overlay / name, partial(os.symlink, target))

    return build


def config(put: Put) -> Builder:
    """Write the merged config."""

    def build(model: Path, overlay: Path, overrides: Overrides) -> None:
        text = config_text(model, overrides)
        put(overlay / CONFIG_NAME, lambda path: path.write_text(text))

    return build


def marker(put: Put, stamp: Stamp = overrides_only) -> Builder:
    """Write the marker."""

    def build(model: Path, overlay: Path, overrides: Overrides) -> None:
        text = stamp(model, overrides)
        put(overlay / MARKER_NAME, lambda path: path.write_text(text))

    return build


def remove_and_make(path: Path, make: Make) -> None:
    """Look, remove what is there and make the new one, in separate steps."""
    if path.is_symlink() or path.exists():
        path.unlink()
    make(path)


def accept(path: Path, make: Make) -> None:
    """Do the same, and be content if somebody else has made one meanwhile."""
    with suppress(FileExistsError):
        remove_and_make(path, make)


def overwrite(path: Path, make: Make) -> None:
    """Write where the file is, but not through a link."""
    if path.is_symlink():
        path.unlink()
    make(path)


def replace(path: Path, make: Make) -> None:
    """Make it under a temp name of this call alone, and rename that."""
    temp = temp_of(path)
    try:
        make(temp)
        temp.replace(path)
    except BaseException:
        with suppress(OSError):
            temp.unlink()
        raise


def replace_unclean(path: Path, make: Make) -> None:
    """Do the same, and leave the temp file where it is after an error."""
    temp = temp_of(path)
    make(temp)
    temp.replace(path)


def replace_globbed(path: Path, make: Make) -> None:
    """Do the same under a temp name that ends as those of weights do."""
    temp = path.with_name(f"tmp.{secrets.token_hex(8)}.{path.name}")
    make(temp)
    temp.replace(path)


def temp_of(path: Path) -> Path:
    """Name a temp file that no other call uses, on whatever host it runs."""
    return path.with_name(f"{path.name}.tmp.{secrets.token_hex(8)}")


def all_but_config(model: Path) -> list[str]:
    """List what an overlay shares with its model."""
    return [name for name in listing(model) if name != CONFIG_NAME]


def locked(builder: Builder) -> Builder:
    """Let one builder at a time work, by a lock that ends with its process."""

    def build(model: Path, overlay: Path, overrides: Overrides) -> None:
        path = overlay.with_name(f"{overlay.name}.lock")
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            builder(model, overlay, overrides)
        finally:
            os.close(fd)

    return build


def build_stage_folder(model: Path, overlay: Path, overrides: Overrides) -> None:
    """Build a whole folder beside the overlay, and rename that.

    Args:
        model: Folder of the model.
        overlay: Folder to build; `overlay_path` names it.
        overrides: Values to replace in the config.

    Raises:
        OSError: There is a folder already, and it is no finished overlay.
    """
    if is_finished(overlay, overrides):
        return
    stage = temp_of(overlay)
    try:
        stage.mkdir()
        for name in all_but_config(model):
            (stage / name).symlink_to(link_target(model, overlay, name))
        (stage / CONFIG_NAME).write_text(config_text(model, overrides))
        (stage / MARKER_NAME).write_text(marker_text(overrides))
        stage.rename(overlay)
    except OSError:
        shutil.rmtree(stage, ignore_errors=True)
        # Who was first has built the same.
        if not is_finished(overlay, overrides):
            raise


def build_listed(model: Path, overlay: Path, overrides: Overrides) -> None:
    """Build an overlay whose marker names the files that were linked.

    Args:
        model: Folder of the model.
        overlay: Folder to build; `overlay_path` names it.
        overrides: Values to replace in the config.
    """
    # Once, for the links and the marker: a file that comes between two looks would be
    # in the marker and not in the overlay.
    names = listing(model)
    text = stamp_of(names, overrides)
    build = built(
        links(replace, lambda _: [name for name in names if name != CONFIG_NAME]),
        config(replace),
        marker(replace, lambda *_: text),
        stamp=lambda *_: text,
    )
    build(model, overlay, overrides)


build_eexist = built(links(accept, listing), config(overwrite), marker(overwrite))
build_unclean = built(
    links(replace_unclean, all_but_config),
    config(replace_unclean),
    marker(replace_unclean),
)
build_globbed = built(
    links(replace_globbed, all_but_config), config(replace), marker(replace)
)
build_marked_first = built(
    marker(replace), links(replace, all_but_config), config(replace)
)
build_listed_twice = built(
    links(replace, all_but_config),
    config(replace),
    marker(replace, overrides_and_names),
    stamp=overrides_and_names,
)
build_locked = locked(build_faulty)

VARIANTS: Mapping[str, Builder] = MappingProxyType(
    {
        "faulty": build_faulty,
        "eexist": build_eexist,
        "proposed": build_proposed,
        "fixed": build_fixed,
        "stage_folder": build_stage_folder,
        "locked": build_locked,
        "unclean": build_unclean,
        "globbed": build_globbed,
        "listed": build_listed,
        "listed_twice": build_listed_twice,
        "marked_first": build_marked_first,
    }
)
