"""The depth audit on the real TOFU text: small models trained on forget10 and some of retain90, 367 annotated items."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from uds_bench.methods.examples import Batch, Example, epochs, pairs_to_examples, steps_per
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.training import Optimisation, train
from uds_bench.zoo.fresh import byte_level_tokenizer

pytestmark = pytest.mark.slow

BASE, RETAIN = slice(0, 1600), slice(1600, 1800)
"""Rows of retain90: the base learns the language of the first, full and retain models share the second."""


def pairs(path: Path) -> list[tuple[str, str]]:
    return [(row["question"], row["answer"]) for row in map(json.loads, path.read_text().splitlines())]


def fit(model: Any, examples: list[Example], count: int, size: int, seed: int) -> Any:
    def loss(current: Any, batch: Batch) -> torch.Tensor:
        return answer_nll(current, batch)

    model = copy.deepcopy(model)
    batches = epochs(examples, size, count, torch.Generator().manual_seed(seed))
    optimisation = Optimisation(3e-3, schedule="cosine", warmup=0.05)
    train(model, batches, loss, optimisation, steps_per(len(examples), size, count))
    return model


@pytest.fixture(scope="module")
def checkpoints(public_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    forget = pairs(public_data / "tofu" / "forget10.json")
    others = pairs(public_data / "tofu" / "retain90.json")
    tokenizer = byte_level_tokenizer([f"{q} {a}" for q, a in others[BASE]], 2048)
    torch.manual_seed(0)
    base = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=96,
            intermediate_size=256,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    language = [Example(e.ids, 1) for e in pairs_to_examples(tokenizer, others[BASE])]
    base = fit(base, language, count=2, size=32, seed=0)
    known, kept = pairs_to_examples(tokenizer, forget), pairs_to_examples(tokenizer, others[RETAIN])
    models = {
        "full": fit(base, known + kept, count=12, size=16, seed=1),
        "retain": fit(base, kept, count=12, size=16, seed=1),
        "independent": fit(base, kept, count=12, size=16, seed=2),
    }
    folder = tmp_path_factory.mktemp("tofu")
    for name, model in models.items():
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return folder


def test_depth_on_tofu(checkpoints: Path, public_data: Path, pytester: pytest.Pytester) -> None:
    manifest = checkpoints / "uds.toml"
    manifest.write_text(
        f"""
[facts]
source = "{public_data / "uds" / "forget10_filtered.json"}"
[references]
full = "full"
retain = "retain"
[candidates]
independent = "independent"
copy_of_full = "full"
"""
    )
    suites = Path(__file__).parents[2] / "suites" / "test_depth.py"
    result = pytester.runpytest_subprocess(
        suites,
        *("--uds-manifest", manifest, "--uds-json", checkpoints / "run.json"),
        *("--uds-store", checkpoints / "store", "-p", "no:cacheprovider"),
    )
    report = json.loads((checkpoints / "run.json").read_text())
    verdicts = {claim["name"]: claim["verdict"] for claim in report["claims"]}
    values = {s["checkpoint"]: s for s in report["scores"] if (s["metric"], s["variant"]) == ("uds", "block")}
    accuracy = {s["checkpoint"]: s["value"] for s in report["scores"] if s["variant"] == "prefixed"}

    assert {row["n_planned"] for row in values.values()} == {367}
    assert verdicts["depth.self_patch"] == verdicts["depth.retain_is_one"] == "pass"
    assert verdicts["depth.last_layer_is_lens"] == "pass"
    assert values["full"]["value"] == pytest.approx(0.0, abs=1e-4)
    assert values["copy_of_full"]["value"] == pytest.approx(0.0, abs=1e-4)
    assert values["retain"]["value"] == pytest.approx(1.0, abs=1e-4)
    assert 0.5 < values["independent"]["value"] < 1.0
    assert accuracy["full"] > 2 * accuracy["retain"]
    assert verdicts["depth.score[copy_of_full]"] == "fail"
    assert result.ret == 1
