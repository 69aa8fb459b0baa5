"""Each method forgets and keeps the rest on a real model; without its forget or its retain term it does not.

The methods' own settings take the terms away: gamma 0 drops the forget term, alpha 0 the retain term. What else defines
a method is taken away in the tests of preference and steering.
"""

import copy
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from tiny_student import Student
from tried_methods import ASCENT, METHODS, ablate, forget_forgotten, retain_kept

from uds_bench.methods import objectives, training
from uds_bench.methods.examples import pad
from uds_bench.methods.forward import answer_likelihoods, answer_logits
from uds_bench.methods.method import Method
from uds_bench.methods.registry import METHODS as ALL
from uds_bench.methods.registry import unlearn


def test_every_method_is_tested() -> None:
    assert {*METHODS, "grad_ascent", "alphaedit"} == set(ALL), "alphaedit trains nothing and has tests of its own"


def test_the_student_knows_what_it_is_to_forget(student: Student) -> None:
    known = student.measure(student.model)
    assert known.forget < 0.05
    assert known.retain < 0.05
    assert known.refusals > 3
    assert known.alternates > 6


@pytest.mark.parametrize("name", METHODS)
def test_a_method_forgets_and_keeps_the_rest(student: Student, name: str) -> None:
    after = student.after(METHODS[name])
    forget_forgotten(after)
    retain_kept(after)


@pytest.mark.parametrize("name", METHODS)
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


@pytest.mark.parametrize("name", METHODS)
def test_a_large_model_comes_to_the_same_weights_in_less_memory(
    student: Student, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is computed anew is what was kept; twice as many blocks are passed, where there is a backward pass."""
    how, passed = replace(METHODS[name], steps=3), []
    inner = type(student.model.model.layers[0].mlp)
    monkeypatch.setattr(inner, "forward", _counted(inner.forward, passed))
    kept = student.unlearned(how)
    once = len(passed)
    monkeypatch.setattr(training, "LARGE", 0)
    anew = student.unlearned(how)
    assert len(passed) - once > once
    assert all(torch.equal(*pair) for pair in zip(kept.parameters(), anew.parameters(), strict=True))
    assert not any("forward" in vars(one) for one in anew.model.layers)


def _counted(forward: Any, passed: list[None]) -> Any:
    def counting(*given: Any, **named: Any) -> Any:
        passed.append(None)
        return forward(*given, **named)

    return counting


def test_ascent_forgets_and_without_its_sign_it_does_not(student: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_forgotten(student.after(ASCENT))
    ablate(monkeypatch, "grad_ascent", objectives.nll)
    with pytest.raises(AssertionError, match="forget_forgotten"):
        forget_forgotten(student.after(ASCENT))


def test_ascent_has_no_retain_term_and_reads_no_retain_data(student: Student) -> None:
    alone = student.unlearned(replace(METHODS["grad_diff"], alpha=0.0))
    for data in (student.data, replace(student.data, retain=())):
        model = copy.deepcopy(student.model)
        unlearn(model, data, ASCENT)
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), alone.parameters(), strict=True))
    with pytest.raises(AssertionError, match="retain_kept"):
        retain_kept(student.after(ASCENT))


def first_loss(student: Student, method: Method) -> float:
    return unlearn(copy.deepcopy(student.model), student.data, replace(method, steps=1, batch_size=99))[0]


def test_the_first_loss_is_the_formula_on_the_untouched_model(student: Student) -> None:
    """One batch of everything: each method's own term, plus alpha times the retain term."""
    data, known = student.data, student.measure(student.model)
    batch = pad(data.forget)
    with torch.no_grad():
        logp, tokens = answer_likelihoods(student.model, batch)
        logits, targets = answer_logits(student.model, batch)
    mean = [math.log(1 + math.exp(4.5 * float(p) / int(n))) for p, n in zip(logp, tokens, strict=True)]
    own = {
        "grad_diff": -known.forget,
        "npo": 2 / 0.1 * math.log(2),  # the reference is the model itself, frozen before the first step
        "simnpo": 2 / 4.5 * sum(mean) / len(mean),
        "idk_nll": known.refusals,
        "idk_dpo": 2 / 0.1 * math.log(2),
        "alt_po": 2 / 0.1 * math.log(2),
        "undial": float(objectives.undial(logits, logits, targets, 10.0)),
    }
    for name, term in own.items():
        for gamma, alpha in ((1.0, 1.0), (0.5, 3.0)):
            wanted = gamma * term + alpha * known.retain
            observed = first_loss(student, replace(METHODS[name], gamma=gamma, alpha=alpha))
            assert observed == pytest.approx(wanted, rel=1e-4, abs=1e-6), (name, gamma, alpha)
    # RMU's retain term is its own, and 0 where nothing has moved yet.
    assert first_loss(student, replace(METHODS["rmu"], gamma=0.0)) == pytest.approx(0, abs=1e-9)


def test_lacunas_simnpo_starts_at_its_formula(student: Student) -> None:
    """Sharpness, length and margin all tell in the loss, beside gamma and alpha."""
    with torch.no_grad():
        logp, tokens = answer_likelihoods(student.model, pad(student.data.forget))
    each = [2 / 10 * math.log(1 + math.exp(10 * float(p) / int(n) + 1.5)) for p, n in zip(logp, tokens, strict=True)]
    known = student.measure(student.model)
    method = replace(METHODS["simnpo"], gamma=3.0, alpha=0.5, beta=10.0, delta=1.5)
    wanted = 3.0 * sum(each) / len(each) + 0.5 * known.retain
    assert first_loss(student, method) == pytest.approx(wanted, rel=1e-4)


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
