"""Builders of a model overlay, which many jobs may run at once for one folder.

An overlay holds a link to each file of a model, a `config.json` in which some values
are replaced, and a marker, written last, that says for which values it was built. All
jobs that need the same values share it. `build_faulty` works as reported,
`build_proposed` is the repair that the report asks for, taken literally, and
`build_fixed` goes on from there until readers never see anything but a whole overlay.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

CONFIG_NAME = "config.json"
MARKER_NAME = ".overlay_overrides.json"

Overrides = Mapping[str, object]
Builder = Callable[[Path, Path, Overrides], None]


def overlay_path(model: Path, overrides: Overrides) -> Path:
    """Name the overlay of `model` for these overrides, beside the model."""
    digest = hashlib.sha256(marker_text(overrides).encode()).hexdigest()
    return model.with_name(f"{model.name}-overlay-{digest[:12]}")


def marker_text(overrides: Overrides) -> str:
    """Return what the marker of a finished overlay holds."""
    return json.dumps(dict(overrides), sort_keys=True)


def merged_config(model: Path, overrides: Overrides) -> dict[str, object]:
    """Read the config of `model` and replace top-level values in it."""
    config: dict[str, object] = json.loads((model / CONFIG_NAME).read_bytes())
    return config | dict(overrides)


def config_text(model: Path, overrides: Overrides) -> str:
    """Return what the `config.json` of a finished overlay holds."""
    return json.dumps(merged_config(model, overrides), indent=2)


def is_finished(overlay: Path, overrides: Overrides) -> bool:
    """Say whether the marker is there and names these overrides."""
    marker = overlay / MARKER_NAME
    return marker.exists() and marker.read_text() == marker_text(overrides)


def link_target(model: Path, overlay: Path, name: str) -> str:
    """Return what the link `name` holds: relative, so that both folders may move."""
    return os.path.relpath(model / name, overlay)


def listing(folder: Path) -> list[str]:
    """List what is in a folder, by name."""
    return sorted(path.name for path in folder.iterdir())


def build_faulty(model: Path, overlay: Path, overrides: Overrides) -> None:
    """Build an overlay by looking, removing and creating in separate steps.

    Args:
        model: Folder of the model.
        overlay: Folder to build; `overlay_path` names it.
        overrides: Values to replace in the config.

    Raises:
        OSError: If another builder gets between two steps.
        ValueError: If another builder has emptied the config of the model.
    """
    if is_finished(overlay, overrides):
        return
    overlay.mkdir(parents=True, exist_ok=True)
    for name in listing(model):
        link = overlay / name
        if link.exists() or link.is_symlink():
            link.unlink()
        link.symlink_to(link_target(model, overlay, name))
    config = overlay / CONFIG_NAME
    if config.is_symlink():
        config.unlink()
    # Where another builder has put the link back by now, this goes through it and
    # overwrites the config of the model.
    config.write_text(config_text(model, overrides))
    (overlay / MARKER_NAME).write_text(marker_text(overrides))


def build_proposed(model: Path, overlay: Path, overrides: Overrides) -> None:
    """Build an overlay whose entries are each made under a temp name and renamed.

    The loop still makes `config.json` a link to the unchanged config first, also
    where another job has finished the overlay and reads it.

    Args:
        model: Folder of the model.
        overlay: Folder to build; `overlay_path` names it.
        overrides: Values to replace in the config.

    Raises:
        OSError: If a file cannot be made; its temp file then stays.
    """
    if is_finished(overlay, overrides):
        return
    overlay.mkdir(parents=True, exist_ok=True)
    for name in listing(model):
        with _replacing_by_pid(overlay / name) as temp:
            temp.symlink_to(link_target(model, overlay, name))
    with _replacing_by_pid(overlay / CONFIG_NAME) as temp:
        temp.write_text(config_text(model, overrides))
    with _replacing_by_pid(overlay / MARKER_NAME) as temp:
        temp.write_text(marker_text(overrides))


def build_fixed(model: Path, overlay: Path, overrides: Overrides) -> None:
    """Build an overlay in which a name that was right once is never seen otherwise.

    Args:
        model: Folder of the model.
        overlay: Folder to build; `overlay_path` names it.
        overrides: Values to replace in the config.

    Raises:
        OSError: If a file cannot be made; its temp file is then gone.
    """
    if is_finished(overlay, overrides):
        return
    overlay.mkdir(parents=True, exist_ok=True)
    unique = secrets.token_hex(8)
    for name in listing(model):
        # A link here, however short its life, would show the unchanged config to jobs
        # that trust the marker of an earlier builder.
        if name != CONFIG_NAME:
            with _replacing(overlay / name, unique) as temp:
                temp.symlink_to(link_target(model, overlay, name))
    with _replacing(overlay / CONFIG_NAME, unique) as temp:
        temp.write_text(config_text(model, overrides))
    with _replacing(overlay / MARKER_NAME, unique) as temp:
        temp.write_text(marker_text(overrides))


BUILDERS: Mapping[str, Builder] = MappingProxyType(
    {"fixed": build_fixed, "proposed": build_proposed, "faulty": build_faulty}
)


@contextmanager
def _replacing_by_pid(path: Path) -> Iterator[Path]:
    """Give a temp name that is unique among the processes of one host."""
    temp = path.with_name(f"{path.name}.tmp.{os.getpid()}")
    yield temp
    temp.replace(path)


@contextmanager
def _replacing(path: Path, unique: str) -> Iterator[Path]:
    """Give a temp name for `path`, renamed to it at the end and removed on an error.

    Args:
        path: What shall be replaced.
        unique: Random text. A process id would not do: the jobs that share an overlay
            run on many hosts.
    """
    # The temp name ends in the random text, so that `*.json` and `*.safetensors`,
    # for which readers look, do not match it.
    temp = path.with_name(f"{path.name}.tmp.{unique}")
    try:
        yield temp
        temp.replace(path)
    except BaseException:
        with suppress(OSError):
            temp.unlink()
        raise
