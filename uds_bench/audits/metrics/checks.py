"""The checks that any metric goes through: each says in one line what it saw, and whether that is as it must be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal

from uds_bench.audits.metrics.check_context import BATCH_SIZE, CheckContext, CheckedScore
from uds_bench.audits.metrics.estimate import Estimate
from uds_bench.audits.metrics.faithfulness import require_knowledge
from uds_bench.audits.metrics.metric_rows import MetricRow, evaluate
from uds_bench.audits.metrics.needs import QUANTIZED, RELEARNED
from uds_bench.metrics.metric import Metric
from uds_bench.scores import LEAST_SCORED, Scores

LEAST_AUC, LEAST_Q, LEAST_R = 0.5, 0.5, 0.5
"""Ours, each to be exceeded: sort the pools better than a coin does, and lose less than half of itself to an attack."""
TOLERANCE = 1e-5
"""What padding and the order of sums may change, as a share of the metric's range."""
BATCH_SIZES = (1, 3)
"""Held against the usual size: one fact at a time, and batches that leave a ragged one over."""

Outcome = Literal["pass", "fail", "not applicable"]


Checked = tuple[Outcome, str]
"""What a check came to, and that in a line."""
Check = Callable[[Metric, CheckContext], Checked]


def _seen(holds: bool, text: str) -> Checked:
    return "pass" if holds else "fail", text


def check_values(metric: Metric, context: CheckContext) -> Checked:
    """Every fact of every model has a finite value or a reason, at least half of them a value, and every model one."""
    wrong = []
    for name, found in _plain(metric, context):
        ids = {fact.id for fact in found.score.per_fact}
        broken = [v.id for v in found.measured.values if v.value is not None and not math.isfinite(v.value)]
        broken += sorted(ids - {v.id for v in found.measured.values})
        unexplained = [v.id for v in found.measured.values if v.value is None and not v.reason]
        if broken:
            wrong.append(f"{name}: no finite value and no reason for {len(broken)} facts, such as {broken[0]}")
        elif unexplained:
            wrong.append(f"{name}: None without a reason for {len(unexplained)} facts, such as {unexplained[0]}")
        elif len(found.score.scored) < LEAST_SCORED * len(ids):
            wrong.append(f"{name}: {len(found.score.scored)} of {len(ids)} facts scored ({_reasons(found)})")
        elif found.score.value is None or (found.measured.summary and not _finite(found.measured.summary.value)):
            wrong.append(f"{name}: the model's own value is not finite")
    count = len(context.models.needed(robust=False))
    return _seen(not wrong, "; ".join(wrong) or f"finite, or a reason given, for every fact of {count} models")


def check_range(metric: Metric, context: CheckContext) -> Checked:
    """Every value lies within the metric's declared limits, those of facts and those of models."""
    low, high = metric.limits
    slack = TOLERANCE * (high - low if math.isfinite(high - low) else 0.0)
    values = [
        (f"{name}: {fact.id}", fact.value)
        for name, found in _plain(metric, context)
        for fact in found.measured.values
        if fact.value is not None and math.isfinite(fact.value)
    ]
    if not values:
        return "fail", "there is no finite value"
    outside = [f"{where} is {v:g}" for where, v in values if not low - slack <= v <= high + slack]
    if outside:
        return "fail", f"{len(outside)} of {len(values)} values outside {low:g}..{high:g}, such as {outside[0]}"
    return "pass", f"{len(values)} values within {low:g}..{high:g}"


def check_direction(metric: Metric, context: CheckContext) -> Checked:
    """The full model knows more than the retain model, under the direction that the metric declares."""
    require_knowledge(metric.direction)
    full, retain = (context.tried(metric, name).score.value for name in (context.models.full, context.models.retain))
    if full is None or retain is None:
        return "fail", f"no value to compare: full {full}, retain {retain}"
    more = full - retain if metric.direction == "knowledge" else retain - full
    word = "higher" if metric.direction == "knowledge" else "lower"
    return _seen(more > 0, f"full {full:.4f}, retain {retain:.4f}; {metric.direction} says that full must be {word}")


def check_determinism(metric: Metric, context: CheckContext) -> Checked:
    """Models that are loaded and measured again give the same values, bit by bit."""
    for name in _examples(context):
        again = context.measure(metric, context.open(name), name)
        apart, where = _largest_difference(context.tried(metric, name), again)
        if apart > 0:
            return "fail", f"{name}, measured twice: differs by {apart:.3g} at {where}"
    return "pass", f"{' and '.join(_examples(context))}, measured twice: the same"


