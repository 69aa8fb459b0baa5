"""Each method does what it is for on a real model, and stops doing it when its defining term is taken away.

The methods' own settings take the terms away: gamma 0 drops the forget term, alpha 0 the retain term, and a beta
near 0 turns NPO and SimNPO into plain gradient ascent.
"""

import copy
import math
from dataclasses import replace

import pytest
import torch
from tiny_student import Knowledge, Student

from uds_bench.methods.examples import pad
from uds_bench.methods.forward import answer_logits
from uds_bench.methods.objectives import answer_logprobs
from uds_bench.methods.unlearning import Data, Method, unlearn

METHODS = {
    "grad_diff": Method("grad_diff", steps=20, lr=3e-3, batch_size=8),
    "npo": Method("npo", steps=20, lr=3e-3, batch_size=8, beta=0.1),
    "simnpo": Method("simnpo", steps=20, lr=3e-3, batch_size=8, beta=4.5),
    "idk_nll": Method("idk_nll", steps=20, lr=3e-3, batch_size=8),
}


def forget_forgotten(after: Knowledge) -> None:
    assert after.forget > 1.5, f"forget_forgotten: {after}"


def retain_kept(after: Knowledge) -> None:
    assert after.retain < 0.5, f"retain_kept: {after}"


def refusal_learned(after: Knowledge) -> None:
    assert after.refusals < 0.5, f"refusal_learned: {after}"


def fades(after: Knowledge, unbounded: Knowledge) -> None:
    """The pull on an answer fades as it is forgotten, where gradient ascent goes on without bound."""
    assert after.forget < 0.75 * unbounded.forget, f"fades: {after}, unbounded {unbounded}"


def test_the_student_knows_what_it_is_to_forget(student: Student) -> None:
    known = student.measure(student.model)
    assert known.forget < 0.05
    assert known.retain < 0.05
    assert known.refusals > 3


@pytest.mark.parametrize("name", METHODS)
def test_a_method_forgets_and_keeps_the_rest(student: Student, name: str) -> None:
    after = student.after(METHODS[name])
    forget_forgotten(after)
    retain_kept(after)


@pytest.mark.parametrize("name", ["grad_diff", "npo", "simnpo"])
def test_without_the_forget_term_nothing_is_forgotten(student: Student, name: str) -> None:
    after = student.after(replace(METHODS[name], gamma=0.0))
    retain_kept(after)
    with pytest.raises(AssertionError, match="forget_forgotten"):
        forget_forgotten(after)


@pytest.mark.parametrize("name", METHODS)
def test_without_the_retain_term_the_rest_is_lost(student: Student, name: str) -> None:
    after = student.after(replace(METHODS[name], alpha=0.0))
    forget_forgotten(after)
    with pytest.raises(AssertionError, match="retain_kept"):
        retain_kept(after)


def test_idk_learns_the_refusals_and_without_its_term_it_does_not(student: Student) -> None:
    refusal_learned(student.after(METHODS["idk_nll"]))
    with pytest.raises(AssertionError, match="refusal_learned"):
        refusal_learned(student.after(replace(METHODS["idk_nll"], gamma=0.0)))


def test_idk_trains_on_refusals_and_on_nothing_that_is_to_be_forgotten(student: Student) -> None:
    """Were the forget answers among its targets, they would be known better still."""
    unseen = Data(forget=(), retain=student.data.retain, refusals=student.data.refusals)
    model = copy.deepcopy(student.model)
    unlearn(model, unseen, METHODS["idk_nll"])
    assert student.measure(model) == student.after(METHODS["idk_nll"])


@pytest.mark.parametrize("name", ["npo", "simnpo"])
def test_a_preference_method_fades_and_without_its_weight_it_does_not(student: Student, name: str) -> None:
    steps = 60
    unbounded = student.after(replace(METHODS["grad_diff"], steps=steps))
    fades(student.after(replace(METHODS[name], steps=steps)), unbounded)
    with pytest.raises(AssertionError, match="fades"):
        fades(student.after(replace(METHODS[name], steps=steps, beta=1e-6)), unbounded)


def first_loss(student: Student, method: Method) -> float:
    return unlearn(copy.deepcopy(student.model), student.data, replace(method, steps=1, batch_size=99))[0]


def test_the_first_loss_is_the_formula_on_the_untouched_model(student: Student) -> None:
    """One batch of everything: each method's own term, plus alpha times the retain term."""
    data, known = student.data, student.measure(student.model)
    batch = pad(data.forget)
    with torch.no_grad():
        logp, tokens = answer_logprobs(*answer_logits(student.model, batch))
    mean = [math.log(1 + math.exp(4.5 * float(p) / int(n))) for p, n in zip(logp, tokens, strict=True)]
    own = {
        "grad_diff": -known.forget,
        "npo": 2 / 0.1 * math.log(2),  # the reference is the model itself, frozen before the first step
        "simnpo": 2 / 4.5 * sum(mean) / len(mean),
        "idk_nll": known.refusals,
    }
    for name, term in own.items():
        for gamma, alpha in ((1.0, 1.0), (0.5, 3.0)):
            wanted = gamma * term + alpha * known.retain
            observed = first_loss(student, replace(METHODS[name], gamma=gamma, alpha=alpha))
            assert observed == pytest.approx(wanted, rel=1e-4, abs=1e-6), (name, gamma, alpha)


def test_identity_changes_nothing(student: Student) -> None:
    model = copy.deepcopy(student.model)
    assert unlearn(model, student.data, Method("identity", steps=5, lr=1.0)) == []
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), student.model.parameters(), strict=True))


def test_the_seed_decides_the_batches(student: Student) -> None:
    method = METHODS["npo"]
    assert student.after(method) == student.after(method)
    assert student.after(method) != student.after(replace(method, seed=1))


def test_losses_are_told_step_by_step(student: Student) -> None:
    told: list[tuple[int, float]] = []
    losses = unlearn(copy.deepcopy(student.model), student.data, METHODS["npo"], lambda *step: told.append(step))
    assert told == list(enumerate(losses, 1))
    assert len(losses) == METHODS["npo"].steps


@pytest.mark.parametrize("part", ["forget", "retain"])
def test_an_empty_part_is_an_error_and_not_an_endless_wait(student: Student, part: str) -> None:
    with pytest.raises(ValueError, match="cannot draw batches of 8 from 0 examples"):
        unlearn(copy.deepcopy(student.model), replace(student.data, **{part: ()}), METHODS["npo"])
