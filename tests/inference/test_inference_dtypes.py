"""The fast path in 16 bits: as near to the truth as the hook path, proved in units of the dtype's rounding, or not
taken."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from families import FAMILIES, in_memory
from references.depth_cases import VOCABULARY, encoded_fact, ragged_facts
from test_inference_target import FACTS, altered, taught
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from uds_bench.inference.batches import EntityBatch, PaddingSide, entity_batches
from uds_bench.inference.patching import patched_logprobs
from uds_bench.inference.states import source_states
from uds_bench.inference.streams import full_part, streamed_logprobs
from uds_bench.inference.target import AGREEMENT, MEAN_ROUNDINGS, ROUNDINGS, PatchingTarget

DTYPES = (torch.bfloat16, torch.float16)


def logprobs(full: Any, source: Any, batch: EntityBatch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """By streams, by hook, and by hook in float32 with the same weights and states."""
    states = source_states(source, batch)
    streamed = streamed_logprobs(full, batch, full_part(full, batch), states)
    true = in_memory(deepcopy(full.model).float())
    ways = streamed, patched_logprobs(full, batch, states), patched_logprobs(true, batch, states.float())
    fast, hooked, exact = (way[:, batch.valid] for way in ways)
    return fast, hooked, exact


def roundings(gap: torch.Tensor, full: Any, batch: EntityBatch) -> tuple[float, float]:
    """Largest and root mean square, in roundings of the largest logit."""
    logits = full.anatomy.readout(source_states(full, batch)[-1])[batch.valid]
    unit = torch.finfo(full.model.dtype).eps * float(logits.abs().max())
    return float(gap.abs().max()) / unit, float(gap.square().mean().sqrt()) / unit


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_streams_are_as_near_to_the_truth_as_hooks(family: str, dtype: torch.dtype, side: PaddingSide) -> None:
    full, source = (in_memory(FAMILIES[family](VOCABULARY, seed=seed).to(dtype)) for seed in (0, 1))
    (batch,) = entity_batches(ragged_facts(), 4, side=side)
    fast, hooked, exact = logprobs(full, source, batch)
    most, mean = roundings(fast - hooked, full, batch)
    assert most <= ROUNDINGS
    assert mean <= MEAN_ROUNDINGS
    _, missed = roundings(fast - exact, full, batch)
    _, by_hook = roundings(hooked - exact, full, batch)
    assert missed <= 2 * by_hook


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounding_of_many_layers_stays_within_the_limit(dtype: torch.dtype) -> None:
    full, source = (deep_llama(seed, dtype) for seed in (0, 1))
    (batch,) = entity_batches([encoded_fact(i, 10, 20, 28, 32) for i in range(4)], 4)
    fast, hooked, _ = logprobs(full, source, batch)
    most, mean = roundings(fast - hooked, full, batch)
    assert 0 < most <= ROUNDINGS
    assert 0 < mean <= MEAN_ROUNDINGS


def deep_llama(seed: int, dtype: torch.dtype) -> Any:
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=32,
        num_attention_heads=4,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        built: Any = transformers.LlamaForCausalLM
        model = built(config).eval().requires_grad_(False)
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return in_memory(model.to(dtype))


def bits(checkpoint: Any, dtype: torch.dtype) -> Any:
    return altered(checkpoint, lambda model: model.to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_full_model_of_16_bits_is_read_by_streams(family: str, dtype: torch.dtype) -> None:
    full, source = (bits(taught(family, known), dtype) for known in (4, 3))
    target = PatchingTarget(full, FACTS)
    found = target.read(source)
    assert target.path() == "streams"
    assert "differs from hooks by" in target.path_reason
    assert "root mean square" in target.path_reason
    assert AGREEMENT < target.rounding < 1
    by_hook = PatchingTarget(full, FACTS)
    by_hook._path = "hook"
    expected = by_hook.read(source)
    np.testing.assert_allclose(found.drops, expected.drops, rtol=0, atol=target.rounding)
    assert np.abs(expected.drops).max() > 2 * target.rounding, "a case in which nothing changes would agree anyhow"
    assert found.correct.tolist() == expected.correct.tolist()
    assert found.last_gap.max() == expected.last_gap.max() == 0.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_models_own_states_change_nothing_by_hook_and_no_more_than_rounding_by_streams(dtype: torch.dtype) -> None:
    target = PatchingTarget(bits(taught("llama", 4), dtype), FACTS)
    assert (target.path(), target.path(source=target.full)) == ("streams", "hook")
    assert np.abs(target.read(target.full).drops).max() == 0.0
    twin = altered(target.full, lambda _: None)
    twin.digest = "other"
    assert np.abs(target.read(twin).drops).max() <= target.rounding


def test_the_tolerance_of_32_bits_is_what_it_was() -> None:
    assert PatchingTarget(taught("llama", 4), FACTS).rounding == AGREEMENT


@pytest.mark.parametrize("dtype", [torch.float32, *DTYPES])
def test_a_fast_path_that_is_wrong_is_seen_through_the_rounding(dtype: torch.dtype) -> None:
    """An attention whose scale depends on how many tokens run at once."""

    def by_length(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        found, weights = sdpa_attention_forward(module, query, key, value, mask, **options)
        return found * (1 + 0.02 * query.shape[2]), weights

    AttentionInterface.register("by_length_too", by_length)
    AttentionMaskInterface.register("by_length_too", sdpa_mask)
    full = altered(taught("llama", 4), lambda model: model.set_attn_implementation("by_length_too"))
    target = PatchingTarget(bits(full, dtype), FACTS)
    assert target.path() == "hook"
    assert np.abs(target.read(target.full).drops).max() == 0.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_logits_that_are_no_numbers_prove_nothing(dtype: torch.dtype) -> None:
    def broken(model: Any) -> Any:
        model.lm_head.weight[0, 0] = torch.nan
        return model.to(dtype)

    target = PatchingTarget(altered(taught("llama", 4), broken), FACTS)
    assert target.path() == "hook"
    assert np.isnan(target.rounding)
