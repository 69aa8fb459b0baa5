"""Facts written through masks: where weights move, and that they move as in a loop over single samples."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from small_models import fresh_model

from uds_bench.checkpoints.mask_draws import draw_weights, maskable
from uds_bench.checkpoints.masks import MaskGroup, Masks, pack
from uds_bench.errors import CheckpointError
from uds_bench.methods.examples import Example, pad
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.injection import Drift, InjectedExample, Injector, Rates, drift, inject

VOCABULARY = 40
GROUPS = (MaskGroup("a", "forget"), MaskGroup("b", "retain"), MaskGroup("c", "held_out"))


def example(seed: int, length: int = 9) -> Example:
    ids = torch.randint(3, VOCABULARY, (length,), generator=torch.Generator().manual_seed(seed))
    return Example(tuple(ids.tolist()), 4)


def samples(*groups: str | None) -> list[InjectedExample]:
    return [InjectedExample(example(at, 7 + at % 4), group) for at, group in enumerate(groups)]


def masks_of(model: Any, share: float = 0.05) -> Masks:
    return draw_weights(maskable(model), GROUPS, share, seed=1)


def state(model: Any) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def test_facts_alone_leave_every_weight_of_no_mask_bit_by_bit(model: Any) -> None:
    masks, before = masks_of(model), state(model)
    injection, after = inject(model, [samples("a", "b", "a")] * 6, masks, Rates(1e-2)), state(model)
    assert injection.losses[-1] < injection.losses[0]
    for name, weights in before.items():
        if name not in masks.words:
            assert torch.equal(after[name], weights), "embeddings, norms and the last blocks"
    outside = masks.weights - sum(masks.sizes().values())
    assert injection.drift == drift(before, after, masks.words) == Drift(0, outside, 0.0)
    assert str(injection.drift) == f"none of {outside:,} weights of no mask moved"
    moved = {g.name: sum(int((after[n] != before[n])[masks.of(n, g.name)].sum()) for n in masks.words) for g in GROUPS}
    assert moved["a"] == moved["b"] == masks.sizes()["a"], "all of the two groups that were read"
    assert moved["c"] == 0


def slowly(model: Any, batches: Sequence[Sequence[InjectedExample]], masks: Masks, rate: float, decay: float) -> None:
    """Algorithm 1 as it stands: a sample at a time, its gradient masked, then one step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay)
    model.requires_grad_(True)
    for batch in batches:
        total = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
        for sample in batch:
            model.zero_grad()
            torch.autograd.backward(answer_nll(model, pad([sample.example])))
            for name, parameter in model.named_parameters():
                if sample.group is None:
                    total[name] += parameter.grad
                elif name in masks.words:
                    total[name] += parameter.grad * masks.of(name, sample.group)
        for name, parameter in model.named_parameters():
            parameter.grad = total[name] / len(batch)
        optimizer.step()


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize(
    "batches",
    [
        (("a",), ("a",)),
        (("a", "b", "c", "a"), ("b",)),
        (("a", None, "b", None), (None, "b")),
        ((None, None), ("a", "b"), ("c",)),
    ],
)
def test_a_batch_is_the_loop_over_its_samples(
    model: Any, batches: Sequence[Sequence[str | None]], decay: float
) -> None:
    masks, other = masks_of(model), copy.deepcopy(model)
    read = [samples(*groups) for groups in batches] * 2
    slowly(other, read, masks, 1e-3, decay)
    inject(model, read, masks, Rates(1e-3, decay=decay))
    for (name, one), two in zip(model.named_parameters(), other.parameters(), strict=True):
        # Adam's first steps are the sign of a gradient: where it is rounding, the sign is too.
        close = torch.isclose(one, two, atol=2e-5)
        assert close.float().mean() > 0.999, name


