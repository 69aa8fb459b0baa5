"""Loading: precision, NF4, and weights or vocabularies that are not what the configuration says."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, PROBE, save_checkpoint, tiny_tokenizer
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.checkpoints.quantization import quantized_share
from uds_bench.checkpoints.weights import finite
from uds_bench.errors import CheckpointError


def logits(checkpoint: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = checkpoint.model(**checkpoint.tokenizer(PROBE, return_tensors="pt")).logits.float()
    return found


def rewrite(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    """Apply `change` to the tensors of each shard."""
    for path in folder.glob("*.safetensors"):
        tensors = load_file(path)
        change(tensors)
        save_file(tensors, path, metadata={"format": "pt"})


@pytest.mark.parametrize("family", ["llama", "gemma2", "gpt_neox", "gpt2"])
def test_precisions(family: str, saved: Callable[[str], Path]) -> None:
    exact = logits(load(CheckpointSpec(str(saved(family)))))
    for dtype, near in (("float32", 0.0), ("bfloat16", 0.1), ("float16", 0.01)):
        checkpoint = load(CheckpointSpec(str(saved(family)), dtype=dtype))
        assert checkpoint.model.dtype == getattr(torch, dtype)
        distance = ((logits(checkpoint) - exact).norm() / exact.norm()).item()
        assert distance <= near
        assert (distance > 0) == (dtype != "float32")


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"qwen3_moe"}))
@pytest.mark.parametrize(("form", "least", "most"), [("nf4", 0.005, 0.6), ("int8", 0.0005, 0.06)])
def test_quantization_reaches_every_block(
    form: Any, least: float, most: float, family: str, saved: Callable[[str], Path]
) -> None:
    exact = logits(load(CheckpointSpec(str(saved(family)))))
    checkpoint = load(CheckpointSpec(str(saved(family)), quantization=form))
    assert quantized_share(checkpoint.anatomy) == 1.0
    distance = (logits(checkpoint) - exact).norm() / exact.norm()
    assert least < distance < most, "logits change, and not much; of eight bits a sixteenth as much"


@pytest.mark.parametrize("form", ["nf4", "int8"])
def test_quantization_that_misses_the_experts_is_refused(form: Any, saved: Callable[[str], Path]) -> None:
    with pytest.raises(CheckpointError, match=f"qwen3_moe: {form} reaches only 33% of the blocks' weights"):
        load(CheckpointSpec(str(saved("qwen3_moe")), quantization=form))


@pytest.mark.parametrize("quantization", [None, "nf4", "int8"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_one_bad_weight_is_named(llama: Path, value: float, quantization: Any) -> None:
    name = "model.layers.1.mlp.up_proj.weight"

    def spoil(tensors: dict[str, torch.Tensor]) -> None:
        if name in tensors:
            tensors[name][3, 5] = value

    rewrite(llama, spoil)
    with pytest.raises(CheckpointError, match=f"{name} holds NaN or infinity") as caught:
        load(CheckpointSpec(str(llama), quantization=quantization))
    assert "\n" not in str(caught.value)


def test_a_weight_too_large_for_the_dtype_is_named(llama: Path) -> None:
    rewrite(llama, lambda tensors: [t.view(-1)[:1].fill_(1e5) for n, t in tensors.items() if n == "model.norm.weight"])
    load(CheckpointSpec(str(llama)))
    with pytest.raises(CheckpointError, match=r"model.norm.weight holds NaN or infinity in torch.float16"):
        load(CheckpointSpec(str(llama), dtype="float16"))


def test_logits_too_large_for_the_dtype_are_told_with_those_that_hold_them(llama: Path) -> None:
    rewrite(llama, lambda tensors: [t.copy_(t.sign() * 6e4) for n, t in tensors.items() if n == "lm_head.weight"])
    load(CheckpointSpec(str(llama)))
    with pytest.raises(CheckpointError, match=r"NaN or infinite in torch.float16 on cpu: use bfloat16 or float32$"):
        load(CheckpointSpec(str(llama), dtype="float16"))


def test_a_dtype_that_the_device_lacks_is_told_with_what_to_set(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.models.llama.modeling_llama import LlamaMLP

    plain = LlamaMLP.forward
    # Torch computes distances on a CPU in 32 bits alone.
    monkeypatch.setattr(LlamaMLP, "forward", lambda self, x: plain(self, x) + 0 * torch.cdist(x, x).sum())
    load(CheckpointSpec(str(llama)))
    for dtype in ("float16", "bfloat16"):
        said = f"""does not run in torch.{dtype} on cpu .*not implemented for.*: set dtype = "float32", or another"""
        with pytest.raises(CheckpointError, match=said) as caught:
            load(CheckpointSpec(str(llama), dtype=dtype))
        assert "\n" not in str(caught.value)


@given(
    st.sampled_from([torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.int64]),
    st.lists(st.sampled_from([0.0, -3.0, 7.0, float("nan"), float("inf"), float("-inf")]), max_size=8),
)
def test_finite_is_isfinite(dtype: torch.dtype, values: list[float]) -> None:
    tensor = torch.tensor(values).nan_to_num(1.0, 1.0, 1.0).to(dtype) if not dtype.is_floating_point else None
    tensor = torch.tensor(values, dtype=torch.float32).to(dtype) if tensor is None else tensor
    assert finite(tensor) == bool(torch.isfinite(tensor.float()).all())


def test_missing_unused_and_misshapen_weights(saved: Callable[[str], Path], tmp_path: Path) -> None:
    name = "lm_head.weight"
    cases: dict[str, tuple[Callable[[dict[str, torch.Tensor]], Any], str]] = {
        "missing": (lambda t: t.pop(name), f"1 weights are not in the files, such as {name}"),
        "unused": (
            lambda t: t.__setitem__("model.layers.0.mlp.lora_A.weight", torch.ones(2, 2)),
            "1 weights have no place in the model, such as model.layers.0.mlp.lora_A.weight",
        ),
        "misshapen": (lambda t: t.__setitem__(name, t[name][:-1].clone()), "cannot be loaded from"),
    }
    tokenizer = tiny_tokenizer()
    for case, (change, message) in cases.items():
        folder = save_checkpoint(tmp_path / case, FAMILIES["llama"](len(tokenizer)), tokenizer, shards=1)
        rewrite(folder, change)
        with pytest.raises(CheckpointError, match=message) as caught:
            load(CheckpointSpec(str(folder)))
        assert "\n" not in str(caught.value)


def test_of_two_heads_it_is_not_left_to_the_library_which_one_speaks(
    saved: Callable[[str], Path], tmp_path: Path
) -> None:
    """Transformers speaks by the second one where it is another; others speak by the embeddings, as the file says."""
    folder = shutil.copytree(saved("qwen2"), tmp_path / "two_heads")

    def add_head(tensors: dict[str, torch.Tensor]) -> None:
        if (embedded := tensors.get("model.embed_tokens.weight")) is not None:
            tensors["lm_head.weight"] = embedded.clone()

    rewrite(folder, add_head)
    load(CheckpointSpec(str(folder)))
    rewrite(folder, lambda tensors: [t.neg_() for n, t in tensors.items() if n == "lm_head.weight"])
    with pytest.raises(
        CheckpointError, match=r"ties head and embeddings \(tie_word_embeddings\), and its files hold two"
    ):
        load(CheckpointSpec(str(folder)))


def test_tied_heads_are_whole(saved: Callable[[str], Path]) -> None:
    model = load(CheckpointSpec(str(saved("qwen2")))).model
    assert model.lm_head.weight is model.model.embed_tokens.weight


def test_a_tokenizer_larger_than_the_embedding_is_refused(tmp_path: Path) -> None:
    folder = save_checkpoint(tmp_path / "small", FAMILIES["llama"](300), tiny_tokenizer())
    with pytest.raises(CheckpointError, match=r"has id 300, but the model embeds only 300 tokens"):
        load(CheckpointSpec(str(folder)))
    spare = save_checkpoint(tmp_path / "spare", FAMILIES["llama"](512), tiny_tokenizer())
    assert load(CheckpointSpec(str(spare))).anatomy.head.weight.shape[0] == 512


def test_the_image_token_of_a_text_model_is_let_pass(tmp_path: Path) -> None:
    folder = tmp_path / "gemma"
    tokenizer = tiny_tokenizer()
    model = FAMILIES["gemma3"](len(tokenizer))
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image_soft_token>"]})
    save_checkpoint(folder, model, tokenizer)
    assert len(load(CheckpointSpec(str(folder))).tokenizer) == model.config.vocab_size + 1
    tokenizer.add_special_tokens({"additional_special_tokens": ["<lookup>"]})
    tokenizer.save_pretrained(folder)
    with pytest.raises(CheckpointError, match="token '<lookup>' has id"):
        load(CheckpointSpec(str(folder)))


def test_a_device_that_is_not_there(saved: Callable[[str], Path]) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(CheckpointError, match=r"cannot be loaded from .* on cuda") as caught:
        load(CheckpointSpec(str(saved("llama"))), device="cuda")
    assert "\n" not in str(caught.value)
