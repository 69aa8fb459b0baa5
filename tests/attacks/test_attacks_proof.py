"""How much an attack teaches a model about people whom nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch

from uds_bench.attacks import ATTACKS, find_attack
from uds_bench.attacks.proof import PEOPLE, lessons_about_nobody, surprise
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.facts import FactSet, embedded
from uds_bench.methods.examples import epochs
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.training import Optimisation, train

Family = Callable[[str], CheckpointSpec]


def test_surprise_is_the_mean_over_answers_of_their_tokens(family: Family) -> None:
    checkpoint = load(family("llama"))
    both = lessons_about_nobody(checkpoint.tokenizer, "a", embedded().date_string)
    assert len(both[0]) == len(both[1]) == 8 * PEOPLE
    slow = []
    for one in both[0]:
        with torch.no_grad():
            logp = checkpoint.model(torch.tensor([one.ids])).logits.double().log_softmax(-1)[0]
        slow.append(
            -sum(logp[at - 1, one.ids[at]] for at in range(one.prompt_length, len(one)))
            / (len(one) - one.prompt_length)
        )
    assert surprise(checkpoint.model, both[0]) == pytest.approx(float(sum(slow) / len(slow)), rel=1e-5)


def test_it_is_how_much_likelier_each_half_is_where_it_was_taught(family: Family, forget: FactSet) -> None:
    """And not how likely either was: against a loop of its own."""
    spec, attack = family("llama"), find_attack("relearn", lr=1e-3, batch_size=16)
    checkpoint = load(spec)
    halves = lessons_about_nobody(checkpoint.tokenizer, checkpoint.digest, forget.date_string)
    after = []
    for half in halves:
        model = load(spec).model
        batches = epochs(half, 16, 9, torch.Generator().manual_seed(0))
        train(model, batches, answer_nll, Optimisation(1e-3), min(-(-len(forget) // 16), 16), dropout=False)
        after.append([surprise(model, each) for each in halves])
    (one_one, one_other), (other_one, other_other) = after
    assert attack.proof is not None
    found = attack.proof(spec, "cpu", forget)
    assert found == pytest.approx(((other_one - one_one) + (one_other - other_other)) / 2, abs=1e-6)
    assert found > 0


def test_people_are_drawn_by_the_model_that_is_taught(family: Family) -> None:
    tokenizer = load(family("llama")).tokenizer
    draw = partial(lessons_about_nobody, tokenizer, date="01 Jan 2025")
    assert draw("a") == draw("a")
    assert draw("a") != draw("b")


def test_who_teaches_proves_it(family: Family, forget: FactSet) -> None:
    teaching = {name for name in ATTACKS if name.startswith("relearn")}
    for name in ATTACKS.keys() - {"own_questions", "relearn_worst"}:
        assert (find_attack(name).proof is not None) == (name in teaching), name
    spec = family("llama")
    half = {rate: find_attack("relearn_half", lr=rate, epochs=2).proof for rate in (1e-3, 1e-5)}
    nats = {f"{rate:g}": proof(spec, "cpu", forget) for rate, proof in half.items() if proof is not None}
    kept = find_attack("relearn_worst", lr=(1e-3, 1e-5, 1e30), epochs=(2, 1)).apply(spec, "cpu", forget).learned
    assert kept is not None
    assert kept["nats"] == {**nats, "1e+30": 0.0}, "by the larger number of epochs; one rate diverges"
    assert kept["kept"] in nats
