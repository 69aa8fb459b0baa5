"""Masked Fisher information: whether the weights that tell retain from full model are as in the retain model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from uds_bench.checkpoints import Checkpoint
from uds_bench.errors import CheckpointError
from uds_bench.facts import EncodedFact, spanned
from uds_bench.inference.gradients import block_sizes, entity_gradients
from uds_bench.metrics.erasure import Array
from uds_bench.metrics.layers import Steps, encode_facts, measured
from uds_bench.metrics.metric import PATCHED, Arrays, Measured, Metric
from uds_bench.metrics.resampling import cluster_draws
from uds_bench.metrics.subject import Subject

VERSION = 1
SHARES = {"masked_0.1": 1e-3, "masked_0.01": 1e-4, "masked_1": 1e-2}
"""Share of a block's weights that each variant looks at."""
MOST_WEIGHTS = 2**26
"""Weights whose information is held at once, beside one block's: a run of blocks takes passes of its own."""


def fisher_information(
    model: Checkpoint, encoded: Sequence[EncodedFact], which: slice = slice(None)
) -> list[torch.Tensor]:
    """Fisher information of each weight, block by block: how much the entities' likelihood hangs on it.

    The mean over facts of the squared gradient of -mean log p(entity), the diagonal of the empirical Fisher
    information; see `entity_gradients` for which weights. Large where the entity is badly predicted: a model that never
    learned a fact has more than one that knows it.

    Args:
        model: The model that is read.
        encoded: The facts in its own tokens, [facts].
        which: The blocks that are asked for.

    Returns:
        For each of them [weights], squared nats per squared unit of a weight, at least 0.

    Raises:
        CheckpointError: A gradient is not finite.

    Source: UDS guide, section 4.2 and appendix F.
    """
    total: list[torch.Tensor] = []
    for _, gradients in entity_gradients(model, encoded, which=which):
        squares = [gradient.square_() for gradient in gradients]
        total = [a.add_(b) for a, b in zip(total, squares, strict=True)] if total else squares
    found = [layer.div_(len(encoded)) for layer in total]
    if not all(bool(layer.isfinite().all()) for layer in found):
        raise CheckpointError(f"{model.spec.model}: gradients of its entities are not finite: load it in a wider dtype")
    return found


