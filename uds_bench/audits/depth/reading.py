"""The depth audit: what its claims read out of scores. Pure functions of recorded scores, no model is needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uds_bench.audits.depth.claims import COPY_BELOW, LEAST_POOL
from uds_bench.errors import ConfigurationError
from uds_bench.metrics.erasure import NO_LAYER, erasure
from uds_bench.scores import LEAST_SCORED, Score
from uds_bench.statistics import balanced_cut, cluster_interval, largest, mean
from uds_bench.verdicts import Decision, Step, Verdict, decide_ordering

BY_DEFINITION = {
    "full": Decision(Verdict.FAIL, 0.0, None, "0 by definition"),
    "retain": Decision(Verdict.PASS, 1.0, None, "1 by definition"),
}
"""What the references come to under depth.score; `depth.self_patch` and `depth.retain_is_one` hold them to it. An
interval over few people would leave it open."""


def largest_drop(uds: Score) -> float:
    """Largest |drop| over facts and layers: 0 where a model was patched with its own states.

    Args:
        uds: A score of UDS with its drops, [facts, layers], nats.

    Returns:
        Nats, 0 and above; NaN if there is no drop or one is not finite.

    Source: UDS guide, section 3.2.

    Example:
        >>> from types import SimpleNamespace
        >>> largest_drop(SimpleNamespace(per_fact=[SimpleNamespace(detail={"drops": [0.25, -0.5]})]))
        0.5
    """
    drops = [abs(drop) for fact in uds.per_fact for drop in fact.detail.get("drops", [math.nan])]
    return largest(drops)


def largest_distance(uds: Score, expected: float) -> float:
    """Largest |value - expected| over the scored facts.

    Args:
        uds: A score of UDS.
        expected: What every fact must come to, 0 to 1.

    Returns:
        0 to 1, 0 where all are as expected; NaN if none is scored or one could not be computed.

    Source: UDS guide, section 3.2: the retain model comes to exactly 1.

    Example:
        >>> from types import SimpleNamespace
        >>> largest_distance(SimpleNamespace(reasons={}, scored=[SimpleNamespace(value=v) for v in (1.0, 0.75)]), 1.0)
        0.25
    """
    if set(uds.reasons) - {NO_LAYER}:
        return math.nan
    return max((abs(fact.value - expected) for fact in uds.scored if fact.value is not None), default=math.nan)


def largest_lens_gap(uds: Score) -> float:
    """Largest difference over facts between patching the last layer and the logit lens there.

    Args:
        uds: A score of UDS with the gap of each fact, [facts], nats.

    Returns:
        Nats, 0 and above, 0 where the identity holds; NaN if there is none or one is not finite.

    Source: UDS guide, section 3.2.

    Example:
        >>> from types import SimpleNamespace
        >>> facts = [SimpleNamespace(detail={"last_gap": gap}) for gap in (0.0, 1e-6)]
        >>> largest_lens_gap(SimpleNamespace(per_fact=facts))
        1e-06
    """
    gaps = [fact.detail.get("last_gap", math.nan) for fact in uds.per_fact]
    return largest(gaps)


def frozen_gap(frozen: Mapping[str, Any], change: float = 1.0) -> float:
    """Largest deviation of the formula from the scores recorded for frozen drops.

    Args:
        frozen: tau, and of each fact its drops and what candidates' drops came to.
        change: Multiplies the candidates' drop at the first layer: with anything but 1 the formula must be seen to
            move.

    Returns:
        0 and above, 0 where the formula is as it was; NaN if there are no scores.

    Example:
        (0.5 + 3) / 4 as recorded; with the first drop tripled (1 + 3) / 4, and (1.5 + 3) / 4 unclipped:

        >>> model = {"drops": [0.5, 3.0], "uds": 0.875, "unclipped": 0.875}
        >>> frozen = {"tau": 0.05, "facts": [{"retain_drops": [1.0, 3.0], "candidates": {"a": model}}]}
        >>> frozen_gap(frozen), frozen_gap(frozen, change=3.0)
        (0.0, 0.25)
    """
    gaps = []
    for fact in frozen["facts"]:
        retain = np.array([fact["retain_drops"]])
        for recorded in fact["candidates"].values():
            drops = np.array([recorded["drops"]])
            drops[:, 0] *= change
            found = erasure(retain, drops, frozen["tau"])
            gaps += [abs(found.score[0] - recorded["uds"]), abs(found.unclipped[0] - recorded["unclipped"])]
    return float(largest(gaps))


def order_steps(scores: Sequence[Score]) -> list[Step]:
    """Paired differences between neighbours of an order, each with its interval over clusters.

    Args:
        scores: Of the same facts, from the model that should come to least.

    Returns:
        One step of -1 to 1 for each two neighbours, above 0 as it is to be; NaN where too few facts are scored in both.

    Source: UDS guide, appendix G.

    Example:
        >>> from types import SimpleNamespace
        >>> def score(name, *values):
        ...     facts = [SimpleNamespace(id=str(at), value=v, cluster=str(at)) for at, v in enumerate(values)]
        ...     return SimpleNamespace(checkpoint=name, scored=facts, per_fact=facts)
        >>> (step,) = order_steps([score("a", 0, 0), score("b", 0.5, 1)])
        >>> step.earlier, step.later, step.difference
        ('a', 'b', 0.75)
    """
    steps = []
    for earlier, later in pairwise(scores):
        before = {fact.id: fact.value for fact in earlier.scored}
        pairs = [
            (fact.value - before[fact.id], fact.cluster)  # type: ignore[operator]
            for fact in later.scored
            if fact.id in before
        ]
        if len(pairs) < LEAST_SCORED * len(later.per_fact):
            pairs = []  # too few facts scored in both to stand for the forget set: decides nothing
        differences, clusters = [d for d, _ in pairs], [c for _, c in pairs]
        interval = cluster_interval(differences, clusters, limits=(-1.0, 1.0))
        steps.append(Step(earlier.checkpoint, later.checkpoint, mean(differences), interval))
    return steps


def shuffled(scores: Sequence[Score]) -> list[Score]:
    """The same scores in an order that is neither the given one nor its reverse: the two halves, interleaved.

    Example:
        >>> shuffled(["full", "retain99", "retain95", "retain90"])
        ['retain99', 'retain90', 'full', 'retain95']
    """
    half = len(scores) // 2
    return [*scores[half:], *scores[:half]] if len(scores) < 4 else [*scores[1::2], *scores[::2]]


def require_independent(pools: Sequence[Score], others: Sequence[Score]) -> None:
    """Raises ConfigurationError for a pool model with the weights of a reference, a candidate or another pool model.

    Its verdict would be true by construction, or it would help to set the bound that it is judged by. A model whose
    activations act as theirs do on every fact is a copy as well, whatever its digest says: weights nudged or rounded,
    another tokenizer file.
    """
    known = {score.provenance["checkpoint"]: score.checkpoint for score in others}
    for score in pools:
        same = known.setdefault(score.provenance["checkpoint"], score.checkpoint)
        if same != score.checkpoint:
            raise ConfigurationError(
                f"[pools] {score.checkpoint} holds the same weights as {same}: pools need models of their own; "
                "put one of another seed there"
            )
    for one, other in (*product(others, pools), *combinations(pools, 2)):
        if one.checkpoint != other.checkpoint and act_alike(one, other):
            raise ConfigurationError(
                f"[pools] {other.checkpoint} acts as {one.checkpoint} does on every fact, to {COPY_BELOW:.0%} of what "
                "tells full and retain apart: a copy counts for nothing; put one of another seed there"
            )


def act_alike(one: Score, other: Score) -> bool:
    """Whether two models' drops by patching differ by no more than `COPY_BELOW` of the retain model's, over facts and
    layers.

    A share of their own drops would be no measure: a copy of the full model has next to no drops.
    """
    first, second, retain = (part.ravel() for part in _drops(one, other))
    known = np.isfinite(first) & np.isfinite(second) & np.isfinite(retain)
    apart, size = np.abs(first - second)[known], np.abs(retain)[known]
    return bool(known.any() and apart.sum() <= COPY_BELOW * size.sum())


def by_construction(candidate: Score, references: Sequence[Score]) -> str:
    """A remark on a candidate with the very weights of a reference, whose score was never open; "" for others."""
    same = [s.checkpoint for s in references if s.provenance["checkpoint"] == candidate.provenance["checkpoint"]]
    return f"same weights as {' and '.join(same)}: true by construction" if same else ""


def beside(score: Score, yardstick: Score) -> float:
    """The UDS of a model, with the drops of another model in the place of the retain model's.

    Args:
        score: Of the model, with its drops.
        yardstick: Of the other one, as `score`.

    Returns:
        The mean over facts that both have drops of, 0 to 1: 1 where as much is gone as in the other one; NaN of none.

    Example:
        >>> from types import SimpleNamespace
        >>> def of(*drops):
        ...     detail = {"drops": [*drops], "retain_drops": [9.0] * len(drops)}
        ...     return SimpleNamespace(per_fact=[SimpleNamespace(id="f", detail=detail)])
        >>> beside(of(0.5, 3.0), of(1.0, 3.0)), beside(of(9.0, 9.0), of(1.0, 3.0))
        (0.875, 1.0)
    """
    own, whole, _ = _drops(score, yardstick)
    found = erasure(whole, own).score if len(whole) else np.array([math.nan])
    return float(np.nanmean(found)) if np.isfinite(found).any() else math.nan


def _drops(one: Score, other: Score) -> list[NDArray[np.float64]]:
    """The drops of one model, of another and of the retain model, [facts, layers], for facts that have all three."""
    drops = {fact.id: fact.detail.get("drops") for fact in one.per_fact}
    rows = [(drops.get(fact.id), fact.detail.get("drops"), fact.detail.get("retain_drops")) for fact in other.per_fact]
    listed = [row for row in rows if all(row) and len({len(part or ()) for part in row}) == 1]
    return [np.array([row[at] for row in listed], dtype=float) for at in range(3)]


def full_knows(full: Score, retain: Score) -> tuple[Verdict, Step]:
    """Whether the full model says more of the facts than the retain model: else there is nothing to forget.

    Args:
        full: An output score of the full model.
        retain: The same of the retain model.

    Returns:
        The verdict, and the step of -1 to 1 from retain to full, above 0 as it is to be.
    """
    (step,) = order_steps([retain, full])
    return decide_ordering([step], "authors").verdict, step


def pool_cut(knows: Sequence[Score], never_knew: Sequence[Score]) -> float | None:
    """The UDS between the pools with the best balanced accuracy.

    Args:
        knows: Scores of models that know.
        never_knew: Scores of models that never knew.

    Returns:
        0 to 1; None for pools too small to set one, or with a model that has no value.

    Example:
        >>> from types import SimpleNamespace
        >>> knows, never = ([SimpleNamespace(value=v) for v in pool] for pool in ((0.0, 0.1, 0.25), (0.75, 0.8, 1.0)))
        >>> pool_cut(knows, never), pool_cut(knows[:2], never)
        (0.5, None)
    """
    if min(len(knows), len(never_knew)) < LEAST_POOL:
        return None
    cut = balanced_cut([_value(s) for s in knows], [_value(s) for s in never_knew])
    return None if math.isnan(cut) else cut


def _value(score: Score) -> float:
    return math.nan if score.value is None else score.value


def hidden(
    depth: Decision, generations: Sequence[Score], full: Sequence[Score], share: float, largest: float
) -> Decision:
    """Whether what a candidate says and what its activations hold agree; names the output metrics that decide it.

    Generation says forgotten where the upper bound of a score is at most `share` of the full model's value: PASS where
    depth passes, FAIL where it fails. A lower bound above that share while depth passes is a FAIL: words that
    know do not come from activations that do not, so that patching has misread them (hidden dimensions permuted or
    rotated, the function unchanged). What is settled neither way is UNDECIDED.

    Args:
        depth: The decision on its UDS, without an interval where it follows from the definition.
        generations: Its output scores, 0 to 1, higher is more knowledge.
        full: The full model's, in the same order.
        share: Of the full model's value, 0 to 1, below which nothing is said. A larger one finds more that is hidden.
        largest: Bounds `share` where depth passes, so that it does not let more be said.

    Returns:
        A decision that names what decided it.

    Example:
        Depth fails, and the words are gone:

        >>> from types import SimpleNamespace
        >>> from uds_bench.statistics import Interval
        >>> depth = Decision(Verdict.FAIL, 0.2, Interval(0.1, 0.3, "by hand", 9), "0.200")
        >>> said = dict(metric="entity_accuracy", variant="free", value=0.1, interval=Interval(0.0, 0.2, "by hand", 9))
        >>> silent, full = SimpleNamespace(**said), SimpleNamespace(value=1.0)
        >>> hidden(depth, [silent], [full], 0.5, 0.5).text[:54]
        'HIDDEN: entity_accuracy[free] 0.100 (0.000..0.200, ful'
    """
    passes = depth.verdict is Verdict.PASS
    share = min(share, largest) if passes else share
    forgotten: list[str] = []
    kept: list[str] = []
    said: list[str] = []
    by_definition = depth.interval is None and depth.verdict is not Verdict.UNDECIDED
    if not by_definition and (depth.interval is None or not depth.interval.decides):
        return Decision(Verdict.UNDECIDED, None, depth.interval, f"depth.score: {depth.text}")
    for own, reference in zip(generations, full, strict=True):
        name = f"{own.metric}[{own.variant}]"
        if own.value is None or own.interval is None or not reference.value:
            return _decided(Verdict.UNDECIDED, f"not measured: {name}")
        low, high, limit = own.interval.low, own.interval.high, share * reference.value
        text = f"{name} {own.value:.3f} ({low:.3f}..{high:.3f}, full model {reference.value:.3f})"
        if not own.interval.decides:
            return Decision(Verdict.UNDECIDED, None, own.interval, f"{text} decides nothing")
        (forgotten if high <= limit else kept).append(text)
        said += [text] if low > limit else []
    if passes and said:
        return _decided(
            Verdict.FAIL,
            f"{'; '.join(said)}: it says the facts while depth.score passes, so its activations are in another basis "
            "than the full model's and UDS misreads them",
        )
    if not forgotten:
        text = f"generation does not say forgotten: {'; '.join(kept)}"
        return _decided(Verdict.UNDECIDED if passes else Verdict.NOT_APPLICABLE, text)
    words = "; ".join(forgotten)
    if passes:
        return _decided(Verdict.PASS, f"generation says forgotten and depth agrees: {words}")
    if depth.verdict is Verdict.FAIL:
        text = f"HIDDEN: {words} says forgotten while depth.score fails: the knowledge is still in the activations"
        return _decided(Verdict.FAIL, text)
    text = f"{words} says forgotten, but depth.score came out {depth.verdict.value}: that the knowledge is gone from "
    return Decision(Verdict.UNDECIDED, None, None, f"{text}the activations is not shown", cause=depth.cause)


def _decided(verdict: Verdict, text: str) -> Decision:
    return Decision(verdict, None, None, text)
