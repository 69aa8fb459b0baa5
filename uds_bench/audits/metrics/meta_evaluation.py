"""The metrics judged on a manifest's models: every score that the meta-evaluation needs, gathered and evaluated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from uds_bench.attacks import NONE
from uds_bench.audits.depth.claims import SILENCED
from uds_bench.audits.depth.reading import require_independent
from uds_bench.audits.depth.section import Depth
from uds_bench.audits.metrics.aggregates import axis, relative_utility
from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.audits.metrics.metric_rows import MetricRow, Models, evaluate
from uds_bench.audits.metrics.needs import KNOWN, QUANTIZED, RELEARNED, UTILITY
from uds_bench.claims.goldens import SAME
from uds_bench.errors import ConfigurationError, ExtraError, UdsError
from uds_bench.facts import FactSet
from uds_bench.metrics import METRICS
from uds_bench.scores import Score, Scores
from uds_bench.scoring.runner import ScoreRequest


@dataclass(frozen=True)
class MetaEvaluation:
    """`rows`: every metric judged, with the models that it may be judged on; `unfiltered`: on all candidates.

    `utility`: relative utility of each candidate. `lacks`: what the manifest would need for claims about faithfulness,
    and `lacks_attacks` for those about robustness; "" where it has it. `failed`: why a score is not there.
    """

    rows: Mapping[str, MetricRow]
    unfiltered: Mapping[str, MetricRow]
    models: Models | None
    scores: Scores
    utility: Mapping[str, float]
    failed: Mapping[ScoreRequest, str]
    lacks: str = ""
    lacks_attacks: str = ""

    def value(self, checkpoint: str, metric: str, attack: str = NONE) -> float:
        """One score's value; NaN where there is none."""
        found = self._of(checkpoint, metric, attack)
        return math.nan if found is None or found.value is None else found.value

    def silent(self) -> list[str]:
        """The candidates that say at most half of what the full model says: those whose output claims to forget.

        Raises UdsError where that was not scored: nobody is taken to speak for want of a number.
        """
        if self.models is None or not self.models.candidates:
            return []
        told = {name: self.value(name, KNOWN) for name in (self.models.full, *self.models.candidates)}
        if unknown := [name for name, value in told.items() if math.isnan(value)]:
            reasons = dict.fromkeys(why for request, why in self.failed.items() if request.metric == KNOWN)
            because = f" ({'; '.join(reasons)})" if reasons else ""
            raise UdsError(f"there is no {KNOWN} of {', '.join(unknown)}, so that who is silent is not known{because}")
        return [name for name in self.models.candidates if told[name] <= SILENCED * told[self.models.full]]

    def provenance(self, metric: str) -> dict[str, Any]:
        """What a number made of many models' scores of one metric shares with each of them."""
        full = self._of("full", metric, NONE)
        return {} if full is None else {key: full.provenance.get(key) for key in SAME}

    def _of(self, checkpoint: str, metric: str, attack: str) -> Score | None:
        chosen = METRICS[metric].variant(None)
        for score in self.scores:
            if (score.checkpoint, score.metric, score.variant, score.attack) == (checkpoint, metric, chosen, attack):
                return score
        return None


