"""What the metrics audit says in a run's report: rows, pools, attacks, standings, ranks and diagnostics."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import StrictBool, StrictInt

from uds_bench.claims.report_part import PERSONAL, Count, KnownNumber, Measurement, ReportPart, ReportTable, span
from uds_bench.statistics import Interval


class FailedScore(ReportTable):
    """A score that could not be computed, and why."""

    what: str
    reason: str


class JudgedModels(ReportTable):
    """Names of the models by what they are."""

    full: str
    retain: str
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    candidates: tuple[str, ...]


class JudgedRow(ReportTable):
    """One metric judged; each estimate with the ends of its interval, and the numbers of candidates that count."""

    metric: str
    variant: str
    label: str
    category: str
    direction: str
    tags: str
    faithfulness: Measurement
    faithfulness_low: Measurement
    faithfulness_high: Measurement
    q: Measurement
    q_low: Measurement
    q_high: Measurement
    r: Measurement
    r_low: Measurement
    r_high: Measurement
    rob: Measurement
    rob_low: Measurement
    rob_high: Measurement
    overall: Measurement
    overall_low: Measurement
    overall_high: Measurement
    one_sided_q: Measurement
    one_sided_q_low: Measurement
    one_sided_q_high: Measurement
    one_sided_r: Measurement
    one_sided_r_low: Measurement
    one_sided_r_high: Measurement
    cut: Measurement
    balanced_accuracy: Measurement
    n_kept: Count | None
    n_useless: Count | None
    n_knowing: Count | None
    missing: str

    def estimate(self, name: str) -> tuple[float | None, Interval | None]:
        """An estimate with its interval."""
        low, high = (getattr(self, f"{name}_{end}") for end in ("low", "high"))
        return getattr(self, name), span(low, high)


class MetricPools(ReportTable):
    """Counts of both pools between common edges, and the value that tells them apart best."""

    metric: str
    label: str
    direction: str
    auc: Measurement
    edges: tuple[KnownNumber, ...]
    positive: tuple[Count, ...]
    negative: tuple[Count, ...]
    cut: Measurement
    balanced_accuracy: Measurement


class BeforeAfter(ReportTable):
    """Values of the retain model around an attack."""

    before: Measurement
    after: Measurement


class AttackedPoint(BeforeAfter):
    """Those of a candidate; `why`: it does not count for robustness."""

    model: str
    kept: StrictBool
    why: str


class AttackedMetric(ReportTable):
    """A metric before and after an attack; `shift`: of the retain model."""

    metric: str
    label: str
    attack: str
    points: tuple[AttackedPoint, ...]
    retain: BeforeAfter
    shift: Measurement


class CandidateStanding(ReportTable):
    """A candidate's axes, see `aggregates.Standing`."""

    model: str
    mem: Measurement
    mia: Measurement
    uds: Measurement
    privacy: Measurement
    utility: Measurement
    overall: Measurement
    overall_without_uds: Measurement
    method: str


class NoStanding(ReportTable):
    """A candidate that has none, and why."""

    model: str
    reason: str


class RankedMethod(ReportTable):
    """A method's place without UDS and with it, see `ranking.MethodRank`."""

    method: str
    best_without: str
    overall_without: Measurement
    rank_without: Count
    best: str
    overall: Measurement
    rank: Count
    shift: StrictInt


class TauModel(ReportTable):
    """UDS of a model at a threshold, and how many facts have it."""

    model: str
    value: Measurement
    scored: Count
    planned: Count


class TauRow(ReportTable):
    """UDS by a threshold of knowledge layers, nats."""

    tau: KnownNumber
    auc: Measurement
    low: Measurement
    high: Measurement
    models: tuple[TauModel, ...]


class KindRow(ReportTable):
    """UDS of a model over facts of a kind."""

    model: str
    kind: str
    planned: Count
    scored: Count
    mean: Measurement
    sd: Measurement


class ComponentRow(ReportTable):
    """UDS of a model by what of a block is patched; falls in nats."""

    model: str
    scope: str
    uds: Measurement
    retain_drop: Measurement
    drop: Measurement
    facts: Count


class LayerWeight(ReportTable):
    """What a layer decides of a score, and how far it is erased."""

    share: Measurement
    erasure: Measurement


class LayerRow(ReportTable):
    """The layers of a metric for a model."""

    metric: str
    model: str
    layers: tuple[LayerWeight, ...]


class FactRow(ReportTable):
    """A fact: its entity's tokens, its knowledge layers, and UDS by model."""

    id: Annotated[str, PERSONAL]
    kind: str | None
    tokens: Count | None
    layers: Count | None
    uds: dict[str, Measurement]


class ReadTokens(ReportTable):
    """How many of the entity's tokens are right; `text`: where words may be told."""

    right: Count
    text: Annotated[str | None, PERSONAL] = None


class ReportedLayer(ReportTable):
    """What is read off a layer, and what the full model says with it."""

    lens: ReadTokens
    patched: ReadTokens


class HiddenFact(ReportTable):
    """The fact that the logit lens misses most; `error`: why it could not be read layer by layer."""

    model: str
    fact: Annotated[str, PERSONAL]
    lens: Measurement
    uds: Measurement
    drops: tuple[Measurement, ...]
    tokens: Count | None = None
    layers: tuple[ReportedLayer, ...] = ()
    said: ReadTokens | None = None
    question: Annotated[str, PERSONAL] = ""
    prefix: Annotated[str, PERSONAL] = ""
    entity: Annotated[str, PERSONAL] = ""
    error: Annotated[str, PERSONAL] = ""


class DepthDiagnostics(ReportTable):
    """See `diagnostics`."""

    tau: tuple[TauRow, ...]
    kinds: tuple[KindRow, ...]
    components: tuple[ComponentRow, ...]
    layers: tuple[LayerRow, ...]
    facts: tuple[FactRow, ...]
    hidden: HiddenFact | None


class MetricsPart(ReportPart):
    """The whole; `lacks`, `lacks_attacks`: why there is no more of it."""

    MARKED: ClassVar[bool] = True

    lacks: str
    lacks_attacks: str = ""
    failed: tuple[FailedScore, ...] = ()
    models: JudgedModels | None = None
    methods: dict[str, str] | None = None
    rows: tuple[JudgedRow, ...] = ()
    unfiltered: tuple[JudgedRow, ...] = ()
    pools: tuple[MetricPools, ...] = ()
    attacks: tuple[AttackedMetric, ...] = ()
    standings: tuple[CandidateStanding, ...] = ()
    no_standing: tuple[NoStanding, ...] = ()
    ranks: tuple[RankedMethod, ...] = ()
    diagnostics: DepthDiagnostics | None = None


PART = MetricsPart
