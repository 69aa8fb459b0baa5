"""Parts of any decoder that transformers builds: found in its own forward pass, and held against it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from families import HEADS, WIDTH, save_checkpoint, tiny_tokenizer

from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.checkpoints.projections import find_projections
from uds_bench.errors import CheckpointError
from uds_bench.facts import Fact, FactSet, encode, encode_answer
from uds_bench.inference.answers import score_answers
from uds_bench.inference.batches import entity_batches
from uds_bench.inference.generation import continue_greedily
from uds_bench.inference.logprobs import token_logprobs
from uds_bench.inference.patching import entity_logprobs, patched_logprobs
from uds_bench.inference.states import source_states
from uds_bench.inference.target import PatchingTarget

USUAL = {"hidden_size": WIDTH, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": HEADS}
GPT = {"n_embd": WIDTH, "n_layer": 2, "n_head": HEADS, "n_positions": 256}
SPACE = {"hidden_size": WIDTH, "num_hidden_layers": 2, "state_size": 8}
GROUPED = USUAL | {"num_key_value_heads": 2}
SHORT = {"num_layers": 2, "num_heads": HEADS}
HYBRID = {"attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False}
EXPERTS = {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "arcee": ("Arcee", GROUPED),
    "biogpt": ("BioGpt", USUAL),
    "bloom": ("Bloom", {"hidden_size": WIDTH, "n_layer": 2, "n_head": HEADS}),
    "cohere": ("Cohere", GROUPED),
    "cohere2": ("Cohere2", GROUPED),
    "ernie4_5": ("Ernie4_5", GROUPED),
    "exaone4": ("Exaone4", GROUPED),
    "falcon": ("Falcon", USUAL),
    "falcon_mamba": ("FalconMamba", SPACE),
    "glm": ("Glm", GROUPED | {"head_dim": 8}),
    "glm4": ("Glm4", GROUPED | {"head_dim": 8}),
    "gpt_bigcode": ("GPTBigCode", GPT),
    "gpt_neo": (
        "GPTNeo",
        {"hidden_size": WIDTH, "num_layers": 2, "num_heads": HEADS, "attention_types": [[["global"], 2]]},
    ),
    "gptj": ("GPTJ", GPT | {"rotary_dim": 4}),
    "granite": ("Granite", GROUPED | {"residual_multiplier": 0.5, "logits_scaling": 4.0}),
    "granitemoe": ("GraniteMoe", GROUPED | EXPERTS),
    "helium": ("Helium", GROUPED | {"head_dim": 8}),
    "jamba": (
        "Jamba",
        GROUPED | EXPERTS | {"attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False},
    ),
    "lfm2": ("Lfm2", GROUPED | {"layer_types": ["conv", "full_attention"]}),
    "mamba": ("Mamba", SPACE),
    "mamba2": ("Mamba2", SPACE | {"num_heads": 8, "head_dim": 8, "n_groups": 1, "expand": 2}),
    "mixtral": ("Mixtral", GROUPED | EXPERTS),
    "mpt": ("Mpt", {"d_model": WIDTH, "n_layers": 2, "n_heads": HEADS, "max_seq_len": 256}),
    "nemotron": ("Nemotron", GROUPED),
    "olmo": ("Olmo", GROUPED),
    "olmoe": ("Olmoe", GROUPED | EXPERTS),
    "opt": (
        "OPT",
        {
            "hidden_size": WIDTH,
            "ffn_dim": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": HEADS,
            "word_embed_proj_dim": WIDTH,
        },
    ),
    "persimmon": ("Persimmon", USUAL),
    "phi": ("Phi", USUAL),
    "smollm3": ("SmolLM3", GROUPED),
    "stablelm": ("StableLm", GROUPED),
    "starcoder2": ("Starcoder2", GROUPED),
    "xglm": ("XGLM", {"d_model": WIDTH, "ffn_dim": 64, "num_layers": 2, "attention_heads": HEADS}),
}
PLAIN = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def built(name: str, seed: int = 0) -> Any:
    prefix, sizes = FAMILIES[name]
    torch.manual_seed(seed)
    config = getattr(transformers, f"{prefix}Config")(vocab_size=len(tiny_tokenizer()), **sizes, **PLAIN)
    kind = next(k for k in (f"{prefix}ForCausalLM", f"{prefix}LMHeadModel") if hasattr(transformers, k))
    return getattr(transformers, kind)(config).eval()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("decoders")

    @cache
    def save(name: str, seed: int = 0) -> Any:
        place = folder / f"{name}-{seed}"
        save_checkpoint(place, built(name, seed), tiny_tokenizer(), shards=1)
        return load(CheckpointSpec(str(place)))

    return save


FACTS = [
    Fact(
        id=name,
        cluster=name,
        split="forget",
        question=question,
        answer=f"{prefix} {entity}.",
        prefix=prefix,
        entity=entity,
    )
    for name, question, prefix, entity in (
        ("a", "Where was Mira born?", "Mira was born in", "Norway"),
        ("b", "What does Idris Kamau of the sea write at night?", "He writes", "essays"),
    )
]


@pytest.mark.parametrize("name", FAMILIES)
def test_patching_a_model_with_its_own_states_changes_nothing(name: str, saved: Any) -> None:
    own, other = saved(name), saved(name, 1)
    (batch,) = entity_batches([encode(f, own.tokenizer) for f in FACTS], 2, own.device)
    before = entity_logprobs(own, batch)
    states, others = source_states(own, batch), source_states(other, batch)
    for patched in patched_logprobs(own, batch, states):
        torch.testing.assert_close(patched, before)
    elsewhere = patched_logprobs(own, batch, others)
    # Behind the last block there is nothing but norm and head.
    read = token_logprobs(own.anatomy.readout, others[-1], batch.targets)
    torch.testing.assert_close(elsewhere[-1], read, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(elsewhere[0], before, atol=1e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_gate_reads_it(name: str, saved: Any) -> None:
    own, other = saved(name), saved(name, 1)
    target = PatchingTarget(own, FactSet(FACTS), None, 2)
    assert target.read(own).drops == pytest.approx(np.zeros_like(target.read(own).drops), abs=1e-4)
    assert np.isfinite(target.read(other).drops).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_answers_and_replies_do_not_depend_on_the_batch(name: str, saved: Any) -> None:
    own = saved(name)
    answers = [encode_answer(own.tokenizer, f.question, f.answer) for f in FACTS]
    together, alone = (score_answers(own, answers, size) for size in (2, 1))
    for one, each in zip(together, alone, strict=True):
        torch.testing.assert_close(torch.tensor(one.logp), torch.tensor(each.logp), atol=1e-4, rtol=1e-4)
    prompts = [a.ids[: a.start] for a in answers]
    said = continue_greedily(own, prompts, 6)
    assert said == [continue_greedily(own, [p], 6)[0] for p in prompts]
    slow = []
    for prompt in prompts:
        ids = list(prompt)
        with torch.no_grad():
            for _ in range(6):
                new = int(own.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].argmax())
                if new == own.tokenizer.eos_token_id:
                    break
                ids.append(new)
        slow.append(tuple(ids[len(prompt) :]))
    assert [one.ids for one in said] == slow


WITHOUT_PARTS = {"bloom", "falcon_mamba", "granite", "jamba", "lfm2", "mamba", "mamba2", "mpt", "opt"}
"""Those that add within the module, scale what they add, or have other modules from block to block."""


@pytest.mark.parametrize("name", FAMILIES)
def test_what_attention_and_mlp_add_is_found(name: str, saved: Any) -> None:
    loaded = saved(name)
    anatomy, named = loaded.anatomy, {module: path.rpartition(".")[2] for path, module in loaded.model.named_modules()}
    found = [(named[one], named[other]) for one, other in zip(anatomy.attention, anatomy.mlp, strict=True)]
    assert (name in WITHOUT_PARTS) == (not found)
    for attention, mlp in found:
        assert "attn" in attention or "attention" in attention, attention
        assert mlp in ("mlp", "fc2", "block_sparse_moe", "post_feedforward_layernorm", "post_mlp_layernorm"), mlp


@pytest.mark.parametrize("name", sorted(FAMILIES.keys() - WITHOUT_PARTS))
def test_what_writes_the_mlp_into_the_stream_is_one_plain_matrix_or_told(name: str, saved: Any) -> None:
    loaded = saved(name)
    if name in ("falcon", "granitemoe", "mixtral", "olmoe"):  # a matrix of its own kind, or experts
        with pytest.raises(CheckpointError, match="is given by no plain matrix"):
            find_projections(loaded.model)
        return
    found = find_projections(loaded.model)
    assert len(found) == len(loaded.anatomy.blocks)
    assert all(one.norm is None or one.norm is mlp for one, mlp in zip(found, loaded.anatomy.mlp, strict=True))
