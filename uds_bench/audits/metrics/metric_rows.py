"""The meta-evaluation: from scores of many models to one row a metric (UDS guide, table 2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from uds_bench.attacks import NONE
from uds_bench.audits.metrics.estimate import Estimate, harmonic
from uds_bench.audits.metrics.faithfulness import Faithfulness, faithfulness
from uds_bench.audits.metrics.filters import Filtered, filtered
from uds_bench.audits.metrics.judged_metrics import row_of
from uds_bench.audits.metrics.needs import QUANTIZED, RELEARNED
from uds_bench.audits.metrics.robustness import Robustness, robustness
from uds_bench.errors import ConfigurationError
from uds_bench.metrics.metric import Metric
from uds_bench.scores import LEAST_SCORED, Score, Scores
from uds_bench.statistics import finite_or_none


@dataclass(frozen=True)
class Models:
    """Names of the models by what they are; `positive` models know, `negative` ones never knew."""

    full: str
    retain: str
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    candidates: tuple[str, ...]

    def __post_init__(self) -> None:
        for word in ("positive", "negative"):
            if not getattr(self, word):
                raise ConfigurationError(f"the meta-evaluation needs a {word} pool: add models under [pools] {word}")
        several = [*self.positive, *self.negative, *self.candidates]
        if twice := sorted({name for name in several if several.count(name) > 1}):
            raise ConfigurationError(f"{', '.join(twice)}: a model is of one pool or a candidate, once")

    def needed(self, robust: bool = True) -> list[tuple[str, str]]:
        """(checkpoint, attack) of every score that a row is made of."""
        plain = [self.full, self.retain, *self.positive, *self.negative, *self.candidates]
        attacked = [(name, attack) for name in self.candidates for attack in (QUANTIZED, RELEARNED)]
        return [(name, NONE) for name in plain] + ([*attacked, (self.retain, RELEARNED)] if robust else [])


@dataclass(frozen=True)
class MetricRow:
    """One metric judged. What could not be computed is None, and `missing` says for want of what.

    `faithfulness` needs the pools; `kept`, `robustness` and `overall` = HM(faithfulness, Rob) need the candidates and
    the retain model too, under both attacks.
    """

    metric: str
    variant: str
    label: str
    category: str
    tags: tuple[str, ...]
    direction: str
    faithfulness: Faithfulness | None
    kept: Filtered | None
    robustness: Robustness | None
    overall: Estimate | None
    missing: tuple[str, ...]

    def flat(self) -> dict[str, Any]:
        """Plain columns: value, low and high of every estimate, the cut, models kept, and what is missing."""
        judged, robust, kept = self.faithfulness, self.robustness, self.kept
        estimates = {"faithfulness": judged.auc if judged else None}
        for part in ("q", "r", "rob"):
            estimates[part] = getattr(robust, part) if robust else None
        estimates["overall"] = self.overall
        for part in ("one_sided_q", "one_sided_r"):
            estimates[part] = getattr(robust, part) if robust else None
        row: dict[str, Any] = {k: getattr(self, k) for k in ("metric", "variant", "label", "category", "direction")}
        row["tags"] = "".join(self.tags)
        for name, estimate in estimates.items():
            found = None if estimate is None else estimate.interval
            row[name] = None if estimate is None else finite_or_none(estimate.value)
            row[f"{name}_low"] = None if found is None else finite_or_none(found.low)
            row[f"{name}_high"] = None if found is None else finite_or_none(found.high)
        row |= {"cut": judged and judged.cut, "balanced_accuracy": judged and judged.balanced_accuracy}
        row |= {f"n_{k}": None if kept is None else len(getattr(kept, k)) for k in ("kept", "useless", "knowing")}
        return row | {"missing": "; ".join(self.missing)}


def evaluate(
    scores: Scores,
    metrics: Iterable[Metric],
    models: Models,
    *,
    utility: Mapping[str, float] | None = None,
    filters: bool = True,
) -> list[MetricRow]:
    """A row a metric, of its default variant, in the order given.

    `utility`: relative utility of each candidate; None sets no floor. `filters` False judges robustness on all
    candidates. A row with a missing or unusable score has no value where that score is needed.
    """
    index = {(s.metric, s.variant, s.checkpoint, s.attack): s for s in scores}
    return [_row(index, metric, models, utility, filters) for metric in metrics]


def _row(
    index: Mapping[tuple[str, str, str, str], Score],
    metric: Metric,
    models: Models,
    utility: Mapping[str, float] | None,
    filters: bool,
) -> MetricRow:
    variant, missing = metric.variant(None), []

    def values(names: Iterable[str], attack: str = NONE) -> dict[str, float]:
        found = {}
        for name in names:
            score = index.get((metric.name, variant, name, attack))
            if reason := _unusable(score):
                missing.append(f"{name}{'' if attack == NONE else f' under {attack}'}: {reason}")
            elif score is not None and score.value is not None:
                found[name] = score.value
        return found

    positive, negative = values(models.positive), values(models.negative)
    judged = None if missing else faithfulness(list(positive.values()), list(negative.values()), metric.direction)
    before, retain = values(models.candidates), values([models.retain])
    if utility is not None:
        unknown = [n for n in models.candidates if not math.isfinite(utility.get(n, math.nan))]
        missing += [f"{name}: no relative utility" for name in unknown]
    kept = robust = overall = None
    if judged is not None and not missing:
        kept = Filtered(models.candidates, (), ())
        if filters:
            kept = filtered(before, judged.cut, metric.direction, utility)
        quantized, relearned = values(kept.kept, QUANTIZED), values(kept.kept, RELEARNED)
        retain_after = values([models.retain], RELEARNED)
        if not kept.kept:
            missing.append("no candidate is useful and on the side of this metric that knows not")
        if not missing:
            chosen = {name: before[name] for name in kept.kept}
            pair = retain[models.retain], retain_after[models.retain]
            robust = robustness(chosen, quantized, relearned, pair, converted=row_of(metric).converted)
            overall = harmonic(judged.auc, robust.rob)
    known = row_of(metric)
    return MetricRow(
        metric.name,
        variant,
        known.label,
        known.category,
        known.tags,
        metric.direction,
        judged,
        kept,
        robust,
        overall,
        tuple(missing),
    )


def _unusable(score: Score | None) -> str | None:
    """Why a score cannot stand for its model, if so."""
    if score is None:
        return "not scored"
    if score.value is None or not math.isfinite(score.value):
        return str(score.notes.get("undefined") or "no finite value")
    if len(score.scored) < LEAST_SCORED * len(score.per_fact):
        return f"{len(score.scored)} of {len(score.per_fact)} facts scored"
    return None
