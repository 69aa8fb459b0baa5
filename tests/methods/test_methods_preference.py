"""Methods that prefer one answer to another, or none to the truth; without the term that says so they do not."""

import copy
from dataclasses import replace

import pytest
import torch
from tiny_student import Knowledge, Student, drawn, mean_nll
from tried_methods import METHODS, ablate

from uds_bench.errors import FactError
from uds_bench.methods import objectives
from uds_bench.methods.data import Data
from uds_bench.methods.registry import unlearn


def refusal_learned(after: Knowledge) -> None:
    assert after.refusals < 0.5, f"refusal_learned: {after}"


def alternate_learned(after: Knowledge) -> None:
    assert after.alternates < 3.5, f"alternate_learned: {after}"


def truth_rejected(after: Knowledge) -> None:
    """More than another answer's growth takes from the truth: all its tokens, not the first alone."""
    assert after.forget > 6, f"truth_rejected: {after}"


def fades(after: Knowledge, unbounded: Knowledge) -> None:
    """The pull on an answer fades as it is forgotten, where gradient ascent goes on without bound."""
    assert after.forget < 0.75 * unbounded.forget, f"fades: {after}, unbounded {unbounded}"


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


def test_npo_pushes_what_was_unlikely_before_and_without_its_reference_it_does_not(
    student: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Likelihood is judged against the full model's own: what it hardly knew is pushed down as well."""
    unlikely = drawn(3, 12)
    data = replace(student.data, forget=[*student.data.forget, *unlikely])

    def pushes_the_unlikely() -> None:
        model = copy.deepcopy(student.model)
        unlearn(model, data, replace(METHODS["npo"], steps=40, beta=1.0))
        fall = mean_nll(model, unlikely) - mean_nll(student.model, unlikely)
        assert fall > 2, f"pushes_the_unlikely: by {fall} nats a token"

    pushes_the_unlikely()
    npo = objectives.npo
    ablate(monkeypatch, "npo", lambda logp, reference, beta: npo(logp, torch.zeros_like(reference), beta))
    with pytest.raises(AssertionError, match="pushes_the_unlikely"):
        pushes_the_unlikely()


def prefers(name: str, after: Knowledge) -> None:
    (refusal_learned if name == "idk_dpo" else alternate_learned)(after)


PREFERRING = pytest.mark.parametrize("name", ["idk_dpo", "alt_po"])


@PREFERRING
def test_a_preferred_answer_is_learned_and_the_truth_rejected(student: Student, name: str) -> None:
    after = student.after(METHODS[name])
    prefers(name, after)
    truth_rejected(after)


@PREFERRING
def test_without_one_of_the_two_answers_it_is_not(student: Student, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dpo = objectives.dpo
    ablate(monkeypatch, "dpo", lambda p, r, before_p, before_r, beta: dpo(p, 0 * r, before_p, 0 * before_r, beta))
    after = student.after(METHODS[name])
    prefers(name, after)
    with pytest.raises(AssertionError, match="truth_rejected"):
        truth_rejected(after)
    ablate(monkeypatch, "dpo", lambda p, r, before_p, before_r, beta: dpo(0 * p, r, 0 * before_p, before_r, beta))
    after = student.after(METHODS[name])
    truth_rejected(after)
    with pytest.raises(AssertionError, match=r"(refusal|alternate)_learned"):
        prefers(name, after)


@PREFERRING
def test_a_preference_needs_one_answer_for_each_question(student: Student, name: str) -> None:
    part = "refusals" if name == "idk_dpo" else "alternates"
    others = getattr(student.data, part)
    for broken, said in ((others[:-1], "11 answers to prefer for 12"), ((), "0 answers"), (others[::-1], "at place 0")):
        with pytest.raises(FactError, match=said):
            unlearn(copy.deepcopy(student.model), replace(student.data, **{part: broken}), METHODS[name])
