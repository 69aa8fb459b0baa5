"""Adapters: they change the model, fit it whole, and leave no trace in the next load."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, PROBE, save_adapter, save_checkpoint, tiny_tokenizer
from peft import LoraConfig, PeftModel, PromptTuningConfig, get_peft_model
from safetensors.torch import load_file, save_file

from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.checkpoints.adapter import require_its_base
from uds_bench.checkpoints.adapter_effect import require_adapter
from uds_bench.checkpoints.source import Folders
from uds_bench.errors import CheckpointError

TARGETS = {"gemma2": ["lm_head"], "qwen3_moe": []}
FUSED = {"qwen3_moe": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]}


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(**tiny_tokenizer()(PROBE, return_tensors="pt")).logits.float()
    return found


@pytest.mark.parametrize("family", ["llama", "gemma2", "phi3", "gpt_neox", "gpt2", "qwen3_moe"])
def test_an_adapter_acts_as_peft_says(family: str, saved: Callable[[str], Path], tmp_path: Path) -> None:
    adapter = save_adapter(tmp_path / "lora", family)
    expected = logits(PeftModel.from_pretrained(FAMILIES[family](len(tiny_tokenizer())), adapter).eval())
    base = load(CheckpointSpec(str(saved(family))))
    adapted = load(CheckpointSpec(str(saved(family)), adapter=str(adapter)))
    torch.testing.assert_close(logits(adapted.model), expected, atol=1e-4, rtol=1e-4)
    assert (logits(base.model) - expected).abs().max() > 0.05
    assert type(adapted.model) is type(base.model)
    assert not any("lora" in name for name, _ in adapted.model.named_modules()), "merged in float32"
    again = load(CheckpointSpec(str(saved(family))))
    assert torch.equal(logits(again.model), logits(base.model)), "the base is untouched"


@pytest.mark.parametrize(
    "options", [{"dtype": "bfloat16"}, {"dtype": "float16"}, {"quantization": "nf4"}, {"quantization": "int8"}]
)
def test_beside_a_rounded_base(options: dict[str, Any], saved: Callable[[str], Path], tmp_path: Path) -> None:
    """In 16 bits and fewer the adapter stays apart, so that an update below the base's rounding acts."""
    adapter = save_adapter(tmp_path / "lora", scale=1e-2)
    base = load(CheckpointSpec(str(saved("llama")), **options))
    adapted = load(CheckpointSpec(str(saved("llama")), adapter=str(adapter), **options))
    assert any("lora_A" in name for name, _ in adapted.model.named_modules())
    assert 0 < (logits(adapted.model) - logits(base.model)).abs().max() < 0.5
    assert adapted.anatomy.blocks[0] is adapted.model.model.layers[0]
    assert not any(p.requires_grad for p in adapted.model.parameters())


def swap_name(adapter: Path) -> None:
    """One tensor under a name that the model does not have: PEFT itself would pass over it with a warning."""
    tensors = load_file(adapter / "adapter_model.safetensors")
    first = sorted(tensors)[0]
    tensors[first.replace("layers.0", "layers.9")] = tensors.pop(first)
    save_file(tensors, adapter / "adapter_model.safetensors")


def spoil(adapter: Path) -> None:
    tensors = load_file(adapter / "adapter_model.safetensors")
    tensors[sorted(tensors)[0]][0, 0] = float("nan")
    save_file(tensors, adapter / "adapter_model.safetensors")


def elsewhere(adapter: Path) -> None:
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"target_modules": ["frob_proj"]}))


def pickled(adapter: Path) -> None:
    (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")


def in_shards(adapter: Path) -> None:
    """With a pickle beside them, which PEFT would read in their place."""
    names = load_file(adapter / "adapter_model.safetensors")
    (adapter / "adapter_model.safetensors").rename(adapter / "shard-1.safetensors")
    index = {"weight_map": dict.fromkeys(names, "shard-1.safetensors")}
    (adapter / "adapter_model.safetensors.index.json").write_text(json.dumps(index))
    (adapter / "adapter_model.bin").write_bytes(b"another")


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no configuration": (lambda f: (f / "adapter_config.json").unlink(), "has no adapter_config.json"),
    "no weights": (lambda f: (f / "adapter_model.safetensors").unlink(), "has no adapter_model.safetensors"),
    "in shards": (in_shards, "is in shards, which PEFT does not read"),
    "pickled": (pickled, "has only pickled weights .adapter_model.bin"),
    "truncated": (
        lambda f: (f / "adapter_model.safetensors").write_bytes(b"\x10" * 40),
        "not a readable safetensors file",
    ),
    "other names": (swap_name, "does not fit its base model: .* of its tensors have no place or are missing"),
    "other targets": (elsewhere, "does not fit its base model: .*frob_proj.*use the base that it was trained on"),
    "nan": (spoil, "holds NaN or infinity"),
    "untrained": (lambda f: save_adapter(f, scale=0.0), "changes no logits of its base model"),
    "other width": (lambda f: save_adapter(f, width=64), "does not fit its base model"),
    "other family": (lambda f: save_adapter(f, family="gpt2"), "does not fit its base model"),
}