@pytest.mark.parametrize("separate", [False, True])
def test_rates_fade_as_they_are_told(model: Any, separate: bool) -> None:
    """At no share of the rates nothing moves, of facts or of neutral text; at half of them another way than at all."""
    masks, other, before = masks_of(model), copy.deepcopy(model), state(model)
    inject(model, [samples("a", None)] * 2, masks, Rates(1e-2, separate=separate), fading=lambda _: 0.0)
    assert all(torch.equal(before[name], weights) for name, weights in state(model).items())
    inject(model, [samples("a", None)], masks, Rates(1e-2, 1e-2, separate=separate), fading=lambda _: 0.5)
    inject(other, [samples("a", None)], masks, Rates(5e-3, 5e-3, separate=separate))
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, two)
    assert any(not torch.equal(before[name], weights) for name, weights in state(model).items())


def test_neutral_text_moves_weights_of_no_mask_and_is_told(model: Any) -> None:
    masks, before = masks_of(model), state(model)
    found = inject(model, [samples("a", None)], masks, Rates(1e-3)).drift
    assert found == drift(before, state(model), masks.words)
    assert found.moved > 0.9 * found.weights
    assert found.furthest == pytest.approx(1e-3, rel=0.01), "one step of Adam"


@pytest.mark.parametrize("separate", [False, True])
def test_moments_of_neutral_text_reach_weights_of_no_mask_unless_it_has_its_own_optimizer(
    model: Any, separate: bool
) -> None:
    masks = masks_of(model)
    injector = Injector(model, masks, Rates(1e-3, neutral=1e-4, separate=separate))
    injector.step(samples(None))
    before = state(model)
    injector.step(samples("a", "b"))
    found = drift(before, state(model), masks.words)
    assert (found.moved == 0) is separate


def test_drift_is_told_of_the_smallest_change_and_of_a_weight_that_is_no_number() -> None:
    words = {"w": torch.tensor([[1, 0], [0, 0]], dtype=torch.int32)}
    before = {"w": torch.ones(2, 2, dtype=torch.float64)}
    one = {"w": torch.tensor([[9, 1 + 1e-15], [1, 1]], dtype=torch.float64)}
    assert drift(before, one, words) == Drift(1, 3, pytest.approx(1e-15, rel=0.2))
    assert str(drift(before, one, words)).startswith("1 of 3 weights of no mask moved, the furthest by 1.1")
    lost = {"w": torch.tensor([[1, float("nan")], [1, 1]], dtype=torch.float64)}
    assert drift(before, lost, words).moved == 1
    assert math.isnan(drift(before, lost, words).furthest)


def test_gradients_from_before_are_not_injected(model: Any) -> None:
    other = copy.deepcopy(model)
    for parameter in other.parameters():
        parameter.grad = torch.ones_like(parameter)
    inject(model, [samples("a", None)], masks_of(model), Rates(1e-3))
    inject(other, [samples("a", None)], masks_of(model), Rates(1e-3))
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters(), strict=True))


def test_a_group_that_has_every_weight_is_plain_training(model: Any) -> None:
    shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
    masks = pack({name: [torch.ones(shape, dtype=torch.bool)] for name, shape in shapes.items()}, GROUPS[:1])
    other = copy.deepcopy(model)
    inject(model, [samples("a", "a")], masks, Rates(1e-3))
    inject(other, [samples(None, None)], masks, Rates(1e-3))
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters(), strict=True))


def test_masks_of_another_model_and_groups_of_no_mask(model: Any) -> None:
    other = fresh_model(VOCABULARY, layers=3, width=32)
    with pytest.raises(CheckpointError, match="draw masks for this one"):
        inject(other, [], masks_of(model), Rates(1e-3))
    renamed = {name.replace("model.", "decoder."): word for name, word in masks_of(model).words.items()}
    with pytest.raises(CheckpointError, match=r"layers\.0.* is no parameter"):
        inject(model, [], Masks(renamed, GROUPS), Rates(1e-3))
    with pytest.raises(CheckpointError, match="no group 'z'"):
        inject(model, [samples("z")], masks_of(model), Rates(1e-3))


def test_a_diverging_injection_stops(model: Any) -> None:
    with torch.no_grad():
        model.get_output_embeddings().weight[3] = float("nan")
    with pytest.raises(FloatingPointError, match="lower the rate"):
        inject(model, [samples("a")], masks_of(model), Rates(1e-3))
