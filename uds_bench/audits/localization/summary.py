"""Everything that a reader may ask of the audit as one JSON object: AUCs, what is said, who leaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from uds_bench.audits.localization import precision, rates
from uds_bench.audits.localization.auc import Auc, null_band
from uds_bench.audits.localization.experiment import Experiment
from uds_bench.audits.localization.rates import FORMS, Form, ItemShares, Leaks, Tellings
from uds_bench.audits.localization.utility import Answers, accuracy, change, guesser
from uds_bench.audits.localization.weights import WeightScores
from uds_bench.facts.testbed import Item
from uds_bench.statistics import finite_or_none, mean

PARTS = ("forget", "retain", "spared", "unseen", "public")
METRICS = ("said", "em", "es", "prob", "floor")


def report(
    experiment: Experiment,
    seen: Mapping[str, tuple[Tellings, WeightScores | None]],
    leaks: Mapping[str, tuple[Mapping[str, bool], Leaks]],
    candidates: Sequence[str],
    neutral: WeightScores | None,
    answers: Mapping[str, Answers] | None = None,
) -> dict[str, Any]:
    """What the run report shows. `seen`: by model what it says and, of updates, where the weights moved; `leaks`: by
    model who leaks before resurfacing, and after it; `answers`: by model, what it answers of benchmarks, where any were
    asked."""
    injected = seen["injected"][0] if "injected" in seen else {}
    items = rates.known(experiment.forget, injected) if injected else []
    return {
        "fields": {"forget": experiment.forgotten, "retain": experiment.retained},
        "people": {part: len(getattr(experiment, part)) for part in (*PARTS, "taught")} | {"known": len(items)},
        "candidates": list(candidates),
        "models": {name: _model(experiment, told, weighed, neutral) for name, (told, weighed) in seen.items()},
        "leaks": {name: _leaks(experiment, items, *one) for name, one in leaks.items()},
        "jaccard": _overlaps(items, {name: leaks[name][1] for name in candidates if name in leaks}),
        "benchmarks": _benchmarks(answers or {}),
    }


def _model(
    experiment: Experiment, told: Tellings, weighed: WeightScores | None, neutral: WeightScores | None
) -> dict[str, Any]:
    return {
        "outputs": {part: {form: _outputs(getattr(experiment, part), told, form) for form in FORMS} for part in PARTS},
        "weights": None if weighed is None else _weights(weighed, neutral),
    }


def _outputs(items: Sequence[Item], told: Tellings, form: Form) -> dict[str, Any]:
    there: list[ItemShares] = [found for item in items if (found := told[item.id][form]) is not None]
    means = {key: finite_or_none(mean(getattr(one, key) for one in there)) for key in METRICS}
    return {**means, "rate": rates.extraction(items, told, form).to_json()}


def _weights(weighed: WeightScores, neutral: WeightScores | None) -> dict[str, Any]:
    counted = precision.counting(weighed, neutral)
    best, published = precision.best(weighed, counted), precision.published(weighed)
    headline = None if best is None else {"family": best.family, "word": best.word, **_auc(best.auc, best.families)}
    return {
        "weights": weighed.weights,
        "touched": {**vars(weighed.touched), "share": finite_or_none(weighed.touched.share)},
        "absent": list(weighed.absent),
        "drawn": weighed.drawn and vars(weighed.drawn),
        "counted": counted,
        "headline": headline,
        "published": {"family": published.family, **_auc(published.auc)},
        "unmasked": weighed.unmasked and _auc(weighed.unmasked),
        "written": weighed.written and _auc(weighed.written),
        "aucs": {
            subject: {target: {family: _auc(auc) for family, auc in found.items()} for target, found in targets.items()}
            for subject, targets in weighed.aucs.items()
        },
    }


def _auc(auc: Auc, families: int = 1) -> dict[str, Any]:
    interval, null = auc.interval_of(families), null_band(auc.positives, auc.negatives, families)
    return {
        "value": finite_or_none(auc.value),
        "low": finite_or_none(interval.low),
        "high": finite_or_none(interval.high),
        "null": [finite_or_none(null.low), finite_or_none(null.high)],
    }


def _benchmarks(answers: Mapping[str, Answers]) -> dict[str, Any]:
    """By model, task by task and of all of them, what it answers beside the injected model."""
    found = {}
    for name, after in answers.items():
        if name != "injected":
            before = answers["injected"]
            tasks = {task: _answered({task: before[task]}, {task: after[task]}) for task in before}
            found[name] = {"tasks": tasks, "mean": _answered(before, after)}
    return found


def _answered(before: Answers, after: Answers) -> dict[str, Any]:
    return {
        "documents": sum(map(len, before.values())),
        "guesser": finite_or_none(accuracy(guesser(before)).value),
        "injected": accuracy(before).to_json(),
        "candidate": accuracy(after).to_json(),
        "change": change(before, after).to_json(),
    }


def _leaks(experiment: Experiment, items: Sequence[Item], before: Mapping[str, bool], leaks: Leaks) -> dict[str, Any]:
    return {
        "before": rates.leaked(items, [before]).to_json(),
        "rate": rates.leaked(items, leaks).to_json(),
        "floor": rates.leaked(experiment.unseen, leaks).to_json(),
        "taught": rates.leaked(experiment.taught, leaks).to_json(),
        "seeds": [rates.who(items, seed) for seed in leaks],
        "floor_seeds": [rates.who(experiment.unseen, seed) for seed in leaks],
    }


def _overlaps(items: Sequence[Item], leaks: Mapping[str, Leaks]) -> list[dict[str, Any]]:
    """Each two methods: the mean over seeds of the Jaccard index of who leaks; seeds where nobody does are left out."""
    found = []
    for at, first in enumerate(leaks):
        for second in list(leaks)[at + 1 :]:
            shared, seeds = rates.overlap(items, leaks[first], leaks[second])
            found.append({"first": first, "second": second, "value": finite_or_none(shared), "seeds": seeds})
    return found
