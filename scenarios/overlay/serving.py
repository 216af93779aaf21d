"""What a serving job reads of an overlay, and how to look at one from outside."""

import hashlib
import json
from pathlib import Path

from scenarios.overlay.overlay import CONFIG_NAME

INDEX_NAME = "model.safetensors.index.json"
SINGLE_WEIGHTS_NAME = "model.safetensors"


def load_config(folder: Path) -> dict[str, object]:
    """Read the config as a job does when it starts to serve.

    Raises:
        OSError: If there is no config.
        ValueError: If it is not whole.
    """
    config: dict[str, object] = json.loads((folder / CONFIG_NAME).read_bytes())
    return config


def missing_weights(folder: Path) -> list[str]:
    """List the weight files that a job would look for and not find.

    A model is in shards if it has an index, and then the index names them. A link
    whose target is gone counts as missing.

    Raises:
        OSError: If the index goes away while it is looked at.
        ValueError: If the index is not whole.
    """
    index = folder / INDEX_NAME
    names = {SINGLE_WEIGHTS_NAME}
    if index.exists():
        names = set(json.loads(index.read_bytes())["weight_map"].values())
    return sorted(name for name in names if not (folder / name).exists())


def manifest(folder: Path) -> dict[str, str]:
    """Describe each entry: a link by `-> ` and its target, a file by its digest.

    Equal manifests mean equal folders, whoever built them and in whatever order.
    """
    return {path.name: _describe(path) for path in sorted(folder.iterdir())}


def _describe(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    if path.is_dir():
        return "folder"
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