@pytest.mark.parametrize("quantization", [None, "nf4"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_adapters_that_are_refused(
    damage: str, quantization: Any, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    adapter = save_adapter(tmp_path / "lora")
    change, message = DAMAGES[damage]
    change(adapter)
    with pytest.raises(CheckpointError, match=message) as caught:
        load(CheckpointSpec(str(saved("llama")), adapter=str(adapter), quantization=quantization))
    assert "\n" not in str(caught.value)
    assert str(adapter) in str(caught.value)


def test_learned_prompts_are_refused(saved: Callable[[str], Path], tmp_path: Path) -> None:
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    get_peft_model(FAMILIES["llama"](len(tiny_tokenizer())), config).save_pretrained(tmp_path / "prompt")
    with pytest.raises(CheckpointError, match="learns a prompt"):
        load(CheckpointSpec(str(saved("llama")), adapter=str(tmp_path / "prompt")))


def test_an_adapter_that_is_not_there(saved: Callable[[str], Path], tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such folder"):
        load(CheckpointSpec(str(saved("llama")), adapter=str(tmp_path / "none")))


def recorded(adapter: Path, base: str) -> None:
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps(config | {"base_model_name_or_path": base}))


def test_an_adapter_of_another_base_of_the_same_shape_is_refused(saved: Callable[[str], Path], tmp_path: Path) -> None:
    """It would fit without a word, and be judged as a model that nobody trained."""
    adapter, base = save_adapter(tmp_path / "lora"), saved("llama")
    other = save_checkpoint(tmp_path / "other", FAMILIES["llama"](len(tiny_tokenizer()), seed=9), tiny_tokenizer())
    recorded(adapter, str(other))
    with pytest.raises(CheckpointError, match="has other weights: name the base that it was trained on") as caught:
        load(CheckpointSpec(str(base), adapter=str(adapter)))
    assert str(other) in str(caught.value)
    copied = shutil.copytree(base, tmp_path / "copy")
    for same in (str(base), str(copied), str(tmp_path / "gone"), "org/model", ""):
        recorded(adapter, same)
        load(CheckpointSpec(str(base), adapter=str(adapter)))


@pytest.mark.parametrize(("named", "asked", "fits"), [("org/a", "org/A", True), ("org/a", "org/b", False)])
def test_hub_bases_are_held_against_each_other_by_name(tmp_path: Path, named: str, asked: str, fits: bool) -> None:
    adapter = save_adapter(tmp_path / "lora")
    recorded(adapter, named)
    spec, folders = CheckpointSpec(asked, adapter=str(adapter)), Folders(tmp_path, adapter)
    if fits:
        require_its_base(spec, folders)
    else:
        with pytest.raises(CheckpointError, match="was trained on org/a"):
            require_its_base(spec, folders)


@pytest.mark.parametrize("options", [{}, {"dtype": "bfloat16"}, {"quantization": "nf4"}, {"quantization": "int8"}])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_an_adapter_that_the_loader_passes_over_is_seen(
    family: str, options: dict[str, Any], saved: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = CheckpointSpec(str(saved(family)), adapter=str(save_adapter(tmp_path / "lora", family)), **options)
    require_adapter(load(spec))
    monkeypatch.setattr("uds_bench.checkpoints.loading.attach", lambda model, folder, name: model)
    with pytest.raises(CheckpointError, match="the loaded model does not hold the adapter"):
        require_adapter(load(spec))


def test_a_checkpoint_without_an_adapter_needs_none(saved: Callable[[str], Path]) -> None:
    require_adapter(load(CheckpointSpec(str(saved("llama")))))


@pytest.mark.parametrize("family", ["gemma2", "qwen3_moe"])
def test_tied_and_fused_weights_are_no_reason_to_refuse(
    family: str, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    """Files that hold experts apart, or an output layer under its embedding's name, cannot be compared there."""
    config = LoraConfig(r=4, target_modules=TARGETS[family], target_parameters=FUSED.get(family), task_type="CAUSAL_LM")
    adapted = get_peft_model(FAMILIES[family](len(tiny_tokenizer())), config)
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(std=0.1)
    adapted.save_pretrained(tmp_path / "lora")
    require_adapter(load(CheckpointSpec(str(saved(family)), adapter=str(tmp_path / "lora"))))
