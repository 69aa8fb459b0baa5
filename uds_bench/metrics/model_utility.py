"""Model utility: whether a model still answers what it was not asked to forget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uds_bench.facts import Fact, Form
from uds_bench.facts.fact import WORLD
from uds_bench.metrics.metric import FactValue, Measured, Metric, MetricSummary
from uds_bench.metrics.prob import prob
from uds_bench.metrics.resampling import percentile_interval, side_draws
from uds_bench.metrics.retain_facts import reworded_facts
from uds_bench.metrics.rouge import NO_WORD, counts, rouge_l, round_trip
from uds_bench.metrics.subject import Part, Subject
from uds_bench.metrics.teacher_forced import Answers, fault, mean_logp, rendered
from uds_bench.metrics.truth_ratio import truth_ratio
from uds_bench.statistics import harmonic_mean

PARTS = ("prob", "rouge", "truth_ratio")
ASKED: dict[str, tuple[Part, ...]] = {"retain": ("reworded",), "nine": ("reworded", *WORLD)}
"""By variant, the facts whose three parts it is of."""


def chosen(true: Answers, wrong: Answers) -> float:
    """Probability of the true answer among those that are offered: P / (P + sum of the wrong ones').

    Args:
        true: The true answer, [1].
        wrong: The wrong ones, [answers]; each P is the geometric mean of token probabilities.

    Returns:
        0 to 1; higher is more knowledge.

    Source: TOFU (Maini et al., 2024), section 3.2, of real authors and world facts.

    Example:
        1/2 beside two of 1/4:

        >>> from types import SimpleNamespace
        >>> half, quarter = (SimpleNamespace(logp=np.log([p])) for p in (0.5, 0.25))
        >>> round(chosen([half], [quarter, quarter]), 9)
        0.5
    """
    offered = [mean_logp([one]) for one in (*true, *wrong)]
    return float(np.exp(offered[0] - np.logaddexp.reduce(offered)))


def _value(subject: Subject, fact: Fact, said: str, answers: tuple[Answers, Answers, Answers]) -> FactValue:
    original, true, wrong = answers
    lacking = fault(original, "answer") or fault(true, "paraphrased_answer") or fault(wrong, "perturbed_answers")
    told = round_trip(subject.checkpoint.tokenizer, fact.answer)
    if reason := lacking or (None if counts(told) else NO_WORD):
        return FactValue(fact.id, None, reason, {"answer": said})
    ratio = truth_ratio(mean_logp(wrong) - mean_logp(true), "true_better")
    likely = chosen(original, wrong) if fact.split in WORLD else prob(original)
    parts = dict(zip(PARTS, (likely, rouge_l([told], said), ratio), strict=True))
    return FactValue(fact.id, harmonic_mean(*parts.values()), detail={**parts, "answer": said})


def _forms(subject: Subject, part: Part) -> tuple[Sequence[Answers], ...]:
    """The answer, the same in other words, and wrong ones; what the world knows has one wording."""
    true: Form = "original" if part in WORLD else "paraphrased"
    return subject.answers("original", part), subject.answers(true, part), subject.answers("perturbed", part)


def _values(subject: Subject, part: Part) -> list[FactValue]:
    asked = zip(subject.split(part), subject.generations(split=part), *_forms(subject, part), strict=True)
    return [_value(subject, fact, text, (original, true, wrong)) for fact, text, original, true, wrong in asked]


def _compute(subject: Subject, variant: str) -> Measured:
    lacking = [part for part in ASKED[variant] if not subject.split(part)]
    parts = [part for part in ASKED[variant] if part not in lacking]
    found = [_values(subject, part) for part in parts]
    values = found[0]
    notes = {
        "rendered": rendered(*(form for part in parts for form in _forms(subject, part))),
        "empty": sum(not value.detail["answer"].strip() for value in values),
        "per_fact": "the harmonic mean of the fact's own three parts",
    }
    scored = [[value for value in side if value.value is not None] for side in found]
    if not scored[0]:
        return Measured(values, {**notes, "undefined": "no retain fact could be scored"}, MetricSummary(None, None))
    tables = [np.array([[value.detail[part] for part in PARTS] for value in side]) for side in scored if side]
    names = [f"{part}_{one}" if part in WORLD else one for part in parts for one in PARTS]
    means = [float(mean) for table in tables for mean in table.mean(0)]
    notes |= dict(zip(names, means, strict=False))
    missed = [f"{value.id}: {value.reason}" for side in found[1:] for value in side if value.value is None]
    if lacking:
        missed = [f"the facts have no {', '.join(lacking)}: variant retain is of the three parts that are there"]
    if missed:
        return Measured(values, {**notes, "undefined": missed[0]}, MetricSummary(None, None))
    clusters = {fact.id: fact.cluster for part in parts for fact in subject.split(part)}
    sides = side_draws([[clusters[value.id] for value in side] for side in scored])
    counted = [draws[:, cluster_of] for draws, cluster_of in sides]
    drawn = [counts @ table / counts.sum(1, keepdims=True) for counts, table in zip(counted, tables, strict=True)]
    resampled = np.array([harmonic_mean(*row) for row in np.concatenate(drawn, axis=1)])
    units = min(draws.shape[1] for draws, _ in sides)
    return Measured(values, notes, MetricSummary(harmonic_mean(*means), percentile_interval(resampled, units)))


# As published the harmonic mean is of nine: of three parts (Prob, ROUGE-L recall, Truth Ratio as max(0, 1 - r)) on the
# retain split, on real authors and on world facts. Where a fact set has no others, it is of the retain three.
METRIC = Metric(
    "model_utility",
    "utility",
    "UDS guide, section 4.2; TOFU, section 3.2",
    compute=_compute,
    needs=frozenset({"generations"}),
    variants=tuple(ASKED),
    splits=("retain",),
    texts={"nine": WORLD},
    of=reworded_facts,
)
