"""Erasure over layers: how far each has gone from where the full model stands to where the retain model does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uds_bench.checkpoints import Checkpoint
from uds_bench.errors import CheckpointError
from uds_bench.facts import EncodedFact, FactSet, encode, rendered_digest
from uds_bench.metrics.erasure import Array, erasure
from uds_bench.metrics.metric import FactValue, Measured, MetricSummary
from uds_bench.metrics.resampling import percentile_interval
from uds_bench.metrics.subject import Subject


@dataclass(frozen=True)
class Steps:
    """`gone`: how far a checkpoint is from the full model; `way`: how far the retain model is. Both [..., layers]."""

    gone: Array
    way: Array

    def erasure(self) -> Array:
        """The sum of way * clip(gone / way, 0, 1) by the sum of way, over the layers with way > 0.

        Returns:
            [...], 0 to 1, higher is less knowledge; NaN where no layer has a way to go or a number is not finite.

        Source: UDS guide, section 4.2 and appendix F.

        Example:
            Halfway in a layer of weight 1, past the end in one of weight 3, and a third without a way to go:

            >>> float(Steps(np.array([0.5, 9.0, 1.0]), np.array([1.0, 3.0, -1.0])).erasure())
            0.875
        """
        return erasure(self.way, self.gone, tau=0.0).score

    def table(self) -> list[dict[str, float | None]]:
        """One row a layer: its weight, its share of all weights, and its erasure (None without a way to go).

        Returns:
            [layers] rows: the weight in the unit of the steps, share and erasure 0 to 1, higher is less knowledge.

        Example:
            >>> [(row["share"], row["erasure"]) for row in Steps(np.array([0.5, 9.0]), np.array([1.0, 3.0])).table()]
            [(0.25, 0.5), (0.75, 1.0)]
        """
        way = np.clip(self.way, 0.0, None)
        return [
            {
                "weight": float(w),
                "share": float(w / way.sum()) if w > 0 else 0.0,
                "erasure": float(np.clip(g / w, 0.0, 1.0)) if w > 0 else None,
            }
            for g, w in zip(self.gone, way, strict=True)
        ]


def measured(
    facts: FactSet, whole: Steps, without: Steps, drawn: Steps, undefined: str, notes: Mapping[str, Any]
) -> Measured:
    """A layer-wise score as a metric gives it: of all facts, and beside each fact the score without it.

    Args:
        facts: What was asked about, [facts].
        whole: Steps of all facts, [layers].
        without: Steps with each fact left out, [facts, layers].
        drawn: Steps of resampled clusters, [resamples, layers].
        undefined: The reason that is given where no layer has a way to go.
        notes: Facts about the measurement.

    Returns:
        Values of 0 to 1, higher is less knowledge, and the interval over clusters.

    Example:
        >>> from uds_bench.facts import Fact
        >>> facts = FactSet(Fact(id, id, "forget", "Where?", "In Rome.", "In", "Rome") for id in ("ada", "bo"))
        >>> whole, without = Steps(np.array([0.5]), np.ones(1)), Steps(np.array([[0.25], [0.75]]), np.ones((2, 1)))
        >>> found = measured(facts, whole, without, without, "no layer has a way to go", {})
        >>> found.summary.value, [one.value for one in found.values]
        (0.5, [0.25, 0.75])
    """
    value, alone = float(whole.erasure()), without.erasure()
    if not np.isfinite(whole.gone).all() or not np.isfinite(whole.way).all():
        undefined = "states or gradients are not finite, or do not vary"
    ok = np.isfinite(value)
    values = [
        FactValue(fact.id, float(left)) if ok and np.isfinite(left) else FactValue(fact.id, None, undefined)
        for fact, left in zip(facts, alone, strict=True)
    ]
    told = {**notes, "per_fact": "the score without this fact", "layers": whole.table()}
    if not ok:
        return Measured(values, {**told, "undefined": undefined}, MetricSummary(None, None))
    return Measured(values, told, MetricSummary(value, percentile_interval(drawn.erasure(), len(facts.clusters))))


def encode_facts(subject: Subject, checkpoint: Checkpoint) -> Sequence[EncodedFact]:
    """The facts as a checkpoint's own tokenizer encodes them.

    Raises:
        CheckpointError: The full model's tokenizer encodes them otherwise.
    """
    own = checkpoint is subject.checkpoint
    encoded = subject.entities() if own else [encode(fact, checkpoint.tokenizer) for fact in subject.spans]
    if rendered_digest(encoded) != subject.target().rendered:
        raise CheckpointError(
            f"{checkpoint.spec.model}: its tokenizer splits the facts otherwise than the full model's, so that their "
            "layers cannot be compared; unlearn with the full model's tokenizer"
        )
    return encoded
