"""Entity accuracy: how often a model, decoding greedily, says the whole entity."""

from __future__ import annotations

import math
from typing import Any

from uds_bench.errors import CheckpointError
from uds_bench.facts import name_matching, spanned
from uds_bench.inference.generation import NAN
from uds_bench.metrics.metric import FactValue, Measured, Metric
from uds_bench.metrics.subject import Subject

NOT_ASKED = "not asked by this attack"


def says(text: str, entity: str) -> bool:
    """Whether the entity stands in the text as whole words.

    Case, accents, spacing and signs do not count, nor do letters that look alike or are not seen: whoever reads the
    text is told.

    Args:
        text: What a model said.
        entity: What is to be forgotten; one of signs alone is looked for as it is written.

    Returns:
        Whether it is there.

    Example:
        >>> says("It was NEW  Y\u041eRK, she said.", "New York"), says("Newark", "New")
        (True, False)
    """
    return name_matching.says(text, entity) if name_matching.bare(entity) else entity.strip() in text


def _compute(subject: Subject, variant: str) -> Measured:
    facts = spanned(subject.facts)
    if variant == "prefixed":
        right = subject.said()
        if broken := sum(map(math.isnan, right)):
            raise CheckpointError(
                f"{subject.checkpoint.spec.model}: its logits are NaN on {broken} of {len(facts)} facts, {NAN}"
            )
        values = [FactValue(f.id, float(r)) for f, r in zip(facts, right, strict=True)]
        return Measured(values, {"rendered": subject.target().rendered})
    said, rendered = subject.replies()
    values = []
    for fact in facts:
        told = said.get(fact.id, ())
        giving = [reply for reply in told if says(reply, fact.entity)]
        value = float(bool(giving)) if told else None
        detail = {"answer": (giving or told)[0]} if told else {}
        values.append(FactValue(fact.id, value, None if told else NOT_ASKED, detail))
    notes: dict[str, Any] = {"rendered": rendered}
    if subject.asking is not None:
        kept = subject.replies("retain")[0]
        notes["kept"] = [
            [fact.id, fact.cluster, float(any(says(reply, fact.entity) for reply in kept[fact.id]))]
            for fact in subject.split("retain")
            if fact.id in kept
        ]
    return Measured(values, notes)


# prefixed: after the fact's prefix, every entity token is the greedy one, so greedy decoding says the entity;
# free: the entity stands anywhere in the greedy answer to the bare question, or to its paraphrase where there is one;
# under an attack that asks otherwise, anywhere in one of the replies to that. There the note `kept` has id, cluster and
# value of facts to be kept, asked alike.
METRIC = Metric(
    "entity_accuracy",
    "knowledge",
    "ours; UDS guide, section 5.2, for refusals that still hold the entity",
    compute=_compute,
    of=spanned,
    version=3,
    needs=frozenset({"full", "generations"}),
    variants=("prefixed", "free"),
    counts_choices=True,
    texts={"free": ("retain",)},
    askable=frozenset({"free"}),
)
