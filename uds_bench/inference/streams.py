"""Activation patching, the fast way: all patched layers travel up the full model together.

Patching replaces states at the entity's predicting positions only, so everything before them never changes. The full
model runs once and leaves its keys and values (`FullPart`, reusable for every source); then, at block l, one short
sequence per fact holds the entity positions of every stream patched below l, each seeing the cached prefix and itself.
Cost for L layers and T of P positions: about L*T/2P plain passes instead of L.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import DynamicCache

from uds_bench.checkpoints import Checkpoint, block_hidden
from uds_bench.inference.batches import EntityBatch, gather_positions
from uds_bench.inference.hooks import reading
from uds_bench.inference.logprobs import token_logprobs
from uds_bench.inference.preallocated import preallocated_cache
from uds_bench.inference.states import run_body

CACHE_ARGUMENTS = ("cache", "past_key_values", "layer_past")
"""How families, and versions of transformers, call their cache."""


class UnsupportedBlocksError(Exception):
    """A family whose blocks take arguments that cannot be replayed at chosen positions: patch it by hook."""


@dataclass(frozen=True)
class LayerPart:
    """What block l of the full model needs to run at the entity positions alone.

    `keys`, `values`: [facts, heads, prefix, head width]; `prefix_seen`: [facts, T, prefix] and `own_seen`:
    [facts, T, T], what each entity position attends to; `rotary`: the position embeddings at the entity positions, each
    [facts, T, head width]; `arguments`: the rest of the call; `cache_name`: how the family calls its cache.
    """

    keys: torch.Tensor
    values: torch.Tensor
    prefix_seen: torch.Tensor
    own_seen: torch.Tensor
    rotary: tuple[torch.Tensor, ...]
    arguments: dict[str, Any]
    cache_name: str

    def take(self, rows: slice) -> LayerPart:
        """Some rows of the batch."""
        return LayerPart(
            self.keys[rows],
            self.values[rows],
            self.prefix_seen[rows],
            self.own_seen[rows],
            tuple(table[rows] for table in self.rotary),
            self.arguments,
            self.cache_name,
        )


@dataclass(frozen=True)
class FullPart:
    """The full model's share of patching one batch: `base` is s^full, [facts, T]."""

    base: torch.Tensor
    layers: tuple[LayerPart, ...]


@torch.inference_mode()
def full_part(full: Checkpoint, batch: EntityBatch) -> FullPart:
    """One forward pass of the full model, kept for every source that will be patched into it."""
    if preallocated_cache(full.model) is None:
        raise UnsupportedBlocksError("its layers keep a state and not keys and values alone")
    blocks = full.anatomy.blocks
    cache = DynamicCache()
    with (
        _recording(blocks) as calls,
        reading({"last": blocks[-1]}, lambda hidden: gather_positions(hidden, batch.predicting)) as kept,
    ):
        run_body(full, batch, use_cache=True, past_key_values=cache)
    base = token_logprobs(full.anatomy.readout, kept["last"], batch.targets)
    prefix = int(batch.predicting[:, 0].max())
    # Families share a mask and a rotary table between layers of a kind: so does what is made of them.
    seen: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    turned: dict[int, tuple[torch.Tensor, ...]] = {}
    layers = []
    for layer, call in enumerate(calls):
        mask, rotary = call.pop("attention_mask", None), call.pop("position_embeddings", None) or ()
        if id(mask) not in seen:
            seen[id(mask)] = _visible(mask, batch, prefix)
        key = id(rotary[0]) if rotary else 0
        if key not in turned:
            turned[key] = tuple(_at_entity(table, batch) for table in rotary)
        layers.append(_layer_part(call, cache, layer, prefix, seen[id(mask)], turned[key]))
    return FullPart(base, tuple(layers))


def _at_entity(table: torch.Tensor, batch: EntityBatch) -> torch.Tensor:
    return gather_positions(table.expand(len(batch.ids), -1, -1), batch.predicting)


def _layer_part(
    call: dict[str, Any],
    cache: DynamicCache,
    layer: int,
    prefix: int,
    seen: tuple[torch.Tensor, torch.Tensor],
    rotary: tuple[torch.Tensor, ...],
) -> LayerPart:
    names = [name for name in CACHE_ARGUMENTS if name in call]
    if len(names) != 1:
        raise UnsupportedBlocksError("its blocks take no key-value cache")
    rest = {k: v for k, v in call.items() if k not in (*names, "position_ids", "cache_position")}
    strange = [k for k, v in rest.items() if not isinstance(v, (bool, int, float, str, type(None)))]
    if strange:
        raise UnsupportedBlocksError(f"its blocks take {', '.join(strange)}")
    kept: Any = cache.layers[layer]
    return LayerPart(
        keys=kept.keys[:, :, :prefix].clone(),
        values=kept.values[:, :, :prefix].clone(),
        prefix_seen=seen[0],
        own_seen=seen[1],
        rotary=rotary,
        arguments=rest,
        cache_name=names[0],
    )


