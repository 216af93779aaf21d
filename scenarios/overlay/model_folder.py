"""Sample models to build overlays of: real formats, a few kilobytes.

`make_model` lays out a folder as the Hugging Face hub does for a model in two shards;
`make_compact_model` makes the smallest one that a server would still load.
"""

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

HIDDEN, INTERMEDIATE, VOCABULARY = 8, 16, 32

YARN_OVERRIDES: Mapping[str, object] = MappingProxyType(
    {
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 32768,
        },
        "max_position_embeddings": 131072,
    }
)

CONFIG: Mapping[str, object] = MappingProxyType(
    {
        "architectures": ["LlamaForCausalLM"],
        "bos_token_id": 1,
        "eos_token_id": 2,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "initializer_range": 0.02,
        "intermediate_size": INTERMEDIATE,
        "max_position_embeddings": 32768,
        "model_type": "llama",
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-06,
        "rope_scaling": None,
        "rope_theta": 1000000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "vocab_size": VOCABULARY,
    }
)

_LAYER = "model.layers.0"
_SHARDS: tuple[Mapping[str, tuple[int, ...]], ...] = (
    {
        "model.embed_tokens.weight": (VOCABULARY, HIDDEN),
        f"{_LAYER}.input_layernorm.weight": (HIDDEN,),
        f"{_LAYER}.self_attn.q_proj.weight": (HIDDEN, HIDDEN),
        f"{_LAYER}.self_attn.k_proj.weight": (HIDDEN, HIDDEN),
        f"{_LAYER}.self_attn.v_proj.weight": (HIDDEN, HIDDEN),
        f"{_LAYER}.self_attn.o_proj.weight": (HIDDEN, HIDDEN),
    },
    {
        f"{_LAYER}.post_attention_layernorm.weight": (HIDDEN,),
        f"{_LAYER}.mlp.gate_proj.weight": (INTERMEDIATE, HIDDEN),
        f"{_LAYER}.mlp.up_proj.weight": (INTERMEDIATE, HIDDEN),
        f"{_LAYER}.mlp.down_proj.weight": (HIDDEN, INTERMEDIATE),
        "model.norm.weight": (HIDDEN,),
        "lm_head.weight": (VOCABULARY, HIDDEN),
    },
)
_BF16_NBYTES = 2


def make_model(folder: Path) -> None:
    """Make a model in two shards, with tokenizer and index.

    Raises:
        FileExistsError: If there is something at `folder`.
    """
    names = [
        f"model-{number:05}-of-{len(_SHARDS):05}.safetensors"
        for number in range(1, len(_SHARDS) + 1)
    ]
    weights = {
        name: safetensors(shard) for name, shard in zip(names, _SHARDS, strict=True)
    }
    index = _json(_index(dict(zip(names, _SHARDS, strict=True))))
    _make_folder(
        folder,
        {
            "config.json": _json(CONFIG),
            **_tokenizer_files(),
            **weights,
            "model.safetensors.index.json": index,
        },
    )


def make_compact_model(folder: Path) -> None:
    """Make a model of two files: its config and one file of weights.

    Raises:
        FileExistsError: If there is something at `folder`.
    """
    every_tensor = {name: shape for shard in _SHARDS for name, shape in shard.items()}
    _make_folder(
        folder,
        {
            "config.json": _json(CONFIG),
            "model.safetensors": safetensors(every_tensor),
        },
    )


def safetensors(shapes: Mapping[str, tuple[int, ...]]) -> bytes:
    """Make a safetensors file of bfloat16 tensors.

    Args:
        shapes: Name and shape of each tensor, in the order of their data.
    """
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, shape in shapes.items():
        start = len(data)
        data += _weights(name, math.prod(shape))
        entries[name] = {
            "dtype": "BF16",
            "shape": list(shape),
            "data_offsets": [start, len(data)],
        }
    header = json.dumps(entries, separators=(",", ":")).encode()
    # Spaces up to a multiple of 8 keep the data aligned; the format allows them.
    header = header.ljust(len(header) + -len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def _weights(name: str, count: int) -> bytes:
    # The upper byte holds sign and exponent: 0x3C keeps all values near 0.01, where
    # arbitrary bytes would give infinities.
    lower = hashlib.shake_128(name.encode()).digest(count)
    return b"".join(bytes((byte, 0x3C)) for byte in lower)


def _index(shards: Mapping[str, Mapping[str, tuple[int, ...]]]) -> dict[str, object]:
    counts = [math.prod(shape) for shard in shards.values() for shape in shard.values()]
    homes = {tensor: name for name, shard in shards.items() for tensor in shard}
    return {
        "metadata": {"total_size": sum(counts) * _BF16_NBYTES},
        "weight_map": dict(sorted(homes.items())),
    }


def _tokenizer_files() -> dict[str, bytes]:
    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    words = [*special.values(), *(f"w{number}" for number in range(3, VOCABULARY))]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [
        {"id": number, "content": token, "special": True} | flags
        for number, token in enumerate(special.values())
    ]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(words)},
            "unk_token": special["unk_token"],
        },
    }
    settings = special | {
        "model_max_length": CONFIG["max_position_embeddings"],
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    generation = {name: CONFIG[name] for name in ("bos_token_id", "eos_token_id")}
    return {
        "generation_config.json": _json(generation | {"do_sample": True}),
        "special_tokens_map.json": _json(special),
        "tokenizer.json": _json(tokenizer),
        "tokenizer_config.json": _json(settings),
    }


def _make_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(dict(value), indent=2).encode() + b"\n"
