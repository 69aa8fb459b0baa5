"""The worst of several attacks: an attacker who may try settings keeps those that bring most back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from uds_bench.attacks.attack import Attack
from uds_bench.attacks.relearn import LR, relearn
from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.errors import CheckpointError, ConfigurationError
from uds_bench.facts import FactSet, encode
from uds_bench.methods.examples import IGNORED, Example, pad
from uds_bench.methods.forward import answer_logits
from uds_bench.methods.objectives import answer_logprobs
from uds_bench.scores import LEAST_LEARNED

RATES, PASSES = (LR, 10 * LR, 100 * LR), (1, 4)
"""The published rate and what is ten and a hundred times as much, for one epoch and for four."""
READ = 16
"""Facts in a batch."""


def comeback(checkpoint: Checkpoint, facts: FactSet) -> tuple[int, float]:
    """How much of some facts a model says, in two numbers that are compared in this order.

    Args:
        checkpoint: The model that is read.
        facts: At least one.

    Returns:
        How many entities it predicts greedily to the last token after question and prefix, 0 to the number of facts.
        And the mean over facts of an entity's log-probability, in nats, at most 0, which tells apart what says as many.
        Higher is more that came back.
    """
    said, logp = 0, []
    with torch.inference_mode():
        for start in range(0, len(facts), READ):
            spans = [encode(fact, checkpoint.tokenizer) for fact in facts[start : start + READ]]
            batch = pad([Example(span.ids[: span.end], span.start) for span in spans]).to(checkpoint.device)
            logits, targets = answer_logits(checkpoint.model, batch)
            said += int(((targets == IGNORED) | (logits.argmax(-1) == targets)).all(1).sum())
            logp += answer_logprobs(logits, targets)[0].tolist()
    return said, sum(logp) / len(logp)


def _apply(
    spec: CheckpointSpec, device: str, facts: FactSet, *, tried: Mapping[float, Sequence[Attack]], name: str
) -> Checkpoint:
    learned = {rate: _proof(attacks[-1], spec, device, facts) for rate, attacks in tried.items()}
    told = {f"{rate:g}": nats for rate, nats in learned.items()}
    # A rate at which nothing is taught brings nothing back: it is no attack, unless there is no other.
    rates = [rate for rate, nats in learned.items() if nats >= LEAST_LEARNED] or list(tried)
    best: tuple[tuple[int, float], Checkpoint] | None = None
    for rate, attack in [(each, attack) for each in rates for attack in tried[each]]:
        try:
            found = attack.apply(spec, device, facts)
        except FloatingPointError:
            continue  # a model trained to pieces tells nothing: an attacker takes another rate
        came = comeback(found, attack.judged(facts))
        if math.isfinite(came[1]) and (best is None or came > best[0]):
            best = came, replace(found, learned={"kept": f"{rate:g}", "nats": told})
    if best is None:
        raise CheckpointError(f"{spec.model}: training diverged at every setting of {name}: give it lower rates (lr)")
    return best[1]


def _proof(attack: Attack, spec: CheckpointSpec, device: str, facts: FactSet) -> float:
    assert attack.proof is not None
    return attack.proof(spec, device, facts)


def worst_relearn(
    lr: Sequence[float] = RATES,
    epochs: Sequence[int] = PASSES,
    share: float = 0.5,
    name: str = "relearn_worst",
    **settings: Any,
) -> Attack:
    """Relearning at every rate for every number of epochs; the model that says most of what is judged is kept.

    The attacker sees what is judged: it is the largest over the grid, and an interval around it does not cover the
    choice. What never knew is searched alike, and what it gains by the choice alone is to be taken off. `settings` as
    of `relearn`. Raises ConfigurationError for an empty grid.
    """
    if not lr or not epochs:
        raise ConfigurationError(f"{name}: lr and epochs need a value each, to be tried")
    tried = {
        rate: [relearn(count, rate, share=share, name=name, **settings) for count in sorted(epochs)] for rate in lr
    }
    first, *_ = next(iter(tried.values()))
    keyed = first.settings | {"lr": list(lr), "epochs": list(epochs)}
    source = "ours, after TamperBench: attacks are searched for their worst case"
    apply = partial(_apply, tried=tried, name=name)
    remark = (
        f"the largest of {len(lr) * len(epochs)} settings, chosen on what is judged: the interval does not cover the "
        "choice"
    )
    return replace(first, version=3, source=source, apply=apply, proof=None, settings=keyed, remark=remark)
