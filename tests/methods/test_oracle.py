"""Unlearning within a mask: what moves is inside, also where the optimizer decays weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from small_models import fresh_model
from test_injection import GROUPS, VOCABULARY, example, masks_of, state

from uds_bench.checkpoints.masks import Masks
from uds_bench.errors import CheckpointError
from uds_bench.methods import Method, unlearn
from uds_bench.methods.data import Data
from uds_bench.methods.examples import pad
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.oracle import within
from uds_bench.methods.training import Optimisation, train

DATA = Data(forget=[example(at) for at in range(4)], retain=[example(at) for at in range(4, 8)], refusals=())


def moved(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor], masks: Masks, group: str) -> tuple[int, int]:
    """Weights that moved within a group's mask, and outside."""
    changed = {name: after[name] != weights for name, weights in before.items()}
    inside = sum(int(changed[name][masks.of(name, group)].sum()) for name in masks.words)
    return inside, sum(int(each.sum()) for each in changed.values()) - inside


def test_unlearning_moves_what_the_mask_holds_and_nothing_else(model: Any) -> None:
    masks, before = masks_of(model), state(model)
    said = float(answer_nll(model, pad(DATA.forget)).detach())
    with within(model, masks, "a"):
        unlearn(model, DATA, Method("grad_diff", steps=6, lr=1e-2, batch_size=4))
    assert moved(before, state(model), masks, "a") == (masks.sizes()["a"], 0)
    assert float(answer_nll(model, pad(DATA.forget)).detach()) > said, "it does unlearn"


def test_on_the_way_nothing_outside_moves_or_has_a_gradient(model: Any) -> None:
    """Were it only put back at the end, the mask's own weights would have learned beside others that moved, from
    gradients that were clipped together with theirs."""
    masks, before, seen = masks_of(model), state(model), []

    def look(_step: int, _loss: float) -> None:
        gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None and p.requires_grad}
        outside = sum(int(grad[~masks.of(name, "a")].count_nonzero()) for name, grad in gradients.items())
        seen.append((moved(before, state(model), masks, "a")[1], outside))

    with within(model, masks, "a"):
        unlearn(model, DATA, Method("grad_diff", steps=3, lr=1e-2, batch_size=4), look)
    assert seen == [(0, 0)] * 3


def test_weight_decay_moves_nothing_outside(model: Any) -> None:
    masks, before = masks_of(model), state(model)
    with within(model, masks, "a"):
        train(model, [pad(DATA.forget)] * 3, answer_nll, Optimisation(1e-2, weight_decay=0.5), 3)
    inside, outside = moved(before, state(model), masks, "a")
    assert inside == masks.sizes()["a"]
    assert outside == 0


def test_without_the_oracle_everything_moves(model: Any) -> None:
    """What would be seen if nothing was restricted."""
    masks, before = masks_of(model), state(model)
    unlearn(model, DATA, Method("grad_diff", steps=2, lr=1e-2, batch_size=4))
    assert moved(before, state(model), masks, "a")[1] > 10 * masks.sizes()["a"]


def test_what_was_restricted_is_free_again(model: Any) -> None:
    masks = masks_of(model)
    with within(model, masks, "a"):
        pass
    before = state(model)
    model.requires_grad_(True)
    train(model, [pad(DATA.forget)], answer_nll, Optimisation(1e-2), 1)
    assert moved(before, state(model), masks, "a")[1] > 0


def test_several_groups_are_one_mask(model: Any) -> None:
    masks, before = masks_of(model), state(model)
    with within(model, masks, *(group.name for group in GROUPS[:2])):
        unlearn(model, DATA, Method("grad_ascent", steps=1, lr=1e-2, batch_size=4))
    after = state(model)
    assert [moved(before, after, masks, group.name)[0] for group in GROUPS] == [*[masks.sizes()["a"]] * 2, 0]


def test_masks_of_another_model_are_refused(model: Any) -> None:
    other = fresh_model(VOCABULARY, layers=3, width=32)
    with pytest.raises(CheckpointError, match="draw masks for this one"), within(other, masks_of(model), "a"):
        pass
