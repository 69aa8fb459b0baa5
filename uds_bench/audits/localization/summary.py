"""Everything that a reader may ask of the audit: AUCs, what is said, who leaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from uds_bench.audits.localization import precision, rates
from uds_bench.audits.localization.auc import Auc, null_band
from uds_bench.audits.localization.experiment import Experiment
from uds_bench.audits.localization.part import (
    PARTS,
    AnsweredShares,
    AnsweredTasks,
    FamilyAuc,
    HeadlineAuc,
    LeakOverlap,
    LeakRates,
    LocalizationPart,
    LocalizedModel,
    MovedWeights,
    PeopleCounts,
    ReportedAuc,
    ReportedFields,
    SaidShares,
    TouchedWeights,
)
from uds_bench.audits.localization.rates import FORMS, Form, ItemShares, Leaks, SharesByItem
from uds_bench.audits.localization.utility import Answers, accuracy, change, guesser
from uds_bench.audits.localization.weights import WeightScores
from uds_bench.claims.report_part import ReportedRate
from uds_bench.facts.testbed import Item
from uds_bench.statistics import mean

METRICS = ("said", "em", "es", "prob", "floor")


def report(
    experiment: Experiment,
    seen: Mapping[str, tuple[SharesByItem, WeightScores | None]],
    leaks: Mapping[str, tuple[Mapping[str, bool], Leaks]],
    candidates: Sequence[str],
    neutral: WeightScores | None,
    answers: Mapping[str, Answers] | None = None,
) -> LocalizationPart:
    """What the run report shows. `seen`: by model what it says and, of updates, where the weights moved; `leaks`: by
    model who leaks before resurfacing, and after it; `answers`: by model, what it answers of benchmarks, where any were
    asked."""
    injected = seen["injected"][0] if "injected" in seen else {}
    forms = FORMS, rates.ASKED_FOR_LEAKS
    items, leaking = (rates.known(experiment.forget, injected, one) if injected else [] for one in forms)
    counts = {part: len(getattr(experiment, part)) for part in (*PARTS, "taught")}
    return LocalizationPart(
        fields=ReportedFields(forget=experiment.forgotten, retain=experiment.retained),
        people=PeopleCounts(**counts, known=len(items)),
        candidates=tuple(candidates),
        models={
            name: _model(experiment, shares, weight_scores, neutral) for name, (shares, weight_scores) in seen.items()
        },
        leaks={name: _leaks(experiment, leaking, *one) for name, one in leaks.items()},
        jaccard=_overlaps(leaking, {name: leaks[name][1] for name in candidates if name in leaks}),
        benchmarks=_benchmarks(answers or {}),
    )


def _model(
    experiment: Experiment, shares: SharesByItem, weight_scores: WeightScores | None, neutral: WeightScores | None
) -> LocalizedModel:
    return LocalizedModel(
        outputs={part: {form: _outputs(getattr(experiment, part), shares, form) for form in FORMS} for part in PARTS},
        weights=None if weight_scores is None else _weights(weight_scores, neutral),
    )


def _outputs(items: Sequence[Item], shares: SharesByItem, form: Form) -> SaidShares:
    there: list[ItemShares] = [found for item in items if (found := shares[item.id][form]) is not None]
    means = {key: mean(getattr(one, key) for one in there) for key in METRICS}
    return SaidShares(**means, rate=ReportedRate.of(rates.extraction(items, shares, form)))


def _weights(weight_scores: WeightScores, neutral: WeightScores | None) -> MovedWeights:
    counted = precision.counting(weight_scores, neutral)
    best, published = precision.best(weight_scores, counted), precision.published(weight_scores)
    headline = None
    if best is not None:
        headline = HeadlineAuc(family=best.family, word=str(best.word), **_auc(best.auc, best.families))
    return MovedWeights(
        weights=weight_scores.weights,
        touched=TouchedWeights(**vars(weight_scores.touched), share=weight_scores.touched.share),
        absent=weight_scores.absent,
        drawn=weight_scores.drawn,
        counted=tuple(counted),
        headline=headline,
        published=FamilyAuc(family=published.family, **_auc(published.auc)),
        unmasked=None if weight_scores.unmasked is None else ReportedAuc(**_auc(weight_scores.unmasked)),
        written=None if weight_scores.written is None else ReportedAuc(**_auc(weight_scores.written)),
        aucs={
            subject: {
                target: {family: ReportedAuc(**_auc(auc)) for family, auc in found.items()}
                for target, found in targets.items()
            }
            for subject, targets in weight_scores.aucs.items()
        },
    )


def _auc(auc: Auc, families: int = 1) -> dict[str, Any]:
    interval, null = auc.interval_of(families), null_band(auc.positives, auc.negatives, families)
    return {"value": auc.value, "low": interval.low, "high": interval.high, "null": (null.low, null.high)}


def _benchmarks(answers: Mapping[str, Answers]) -> dict[str, AnsweredTasks]:
    """By model, task by task and of all of them, what it answers beside the injected model."""
    found = {}
    for name, after in answers.items():
        if name != "injected":
            before = answers["injected"]
            tasks = {task: _answered({task: before[task]}, {task: after[task]}) for task in before}
            found[name] = AnsweredTasks(tasks=tasks, mean=_answered(before, after))
    return found


def _answered(before: Answers, after: Answers) -> AnsweredShares:
    return AnsweredShares(
        documents=sum(map(len, before.values())),
        guesser=accuracy(guesser(before)).value,
        injected=ReportedRate.of(accuracy(before)),
        candidate=ReportedRate.of(accuracy(after)),
        change=ReportedRate.of(change(before, after)),
    )


def _leaks(experiment: Experiment, items: Sequence[Item], before: Mapping[str, bool], leaks: Leaks) -> LeakRates:
    return LeakRates(
        before=ReportedRate.of(rates.leaked(items, [before])),
        rate=ReportedRate.of(rates.leaked(items, leaks)),
        floor=ReportedRate.of(rates.leaked(experiment.unseen, leaks)),
        taught=ReportedRate.of(rates.leaked(experiment.taught, leaks)),
        seeds=tuple(tuple(rates.who(items, seed)) for seed in leaks),
        floor_seeds=tuple(tuple(rates.who(experiment.unseen, seed)) for seed in leaks),
    )


def _overlaps(items: Sequence[Item], leaks: Mapping[str, Leaks]) -> tuple[LeakOverlap, ...]:
    """Each two methods: the mean over seeds of the Jaccard index of who leaks; seeds where nobody does are left out."""
    found = []
    for at, first in enumerate(leaks):
        for second in list(leaks)[at + 1 :]:
            shared, seeds = rates.overlap(items, leaks[first], leaks[second])
            found.append(LeakOverlap(first=first, second=second, value=shared, seeds=seeds))
    return tuple(found)
