"""The unlearning depth score: how much of a fact can be recovered from the activations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uds_bench.facts import FactSet, Variant
from uds_bench.inference.states import Scope
from uds_bench.inference.target import Reading
from uds_bench.metrics.erasure import NO_LAYER, TAU, Erasure, erasure
from uds_bench.metrics.metric import FactValue, Measured, Metric, Subject

NOT_FINITE = "a drop is not finite"

ALIGNED = "aligned"
"""Block outputs, brought into the full model's basis before they are patched; the other variants patch them as they
are."""
TURNED = "turned"
"""A control of alignment: the source's states are turned by a drawn orthogonal matrix first."""
_FORMS: dict[str, tuple[Variant, Scope]] = {
    "block": ("default", "block"),
    "published": ("published", "block"),
    "attention": ("default", "attention"),
    "attention_residual": ("default", "attention_residual"),
    "mlp": ("default", "mlp"),
}


def fact_values(
    facts: FactSet, result: Erasure, retain: Reading, own: Reading, lens: bool, tokens: Sequence[int]
) -> list[FactValue]:
    """One depth score a fact, with drops, knowledge layers, the unclipped ratio and the entity's length beside it.

    Args:
        facts: What was asked about, [facts].
        result: Their scores.
        retain: The retain model as a source of patching, [facts, layers], nats.
        own: The candidate as one.
        lens: Whether drops of the logit lens are told, and not those by patching.
        tokens: Length of each fact's entity, [facts].

    Returns:
        Values of 0 to 1, higher is LESS knowledge; None, with the reason, where no layer encodes the fact or a drop is
        not finite.
    """
    drops = (retain.lens, own.lens) if lens else (retain.drops, own.drops)
    rows = []
    for i, fact in enumerate(facts):
        detail = {
            "retain_drops": drops[0][i].tolist(),
            "drops": drops[1][i].tolist(),
            "knowledge_layers": result.knowledge[i].nonzero()[0].tolist(),
            "last_gap": float(own.last_gap[i]),
            "entity_tokens": tokens[i],
        }
        if not (np.isfinite(drops[0][i]).all() and np.isfinite(drops[1][i]).all()):
            rows.append(FactValue(fact.id, None, NOT_FINITE))
        elif not result.knowledge[i].any():
            rows.append(FactValue(fact.id, None, NO_LAYER, detail))
        else:
            detail["unclipped"] = float(result.unclipped[i])
            rows.append(FactValue(fact.id, float(result.score[i]), None, detail))
    return rows


def _compute(subject: Subject, variant: str) -> Measured:
    prompts, scope = _FORMS.get(variant, ("default", "block"))
    notes: dict[str, object] = {}
    if variant in (ALIGNED, TURNED):
        retain, own = subject.retain_aligned(), subject.aligned_reading(turned=variant == TURNED)
        notes = {"fit": own.fit.tolist(), "retain_fit": retain.fit.tolist()}
    else:
        retain, own = subject.retain_reading(prompts, scope), subject.reading(prompts, scope)
    path, why = subject.patch_path(prompts, scope)
    tokens = subject.entity_lengths(prompts)
    values = fact_values(subject.facts, erasure(retain.drops, own.drops), retain, own, lens=False, tokens=tokens)
    told = {"tau": TAU, "patching": path, "patching_reason": why, "rendered": subject.rendered(prompts)}
    return Measured(values, told | notes)


METRIC = Metric(
    name="uds",
    version=2,
    direction="erasure",
    limits=(0.0, 1.0),
    needs=frozenset({"full", "retain", "internals"}),
    variants=(ALIGNED, *_FORMS, TURNED),
    source="UDS guide, section 3",
    compute=_compute,
    texts={ALIGNED: ("retain",), TURNED: ("retain",)},
)
