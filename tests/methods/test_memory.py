"""How many weights are to be trained, told before any is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from tried_methods import on_first_block

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.facts import embedded
from uds_bench.methods import METHODS, memory, terms
from uds_bench.methods.data import unlearning_data
from uds_bench.methods.lora import LoraSettings, with_lora
from uds_bench.methods.registry import unlearn
from uds_bench.methods.terms import freeze


@pytest.mark.parametrize("family", ["llama", "gpt_neox", "gemma3"])
def test_weights_are_counted_from_the_configuration_alone(tmp_path: Path, family: str) -> None:
    tokenizer = tiny_tokenizer()
    model = FAMILIES[family](len(tokenizer), seed=1)
    save_checkpoint(tmp_path / "model", model, tokenizer)
    (tmp_path / "model" / "model.safetensors").write_bytes(b"")
    size = memory.size_of(CheckpointSpec(str(tmp_path / "model")))
    assert size.weights == sum(one.numel() for one in model.parameters())
    adapted = with_lora(model, LoraSettings(rank=3))
    assert 3 * size.width == sum(one.numel() for one in adapted.parameters() if one.requires_grad)


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].adapters])
def test_methods_that_keep_a_copy_say_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose terms freeze the model, and no others."""
    copies: list[Any] = []

    def watched(model: Any) -> Any:
        copies.append(model)
        return freeze(model)

    monkeypatch.setattr(terms, "freeze", watched)
    tokenizer = tiny_tokenizer()
    model = FAMILIES["llama"](len(tokenizer), seed=1)
    facts = embedded(forget=2, retain=2, holdout=0)
    data = unlearning_data(tokenizer, facts, [fact.answer for fact in facts.split("forget")])
    unlearn(model, data, on_first_block(name, steps=1, lr=1e-4, batch_size=2))
    assert bool(copies) is METHODS[name].remembers


def test_what_is_told_names_both_ways_and_their_memory() -> None:
    size, spec = memory.Size(7_000_000_000, 2_500_000), CheckpointSpec("x")
    said = memory.memory_line(size, LoraSettings(), spec, "cuda", remembers=True, trains=True)
    assert said == (
        "7.0 billion weights stay, and a LoRA adapter of rank 16 is trained beside them, as they are more than "
        "1 billion: about 13.6 GiB of memory beside activations; --no-lora changes all weights, about 130.4 GiB"
    )
    small = memory.memory_line(memory.Size(12_345, 0), None, spec, "cpu", remembers=False, trains=True)
    assert small == "12,345 weights, all of them changed: about 193 KiB of memory beside activations"