def runs(sizes: Sequence[int], most_weights: int) -> list[slice]:
    """Neighbouring blocks that are measured together: as many as fit, and at least one.

    Args:
        sizes: Weights of each block, [blocks].
        most_weights: How many of them may be held at once.

    Returns:
        Slices that hold each block once, in order.

    Example:
        >>> runs([3, 3, 3, 9, 1], 6)
        [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    found: list[slice] = []
    for block, size in enumerate(sizes):
        if found and sum(sizes[found[-1]]) + size <= most_weights:
            found[-1] = slice(found[-1].start, block + 1)
        else:
            found.append(slice(block, block + 1))
    return found


def largest(full: torch.Tensor, retain: torch.Tensor, share: float) -> torch.Tensor:
    """The weights where the retain model's Fisher information exceeds the full one's most.

    Args:
        full: Fisher information of one block in the full model, [weights].
        retain: The same in the retain model, [weights].
        share: Share of the weights that is looked for, 0 to 1; at least one weight.

    Returns:
        Indices, largest excess first; none where it exceeds it nowhere.

    Source: UDS guide, section 4.2 and appendix F.

    Example:
        Excesses of -1, 4, 0 and 2, of which half the weights are wanted:

        >>> largest(torch.tensor([2.0, 1.0, 1.0, 1.0]), torch.tensor([1.0, 5.0, 1.0, 3.0]), 0.5).tolist()
        [1, 3]
    """
    excess = retain - full
    values, order = excess.topk(most(len(excess), share))
    return order[values > 0]


def most(weights: int, share: float) -> int:
    """How many weights a share is: rounded, at least one.

    Args:
        weights: How many there are.
        share: 0 to 1.

    Returns:
        A count from 1.

    Example:
        >>> most(10_000, 1e-3), most(10, 1e-3)
        (10, 1)
    """
    return max(1, round(weights * share))


def masked_information(model: Checkpoint, encoded: Sequence[EncodedFact], masks: Sequence[torch.Tensor]) -> Array:
    """Fisher information of each fact over a block's masked weights: the mean squared gradient of -mean log p(entity).

    Args:
        model: The model that is read.
        encoded: The facts in its own tokens, [facts].
        masks: For each block, indices into its weights.

    Returns:
        [facts, blocks], squared nats per squared unit of a weight, at least 0; 0 for an empty mask; NaN or infinite
        where a gradient is.

    Source: UDS guide, section 4.2 and appendix F.
    """
    return _information(model, encoded, [[mask] for mask in masks])[..., 0]


def _information(model: Checkpoint, encoded: Sequence[EncodedFact], masks: Sequence[Sequence[torch.Tensor]]) -> Array:
    """As `masked_information` for several masks a block: [facts, blocks, masks]."""
    found = np.zeros((len(encoded), len(masks), len(masks[0])))
    for row, gradients in entity_gradients(model, encoded, [torch.cat(list(choices)) for choices in masks]):
        for block, (gradient, choices) in enumerate(zip(gradients, masks, strict=True)):
            parts = torch.split(gradient.double().square_(), [len(mask) for mask in choices])
            for i, part in enumerate(parts):
                found[row, block, i] = float(part.mean()) if len(part) else 0.0
    return found


def _by_block(
    full: Checkpoint, retain: Checkpoint, encoded: Sequence[EncodedFact]
) -> tuple[list[int], list[torch.Tensor]]:
    """How many weights each block has, and those where the retain model's information exceeds the full one's most."""
    sizes, orders = [], []
    for which in runs(block_sizes(full), MOST_WEIGHTS):
        of_full = fisher_information(full, encoded, which)
        for known, other in zip(of_full, fisher_information(retain, encoded, which), strict=True):
            sizes.append(len(known))
            orders.append(largest(known, other, max(SHARES.values())).cpu())
    return sizes, orders


def _compute(subject: Subject, variant: str) -> Measured:
    def of_both(full: Checkpoint, retain: Checkpoint) -> Arrays:
        """The order of each block's weights, and what both references have at every variant's mask."""
        encoded = encode_facts(subject, full)
        encode_facts(subject, retain)
        sizes, orders = _by_block(full, retain, encoded)
        masks = [[order[: most(n, share)] for share in SHARES.values()] for n, order in zip(sizes, orders, strict=True)]
        tables = {"full": _information(full, encoded, masks), "retain": _information(retain, encoded, masks)}
        kept = {f"mask {block}": order.double().numpy() for block, order in enumerate(orders)}
        return {**tables, **kept, "sizes": np.array(sizes, dtype=float)}

    known = subject.of_references(f"fisher {VERSION}", of_both)
    form = list(SHARES).index(variant)
    masks = [
        torch.from_numpy(known[f"mask {block}"][: most(int(size), SHARES[variant])]).long()
        for block, size in enumerate(known["sizes"])
    ]
    full, retain = known["full"][..., form], known["retain"][..., form]
    own = masked_information(subject.checkpoint, encode_facts(subject, subject.checkpoint), masks)
    draws, cluster_of = cluster_draws([fact.cluster for fact in subject.spans])
    counts = draws[:, cluster_of]

    def steps(weights: Array) -> Steps:
        """Means over facts, each counted so often as the rows of `weights`, [rows, facts], say."""
        gone, way = (weights @ (table - full) / weights.sum(1, keepdims=True) for table in (own, retain))
        return Steps(gone, way)

    whole = steps(np.ones((1, len(own))))
    notes = {
        "rendered": subject.target().rendered,
        "weights": "matrices of the blocks",
        "masked": [len(mask) for mask in masks],
        "of": [int(size) for size in known["sizes"]],
    }
    return measured(
        subject.spans,
        Steps(whole.gone[0], whole.way[0]),
        steps(1 - np.eye(len(own))),
        steps(counts),
        "at no weight does the retain model have more Fisher information than the full one",
        notes,
    )


METRIC = Metric(
    "fisher",
    "erasure",
    "UDS guide, section 4.2 and appendix F",
    compute=_compute,
    of=spanned,
    version=VERSION,
    needs=PATCHED,
    variants=tuple(SHARES),
)
