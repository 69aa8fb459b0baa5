"""Model utility: whether a model still answers what it was not asked to forget."""

from __future__ import annotations

import numpy as np

from uds_bench.facts import Fact
from uds_bench.metrics.forced import Answers, fault, mean_logp, rendered
from uds_bench.metrics.metric import FactValue, Measured, Metric, MetricSummary
from uds_bench.metrics.prob import prob
from uds_bench.metrics.resampling import cluster_draws, percentile_interval
from uds_bench.metrics.rouge import NO_WORD, counts, rouge_l, round_trip
from uds_bench.metrics.subject import Subject
from uds_bench.metrics.truth_ratio import truth_ratio
from uds_bench.statistics import harmonic_mean

PARTS = ("prob", "rouge", "truth_ratio")


def _value(subject: Subject, fact: Fact, said: str, answers: tuple[Answers, Answers, Answers]) -> FactValue:
    original, true, wrong = answers
    lacking = fault(original, "answer") or fault(true, "paraphrased_answer") or fault(wrong, "perturbed_answers")
    told = round_trip(subject.checkpoint.tokenizer, fact.answer)
    if reason := lacking or (None if counts(told) else NO_WORD):
        return FactValue(fact.id, None, reason, {"answer": said})
    ratio = truth_ratio(mean_logp(wrong) - mean_logp(true), "true_better")
    parts = dict(zip(PARTS, (prob(original), rouge_l([told], said), ratio), strict=True))
    return FactValue(fact.id, harmonic_mean(*parts.values()), detail={**parts, "answer": said})


def _compute(subject: Subject, variant: str) -> Measured:
    facts, said = subject.split("retain"), subject.generations(split="retain")
    forms = [subject.answers(form, "retain") for form in ("original", "paraphrased", "perturbed")]
    values = [
        _value(subject, fact, text, (original, true, wrong))
        for fact, text, original, true, wrong in zip(facts, said, *forms, strict=True)
    ]
    scored = [
        (fact.cluster, value.detail) for fact, value in zip(facts, values, strict=True) if value.value is not None
    ]
    notes = {
        "rendered": rendered(*forms),
        "empty": sum(not text.strip() for text in said),
        "per_fact": "the harmonic mean of the fact's own three parts",
    }
    if not scored:
        return Measured(values, {**notes, "undefined": "no retain fact could be scored"}, MetricSummary(None, None))
    parts = np.array([[detail[part] for part in PARTS] for _, detail in scored])
    draws, cluster_of = cluster_draws([cluster for cluster, _ in scored])
    counted = draws[:, cluster_of]
    drawn = [harmonic_mean(*means) for means in counted @ parts / counted.sum(1, keepdims=True)]
    means = parts.mean(0).tolist()
    notes |= dict(zip(PARTS, means, strict=True))
    return Measured(
        values, notes, MetricSummary(harmonic_mean(*means), percentile_interval(np.array(drawn), draws.shape[1]))
    )


# The published harmonic mean is of nine: of these three (Prob, ROUGE-L recall, Truth Ratio as max(0, 1 - r)) on the
# retain split, on real authors and on world facts. A fact set has no such splits: here it is of the retain three.
METRIC = Metric(
    "model_utility",
    "utility",
    "UDS guide, section 4.2; TOFU, section 3.2",
    compute=_compute,
    needs=frozenset({"generations"}),
    variants=("retain",),
    splits=("retain",),
)
