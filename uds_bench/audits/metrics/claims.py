"""The claims about metrics: what each says, its bound and where that comes from, and its controls."""

from __future__ import annotations

from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.claims.spec import GOLDEN_CONTROL, TOLERANCE, ClaimSpec


def _faithful(metric: str) -> ClaimSpec:
    is_uds = metric == "uds"
    return ClaimSpec(
        f"faithfulness.{metric}",
        "threshold",
        f"{JUDGED[metric].label} tells models that know the facts from models that never knew them.",
        ">=",
        0.90 if is_uds else 0.50,
        "ours (.971 observed, UDS guide, table 2)" if is_uds else "ours: better than chance, and its golden",
        unit="models",
        must_fail="the pools mixed, every second model exchanged",
    )


def _robust(metric: str) -> ClaimSpec:
    is_uds = metric == "uds"
    return ClaimSpec(
        f"robustness.{metric}",
        "threshold" if is_uds else "golden",
        f"{JUDGED[metric].label} stays put under quantization and moves as the retain model's does under relearning."
        if is_uds
        else f"The robustness of {JUDGED[metric].label} under quantization and relearning is what was recorded.",
        ">=" if is_uds else "==",
        0.80 if is_uds else TOLERANCE,
        "ours (.933 observed, UDS guide, table 2)" if is_uds else "its golden",
        unit="models",
        must_fail="a metric that no attack moves" if is_uds else GOLDEN_CONTROL,
    )


CLAIMS = (
    *map(_faithful, JUDGED),
    ClaimSpec(
        "faithfulness.uds_first",
        "ordering",
        "UDS is the most faithful of the twenty metrics.",
        ">",
        0.0,
        "UDS guide, table 2; intervals of paired differences of AUC over models",
        unit="models",
        must_fail="the metric that tells the pools apart least, put first",
    ),
    *map(_robust, JUDGED),
    ClaimSpec(
        "robustness.uds_first",
        "ordering",
        "UDS is the most robust of the twenty metrics.",
        ">",
        0.0,
        "UDS guide, table 2; intervals of paired differences of the mean of Q and R over models",
        unit="models",
        must_fail="the least robust metric, put first",
    ),
    ClaimSpec(
        "robustness.proxy",
        "threshold",
        "UDS, read before the attack, tells which models regain knowledge under relearning.",
        ">=",
        0.0,
        "UDS guide, section 6.2; rank correlation over the models whose output has forgotten",
        unit="models",
        must_fail="UDS upside down",
    ),
    ClaimSpec(
        "robustness.relearning_restores",
        "ordering",
        "Relearning brings back words that the shallowest silent model had lost: it is an attack.",
        ">",
        0.0,
        "follows from what the attack is for; interval of the paired difference of entity accuracy",
        must_fail="after and before exchanged",
    ),
)