def check_batch_invariance(metric: Metric, context: CheckContext) -> Checked:
    """The batch size changes no value by more than rounding."""
    allowed = TOLERANCE * _scale(metric, context)
    worst, told = 0.0, ""
    for name in _examples(context):
        for size in BATCH_SIZES:
            other = context.tried(metric, name, batch_size=size)
            apart, where = _largest_difference(context.tried(metric, name), other)
            if apart > allowed:
                return "fail", f"{name}, batches of {size} and {BATCH_SIZE}: differs by {apart:.3g} at {where}"
            if apart >= worst:
                worst, told = apart, name
    sizes = ", ".join(str(s) for s in (*BATCH_SIZES, BATCH_SIZE))
    return "pass", f"batches of {sizes}: largest difference {worst:.2g} on {told}, {allowed:.0e} is rounding"


def _scale(metric: Metric, context: CheckContext) -> float:
    """What rounding is a share of: the largest value seen, or the declared range where that is narrower."""
    found = [fact.value for name in _examples(context) for fact in context.tried(metric, name).measured.values]
    largest = max((abs(value) for value in found if value is not None and math.isfinite(value)), default=1.0)
    return min(largest or 1.0, metric.limits[1] - metric.limits[0])


def check_faithfulness(metric: Metric, context: CheckContext) -> Checked:
    """The metric tells models that know from models that never knew better than a coin, under its own direction."""
    row = _row(metric, context, robust=False)
    if row.faithfulness is None:
        return "fail", f"no AUC: {'; '.join(row.missing)}"
    sizes = f"{len(context.models.positive)} + {len(context.models.negative)} models"
    return _above(row.faithfulness.auc, LEAST_AUC, f"AUC over {sizes}")


def check_quantization(metric: Metric, context: CheckContext) -> Checked:
    """Symmetric Q, over candidates that pass the filters: the metric stays put when weights are rounded."""
    return _robust(metric, context, "q", QUANTIZED, LEAST_Q)


def check_relearning(metric: Metric, context: CheckContext) -> Checked:
    """Symmetric R, over candidates that pass the filters: the metric moves under relearning as retain's does."""
    return _robust(metric, context, "r", RELEARNED, LEAST_R)


CHECKS: dict[str, Check] = {
    "values": check_values,
    "range": check_range,
    "direction": check_direction,
    "determinism": check_determinism,
    "batch_invariance": check_batch_invariance,
    "faithfulness": check_faithfulness,
    "quantization": check_quantization,
    "relearning": check_relearning,
}


def _plain(metric: Metric, context: CheckContext) -> Iterator[tuple[str, CheckedScore]]:
    for name, _ in context.models.needed(robust=False):
        yield name, context.tried(metric, name)


def _examples(context: CheckContext) -> tuple[str, str]:
    """One model that knows and one that never knew."""
    return context.models.positive[0], context.models.negative[0]


def _row(metric: Metric, context: CheckContext, robust: bool) -> MetricRow:
    # Attacked models are opened only where the check is about them.
    needed = context.models.needed(robust)
    scores = Scores(context.tried(metric, *place).score for place in needed)
    return evaluate(scores, [metric], context.models, utility=context.utility)[0]


def _robust(metric: Metric, context: CheckContext, part: Literal["q", "r"], attack: str, least: float) -> Checked:
    if missing := [name for name in (QUANTIZED, RELEARNED) if name not in context.attacks]:
        return "not applicable", f"the check context has no attack {', '.join(missing)}"
    row = _row(metric, context, robust=True)
    if row.robustness is None or row.kept is None:
        return "fail", f"not defined: {'; '.join(row.missing)}"
    kept = f"{len(row.kept.kept)} of {len(context.models.candidates)} candidates"
    return _above(getattr(row.robustness, part), least, f"{part.upper()} under {attack} over {kept}")


def _above(found: Estimate, least: float, what: str) -> Checked:
    low, high = found.interval.low, found.interval.high
    return _seen(found.value > least, f"{what}: {found.value:.3f} ({low:.3f}..{high:.3f}), must be > {least:g}")


def _largest_difference(one: CheckedScore, other: CheckedScore) -> tuple[float, str]:
    """Over facts and the model's own value; infinite where one has a value and the other has none, or is NaN."""
    apart = {"the model's value": _gap(one.score.value, other.score.value)}
    values = {fact.id: fact.value for fact in other.score.per_fact}
    for fact in one.score.per_fact:
        apart[fact.id] = _gap(fact.value, values.get(fact.id))
    where = max(apart, key=lambda name: apart[name])
    return apart[where], where


def _gap(one: float | None, other: float | None) -> float:
    if one is None or other is None:
        return 0.0 if one is other else math.inf
    apart = abs(one - other)
    return math.inf if math.isnan(apart) else apart


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _reasons(found: CheckedScore) -> str:
    return ", ".join(f"{count} x {reason}" for reason, count in found.score.reasons.items())
