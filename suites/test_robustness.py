"""Metrics judged: does each stay put under quantization, and move under relearning as the retain model does?

Every claim decides on recorded scores of the manifest's candidates before and under both attacks; statement, bound and
origin stand in `uds_bench.audits.metrics.claims`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from uds_bench.audits.depth.reading import order_steps
from uds_bench.audits.metrics.estimate import Estimate
from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.audits.metrics.leader import most_robust
from uds_bench.audits.metrics.needs import (
    KNOWN,
    QUANTIZED,
    RELEARNED,
    UTILITY,
    lacking_any,
    lacking_splits,
    must_not_pass,
)
from uds_bench.audits.metrics.proxy import proxy
from uds_bench.audits.metrics.robustness import Robustness, robustness
from uds_bench.claims import Claim, Control
from uds_bench.statistics import FEWEST

if TYPE_CHECKING:
    from uds_bench.audits.metrics.audit import MetricsAudit
    from uds_bench.audits.metrics.meta_evaluation import MetaEvaluation

# Of a metric over models, some of them trained on: a handful decides nothing.
pytestmark = pytest.mark.laboratory

ATTACKS = ("none", QUANTIZED, RELEARNED)
BEFORE = pytest.mark.scores(*JUDGED, KNOWN, of=("full", "retain", "pools"))
BOTH = pytest.mark.scores(*JUDGED, KNOWN, of=("retain", "every_candidate"), under=ATTACKS)
USEFUL = pytest.mark.scores(*UTILITY, of=("full", "every_candidate"))
# Read by no claim: they tell the report in which part of a block the facts lie, where the manifest asks for it.
PARTS = pytest.mark.scores(
    "uds[block]", "uds[attention]", "uds[attention_residual]", "uds[mlp]", of=("every_component",)
)
TOLD = pytest.mark.scores(KNOWN, of=("full",))


@pytest.mark.parametrize("metric", list(JUDGED))
@pytest.mark.claim("robustness.{metric}")
@BEFORE
@BOTH
@USEFUL
def test_robustness(uds_claim: Claim, metric: str, uds_audit: MetricsAudit) -> None:
    meta = uds_audit.judged
    if reason := meta.lacks or meta.lacks_attacks or lacking_splits(metric, uds_audit.facts):
        uds_claim.not_applicable(reason)
        return
    row = meta.rows[metric]
    if row.robustness is None:
        reason = "; ".join(row.missing)
        nobody = row.kept is not None and not row.kept.kept
        if nobody and metric != "uds":
            uds_claim.recorded(None, None, reason=reason)
        else:
            uds_claim.measured(None, None, remark=reason)
        return
    rob, provenance = row.robustness.rob, meta.provenance(metric)
    if metric == "uds":
        still, bound = stays(row.robustness, meta), uds_claim.bound()
        # By its value: it is the same of every model, so that no number of them makes it surer.
        held, came = still.value < bound, "fail" if still.value < bound else "pass"
        unmoved = Control("a metric that no attack moves", "fail", came, still.value, still.interval, held)
        few = len(row.robustness.per_model)
        uds_claim.measured(
            rob.value,
            rob.interval,
            preconditions=[unmoved],
            provenance=provenance,
            remark=f"of {few} models kept, {FEWEST} are needed at least" if few < FEWEST else "",
        )
    else:
        uds_claim.recorded(rob.value, rob.interval, provenance=provenance)


def stays(judged: Robustness, meta: MetaEvaluation) -> Estimate:
    """A metric that no attack moves: it is perfect where relearning does not move the retain model, as no attack."""
    before = dict.fromkeys(judged.per_model, 0.5)
    retain = meta.value("retain", "uds"), meta.value("retain", "uds", RELEARNED)
    return robustness(before, before, before, retain, converted=True).rob


@pytest.mark.claim("robustness.uds_first")
@BEFORE
@BOTH
@USEFUL
def test_uds_first(uds_claim: Claim, uds_audit: MetricsAudit) -> None:
    meta = uds_audit.judged
    if reason := meta.lacks or meta.lacks_attacks or lacking_any(uds_audit.facts):
        uds_claim.not_applicable(reason)
        return
    judged = {name: row.robustness for name, row in meta.unfiltered.items() if row.robustness is not None}
    if unjudged := [name for name in JUDGED if name not in judged]:
        uds_claim.measured(None, None, remark=f"not judged: {', '.join(unjudged)}")
        return
    means = {name: {model: sum(pair) / 2 for model, pair in r.per_model.items()} for name, r in judged.items()}
    worst = min(means, key=lambda name: judged[name].rob.value)
    uds_claim.ordering(most_robust(means, "uds"), must_fail=most_robust(means, worst))


@pytest.mark.claim("robustness.proxy")
@BEFORE
@BOTH
@TOLD
@PARTS
def test_proxy(uds_claim: Claim, uds_audit: MetricsAudit) -> None:
    from uds_bench.metrics import METRICS  # takes seconds, and collecting needs none of it

    meta = uds_audit.judged
    if reason := meta.lacks or meta.lacks_attacks:
        uds_claim.not_applicable(reason)
        return
    silent = meta.silent()
    if len(silent) < FEWEST:
        uds_claim.not_applicable(f"{len(silent)} candidates are silent: fewer than {FEWEST} show no relation")
        return
    comeback = {name: meta.value(name, KNOWN, RELEARNED) - meta.value(name, KNOWN) for name in silent}
    found = proxy({name: meta.value(name, "uds") for name in silent}, comeback, METRICS["uds"].direction)
    wrong = proxy({name: meta.value(name, "uds") for name in silent}, comeback, "knowledge")
    uds_claim.measured(
        found.value,
        found.interval,
        preconditions=[must_not_pass("the metric upside down", wrong, uds_claim.bound(), unless=found)],
        provenance=meta.provenance("uds"),
    )


@pytest.mark.claim("robustness.relearning_restores")
@pytest.mark.scores(KNOWN, "uds", of=("full", "every_candidate"), under=("none", RELEARNED))
def test_relearning_restores(uds_claim: Claim, uds_audit: MetricsAudit) -> None:
    meta = uds_audit.judged
    if reason := meta.lacks_attacks or meta.lacks:
        uds_claim.not_applicable(reason)
        return
    silent = meta.silent()
    if not silent:
        uds_claim.not_applicable("every candidate still says what it was to forget: there is nothing to restore")
        return
    shallow = min(silent, key=lambda name: meta.value(name, "uds"))
    before, after = (uds_audit.depth.score(shallow, KNOWN, attack=attack) for attack in ("none", RELEARNED))
    uds_claim.ordering(
        order_steps([before, after]), must_fail=order_steps([after, before]), provenance=after.provenance
    )