def _visible(mask: Any, batch: EntityBatch, prefix: int) -> tuple[torch.Tensor, torch.Tensor]:
    """From the mask that the model itself built: which prefix and entity positions each entity position sees."""
    rows, length = batch.ids.shape
    if mask is None:  # plain causal attention, nothing padded
        allowed = torch.ones(length, length, dtype=torch.bool, device=batch.ids.device).tril().expand(rows, -1, -1)
    elif isinstance(mask, torch.Tensor) and mask.dim() == 4:
        allowed = (mask if mask.dtype == torch.bool else mask == 0)[:, 0, :, :length].expand(rows, -1, -1)
    else:
        raise UnsupportedBlocksError(f"its attention mask is a {type(mask).__name__}")
    queries = allowed.gather(1, batch.predicting.unsqueeze(-1).expand(-1, -1, length))
    own = queries.gather(2, batch.predicting.unsqueeze(1).expand(-1, queries.shape[1], -1))
    before = torch.arange(prefix, device=batch.ids.device)
    return queries[:, :, :prefix] & (before < batch.predicting[:, :1]).unsqueeze(1), own & batch.valid.unsqueeze(1)


@torch.inference_mode()
def streamed_logprobs(full: Checkpoint, batch: EntityBatch, part: FullPart, states: torch.Tensor) -> torch.Tensor:
    """s^S, as `patched_logprobs` gives it for block outputs, in one pass over the entity positions.

    Args:
        full: The model that is patched and read.
        batch: Facts, in its own tokens.
        part: The full model's share of this very batch, from `full_part`.
        states: Block outputs of the source, [layers, facts, T, width]; cast to the full model's dtype.

    Returns:
        [layers, facts, T] in nats, at most 0; higher is more knowledge in the states.
    """
    states = states.to(full.model.dtype)
    # At the last layer about twice as many positions at once as in a plain pass, so on average as many.
    passes = batch.predicting.numel() * len(part.layers) / (2 * batch.ids.numel())
    rows = math.ceil(len(batch.rows) / max(1, round(passes)))
    steps = [slice(i, i + rows) for i in range(0, len(batch.rows), rows)]
    return torch.cat([_streams(full, batch.take(s), [p.take(s) for p in part.layers], states[:, s]) for s in steps], 1)


def _streams(full: Checkpoint, batch: EntityBatch, parts: list[LayerPart], states: torch.Tensor) -> torch.Tensor:
    layers, facts, span, width = states.shape
    hidden = states.new_empty(facts, 0, width)
    tables: dict[tuple[int, int], tuple[torch.Tensor, tuple[torch.Tensor, ...]]] = {}
    for layer, part in enumerate(parts):
        if layer:
            size = layer * span
            key = (part.own_seen.data_ptr(), part.rotary[0].data_ptr() if part.rotary else 0)
            if key not in tables:
                tables[key] = (
                    _bias(part, layers - 1, states.dtype),
                    tuple(t.repeat(1, layers - 1, 1) for t in part.rotary),
                )
            bias, rotary = tables[key]
            arguments = dict(part.arguments)
            if rotary:
                arguments["position_embeddings"] = tuple(table[:, :size] for table in rotary)
            arguments["attention_mask"] = bias[:, :, :size, : part.keys.shape[2] + size]
            arguments[part.cache_name] = _PrefixCache(part)
            hidden = block_hidden(full.anatomy.blocks[layer](hidden, **arguments))
        hidden = torch.cat([hidden, states[layer]], dim=1)
    by_stream = hidden.reshape(facts, layers, span, width).transpose(0, 1)
    return token_logprobs(full.anatomy.readout, by_stream, batch.targets.expand(layers, -1, -1))


def _bias(part: LayerPart, streams: int, dtype: torch.dtype) -> torch.Tensor:
    """[facts, 1, streams*T, prefix + streams*T]: 0 where seen, the lowest number where not; streams never meet."""
    same = torch.eye(streams, dtype=torch.bool, device=part.own_seen.device)
    facts, span, _ = part.own_seen.shape
    own = (same[:, None, :, None] & part.own_seen[:, None, :, None, :]).reshape(facts, streams * span, streams * span)
    seen = torch.cat([part.prefix_seen.repeat(1, streams, 1), own], dim=-1)
    return (
        torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill(~seen, torch.finfo(dtype).min).unsqueeze(1)
    )


class _PrefixCache:
    """A cache that joins the prefix's keys and values to the streams', and keeps nothing."""

    def __init__(self, part: LayerPart) -> None:
        self.part = part

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.cat([self.part.keys, keys], dim=2), torch.cat([self.part.values, values], dim=2)


@contextmanager
def _recording(blocks: tuple[nn.Module, ...]) -> Iterator[list[dict[str, Any]]]:
    """While open, the arguments of each block's call, by name, without its hidden state."""
    calls: list[dict[str, Any]] = []

    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        named: dict[str, Any] = {}
        for name, value in list(bound.arguments.items())[1:]:
            named.update(value if _is_rest(bound, name) else {name: value})
        calls.append(named)

    with ExitStack() as stack:
        for block in blocks:
            stack.callback(block.register_forward_pre_hook(hook, with_kwargs=True).remove)
        yield calls


def _is_rest(bound: inspect.BoundArguments, name: str) -> bool:
    return bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
