"""The feed-forward output projection of every family: found, written to, and reached through a norm."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from families import FAMILIES, WIDTH

from uds_bench.checkpoints import find_anatomy
from uds_bench.checkpoints.projections import find_projections
from uds_bench.errors import CheckpointError

BEHIND_A_NORM = {"olmo2", "olmo3", "gemma2", "gemma3", "gemma3_multimodal"}
PLAIN = sorted(set(FAMILIES) - {"qwen3_moe"})


def spoken(model: Any, module: torch.nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    """What goes into a module and comes out of it in one pass."""
    seen: list[torch.Tensor] = []
    handle = module.register_forward_hook(lambda _module, args, output: seen.extend((args[0], output)))
    with torch.no_grad():
        model(torch.arange(3, 15)[None])
    handle.remove()
    return seen[0], seen[1]


@pytest.mark.parametrize("family", PLAIN)
def test_what_is_added_to_the_matrix_is_added_to_the_stream(family: str) -> None:
    model = FAMILIES[family]()
    target, branch = find_projections(model)[1], find_anatomy(model).mlp[1]
    assert (target.norm is not None) == (family in BEHIND_A_NORM)
    keys, before = spoken(model, target.linear)
    _, added = spoken(model, branch)
    torch.testing.assert_close(added, before if target.norm is None else target.norm(before))
    change = torch.randn(WIDTH, keys.shape[-1], generator=torch.Generator().manual_seed(0))
    target.add(change)
    _, after = spoken(model, target.linear)
    torch.testing.assert_close(after - before, keys @ change.T, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", sorted(BEHIND_A_NORM))
def test_a_small_shift_passes_the_norm_and_without_its_inverse_it_does_not(family: str) -> None:
    model = FAMILIES[family]()
    target = find_projections(model)[1]
    _, output = spoken(model, target.linear)
    with torch.no_grad():
        added = target.norm(output)  # type: ignore[misc]
        wanted = 1e-2 * torch.randn(added.shape, generator=torch.Generator().manual_seed(0)) * added.abs().mean()
        passed, plain = (target.norm(output + shift) - added for shift in (target.shift(wanted, output), wanted))  # type: ignore[misc]
    missed, ratio = (float((found - wanted).norm() / wanted.norm()) for found in (passed, plain))
    assert missed < 0.35, "all but what lies along the output itself, one direction of the 32"
    assert ratio > 2 * missed


def test_no_norm_lets_a_shift_through_as_it_is() -> None:
    target = find_projections(FAMILIES["llama"]())[0]
    wanted = torch.randn(2, WIDTH)
    assert target.shift(wanted, torch.randn(2, WIDTH)) is wanted


def test_a_gain_of_nothing_is_left_alone() -> None:
    target = find_projections(FAMILIES["olmo2"]())[0]
    with torch.no_grad():
        target.norm.weight[3] = 0.0  # type: ignore[union-attr, index, operator]
    shift = target.shift(torch.ones(2, WIDTH), torch.randn(2, WIDTH))
    assert shift.isfinite().all()
    assert not shift[:, 3].any()


def test_experts_are_told() -> None:
    with pytest.raises(
        CheckpointError, match=r"family qwen3_moe, block 0: mlp.down_proj is to be one plain matrix and is"
    ):
        find_projections(FAMILIES["qwen3_moe"]())
