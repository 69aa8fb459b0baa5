"""Where states are taken decides what a metric says about the function: the published variant, and odd families."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from families import FAMILIES, in_memory
from references import depth
from references.depth_cases import TOLERANCE, VOCABULARY, checkpoint, ragged_facts, span_of
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import flash_attention_mask

from uds_bench.checkpoints import Anatomy
from uds_bench.inference.batches import EntityBatch, entity_batches
from uds_bench.inference.patching import entity_logprobs, patched_logprobs
from uds_bench.inference.states import published_states, source_states
from uds_bench.inference.streams import UnsupportedBlocksError, full_part, streamed_logprobs

FACTS = ragged_facts()


def batch_of_all() -> EntityBatch:
    return entity_batches(FACTS, len(FACTS), side="left")[0]


def drops(full: Any, source: Any, published: bool = False) -> torch.Tensor:
    batch = batch_of_all()
    states = source_states(source, batch)
    if published:
        states = published_states(source, states)
    return batch.mean_over_entity(entity_logprobs(full, batch) - patched_logprobs(full, batch, states)).T


def scaled(family: str, spread: float) -> Any:
    """A model with a neutral final norm, then norm x s and head / s, s uneven: the same function for any spread."""
    model = FAMILIES[family](VOCABULARY)
    anatomy = in_memory(model).anatomy
    scale = torch.linspace(-spread, spread, anatomy.norm.weight.numel()).exp()
    with torch.no_grad():
        anatomy.norm.weight.fill_(1.0).mul_(scale)
        if getattr(anatomy.norm, "bias", None) is not None:
            anatomy.norm.bias.zero_()
        anatomy.head.weight.div_(scale)
    return in_memory(model)


@pytest.mark.parametrize("family", ["llama", "olmo2", "qwen3_moe", "mistral", "gpt_neox"])
def test_published_variant_sees_a_change_that_leaves_the_function_alone(family: str) -> None:
    plain, uneven = scaled(family, 0.0), scaled(family, 1.5)
    for fact in FACTS:
        before, after = (depth.logits_of(model.model, fact.ids) for model in (plain, uneven))
        torch.testing.assert_close(before, after, rtol=0, atol=1e-4)

    # A neutral norm can be taken twice; an uneven one cannot, and the model then seems to forget its own facts.
    assert drops(plain, plain, published=True).abs().max() <= 1e-4
    assert drops(uneven, uneven, published=True)[:, -1].abs().max() > 0.05
    assert (drops(uneven, uneven, published=True)[:, :-1] == 0).all()

    assert (drops(uneven, uneven) == 0).all()
    source = checkpoint(family, 1)
    torch.testing.assert_close(drops(plain, source), drops(uneven, source), rtol=0, atol=5 * TOLERANCE)


def bloom() -> Any:
    """A family with a position bias among its blocks' arguments."""
    config = transformers.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=3, n_head=4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        built: Any = transformers.BloomForCausalLM
        model = built(config).eval().requires_grad_(False)
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    decoder = model.transformer
    blocks = tuple(decoder.h)
    attention, mlp = tuple(b.self_attention for b in blocks), tuple(b.mlp for b in blocks)
    return SimpleNamespace(
        model=model, anatomy=Anatomy("bloom", blocks, decoder.ln_f, model.lm_head, attention=attention, mlp=mlp)
    )


def test_blocks_whose_arguments_cannot_be_replayed() -> None:
    full = bloom()
    with pytest.raises(UnsupportedBlocksError, match="alibi"):
        full_part(full, batch_of_all())
    # The hook path needs nothing of the kind.
    source = other(full)
    pair = (full.model, full.anatomy, source.model, source.anatomy)
    expected = [depth.drops(*pair, *span_of(FACTS[row])) for row in batch_of_all().rows]
    found = drops(full, source)
    torch.testing.assert_close(found.double(), torch.tensor(expected).double(), rtol=0, atol=TOLERANCE)


def other(full: Any) -> Any:
    """A source for a family without a second model at hand: a Llama of the same width and depth."""
    source = checkpoint("llama", 1)
    assert len(source.anatomy.blocks) == len(full.anatomy.blocks)
    return source


def test_attention_masks_that_cannot_be_read() -> None:
    """An attention that packs its tokens itself is given the padding only, [facts, length]: not what sees what."""

    def unpadded(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        return sdpa_attention_forward(module, query, key, value, None, **options)

    AttentionInterface.register("unpadded", unpadded)
    AttentionMaskInterface.register("unpadded", flash_attention_mask)
    model = FAMILIES["llama"](VOCABULARY)
    model.set_attn_implementation("unpadded")
    with pytest.raises(UnsupportedBlocksError, match="attention mask is a Tensor"):
        full_part(in_memory(model), batch_of_all())


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("family", ["llama", "olmo3", "mistral", "gpt2"])
def test_both_kinds_of_attention_mask_are_read(family: str, attention: str) -> None:
    model = FAMILIES[family](VOCABULARY)
    model.set_attn_implementation(attention)
    full, batch = in_memory(model), batch_of_all()
    states = source_states(checkpoint(family, 1), batch)
    streamed = streamed_logprobs(full, batch, full_part(full, batch), states)
    found = (streamed - patched_logprobs(full, batch, states))[:, batch.valid]
    assert found.abs().max() <= TOLERANCE
