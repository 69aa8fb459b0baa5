"""Drawing masks: weights one by one, or whole heads and neurons, disjoint, of a given share (Lacuna, section 3.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import torch

from uds_bench.checkpoints.anatomy import find_anatomy
from uds_bench.checkpoints.masks import MaskGroup, Masks, pack
from uds_bench.errors import CheckpointError

Shape = tuple[int, ...]
SPARED = 2
"""Last blocks that stay without masks: instruction tuning writes there."""
ROW_OF_HEAD, COLUMN_OF_HEAD = re.compile(r"\.(q|k|v)_proj\.weight$"), re.compile(r"\.o_proj\.weight$")
ROW_OF_NEURON, COLUMN_OF_NEURON = re.compile(r"\.(gate|up)_proj\.weight$"), re.compile(r"\.down_proj\.weight$")


def maskable(model: Any, spared: int = SPARED) -> dict[str, Shape]:
    """The matrices of attention and feed-forward in all blocks but the last ones; never norms, biases or embeddings.

    Args:
        model: A causal language model of transformers.
        spared: How many last blocks take no mask.

    Returns:
        By name of a parameter, its shape.

    Raises:
        CheckpointError: The model has no more blocks than are spared.
    """
    blocks = find_anatomy(model).blocks
    if len(blocks) <= spared:
        raise CheckpointError(f"the model has {len(blocks)} blocks, of which the last {spared} take no mask: use more")
    chosen = {id(p) for block in blocks[: len(blocks) - spared] for p in block.parameters() if p.ndim >= 2}
    return {name: tuple(p.shape) for name, p in model.named_parameters() if id(p) in chosen}


def draw_weights(shapes: Mapping[str, Shape], groups: Sequence[MaskGroup], share: float, seed: int) -> Masks:
    """Masks that give every group the same share of all weights, drawn one by one; each parameter gives its part.

    Args:
        shapes: By name of a parameter, from `maskable`.
        groups: Of facts, in the order of their bits.
        share: Of all weights, for each group, above 0; rounded down to whole weights.
        seed: Of the draw.

    Returns:
        Disjoint masks, each of as many weights.

    Raises:
        CheckpointError: The groups do not fit, or have no weight.

    Source: Lacuna, section 3.2.

    Example:
        >>> groups = [MaskGroup("born", "forget"), MaskGroup("works", "retain")]
        >>> draw_weights({"up": (4, 5), "down": (5, 4)}, groups, share=0.2, seed=0).sizes()
        {'born': 8, 'works': 8}
    """
    sizes = [torch.Size(shape).numel() for shape in shapes.values()]
    each = _each(sum(sizes), share, len(groups))
    parts = _dealt(each, sizes, len(groups))
    generator = torch.Generator().manual_seed(seed)
    masks = {}
    for (name, shape), size, part in zip(shapes.items(), sizes, parts, strict=True):
        order = torch.randperm(size, generator=generator)
        masks[name] = [_marked(order[at * part : (at + 1) * part], shape) for at in range(len(groups))]
    return pack(masks, groups)


def draw_units(
    shapes: Mapping[str, Shape], groups: Sequence[MaskGroup], share: float, seed: int, key_value_heads: int
) -> Masks:
    """Masks that give every group the same share of the heads and of the neurons of each block, as wholes.

    A head is what hangs on one key-value head: its rows of q, k and v and its columns of o. A neuron is a row of gate
    and up and a column of down.

    Args:
        shapes: By name of a parameter, from `maskable`.
        groups: Of facts, in the order of their bits.
        share: Of the units, for each group; rounded down, and at least one unit.
        seed: Of the draw.
        key_value_heads: How many a block has.

    Returns:
        Disjoint masks, each of as many units a block.

    Raises:
        CheckpointError: The projections are not called so, or the groups do not fit.

    Source: Lacuna, section 3.2.

    Example:
        >>> shapes = {"h.0.q_proj.weight": (6, 3), "h.0.up_proj.weight": (4, 3), "h.0.down_proj.weight": (3, 4)}
        >>> groups = [MaskGroup("born", "forget"), MaskGroup("works", "retain")]
        >>> draw_units(shapes, groups, share=0.25, seed=0, key_value_heads=2).sizes()  # 9 + 3 + 3
        {'born': 15, 'works': 15}
    """
    generator = torch.Generator().manual_seed(seed)
    blocks: dict[str, dict[str, Shape]] = {}
    for name, shape in shapes.items():
        blocks.setdefault(_block(name), {})[name] = shape
    masks: dict[str, list[torch.Tensor]] = {}
    for named in blocks.values():
        down = next((shape for name, shape in named.items() if COLUMN_OF_NEURON.search(name)), None)
        if down is None:
            raise CheckpointError(f"masks of heads and neurons: {next(iter(named))} stands beside no down_proj")
        heads, neurons = _units(key_value_heads, share, groups, generator), _units(down[1], share, groups, generator)
        for name, shape in named.items():
            masks[name] = [_whole(name, shape, chosen) for chosen in zip(heads, neurons, strict=True)]
    return pack(masks, groups)


def _each(total: int, share: float, groups: int) -> int:
    """How many weights a group has."""
    each = _part(share, total) if 0 < share <= 1 else 0
    if not groups or not each or each * groups > total:
        raise CheckpointError(f"masks: {groups} groups of {share:g} of {total} weights each: use a share that fits")
    return each


def _part(share: float, of: int) -> int:
    """A share, as it is meant, of a number, rounded down: .29 of 100 is 29 and 1/3 of 9 is 3, which binary fractions
    miss."""
    return int(Fraction(share).limit_denominator(10**9) * of)


def _dealt(each: int, sizes: Sequence[int], groups: int) -> list[int]:
    """How many weights each parameter gives a group: in proportion to its size, and `each` in all. The largest
    remainders are rounded up, if the parameter has room for one more of every group."""
    total = sum(sizes)
    parts = [each * size // total for size in sizes]
    with_room = [at for at, size in enumerate(sizes) if (parts[at] + 1) * groups <= size]
    missing = each - sum(parts)
    if missing > len(with_room):
        raise CheckpointError(f"masks: {groups} groups of {each} weights leave no room to round: use a smaller share")
    for at in sorted(with_room, key=lambda i: (-(each * sizes[i] % total), i))[:missing]:
        parts[at] += 1
    return parts


def _marked(places: torch.Tensor, shape: Shape) -> torch.Tensor:
    found = torch.zeros(torch.Size(shape).numel(), dtype=torch.bool)
    found[places] = True
    return found.reshape(shape)


def _units(count: int, share: float, groups: Sequence[MaskGroup], generator: torch.Generator) -> list[torch.Tensor]:
    """For each group the units that are its own, true or false."""
    each = max(1, _part(share, count))
    if each * len(groups) > count:
        raise CheckpointError(f"masks: {len(groups)} groups of {each} do not fit into {count} heads or neurons")
    order = torch.randperm(count, generator=generator)
    return [_marked(order[at * each : (at + 1) * each], (count,)) for at in range(len(groups))]


def _whole(name: str, shape: Shape, chosen: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """The weights of a projection that belong to chosen heads or neurons."""
    heads, neurons = chosen
    for pattern, units, rows in (
        (ROW_OF_HEAD, heads, True),
        (COLUMN_OF_HEAD, heads, False),
        (ROW_OF_NEURON, neurons, True),
        (COLUMN_OF_NEURON, neurons, False),
    ):
        if pattern.search(name):
            along = shape[0] if rows else shape[1]
            marked = units.repeat_interleave(along // len(units))
            return (marked.unsqueeze(1) if rows else marked.unsqueeze(0)).expand(shape).contiguous()
    raise CheckpointError(f"masks of heads and neurons: {name} is no q, k, v, o, gate, up or down projection")


def _block(name: str) -> str:
    """The part of a name that a block's parameters share: up to its number."""
    found = re.match(r"(.*?\.\d+)\.", name)
    return found[1] if found else name
