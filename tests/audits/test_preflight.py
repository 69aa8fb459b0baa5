"""What files tell before a model is loaded: a line for each checkpoint that cannot be used."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, save_adapter, save_checkpoint, save_unreadable, tiny_tokenizer
from made_cells import SCORE, MadeEvaluator
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from uds_bench.audits.preflight import preflight
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.checkpoints.spec import Dtype
from uds_bench.errors import CheckpointError
from uds_bench.facts import stop_tokens
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.scoring.store import Store

Spoil = Callable[[Path], object]


@pytest.fixture
def specs(tmp_path: Path) -> dict[str, CheckpointSpec]:
    tokenizer, found = tiny_tokenizer(), {}
    for seed, name in enumerate(("full", "npo", "simnpo")):
        model = FAMILIES["llama"](len(tokenizer), seed=seed)
        model.generation_config.eos_token_id = tokenizer.eos_token_id
        save_checkpoint(tmp_path / name, model, tokenizer)
        found[name] = CheckpointSpec(str(tmp_path / name))
    return found


def rewrite(path: Path, **settings: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def spoil(folder: Path) -> None:
    file = max(folder.glob("*.safetensors"))
    weights = load_file(file)
    next(iter(weights.values())).view(-1)[0] = torch.nan
    save_file(weights, file, metadata={"format": "pt"})


def cut(folder: Path) -> None:
    file = max(folder.glob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:-40])


def of_another_family(folder: Path) -> None:
    for old in folder.iterdir():
        old.unlink()
    tokenizer = tiny_tokenizer()
    save_checkpoint(folder, FAMILIES["qwen2"](len(tokenizer)), tokenizer)


BROKEN = {
    "NaN": (spoil, "holds NaN or infinity"),
    "cut": (cut, "is truncated or damaged"),
    "family": (of_another_family, "its family is qwen2, the full model's is llama"),
    "quantized": (lambda f: rewrite(f / "config.json", quantization_config={"bits": 4}), "is stored quantized"),
    "vocabulary": (lambda f: rewrite(f / "config.json", vocab_size=20), "embeds only 20 tokens"),
    "list": (lambda f: rewrite(f / "config.json", model_type=["llama"]), "model_type"),
    "tokenizer": (lambda f: (f / "tokenizer.json").write_text("{"), "the tokenizer in"),
    "ends": (lambda f: rewrite(f / "generation_config.json", eos_token_id=None), "eos_token_id in generation_config"),
}


@pytest.mark.parametrize(("break_it", "told"), BROKEN.values(), ids=BROKEN)
def test_one_that_cannot_be_used_is_named_and_no_other(
    specs: dict[str, CheckpointSpec], break_it: Spoil, told: str
) -> None:
    assert preflight(specs, specs, ("npo", "simnpo"), "full") == {}
    break_it(Path(specs["npo"].model))
    (problem,) = preflight(specs, specs, ("npo", "simnpo"), "full").items()
    assert problem[0] == "npo"
    assert problem[1].startswith("npo")
    assert told in problem[1]
    assert "\n" not in problem[1]
    assert preflight(specs, ["full", "simnpo"], ("npo", "simnpo"), "full") == {}


PASSED_OVER = {
    "no end": ({"eos_token_id": None}, "eos_token_id in generation_config.json does not name '</s>' (2), where"),
    "another end": ({"eos_token_id": [5, 6]}, "eos_token_id in generation_config.json does not name '</s>' (2), where"),
    "steered": ({"min_new_tokens": 64}, "min_new_tokens in generation_config.json changes what its weights say"),
}


@pytest.mark.parametrize(("settings", "told"), PASSED_OVER.values(), ids=PASSED_OVER)
def test_without_a_parent_what_is_said_behind_an_end_is_served_by_none(
    specs: dict[str, CheckpointSpec], settings: dict[str, Any], told: str
) -> None:
    """As of lmlm, and of bypass without a control that knows: it was read up to its end, and served beyond."""
    own, names = Path(specs["npo"].model), ["npo", "simnpo"]
    assert preflight(specs, names, names) == {}
    rewrite(own / "generation_config.json", eos_token_id=[2, 5], temperature=0.6, do_sample=True)
    assert preflight(specs, names, names) == {}, "more ends, and how replies are drawn, hide nothing"
    rewrite(own / "generation_config.json", **settings)
    (problem,) = preflight(specs, names, names).items()
    assert problem[0] == "npo"
    assert problem[1].startswith(f"npo ({own}): {told}")
    assert preflight(specs, names, ["simnpo"]) == {}, "a control is the user's own"


def test_settings_of_the_model_alone_are_read_as_they_are_served(specs: dict[str, CheckpointSpec]) -> None:
    own = Path(specs["npo"].model)
    (own / "generation_config.json").unlink()
    assert preflight(specs, ["npo"], ["npo"]) == {}
    rewrite(own / "config.json", eos_token_id=None)
    assert "does not name '</s>' (2)" in preflight(specs, ["npo"], ["npo"])["npo"]


def test_a_turn_s_end_of_a_base_model_need_not_be_served(specs: dict[str, CheckpointSpec]) -> None:
    """As of Qwen2.5, whose base has a chat template and stops at the end of text alone."""
    tokenizer = AutoTokenizer.from_pretrained(own := specs["npo"].model)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_end|>"]})
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}<|im_end|>{% endfor %}"
    model = FAMILIES["llama"](len(tokenizer))
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    save_checkpoint(Path(own), model, tokenizer)
    assert len(stop_tokens(tokenizer)) == 2
    assert preflight({"npo": specs["npo"]}, ["npo"], ["npo"]) == {}


@pytest.mark.parametrize(("dtype", "device"), [("bfloat16", "cpu"), ("float16", "cpu"), (None, "cuda")])
def test_what_would_be_judged_in_fewer_bits_than_it_is_stored_in_is_refused(
    specs: dict[str, CheckpointSpec], dtype: Dtype | None, device: str
) -> None:
    """What two large weights say by their difference is there in float32 alone: a model that says it would pass."""
    wanted = dtype or "bfloat16"
    specs |= {"npo": replace(specs["npo"], dtype=dtype)}
    (told,) = preflight(specs, specs, ["npo"], "full", device=device).values()
    assert told.startswith(f"npo ({specs['npo'].model}): ")
    assert "is stored in float32, and would be judged in " + wanted in told
    assert preflight(specs, specs, [], "full", device=device) == {}, "a reference is the user's own"
    assert preflight(specs | {"npo": replace(specs["npo"], quantization="nf4")}, specs, ["npo"], "full") == {}
    for back in (getattr(torch, wanted), torch.float32):
        for file in Path(specs["npo"].model).glob("*.safetensors"):
            kept = {name: tensor.to(getattr(torch, wanted)).to(back) for name, tensor in load_file(file).items()}
            save_file(kept, file, metadata={"format": "pt"})
        assert preflight(specs, specs, ["npo"], "full", device=device) == {}, "no bit of it is lost"


def test_an_adapter_s_own_layers_are_not_rounded(specs: dict[str, CheckpointSpec], tmp_path: Path) -> None:
    """They stay in float32 beside a model in 16 bits, as `unlearn --lora` writes them."""
    for file in Path(specs["full"].model).glob("*.safetensors"):
        weights = {name: tensor.bfloat16() for name, tensor in load_file(file).items()}
        save_file(weights, file, metadata={"format": "pt"})
    own = CheckpointSpec(specs["full"].model, adapter=str(save_adapter(tmp_path / "adapter")), dtype="bfloat16")
    assert preflight(specs | {"npo": own}, ["full", "npo"], ["npo"], "full") == {}
    stored = load_file(tmp_path / "adapter" / "adapter_model.safetensors")
    loaded = dict(load(own).model.named_parameters())
    for name, tensor in stored.items():
        (found,) = (
            one for key, one in loaded.items() if key.replace(".default", "").endswith(name.split("model.")[-1])
        )
        assert torch.equal(found, tensor)
    stored["base_model.model.lm_head.weight"] = torch.full((2, 2), 0.1)
    save_file(stored, tmp_path / "adapter" / "adapter_model.safetensors", metadata={"format": "pt"})
    (told,) = preflight(specs | {"npo": own}, ["full", "npo"], ["npo"], "full").values()
    assert "lm_head.weight is stored in float32" in told


def test_a_shipped_model_is_judged_in_float32_and_an_adapter_on_it_as_any(tmp_path: Path) -> None:
    adapter = str(save_adapter(tmp_path / "adapter"))
    for spec, is_fine in (
        (CheckpointSpec("specimen:full"), True),
        (CheckpointSpec("specimen:full", dtype="bfloat16"), True),
        (CheckpointSpec("specimen:full", adapter=adapter), True),
        (CheckpointSpec("specimen:full", adapter=adapter, dtype="bfloat16"), False),
    ):
        assert (preflight({"npo": spec}, ["npo"], ["npo"], device="cuda") == {}) is is_fine


def test_what_is_wrong_with_a_parent_is_told_of_it_alone(specs: dict[str, CheckpointSpec]) -> None:
    (Path(specs["full"].model) / "tokenizer.json").write_text("{")
    assert preflight(specs, specs, ("npo", "simnpo"), "full").keys() == {"full"}


def test_a_family_that_cannot_be_read_is_told_once_before_it_is_loaded(tmp_path: Path) -> None:
    names = ("full", "retain", "npo")
    specs = {name: CheckpointSpec(str(save_unreadable(tmp_path / name, seed))) for seed, name in enumerate(names)}
    found = preflight(specs, specs, ["npo"], "full")
    assert found.keys() == specs.keys()
    (told,) = set(found.values())
    with pytest.raises(CheckpointError) as caught:
        load(specs["full"])
    assert told == f"full, retain, npo: {caught.value}"
    assert "family prophetnet is not supported: final norm and head" in told


def test_a_fault_of_many_is_told_once(specs: dict[str, CheckpointSpec]) -> None:
    (Path(specs["npo"].model) / "tokenizer.json").write_text("{")
    made = {f"npo{number}": specs["npo"] for number in range(7)}
    (told,) = set(preflight({"full": specs["full"]} | made, made, made, "full").values())
    assert told.startswith("npo0, npo1, npo2, npo3 and 3 more: checkpoint ")


def test_a_shipped_parent_is_read_as_well(specs: dict[str, CheckpointSpec]) -> None:
    """Its children are of its own vocabulary and family; these are not."""
    found = preflight(specs | {"full": CheckpointSpec("specimen:full")}, ["full", "npo"], ["npo"], "full")
    assert found.keys() == {"npo"}


def test_models_that_are_still_to_be_trained_are_left_alone() -> None:
    assert preflight({"full": CheckpointSpec("zoo:full")}, ["full"], (), "full") == {}


def test_what_another_device_scored_of_rounded_weights_is_no_score_of_them(
    specs: dict[str, CheckpointSpec], tmp_path: Path
) -> None:
    """A GPU scores them in bfloat16, where they may be a model that forgot. References are the user's own."""
    store, request = Store(tmp_path / "store"), ScoreRequest("npo")

    def runner(npo: CheckpointSpec) -> ScoreRunner:
        found = ScoreRunner(specs | {"npo": npo}, MadeEvaluator(tmp_path), store, "cpu")
        found.first = ("full",)
        return found

    here = runner(specs["npo"])
    for one in (ScoreRequest("full"), request):
        cell = here.cell(one, "cuda")
        store.write(cell, replace(SCORE, provenance={"cell": cell.key}))
    assert here.stored(ScoreRequest("full")) is not None
    assert here.stored(request) is None
    assert runner(replace(specs["npo"], dtype="bfloat16")).stored(request) is not None, "whoever asks for it is told so"
    for file in Path(specs["npo"].model).glob("*.safetensors"):
        halved = {name: tensor.bfloat16().float() for name, tensor in load_file(file).items()}
        save_file(halved, file, metadata={"format": "pt"})
    whole = runner(specs["npo"])
    cell = whole.cell(request, "cuda")
    store.write(cell, replace(SCORE, provenance={"cell": cell.key}))
    assert whole.stored(request) is not None
