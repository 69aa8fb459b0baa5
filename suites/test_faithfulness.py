"""Metrics judged: does each tell models that know from models that never knew?

Every claim decides on recorded scores of the manifest's pools; statement, bound and origin stand in
`uds_bench.audits.metrics.claims`.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import pytest

from uds_bench.audits.metrics.estimate import Estimate
from uds_bench.audits.metrics.faithfulness import Faithfulness, faithfulness, fewest_models
from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.audits.metrics.leader import most_faithful
from uds_bench.audits.metrics.needs import lacking_any, lacking_splits, must_not_pass
from uds_bench.claims import Claim

if TYPE_CHECKING:
    from uds_bench.audits.metrics.audit import MetricsAudit

# Of a metric over models: a handful of them decides nothing.
pytestmark = pytest.mark.laboratory


def mixed(found: Faithfulness) -> Estimate:
    """The pools mixed, every second model exchanged: nothing to tell them by is left."""
    pairs = list(zip_longest(found.positive, found.negative))
    turned = [pair if i % 2 else pair[::-1] for i, pair in enumerate(pairs)]
    sides = [[value for value in side if value is not None] for side in zip(*turned, strict=True)]
    return faithfulness(sides[0], sides[1], found.direction).auc


@pytest.mark.parametrize("metric", list(JUDGED))
@pytest.mark.claim("faithfulness.{metric}")
@pytest.mark.scores(*JUDGED, of=("pools",))
@pytest.mark.scores(*JUDGED, of=("full", "retain"))
def test_faithfulness(uds_claim: Claim, metric: str, uds_audit: MetricsAudit) -> None:
    meta = uds_audit.on_pools
    if reason := meta.lacks or lacking_splits(metric, uds_audit.facts):
        uds_claim.not_applicable(reason)
        return
    found = meta.rows[metric].faithfulness
    if found is None:
        uds_claim.measured(None, None, remark="; ".join(meta.rows[metric].missing))
        return
    fewest, bound = min(len(found.positive), len(found.negative)), uds_claim.bound()
    needed = fewest_models(bound)
    uds_claim.measured(
        found.auc.value,
        found.auc.interval,
        preconditions=[must_not_pass("pools mixed", mixed(found), bound)],
        remark=f"no {fewest} models a side can show {bound:g}, {needed} can" if fewest < needed else "",
        provenance=meta.provenance(metric),
    )


@pytest.mark.claim("faithfulness.uds_first")
@pytest.mark.scores(*JUDGED, of=("full", "retain", "pools"))
def test_uds_first(uds_claim: Claim, uds_audit: MetricsAudit) -> None:
    meta = uds_audit.on_pools
    if reason := meta.lacks or lacking_any(uds_audit.facts):
        uds_claim.not_applicable(reason)
        return
    judged = {name: row.faithfulness for name, row in meta.rows.items() if row.faithfulness is not None}
    if unjudged := [name for name in JUDGED if name not in judged]:
        uds_claim.measured(None, None, remark=f"not judged: {', '.join(unjudged)}")
        return
    uds_claim.ordering(most_faithful(judged, "uds"), must_fail=most_faithful(judged, worst(judged)))


def worst(judged: dict[str, Faithfulness]) -> str:
    """The metric that tells the pools apart least: it must not come out first."""
    return min(judged, key=lambda name: judged[name].auc.value)
