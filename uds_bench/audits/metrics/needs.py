"""What judging metrics needs, what a manifest lacks for it, and a control of numbers made of models."""

from __future__ import annotations

from uds_bench.audits.metrics.estimate import Estimate
from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.claims.record import Control
from uds_bench.facts import FactSet
from uds_bench.verdicts import Verdict, decide_threshold

QUANTIZED, RELEARNED = "nf4", "relearn"
"""The attacks under which robustness is measured."""
UTILITY = ("model_utility", "fluency")
"""The metrics whose harmonic mean is a model's utility."""
KNOWN = "entity_accuracy"
"""The output metric that tells how much knowledge an attack brought back."""


def lacking_splits(metric: str, facts: FactSet) -> str:
    """Which splits of the facts a metric needs and the manifest does not have, in words; "" where it has all."""
    from uds_bench.metrics import METRICS  # takes seconds

    missing = [split for split in METRICS[metric].splits if not facts.split(split)]
    return f"the manifest's facts have no split {', '.join(missing)}" if missing else ""


def lacking_any(facts: FactSet) -> str:
    """As `lacking_splits`, of all twenty metrics: a claim about the first of them speaks of them all."""
    return next(filter(None, (lacking_splits(metric, facts) for metric in JUDGED)), "")


def must_not_pass(name: str, found: Estimate, bound: float, unless: Estimate | None = None) -> Control:
    """A control from a number that means nothing: it must never pass, but with few models it need not clearly fail.

    `unless`: the claim's own number, if the control is its opposite. If that number fails, the gate has shown that it
    can, and the opposite may pass.
    """

    def verdict(of: Estimate) -> Verdict:
        return decide_threshold(of.value, of.interval, ">=", bound, "models").verdict

    held = verdict(found) is not Verdict.PASS or (unless is not None and verdict(unless) is Verdict.FAIL)
    return Control(name, "fail", verdict(found).value, found.value, found.interval, held)
