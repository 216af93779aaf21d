"""The sample models: real formats, and a server would find what it looks for."""

import json
import struct
from pathlib import Path

import pytest

from scenarios.overlay.model_folder import (
    YARN_OVERRIDES,
    make_compact_model,
    make_model,
    safetensors,
)
from scenarios.overlay.overlay import build_fixed, overlay_path
from scenarios.overlay.serving import manifest, missing_weights

MODEL_FILES = [
    "config.json",
    "generation_config.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "model.safetensors.index.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny-llama"
    make_model(folder)
    return folder


def test_a_sample_model_has_the_files_of_a_real_one(model: Path) -> None:
    assert sorted(manifest(model)) == MODEL_FILES
    for name in MODEL_FILES:
        if name.endswith(".json"):
            assert isinstance(json.loads((model / name).read_bytes()), dict)


def test_the_index_agrees_with_the_shards(model: Path) -> None:
    index = json.loads((model / "model.safetensors.index.json").read_bytes())
    found: dict[str, str] = {}
    total = 0
    for shard in model.glob("*.safetensors"):
        content = shard.read_bytes()
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8 : 8 + length])
        assert length % 8 == 0
        assert header.pop("__metadata__") == {"format": "pt"}
        assert max(entry["data_offsets"][1] for entry in header.values()) == (
            len(content) - 8 - length
        )
        found |= dict.fromkeys(header, shard.name)
        total += len(content) - 8 - length

    assert found == index["weight_map"]
    assert total == index["metadata"]["total_size"]


def test_tensors_lie_one_behind_the_other() -> None:
    content = safetensors({"a": (2, 3), "b": (5,)})
    header = json.loads(content[8:].partition(b"}}")[0] + b"}}")

    assert header["a"] == {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}
    assert header["b"] == {"dtype": "BF16", "shape": [5], "data_offsets": [12, 22]}


def test_a_model_is_not_made_over_another(model: Path) -> None:
    with pytest.raises(FileExistsError):
        make_compact_model(model)

    assert sorted(manifest(model)) == MODEL_FILES


def test_missing_weights_are_named(model: Path) -> None:
    overlay = overlay_path(model, YARN_OVERRIDES)
    build_fixed(model, overlay, YARN_OVERRIDES)
    (model / MODEL_FILES[2]).unlink()
    (overlay / MODEL_FILES[3]).unlink()

    assert missing_weights(overlay) == MODEL_FILES[2:4]


def test_a_folder_without_index_needs_the_single_file(tmp_path: Path) -> None:
    assert missing_weights(tmp_path) == ["model.safetensors"]


def test_a_manifest_names_folders_too(tmp_path: Path) -> None:
    (tmp_path / "original").mkdir()

    assert manifest(tmp_path) == {"original": "folder"}
