"""A family is judged by a tiny model of a checkpoint's configuration, as it would be when the checkpoint is loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from uds_bench.checkpoints import CheckpointSpec, family
from uds_bench.checkpoints.anatomy import FamilyError
from uds_bench.checkpoints.family import MOST_WEIGHTS, require_readable, shrunk, tried

READABLE = [
    "Bloom", "Cohere2", "FalconMamba", "GPT2", "GPTNeo", "GPTNeoX", "Gemma2", "Gemma3", "Git", "Granite", "Lfm2",
    "Llama", "Mamba", "Mistral", "Olmo2", "OPT", "Phi3", "Qwen2", "Qwen3Moe", "StableLm", "XGLM",
]  # fmt: skip
REFUSED = {
    "Bert": "final norm and head on the last block do not give the model's logits",
    "BertGeneration": "its tokens hear of later ones",
    "ModernBertDecoder": "no list of as many blocks as its configuration counts",
    "ProphetNet": "final norm and head on the last block do not give the model's logits",
    "XLM": "block 1 does not start from the output of block 0",
}
OPT = {"model_type": "opt", "hidden_size": 1024, "num_attention_heads": 16, "word_embed_proj_dim": 512}
"""As opt-350m: its family is read otherwise, but here a projection stands behind the last block."""


def small(name: str) -> Any:
    """The tiny configuration of a family, made of its own of a usual size."""
    config = getattr(transformers, f"{name}Config")()
    return type(config).from_dict(shrunk(config))


@pytest.mark.parametrize("name", READABLE)
def test_families_that_are_judged_are_not_refused(name: str) -> None:
    config = small(name)
    with torch.device("meta"):
        weights = sum(each.numel() for each in transformers.AutoModelForCausalLM.from_config(config).parameters())
    assert weights < MOST_WEIGHTS, "what is larger is not tried"
    assert tried(config) == ""


@pytest.mark.parametrize(("name", "why"), REFUSED.items(), ids=REFUSED)
def test_families_that_cannot_be_judged_are(name: str, why: str) -> None:
    assert why in tried(small(name))


@pytest.mark.parametrize(
    ("config", "why"),
    [({"model_type": "t5"}, "it writes no text by itself"), (OPT, "its head does not take what its last block gives")],
)
def test_a_checkpoint_is_refused_by_its_configuration(tmp_path: Path, config: dict[str, Any], why: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(FamilyError, match=f"^family {config['model_type']} is not supported: .*{why}"):
        require_readable(CheckpointSpec(str(tmp_path)))


def test_a_configuration_of_any_size_takes_no_memory() -> None:
    config = transformers.LlamaConfig(hidden_size=1 << 20, intermediate_size=1 << 24, vocab_size=1 << 28)
    found = shrunk(config)
    assert (found["hidden_size"], found["intermediate_size"], found["vocab_size"]) == (2048, 2048, 97)


def test_only_the_decoder_has_layers_that_can_be_taken_for_blocks() -> None:
    found = shrunk(transformers.Gemma3Config())
    assert found["text_config"]["num_hidden_layers"] == 3
    assert found["vision_config"]["num_hidden_layers"] == 1


def test_copies_in_other_folders_are_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []
    monkeypatch.setattr(family, "tried", lambda config: built.append(config) or "")
    monkeypatch.setattr(family, "_refusals", {})
    for name in ("one", "two", "three"):
        transformers.LlamaConfig(hidden_size=64, num_attention_heads=4).save_pretrained(tmp_path / name)
        require_readable(CheckpointSpec(str(tmp_path / name)))
    assert len(built) == 1
