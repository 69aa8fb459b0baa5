"""Instruction tuning of the last blocks: what may move, which step is kept, and the resurfacing that is made of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from families import FAMILIES

from uds_bench.checkpoints import find_anatomy
from uds_bench.errors import ConfigurationError
from uds_bench.methods.examples import Example, pad
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.instruction import Instruction, instruct

SETTINGS = Instruction(epochs=4, lr=5e-3, batch_size=4, every=3)


def examples(count: int = 20) -> list[Example]:
    generator = torch.Generator().manual_seed(0)
    return [Example(tuple(torch.randint(3, 100, (9,), generator=generator).tolist()), 5) for _ in range(count)]


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt_neox"])
def test_only_the_last_blocks_move(family: str) -> None:
    model = FAMILIES[family](layers=4, seed=1)
    before, blocks = weights(model), find_anatomy(model).blocks
    last = {id(p) for block in list(blocks)[-2:] for p in block.parameters()}
    names = {name for name, p in model.named_parameters() if id(p) in last}
    found = instruct(model, examples(), SETTINGS)
    after = weights(found.model)
    assert after.keys() == before.keys(), "the adapter is added to the weights"
    moved = {name for name in after if not torch.equal(after[name], before[name])}
    assert moved
    assert moved <= names
    assert not any("norm" in name or "ln_" in name or "bias" in name for name in moved)


def test_the_step_that_says_the_spared_examples_best_is_kept() -> None:
    """So many epochs at so high a rate that what is spared gets worse in the end."""
    settings = Instruction(epochs=60, lr=3e-2, batch_size=4, every=5)
    found = instruct(FAMILIES["llama"](layers=3, seed=1), examples(12), settings)
    assert found.best == min(found.held_out, key=lambda step: found.held_out[step])
    assert found.held_out[found.best] < found.held_out[max(found.held_out)]
    learned = round(0.7 * 12 - 0.5)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0)).tolist()
    spared = [examples(12)[at] for at in order[learned:]]
    assert float(answer_nll(found.model, pad(spared))) == pytest.approx(found.held_out[found.best], abs=1e-4)


def test_the_same_seed_gives_the_same_weights() -> None:
    one, same, other = (
        weights(instruct(FAMILIES["llama"](layers=3, seed=1), examples(), SETTINGS, seed).model) for seed in (0, 0, 1)
    )
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_callers_draws_go_on_as_they_were() -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    instruct(FAMILIES["llama"](layers=3, seed=1), examples(), SETTINGS)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(4), expected)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"rank": 0}, "rank = 0 must be at least 1"),
        ({"lr": 0.0}, "lr = 0"),
        ({"share": 1.0}, "share = 1"),
        ({"every": 0}, "every = 0"),
    ],
)
def test_bad_settings_are_one_line(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Instruction(**settings)


def test_bad_input_is_one_line() -> None:
    with pytest.raises(ConfigurationError, match="1 examples: give at least two"):
        instruct(FAMILIES["llama"](layers=3), examples(1), SETTINGS)
    with pytest.raises(ConfigurationError, match="2 layers, but the model has 1 blocks"):
        instruct(FAMILIES["llama"](layers=1), examples(), SETTINGS)
