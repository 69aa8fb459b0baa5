"""Full parts on disk: the full model's keys, values and log-probabilities of a batch, computed once for all sources."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import torch
from safetensors.torch import load, save

from uds_bench.inference.streams import FullPart, LayerPart
from uds_bench.storage import read_sealed, write_sealed

MAX_BYTES = 8 * 1024**3
"""Larger sets of parts are recomputed (one plain pass of the full model a source) rather than kept."""


def part_bytes(part: FullPart) -> int:
    """How large a full part is: what its keys and values take.

    Args:
        part: Of one batch.

    Returns:
        Bytes; masks, position embeddings and log-probabilities do not count, as they are small beside them.

    Example:
        >>> keys = torch.zeros(2, 1, 3, 4)  # facts, heads, prefix, head width; four bytes each
        >>> layer = LayerPart(keys, keys, torch.ones(2, 1, 3), torch.ones(2, 1, 1), (), {}, "past_key_values")
        >>> part_bytes(FullPart(torch.zeros(2, 1), (layer, layer)))
        384
    """
    return sum(layer.keys.nbytes + layer.values.nbytes for layer in part.layers)


def write_part(path: Path, part: FullPart) -> None:
    """Write a part as safetensors; what layers share is written once."""
    tensors: dict[str, torch.Tensor] = {"base": part.base.contiguous()}
    names: dict[int, str] = {}

    def store(tensor: torch.Tensor) -> str:
        # Masks and rotary tables are shared between layers: each is written once.
        name = names.setdefault(id(tensor), f"t{len(names)}")
        tensors[name] = tensor.contiguous()
        return name

    layers = [
        {
            "keys": store(layer.keys),
            "values": store(layer.values),
            "prefix_seen": store(layer.prefix_seen),
            "own_seen": store(layer.own_seen),
            "rotary": [store(table) for table in layer.rotary],
            "arguments": layer.arguments,
            "cache_name": layer.cache_name,
        }
        for layer in part.layers
    ]
    write_sealed(path, save(tensors, metadata={"layers": json.dumps(layers)}))


def read_part(path: Path, device: torch.device | str) -> FullPart | None:
    """The stored part, or None where it is missing or broken."""
    payload = read_sealed(path)
    if payload is None:
        return None
    tensors = {name: tensor.to(device) for name, tensor in load(payload).items()}
    header = json.loads(payload[8 : 8 + int.from_bytes(payload[:8], "little")])
    layers = []
    for row in json.loads(header["__metadata__"]["layers"]):
        named = {f.name: row[f.name] for f in fields(LayerPart)}
        for name in ("keys", "values", "prefix_seen", "own_seen"):
            named[name] = tensors[row[name]]
        named["rotary"] = tuple(tensors[name] for name in row["rotary"])
        layers.append(LayerPart(**named))
    return FullPart(tensors["base"], tuple(layers))
