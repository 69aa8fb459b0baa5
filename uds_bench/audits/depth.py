"""The depth audit: what its claims read out of scores. Pure functions of recorded scores, no model is needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from uds_bench.errors import ConfigurationError
from uds_bench.metrics.erasure import erasure
from uds_bench.metrics.uds import NO_LAYER
from uds_bench.scores import ENOUGH, Score
from uds_bench.statistics import balanced_cut, cluster_bootstrap
from uds_bench.verdicts import Decision, Step, Verdict, decide_ordering

POOL = 3
"""Models that a pool needs on each side before it may set the cut: leaving one out must leave a pool."""


def largest_drop(uds: Score) -> float:
    """Largest |drop| over facts and layers, nats: 0 where a model was patched with its own states. NaN if empty."""
    drops = [abs(drop) for fact in uds.per_fact for drop in fact.detail.get("drops", [math.nan])]
    return math.nan if not drops or any(map(math.isnan, drops)) else max(drops)


def largest_distance(uds: Score, expected: float) -> float:
    """Largest |value - expected| over the scored facts; NaN if none is scored or one could not be computed."""
    if set(uds.reasons) - {NO_LAYER}:
        return math.nan
    return max((abs(fact.value - expected) for fact in uds.scored if fact.value is not None), default=math.nan)


def largest_lens_gap(uds: Score) -> float:
    """Largest difference over facts between patching the last layer and the logit lens there, nats. NaN if empty."""
    gaps = [fact.detail.get("last_gap", math.nan) for fact in uds.per_fact]
    return math.nan if not gaps or any(map(math.isnan, gaps)) else max(gaps)


def tolerance(uds: Score, fast: float) -> float:
    """Identities hold exactly where patching went by hook, and to `fast` where it took the fast path."""
    return 0.0 if uds.notes.get("patching") == "hook" else fast


def frozen_gap(frozen: Mapping[str, Any], change: float = 1.0) -> float:
    """Largest deviation of the formula from the scores recorded for frozen drops; NaN if there are none.

    `change` multiplies the candidates' drop at the first layer: with anything but 1 the formula must be seen to move.
    """
    gaps = []
    for fact in frozen["facts"]:
        retain = np.array([fact["retain_drops"]])
        for recorded in fact["candidates"].values():
            drops = np.array([recorded["drops"]])
            drops[:, 0] *= change
            found = erasure(retain, drops, frozen["tau"])
            gaps += [abs(found.score[0] - recorded["uds"]), abs(found.unclipped[0] - recorded["unclipped"])]
    return math.nan if not gaps or any(map(math.isnan, gaps)) else float(max(gaps))


def order_steps(scores: Sequence[Score]) -> list[Step]:
    """Paired differences between neighbours of an order, each with its interval over clusters."""
    steps = []
    for earlier, later in pairwise(scores):
        before = {fact.id: fact.value for fact in earlier.scored}
        pairs = [
            (fact.value - before[fact.id], fact.cluster)  # type: ignore[operator]
            for fact in later.scored
            if fact.id in before
        ]
        if len(pairs) < ENOUGH * len(later.per_fact):
            pairs = []  # too few facts scored in both to stand for the forget set: decides nothing
        differences, clusters = [d for d, _ in pairs], [c for _, c in pairs]
        interval = cluster_bootstrap(differences, clusters, limits=(-1.0, 1.0))
        mean = math.fsum(differences) / len(differences) if differences else math.nan
        steps.append(Step(earlier.checkpoint, later.checkpoint, mean, interval))
    return steps


def shuffled(scores: Sequence[Score]) -> list[Score]:
    """The same scores in an order that is neither the given one nor its reverse: the two halves, interleaved."""
    half = len(scores) // 2
    return [*scores[half:], *scores[:half]] if len(scores) < 4 else [*scores[1::2], *scores[::2]]


def require_independent(pools: Sequence[Score], others: Sequence[Score]) -> None:
    """Raises ConfigurationError for a pool model with the weights of a reference, a candidate or another pool model.

    Its verdict would be true by construction, or it would help to set the bound that it is judged by.
    """
    known = {score.provenance["checkpoint"]: score.checkpoint for score in others}
    for score in pools:
        same = known.setdefault(score.provenance["checkpoint"], score.checkpoint)
        if same != score.checkpoint:
            raise ConfigurationError(
                f"[pools] {score.checkpoint} holds the same weights as {same}: pools need models of their own; "
                "put one of another seed there"
            )


def full_knows(full: Score, retain: Score) -> tuple[Verdict, Step]:
    """Whether the full model says more of the facts than the retain model: else there is nothing to forget."""
    (step,) = order_steps([retain, full])
    return decide_ordering([step], "authors").verdict, step


def pool_cut(knows: Sequence[Score], never_knew: Sequence[Score], least: int = POOL) -> float | None:
    """The UDS between the pools with the best balanced accuracy; None for pools too small to set one."""
    if len(knows) < least or len(never_knew) < least:
        return None
    cut = balanced_cut([_value(s) for s in knows], [_value(s) for s in never_knew])
    return None if math.isnan(cut) else cut


def pool_cut_without(score: Score, knows: Sequence[Score], never_knew: Sequence[Score]) -> float | None:
    """The cut that the other pool models give: a control is never judged by a bound that it helped to set."""
    if pool_cut(knows, never_knew) is None:
        return None
    return pool_cut([s for s in knows if s is not score], [s for s in never_knew if s is not score], POOL - 1)


def _value(score: Score) -> float:
    return math.nan if score.value is None else score.value


def hidden(depth: Verdict, generations: Sequence[Score], full: Sequence[Score], share: float) -> Decision:
    """Whether generation calls forgotten what depth does not: a WARNING that names the output metric.

    `generations`: the candidate's output scores; `full`: the full model's, in the same order. Generation says
    forgotten where the upper bound of the candidate's score is at most `share` of the full model's value.
    """
    said: list[str] = []
    kept: list[str] = []
    unknown: list[str] = []
    for own, reference in zip(generations, full, strict=True):
        name = f"{own.metric}[{own.variant}]"
        if own.value is None or own.interval is None or not reference.value or math.isnan(own.interval.high):
            unknown.append(name)
            continue
        high = own.interval.high
        text = f"{name} {own.value:.3f} (upper bound {high:.3f}, full model {reference.value:.3f})"
        (said if high <= share * reference.value else kept).append(text)
    if unknown:
        return Decision(Verdict.INCONCLUSIVE, None, None, f"not measured: {', '.join(unknown)}")
    if not said:
        return Decision(Verdict.NOT_APPLICABLE, None, None, f"generation does not say forgotten: {'; '.join(kept)}")
    if depth is Verdict.PASS:
        return Decision(Verdict.PASS, None, None, f"generation says forgotten and depth agrees: {'; '.join(said)}")
    return Decision(
        Verdict.WARNING,
        None,
        None,
        f"HIDDEN: {'; '.join(said)} says forgotten while depth.score came out {depth.value}: "
        "the knowledge is still in the activations",
    )
