"""The unlearning depth score: how much of a fact can be recovered from the activations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from uds_bench.facts import EncodedFact, spanned
from uds_bench.metrics.erasure import NO_LAYER, TAU, Array, erasure
from uds_bench.metrics.metric import PATCHED, FactValue, Measured, Metric
from uds_bench.metrics.subject import PLAIN, Patching, Subject

NOT_FINITE = "a drop is not finite"

ALIGNED = Patching(basis="aligned")
"""The default: block outputs, brought into the full model's basis; the other variants patch them as they are."""
FORMS = {
    "aligned": ALIGNED,
    "block": PLAIN,
    "published": Patching(variant="published"),
    "attention": Patching(scope="attention"),
    "attention_residual": Patching(scope="attention_residual"),
    "mlp": Patching(scope="mlp"),
    # A control of alignment: the source's states are turned by a drawn orthogonal matrix first.
    "turned": Patching(basis="turned"),
}


def fact_values(facts: Sequence[EncodedFact], retain: Array, own: Array, last_gap: Array) -> list[FactValue]:
    """One depth score a fact, with drops, knowledge layers, the unclipped ratio and the entity's length beside it.

    Args:
        facts: What was asked about, [facts].
        retain: Drops of the retain model, by patching or of the logit lens, [facts, layers], nats.
        own: Those of the candidate.
        last_gap: Between patching the candidate's last layer and the logit lens there, [facts], nats.

    Returns:
        Values of 0 to 1, higher is LESS knowledge; None, with the reason, where no layer encodes the fact or a drop is
        not finite.

    Source: UDS guide, section 3.2.

    Example:
        Half of what the retain model lacks in the one layer that encodes it:

        >>> from types import SimpleNamespace
        >>> fact = SimpleNamespace(fact=SimpleNamespace(id="born"), start=3, end=5)
        >>> (found,) = fact_values([fact], np.array([[4.0, 0.0]]), np.array([[2.0, 1.0]]), np.array([0.0]))
        >>> found.value, found.detail["knowledge_layers"]
        (0.5, [0])
    """
    result, rows = erasure(retain, own), []
    for i, fact in enumerate(facts):
        name, detail = (
            fact.fact.id,
            {
                "retain_drops": retain[i].tolist(),
                "drops": own[i].tolist(),
                "knowledge_layers": result.knowledge[i].nonzero()[0].tolist(),
                "last_gap": float(last_gap[i]),
                "entity_tokens": fact.end - fact.start,
            },
        )
        if not (np.isfinite(retain[i]).all() and np.isfinite(own[i]).all()):
            rows.append(FactValue(name, None, NOT_FINITE))
        elif not result.knowledge[i].any():
            rows.append(FactValue(name, None, NO_LAYER, detail))
        else:
            detail["unclipped"] = float(result.unclipped[i])
            rows.append(FactValue(name, float(result.score[i]), None, detail))
    return rows


def _compute(subject: Subject, variant: str) -> Measured:
    how = FORMS[variant]
    yardstick = replace(how, basis="aligned") if how.basis == "turned" else how
    target, retain, own = subject.target(how), subject.reading(yardstick, "retain"), subject.reading(how)
    values = fact_values(target.encoded, retain.drops, own.drops, own.last_gap)
    told: dict[str, Any] = {"tau": TAU, "patching": target.path(how.scope, subject.checkpoint)}
    told["patching_reason"] = target.path_reason
    if how.basis != "own":
        told |= {"fit": own.fit.tolist(), "retain_fit": retain.fit.tolist(), "open": int(own.open.max())}
        on = subject.references.fitted
        told |= {"rounding": target.rounding} if target.full.model.dtype != torch.float32 else {}
        told |= {"people": len({one.fact.cluster for one in on.encoded}), "positions": on.positions}
    return Measured(values, {**told, "rendered": target.rendered})


METRIC = Metric(
    "uds",
    "erasure",
    "UDS guide, section 3",
    compute=_compute,
    of=spanned,
    version=2,
    needs=PATCHED,
    variants=tuple(FORMS),
    texts=dict.fromkeys(("aligned", "turned"), ("retain",)),
)