def judge(
    section: Depth, facts: FactSet, score: Callable[[ScoreRequest], Score], pools_alone: bool = False
) -> MetaEvaluation:
    """Gather the scores by `score` (computed or read) and judge the twenty metrics; what fails is missing, and said.

    `pools_alone`: candidates and attacks are neither scored nor judged.

    Raises ConfigurationError for a pool that holds the weights of a reference, a candidate or another of its models:
    each would count as one more witness.
    """
    models = models_of(section)
    if models is None:
        lacks = "the manifest has no pools of models that know and never knew ([pools] positive and negative)"
        return MetaEvaluation({}, {}, None, Scores(), {}, {}, lacks, lacks)
    missing = missing_attacks(section)
    lacks_attacks = f"the manifest does not name the attacks {' and '.join(missing)} ([attacks])" if missing else ""
    found: list[Score] = []
    failed: dict[ScoreRequest, str] = {}
    if pools_alone:
        models = replace(models, candidates=())
    for request in requests(models, robust=not (missing or pools_alone)):
        try:
            found.append(score(request))
        except ExtraError:  # it is asked for, and one command mends it: nothing is judged without it
            raise
        except UdsError as error:
            failed[request] = str(error)
    scores = Scores(found)
    # UDS tells copies by what they do, any other score by their digest: a copy without UDS is not let pass.
    plain = sorted((s for s in scores if s.attack == NONE), key=lambda s: s.metric == "uds")
    of = {s.checkpoint: s for s in plain}
    pooled = (*models.positive, *models.negative)
    require_independent([of[n] for n in pooled if n in of], [s for name, s in of.items() if name not in pooled])
    require_distinct([of[n] for n in models.candidates if n in of])
    relative = relative_utilities(scores, models)
    judged = [METRICS[name] for name in JUDGED]
    rows = {row.metric: row for row in evaluate(scores, judged, models, utility=relative)}
    unfiltered = {row.metric: row for row in evaluate(scores, judged, models, filters=False)}
    return MetaEvaluation(rows, unfiltered, models, scores, relative, failed, "", lacks_attacks)


def require_distinct(candidates: Sequence[Score]) -> None:
    """Raises ConfigurationError for two candidates with the same weights: robustness would count one model twice."""
    known: dict[str, str] = {}
    for score in candidates:
        same = known.setdefault(score.provenance["checkpoint"], score.checkpoint)
        if same != score.checkpoint:
            raise ConfigurationError(
                f"[candidates] or [sweep] {score.checkpoint} holds the same weights as {same}: where metrics are "
                "judged a model counts once; take one of them out"
            )


def models_of(section: Depth) -> Models | None:
    """The manifest's models by what they are; None without pools on both sides."""
    pools = section.pools
    if not (pools.positive and pools.negative):
        return None
    return Models("full", "retain", tuple(pools.positive), tuple(pools.negative), tuple(section.unlearned))


def missing_attacks(section: Depth) -> list[str]:
    """The attacks that robustness needs and the manifest does not name."""
    attacks = section.chosen_attacks()
    return [name for name in (QUANTIZED, RELEARNED) if name not in attacks]


def requests(models: Models, robust: bool) -> list[ScoreRequest]:
    """Every score that the meta-evaluation reads; utility and knowledge are of the models that robustness is of."""
    places = models.needed(robust)
    judged = (*JUDGED, KNOWN) if models.candidates else tuple(JUDGED)
    wanted = [ScoreRequest(name, metric, None, attack) for name, attack in places for metric in judged]
    useful = [ScoreRequest(name, metric) for name in (models.full, *models.candidates) for metric in UTILITY]
    useful = useful if models.candidates else []
    return [*wanted, *useful]


def relative_utilities(scores: Scores, models: Models) -> dict[str, float]:
    """min(1, U / U_full) of each candidate, U = HM(model utility, fluency).

    Args:
        scores: Of all models, with both parts of utility.
        models: Which of them are full model and candidates.

    Returns:
        By candidate 0 to 1, higher better; NaN where a part is missing.

    Example:
        >>> from types import SimpleNamespace
        >>> values = {"full": 0.8, "npo": 0.4}
        >>> parts = [(name, metric) for name in values for metric in UTILITY]
        >>> rows = [SimpleNamespace(checkpoint=n, metric=m, attack=NONE, value=values[n]) for n, m in parts]
        >>> relative_utilities(rows, SimpleNamespace(full="full", candidates=("npo", "gone")))
        {'npo': 0.5, 'gone': nan}
    """
    parts = {(s.checkpoint, s.metric): s.value for s in scores if s.metric in UTILITY and s.attack == NONE}

    def own(name: str) -> float:
        known = [value for metric in UTILITY if (value := parts.get((name, metric))) is not None]
        return axis(*known) if len(known) == len(UTILITY) else math.nan

    return {name: relative_utility(own(name), own(models.full)) for name in models.candidates}
