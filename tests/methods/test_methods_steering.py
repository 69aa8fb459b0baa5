"""Methods that show the model where to go, RMU its hidden states and UNDIAL its chances; without a term it does not."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tiny_student import Knowledge, Student
from tried_methods import METHODS, SCALE, ablate, forget_forgotten

from uds_bench.checkpoints import find_anatomy
from uds_bench.errors import ConfigurationError
from uds_bench.methods import objectives
from uds_bench.methods.examples import pad
from uds_bench.methods.forward import answer_states


def settles(after: Knowledge, longer: Knowledge) -> None:
    """Twice the steps leave the model about where it was: there is an end to reach."""
    assert longer.forget < after.forget + 1, f"settles: {after}, then {longer}"


def test_undial_forgets_and_with_nothing_taken_from_the_true_token_it_does_not(
    student: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_forgotten(student.after(METHODS["undial"]))
    undial = objectives.undial
    ablate(monkeypatch, "undial", lambda logits, teacher, targets, beta: undial(logits, teacher, targets, 0.0))
    with pytest.raises(AssertionError, match="forget_forgotten"):
        forget_forgotten(student.after(METHODS["undial"]))


def test_undial_settles_where_ascent_goes_on(student: Student) -> None:
    """Its target is the frozen teacher's: were the teacher the student itself, each step would move it on."""
    longer = replace(METHODS["undial"], steps=80)
    settles(student.after(METHODS["undial"]), student.after(longer))
    ascent = METHODS["grad_diff"]
    with pytest.raises(AssertionError, match="settles"):
        settles(student.after(replace(ascent, steps=40)), student.after(replace(ascent, steps=80)))


def moves(student: Student, model: Any) -> tuple[float, float]:
    """Mean shift of the hidden states along the way that RMU shows, in units of it: of forget and retain answers.

    1 is where RMU wants them to be.
    """
    drawn_target = torch.rand(32, generator=torch.Generator().manual_seed(0))
    direction = drawn_target / drawn_target.norm()
    shares = []
    for examples in (student.data.forget, student.data.retain):
        with torch.no_grad():
            now, scored = answer_states(model, find_anatomy(model).blocks[0], pad(examples))
            before, _ = answer_states(student.model, find_anatomy(student.model).blocks[0], pad(examples))
        start = (before @ direction)[scored].mean()
        shares.append(float(((now @ direction)[scored].mean() - start) / (SCALE - start)))
    return shares[0], shares[1]


def states_steered(shares: tuple[float, float]) -> None:
    assert shares[0] > 0.8, f"states_steered: {shares}"


def states_kept(shares: tuple[float, float]) -> None:
    assert abs(shares[1]) < 0.1, f"states_kept: {shares}"


def test_rmu_steers_forget_states_and_keeps_the_others_and_without_a_term_it_does_not(student: Student) -> None:
    shares = moves(student, student.unlearned(METHODS["rmu"]))
    states_steered(shares)
    states_kept(shares)
    shares = moves(student, student.unlearned(replace(METHODS["rmu"], gamma=0.0)))
    states_kept(shares)
    with pytest.raises(AssertionError, match="states_steered"):
        states_steered(shares)
    shares = moves(student, student.unlearned(replace(METHODS["rmu"], alpha=0.0)))
    states_steered(shares)
    with pytest.raises(AssertionError, match="states_kept"):
        states_kept(shares)


def test_rmu_leaves_what_is_above_its_layer_as_it_was(student: Student) -> None:
    model = student.unlearned(METHODS["rmu"])
    assert torch.equal(model.lm_head.weight, student.model.lm_head.weight)
    assert torch.equal(model.model.norm.weight, student.model.model.norm.weight)


def test_rmu_names_the_layers_that_there_are(student: Student) -> None:
    with pytest.raises(ConfigurationError, match="layer = 1, but the model has 1 blocks: choose from 0 to 0"):
        student.after(replace(METHODS["rmu"], layer=1))
