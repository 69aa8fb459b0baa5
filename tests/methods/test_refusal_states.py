"""The search for the state that refuses: each of its terms does what it is for, and without it does not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from edited_students import edit, taught
from tiny_student import Student

from uds_bench.checkpoints import find_anatomy
from uds_bench.inference.hooks import replacing
from uds_bench.methods.alphaedit import _read, find_projections
from uds_bench.methods.examples import pad
from uds_bench.methods.forward import answer_likelihoods
from uds_bench.methods.refusal_states import clamped, questions, refusal_states, value_loss


@pytest.fixture(scope="module")
def pupil() -> Student:
    return taught("llama")


def search(pupil: Student, **settings: Any) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Where the block is, where it should be, and the last loss."""
    model, data = pupil.model, pupil.data
    asked = questions(data.refusals, data.retain, model.device)
    anatomy, method = find_anatomy(model), edit(**settings)
    state, _, _ = _read(model, anatomy, find_projections(model)[1], asked, method.last_layer)
    wanted, loss = refusal_states(model, anatomy, asked, method)
    return state, wanted, loss


def test_from_the_state_that_is_found_refusals_are_likelier(pupil: Student) -> None:
    state, wanted, loss = search(pupil, kl=0.0, weight_decay=0.0)
    batch = pad(pupil.data.refusals)

    def moved(hidden: torch.Tensor) -> torch.Tensor:
        hidden = hidden.clone()
        hidden[:, 4] += wanted - state  # the last token of every question
        return hidden

    with torch.no_grad():
        logp, tokens = answer_likelihoods(pupil.model, batch)
        with replacing(find_anatomy(pupil.model).blocks[1], moved):
            after, _ = answer_likelihoods(pupil.model, batch)
    before = -logp / tokens
    assert ((-after / tokens) < before - 1).all()
    assert float((-after / tokens).mean()) == pytest.approx(loss, abs=0.2), "the loss is that of the refusals"


def test_the_vector_is_no_longer_than_the_clamp_allows(pupil: Student) -> None:
    lengths = {}
    for clamp in (0.1, 0.5, 4.0):
        state, wanted, _ = search(pupil, clamp=clamp)
        lengths[clamp] = (wanted - state).norm(dim=-1) / state.norm(dim=-1)
        assert (lengths[clamp] <= clamp * (1 + 1e-4)).all()
    assert (lengths[0.1] > 0.099).all(), "the search wants further than that"
    assert (lengths[4.0] > 0.5).all()


def test_the_kl_term_holds_what_is_said_elsewhere(pupil: Student) -> None:
    """How far the same vector moves what is said to the kept questions."""

    def drift(kl: float) -> float:
        state, wanted, _ = search(pupil, kl=kl)
        anatomy, batch = find_anatomy(pupil.model), pad(pupil.data.retain)

        def moved(hidden: torch.Tensor) -> torch.Tensor:
            hidden = hidden.clone()
            hidden[:, 4] += wanted - state
            return hidden

        with torch.no_grad():
            before = pupil.model(**batch.inputs()).logits[:, 4].log_softmax(-1)
            with replacing(anatomy.blocks[1], moved):
                after = pupil.model(**batch.inputs()).logits[:, 4].log_softmax(-1)
        return float((after.exp() * (after - before)).sum(-1).mean())

    assert drift(5.0) < 0.5 * drift(0.0)


def test_weight_decay_keeps_the_vector_short(pupil: Student) -> None:
    free, held = (search(pupil, weight_decay=decay) for decay in (0.0, 100.0))
    lengths = [float((wanted - state).norm(dim=-1).mean()) for state, wanted, _ in (free, held)]
    assert lengths[1] < 0.5 * lengths[0]


def test_the_loss_is_read_behind_the_loss_layer(pupil: Student) -> None:
    """Read right behind the edited block, the vector is another."""
    _, last, _ = search(pupil, loss_layer=2)
    _, near, _ = search(pupil, loss_layer=1)
    assert not torch.allclose(last, near, atol=0.1)


def test_items_are_searched_for_one_by_one(pupil: Student) -> None:
    """A batch of them only saves passes."""
    model, data, method = pupil.model, pupil.data, edit(v_steps=5)
    anatomy = find_anatomy(model)
    together, _ = refusal_states(model, anatomy, questions(data.refusals, data.retain, model.device), method)
    for at in range(3):
        asked = questions(data.refusals[at : at + 1], data.retain[at : at + 1], model.device)
        torch.testing.assert_close(
            refusal_states(model, anatomy, asked, method)[0], together[at : at + 1], atol=1e-3, rtol=1e-3
        )


def test_the_loss_is_its_formula() -> None:
    p, q = torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[0.25, 0.5, 0.25]])
    vector, start = torch.tensor([[3.0, 4.0]]), torch.tensor([[6.0, 8.0]])
    kl = 0.5 * torch.log(torch.tensor(2.0)) + 0.25 * torch.log(torch.tensor(0.5))
    wanted = 2.0 + 0.3 * float(kl) + 0.7 * 5 / 100
    found = value_loss(torch.tensor([2.0]), p.log(), q.log(), vector, start, 0.3, 0.7)
    assert found.tolist() == pytest.approx([wanted])
    cut = clamped(torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]]), torch.full((3, 1), 2.5))
    torch.testing.assert_close(cut, torch.tensor([[1.5, 2.0], [0.3, 0.4], [0.0, 0.0]]))
