"""CKA: how much the geometry of a model's entity states has come to resemble the retain model's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uds_bench.checkpoints import Checkpoint
from uds_bench.facts import EncodedFact, spanned
from uds_bench.inference.batches import entity_batches
from uds_bench.inference.states import source_states
from uds_bench.metrics.erasure import Array
from uds_bench.metrics.layers import Steps, encode_facts, measured
from uds_bench.metrics.metric import PATCHED, Arrays, Measured, Metric
from uds_bench.metrics.resampling import cluster_draws
from uds_bench.metrics.subject import Subject
from uds_bench.statistics import INTERVALS

VERSION = 1
ALIKE = 1e-9
"""A distance from the retain model below which a layer counts as the same: what rounding of float64 leaves."""
FLAT = 1e-6
"""Largest deviation from the mean state, by the largest state, below which states do not vary: float32's rounding."""
ROWS_PER_STEP = 1000

Groups = NDArray[np.intp]
States = NDArray[np.floating[Any]]


def weighted_cka(x: States, y: States, groups: Groups, weights: Array) -> Array:
    """Linear CKA of x with y for every row of weights: how alike the geometry of the same tokens is in two models.

    With centred linear kernels K and L, CKA(x, y) = HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)); it ignores rotations and
    scale of either side.

    Args:
        x: States in one model, [tokens, width], any unit.
        y: The same tokens in the other, [tokens, its width].
        groups: What each token belongs to, [tokens]: 0, 1, ... without a gap.
        weights: How often each group is counted, [rows, groups].

    Returns:
        [rows], 0 to 1, 1 for equal geometry; NaN where either side does not vary.

    Source: Kornblith et al., 2019, section 3.

    Example:
        Turned round and doubled, the same geometry; across, the centred kernels are orthogonal:

        >>> x, groups = np.array([[1.0], [-1.0], [0.0], [0.0]]), np.arange(4)
        >>> across = np.array([[0.0], [0.0], [1.0], [-1.0]])
        >>> [float(weighted_cka(x, y, groups, np.ones((1, 4)))[0]) for y in (-2 * x, across)]
        [1.0, 0.0]
    """
    order = np.argsort(groups, kind="stable")
    groups = groups[order]
    one, other = (_kernel(_centred(states[order].astype(np.float64, copy=False)), groups) for states in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        own = _hsic(one, one, groups, weights) * _hsic(other, other, groups, weights)
        return _hsic(one, other, groups, weights) / np.sqrt(own)


def _centred(states: Array) -> Array:
    # Any shift of the states leaves CKA as it is; about their mean, the terms of HSIC hardly cancel.
    moved = states - states.mean(0)
    # States that are all the same differ by rounding alone, and what rounding looks like is no geometry.
    return np.zeros_like(moved) if np.abs(moved).max() <= FLAT * np.abs(states).max() else moved


class _Kernel(NamedTuple):
    """K of all tokens, [tokens, tokens]; its sums over each group, on one side and on both."""

    whole: Array
    side: Array
    both: Array


def _kernel(states: Array, groups: Groups) -> _Kernel:
    summed = _by_group(states, groups)
    return _Kernel(states @ states.T, summed @ states.T, summed @ summed.T)


def _hsic(one: _Kernel, other: _Kernel, groups: Groups, weights: Array) -> Array:
    """HSIC of kernels K and L times n^2, for every row of weights: [rows]; tokens of one group stand together.

    With the kernels centred by the weighted mean it is a polynomial in the weights, so that no state is stacked again:
    sum w_s w_t K_st L_st - 2/n sum w_s (Kw)_s (Lw)_s + (w K w)(w L w)/n^2, with n = sum w.
    """
    n = weights @ np.bincount(groups)
    product = _by_group(_by_group(one.whole * other.whole, groups).T, groups)
    together, k, m = (((weights @ square) * weights).sum(1) for square in (product, one.both, other.both))
    found: Array = together - 2 / n * _cubic(one.side, other.side, groups, weights) + k * m / n**2
    return found


def _cubic(a: Array, b: Array, groups: Groups, weights: Array) -> Array:
    """The sum over tokens s of w_s (w a)_s (w b)_s, a and b being [groups, tokens]; in the cheaper order."""
    steps = (weights[i : i + ROWS_PER_STEP] for i in range(0, len(weights), ROWS_PER_STEP))
    if len(a) ** 2 >= len(groups):
        return np.concatenate([np.einsum("rs,rs,rs->r", w[:, groups], w @ a, w @ b) for w in steps])
    members = [groups == group for group in range(len(a))]
    tensor = np.stack([(a[:, inside] @ b[:, inside].T).reshape(-1) for inside in members], axis=1)
    return np.concatenate([(((w[:, :, None] * w[:, None, :]).reshape(len(w), -1) @ tensor) * w).sum(1) for w in steps])


def _by_group(rows: Array, groups: Groups) -> Array:
    """Rows of one group, which stand together, added up: [tokens, ...] -> [groups, ...]."""
    summed: Array = np.add.reduceat(rows, np.flatnonzero(np.diff(groups, prepend=-1)), axis=0)
    return summed


def entity_states(model: Checkpoint, encoded: Sequence[EncodedFact], batch_size: int) -> NDArray[np.float32]:
    """Block outputs where the entity tokens are predicted, fact after fact.

    Args:
        model: The model that is read.
        encoded: The facts in its own tokens, [facts].
        batch_size: How many facts go through it at a time.

    Returns:
        [layers, tokens, width] in the model's own unit, in float32: no dtype that a model computes in has more.

    Source: UDS guide, section 4.2 and appendix I, type 1.
    """
    fact_of, width = _fact_of(encoded), model.model.config.get_text_config(decoder=True).hidden_size
    found = np.empty((len(model.anatomy.blocks), len(fact_of), width), np.float32)
    for batch in entity_batches(encoded, batch_size, model.device):
        places = np.concatenate([np.flatnonzero(fact_of == row) for row in batch.rows])
        found[:, places] = source_states(model, batch)[:, batch.valid].float().cpu().numpy()
    return found


def _fact_of(encoded: Sequence[EncodedFact]) -> Groups:
    """Which fact each entity token is of, [tokens]."""
    return np.repeat(np.arange(len(encoded)), [fact.end - fact.start for fact in encoded])


def _compute(subject: Subject, variant: str) -> Measured:
    encoded = encode_facts(subject, subject.checkpoint)
    fact_of = _fact_of(encoded)
    draws, cluster_of = cluster_draws([fact.cluster for fact in subject.spans])
    left_out = np.concatenate([np.ones((1, len(encoded))), 1 - np.eye(len(encoded))])

    def to_retain(own: States, retain: States) -> Arrays:
        """CKA with the retain model: of all facts, without each of them, [1 + facts, layers], and of each resample."""
        layers = list(zip(own, retain, strict=True))
        by_fact = [weighted_cka(x, y, fact_of, left_out) for x, y in layers]
        by_draw = [weighted_cka(x, y, cluster_of[fact_of], draws) for x, y in layers]
        return {"facts": np.stack(by_fact, axis=1), "draws": np.stack(by_draw, axis=1)}

    def of_both(full: Checkpoint, retain: Checkpoint) -> Arrays:
        of_full, of_retain = (entity_states(m, encode_facts(subject, m), subject.batch_size) for m in (full, retain))
        return {"retain": of_retain, **to_retain(of_full, of_retain)}

    known = subject.of_references(f"cka {VERSION} float32 {INTERVALS}", of_both)
    found = to_retain(entity_states(subject.checkpoint, encoded, subject.batch_size), known["retain"])
    steps, drawn = (Steps(found[of] - known[of], _way(known[of])) for of in ("facts", "draws"))
    notes = {
        "rendered": subject.target().rendered,
        "cka": found["facts"][0].tolist(),
        "cka_full": known["facts"][0].tolist(),
        "tokens": len(fact_of),
    }
    whole, without = Steps(steps.gone[0], steps.way[0]), Steps(steps.gone[1:], steps.way[1:])
    return measured(subject.spans, whole, without, drawn, "no layer tells the full from the retain model", notes)


def _way(full: Array) -> Array:
    return np.where(1 - full <= ALIKE, 0.0, 1 - full)


METRIC = Metric(
    "cka",
    "erasure",
    "UDS guide, section 4.2; Kornblith et al., 2019, section 3",
    compute=_compute,
    of=spanned,
    version=VERSION,
    needs=PATCHED,
    variants=("linear",),
)
