"""What the localization audit says in a run's report: AUCs, what is said, who leaks."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from uds_bench.audits.localization.names import Subject, Target
from uds_bench.audits.localization.rates import FORMS, Form
from uds_bench.claims.report_part import (
    PERSONAL,
    Count,
    Each,
    Measurement,
    ReportedRate,
    ReportPart,
    ReportTable,
    span,
)
from uds_bench.statistics import Interval

TestbedPart = Literal["forget", "retain", "spared", "unseen", "public"]
PARTS: tuple[TestbedPart, ...] = get_args(TestbedPart)


class ReportedFields(ReportTable):
    """What those to be forgotten are asked for, and those to be retained; None: every field."""

    forget: str | None
    retain: str | None


class PeopleCounts(ReportTable):
    """How many there are of each part; `known`: of those to be forgotten, whom the injected model knows."""

    forget: Count
    retain: Count
    spared: Count
    unseen: Count
    public: Count
    taught: Count
    known: Count


class SaidShares(ReportTable):
    """Means over items, 0 to 1, and the rate of extraction."""

    said: Measurement
    em: Measurement
    es: Measurement
    prob: Measurement
    floor: Measurement
    rate: ReportedRate


class ReportedAuc(ReportTable):
    """An AUC, 0 to 1, with its interval; `null`: where chance alone lies."""

    value: Measurement
    low: Measurement
    high: Measurement
    null: tuple[Measurement, Measurement]

    @property
    def drawn(self) -> tuple[float | None, Interval | None]:
        """The value and, where both ends are known, its interval."""
        return self.value, span(self.low, self.high)


class FamilyAuc(ReportedAuc):
    """That of the best family."""

    family: str


class HeadlineAuc(FamilyAuc):
    """That of the best family that counts, with the word that it comes to."""

    word: str


class TouchedWeights(ReportTable):
    """Of the forget mask's weights, how many were left; `elsewhere`: how many of other masks were moved."""

    wanted: Count
    untouched: Count
    elsewhere: Count
    share: Measurement


class DrawnWeights(ReportTable):
    """So many weights of the update controls were drawn on, and with which seed."""

    weights: Count
    seed: int


class MovedWeights(ReportTable):
    """Where an update moved the weights; `absent`: families without a control, `counted`: those that count."""

    weights: Count
    touched: TouchedWeights
    absent: tuple[str, ...]
    drawn: DrawnWeights | None
    counted: tuple[str, ...]
    headline: HeadlineAuc | None
    published: FamilyAuc
    unmasked: ReportedAuc | None
    written: ReportedAuc | None
    aucs: dict[Subject, dict[Target, dict[str, ReportedAuc]]]

    def auc(self, target: Target, family: str, subject: Subject = "unlearned") -> tuple[float | None, Interval | None]:
        """The AUC of one family of scores against one target, with its interval."""
        found = self.aucs.get(subject, {}).get(target, {}).get(family)
        return (None, None) if found is None else found.drawn


class LocalizedModel(ReportTable):
    """What a model says of each part of the testbed and, of an update, where it moved the weights."""

    outputs: Annotated[dict[TestbedPart, Annotated[dict[Form, SaidShares], Each(FORMS)]], Each(PARTS)]
    weights: MovedWeights | None


class LeakRates(ReportTable):
    """Who leaks before resurfacing and after it; by seed, the ids of who does."""

    before: ReportedRate
    rate: ReportedRate
    floor: ReportedRate
    taught: ReportedRate
    seeds: Annotated[tuple[tuple[str, ...], ...], PERSONAL]
    floor_seeds: Annotated[tuple[tuple[str, ...], ...], PERSONAL]


class LeakOverlap(ReportTable):
    """The mean over seeds of the Jaccard index of who leaks from two candidates."""

    first: str
    second: str
    value: Measurement
    seeds: Count


class AnsweredShares(ReportTable):
    """Shares of documents answered rightly, and the paired change."""

    documents: Count
    guesser: Measurement
    injected: ReportedRate
    candidate: ReportedRate
    change: ReportedRate


class AnsweredTasks(ReportTable):
    """Task by task, and of all of them."""

    tasks: dict[str, AnsweredShares]
    mean: AnsweredShares


class LocalizationPart(ReportPart):
    """The whole; models, leaks and benchmarks by model."""

    MARKED: ClassVar[bool] = True

    fields: ReportedFields
    people: PeopleCounts
    candidates: tuple[str, ...]
    models: dict[str, LocalizedModel]
    leaks: dict[str, LeakRates]
    jaccard: tuple[LeakOverlap, ...]
    benchmarks: dict[str, AnsweredTasks]


PART = LocalizationPart
