"""The training loop: reproducible, never silent about a run that went wrong."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_student import answer_nll, drawn, tiny_llama

from uds_bench.methods.examples import Batch, epochs
from uds_bench.methods.training import Optimisation, train

EXAMPLES = drawn(0, 10)


def batches(seed: int = 0) -> Iterator[Batch]:
    return epochs(EXAMPLES, 4, 4, torch.Generator().manual_seed(seed))


def weights(model: Any) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def equal(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def run(seed: int) -> tuple[list[float], list[torch.Tensor]]:
    model = tiny_llama()
    return train(model, batches(seed), answer_nll, Optimisation(1e-2), 12), weights(model)


def test_one_seed_gives_one_model_and_another_seed_another() -> None:
    losses, first = run(0)
    again, second = run(0)
    _, other = run(1)
    assert losses == again
    assert equal(first, second), "the same seed gave other bits"
    assert not equal(first, other), "the seed does nothing"
    assert losses[-1] < losses[0]


def test_a_trained_model_is_frozen_and_in_eval_mode() -> None:
    model = tiny_llama()
    train(model, batches(), answer_nll, Optimisation(1e-2), 2)
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_a_frozen_model_is_trained_whole() -> None:
    model = tiny_llama().requires_grad_(False)
    before = weights(model)
    train(model, batches(), answer_nll, Optimisation(1e-2), 2)
    assert not any(torch.equal(a, b) for a, b in zip(before, weights(model), strict=True))


def test_of_a_partly_frozen_model_only_the_free_part_is_trained() -> None:
    model = tiny_llama().requires_grad_(False)
    model.lm_head.weight.requires_grad_(True)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    train(model, batches(), answer_nll, Optimisation(1e-2, weight_decay=0.5), 2)
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"lm_head.weight"}


def test_a_training_that_diverges_stops() -> None:
    with pytest.raises(
        FloatingPointError, match=r"^training diverged: (loss|gradient norm) (nan|inf) at step \d of 12$"
    ):
        train(tiny_llama(), batches(), answer_nll, Optimisation(1e30), 12)


def test_a_gradient_that_is_not_finite_stops_the_last_step_too() -> None:
    """The loss of the last step is finite; its gradient would have left a model of NaN behind."""
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(layer.weight)
    with pytest.raises(FloatingPointError, match=r"gradient norm .* at step 1 of 1"):
        train(layer, [None], lambda m, _: m.weight.sum().sqrt(), Optimisation(1e-3), 1)
    assert torch.equal(layer.weight, torch.zeros(1, 1))


def test_data_that_run_out_are_an_error() -> None:
    with pytest.raises(ValueError, match="training data ran out after 12 of 13 steps"):
        train(tiny_llama(), batches(), answer_nll, Optimisation(1e-3), 13)


def test_no_batch_is_drawn_beyond_the_last_step() -> None:
    stream = batches()
    train(tiny_llama(), stream, answer_nll, Optimisation(1e-3), 5)
    assert len(list(stream)) == 12 - 5


def test_gradients_are_clipped() -> None:
    """Adam forgets the scale of its first gradient; plain gradients are read from the parameters."""
    seen: list[float] = []
    model = tiny_llama()

    def steep(current: Any, batch: Batch) -> torch.Tensor:
        return 1e4 * answer_nll(current, batch)

    def read(_step: int, _loss: float) -> None:
        seen.append(math.sqrt(sum(float(p.grad.square().sum()) for p in model.parameters() if p.grad is not None)))

    train(model, batches(), steep, Optimisation(1e-3, clip=0.25), 3, read)
    assert seen == pytest.approx([0.25] * 3, rel=1e-3)


@settings(deadline=None)
@given(st.integers(1, 300), st.floats(0, 0.5), st.sampled_from(["constant", "cosine"]))
def test_the_learning_rate_rises_to_its_peak_and_never_rises_again(steps: int, warmup: float, schedule: Any) -> None:
    optimisation = Optimisation(1.0, schedule=schedule, warmup=warmup)
    factors = [optimisation.factor(step, steps) for step in range(steps)]
    warm = max(1, round(warmup * steps)) if warmup else 0
    assert all(0 < factor <= 1 for factor in factors)
    assert max(factors) == 1.0
    assert factors[:warm] == [(step + 1) / warm for step in range(warm)]
    assert factors[warm:] == sorted(factors[warm:], reverse=True)
    if schedule == "constant":
        assert set(factors[warm:]) <= {1.0}


def test_a_cosine_falls_to_half_in_the_middle_and_to_nearly_nothing_at_the_end() -> None:
    cosine = Optimisation(1.0, schedule="cosine", warmup=0.1)
    assert [cosine.factor(step, 110) for step in (0, 10, 11)] == pytest.approx([1 / 11, 1.0, 1.0])
    assert cosine.factor(11 + 33, 110) == pytest.approx(0.75)
    assert cosine.factor(109, 110) == pytest.approx(0.5 * (1 + math.cos(math.pi * 98 / 99)))


def test_the_factor_scales_the_step() -> None:
    """Adam's first step moves every weight by the learning rate, whatever the gradient."""
    layer = torch.nn.Linear(3, 1, bias=False)
    before = layer.weight.detach().clone()
    warming = Optimisation(0.1, warmup=1.0)
    train(layer, [None] * 4, lambda m, _: m.weight.sum(), warming, 4)
    moved = before - layer.weight
    assert moved.flatten().tolist() == pytest.approx([0.1 * (1 + 2 + 3 + 4) / 4] * 3, rel=1e-4)
