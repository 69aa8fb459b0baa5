"""The worst over a grid of relearning is the model that says most, found by trying each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import pytest
import torch

from uds_bench.attacks import find_attack
from uds_bench.attacks.relearn import relearn
from uds_bench.attacks.worst_case import comeback
from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.errors import CheckpointError, ConfigurationError
from uds_bench.facts import FactSet, embedded, encode

Family = Callable[[str], CheckpointSpec]
FACTS = embedded(forget=4, retain=0, holdout=0)
RATES, PASSES = (1e-5, 3e-3), (1, 6)


def slow_comeback(checkpoint: Checkpoint, facts: FactSet) -> tuple[int, float]:
    """One fact and one token at a time, the text as it stands before it."""
    said, total = 0, 0.0
    for fact in facts:
        span = encode(fact, checkpoint.tokenizer)
        right = True
        for at in range(span.start, span.end):
            with torch.no_grad():
                logits = checkpoint.model(torch.tensor([span.ids[:at]])).logits[0, -1].double()
            right = right and int(logits.argmax()) == span.ids[at]
            total += float(logits[span.ids[at]] - logits.logsumexp(0))
        said += right
    return said, total / len(facts)


def test_what_comes_back_as_by_hand(family: Family) -> None:
    attacked = relearn(12, 3e-3, batch_size=4).apply(family("llama"), "cpu", FACTS)
    (said, logp), slow = comeback(attacked, FACTS), slow_comeback(attacked, FACTS)
    assert 0 < said < len(FACTS)
    assert said == slow[0]
    assert logp == pytest.approx(slow[1], abs=1e-4)


def test_a_token_that_is_never_said_is_no_reason_to_pass_a_model_over(family: Family) -> None:
    """Entities of a batch differ in length, and where the shorter ones are padded nothing is scored."""
    attacked = relearn(12, 3e-3, batch_size=4).apply(family("llama"), "cpu", FACTS)
    head, never = attacked.model.get_output_embeddings(), 0
    spans = [encode(fact, attacked.tokenizer) for fact in FACTS]
    assert len({span.end - span.start for span in spans}) > 1
    assert not any(never in span.ids for span in spans)
    head.bias = torch.nn.Parameter(torch.zeros(head.out_features).index_fill(0, torch.tensor([never]), -torch.inf))
    assert comeback(attacked, FACTS) == pytest.approx(slow_comeback(attacked, FACTS), abs=1e-4)


def test_the_worst_is_kept(family: Family) -> None:
    spec, judged = family("llama"), find_attack("relearn_worst").judged(FACTS)
    each = {
        (rate, count): slow_comeback(relearn(count, rate, share=0.5).apply(spec, "cpu", FACTS), judged)
        for rate, count in product(RATES, PASSES)
    }
    assert len(set(each.values())) == 4
    worst = find_attack("relearn_worst", lr=RATES, epochs=PASSES).apply(spec, "cpu", FACTS)
    rate, count = max(each, key=lambda place: each[place])
    plain = relearn(count, rate, share=0.5).apply(spec, "cpu", FACTS)
    pairs = zip(worst.model.state_dict().values(), plain.model.state_dict().values(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


@pytest.mark.parametrize("batch_size", [4, 64])
def test_a_rate_at_which_training_diverges_is_passed_over_and_all_of_them_are_told(
    batch_size: int, family: Family
) -> None:
    """With one step it is the model that came out which gives no numbers, and not the training."""
    spec, tried = family("llama"), {"epochs": (1,), "batch_size": batch_size}
    both = find_attack("relearn_worst", lr=(1e30, 1e-3), **tried).apply(spec, "cpu", FACTS)
    assert all(bool(p.isfinite().all()) for p in both.model.parameters())
    with pytest.raises(CheckpointError, match=r"diverged at every setting of relearn_worst: give it lower rates"):
        find_attack("relearn_worst", lr=(1e30,), **tried).apply(spec, "cpu", FACTS)


@pytest.mark.parametrize("change", [{"lr": (1e-3,)}, {"epochs": (1,)}, {"share": 0.25}, {"batch_size": 8}, {"rank": 4}])
def test_the_grid_is_in_the_key_and_in_the_record(change: dict[str, Sequence[float]]) -> None:
    plain, changed = find_attack("relearn_worst"), find_attack("relearn_worst", **change)
    assert plain.key != changed.key
    assert plain.settings["lr"] == [2e-5, 2e-4, 2e-3]
    assert {
        key: value for key, value in changed.settings.items() if plain.settings[key] != value
    }.keys() == change.keys()


@pytest.mark.parametrize("key", ["lr", "epochs"])
def test_an_empty_grid_is_refused(key: str) -> None:
    with pytest.raises(ConfigurationError, match="need a value each"):
        find_attack("relearn_worst", **{key: ()})
