"""Where the parts of a decoder are, and the matrices that write into the stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, LAYERS, PROBE, WIDTH, tiny_tokenizer

from uds_bench.checkpoints import CheckpointSpec, block_hidden, find_anatomy, load, shape
from uds_bench.checkpoints.probe import adds_up, verify
from uds_bench.checkpoints.projections import find_projections
from uds_bench.errors import CheckpointError


@pytest.fixture(params=sorted(FAMILIES))
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def traced(checkpoint: Any) -> tuple[dict[Any, torch.Tensor], dict[Any, torch.Tensor], torch.Tensor]:
    """Inputs and outputs by module, and logits, of one forward pass over the probe text."""
    inputs, outputs, anatomy = {}, {}, checkpoint.anatomy

    def hook(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        inputs[module] = args[0] if args else kwargs.get("hidden_states")
        outputs[module] = block_hidden(output)

    modules = (*anatomy.blocks, *anatomy.attention, *anatomy.mlp)
    handles = [module.register_forward_hook(hook, with_kwargs=True) for module in modules]
    logits = checkpoint.model(**checkpoint.tokenizer(PROBE, return_tensors="pt")).logits
    for handle in handles:
        handle.remove()
    return inputs, outputs, logits


def test_parts_explain_the_forward_pass(family: str, saved: Callable[[str], Path]) -> None:
    checkpoint = load(CheckpointSpec(str(saved(family))))
    anatomy = checkpoint.anatomy
    assert len(anatomy.blocks) == len(anatomy.attention) == len(anatomy.mlp) == LAYERS
    assert len(list(saved(family).glob("*.safetensors"))) >= 2
    inputs, outputs, logits = traced(checkpoint)
    for block, attention, mlp in zip(anatomy.blocks, anatomy.attention, anatomy.mlp, strict=True):
        added = outputs[block] - inputs[block]
        torch.testing.assert_close(added, outputs[attention] + outputs[mlp], atol=1e-5, rtol=1e-5)
        assert outputs[attention].abs().max() > 1e-3
        assert outputs[mlp].abs().max() > 1e-3
    torch.testing.assert_close(anatomy.readout(outputs[anatomy.blocks[-1]]), logits, atol=1e-5, rtol=1e-5)
    assert not torch.equal(anatomy.readout(outputs[anatomy.blocks[0]]), logits)


def test_the_loaded_model_is_the_saved_one(family: str, saved: Callable[[str], Path]) -> None:
    checkpoint, tokenizer = load(CheckpointSpec(str(saved(family)))), tiny_tokenizer()
    ids = tokenizer(PROBE, return_tensors="pt")
    assert checkpoint.tokenizer(PROBE)["input_ids"] == ids["input_ids"][0].tolist()
    with torch.no_grad():
        expected = FAMILIES[family](len(tokenizer))(**ids).logits
    torch.testing.assert_close(checkpoint.model(**ids).logits, expected, atol=1e-5, rtol=1e-5)
    assert not checkpoint.model.training
    assert not any(p.requires_grad for p in checkpoint.model.parameters())
    assert checkpoint.device == torch.device("cpu")


def test_shape_needs_no_weights(family: str, saved: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((saved(family) / "config.json").read_bytes())
    found = shape(CheckpointSpec(str(tmp_path)))
    assert (found.layers, found.width, found.vocabulary) == (LAYERS, WIDTH, len(tiny_tokenizer()))
    assert family.startswith(found.family.removesuffix("_text"))


def test_soft_caps_are_seen(saved: Callable[[str], Path]) -> None:
    for family, cap in (("gemma2", 2.0), ("gemma3", 2.0), ("gemma3_multimodal", None), ("llama", None)):
        checkpoint = load(CheckpointSpec(str(saved(family))))
        assert checkpoint.anatomy.softcap == cap
        eager = checkpoint.model.config._attn_implementation == "eager"
        assert eager == (family == "gemma2"), "attention soft caps need eager attention"


WRONG: dict[str, Callable[[Any], dict[str, Any]]] = {
    "another norm": lambda a: {"norm": a.blocks[0].input_layernorm},
    "no cap": lambda a: {"softcap": None},
    "another cap": lambda a: {"softcap": 3.0},
    "another scale": lambda a: {"scale": 1.5},
    "blocks in disorder": lambda a: {"blocks": a.blocks[::-1]},
    "a block is left out": lambda a: {"blocks": a.blocks[:-1]},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_anatomy_is_refused(wrong: str) -> None:
    model = FAMILIES["gemma2"]().requires_grad_(False)
    anatomy = find_anatomy(model)
    verify(model, anatomy)
    with pytest.raises(CheckpointError, match="family gemma2 is not supported"):
        verify(model, replace(anatomy, **WRONG[wrong](anatomy)))


def test_parts_that_do_not_add_up_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    model = FAMILIES["gemma2"]().requires_grad_(False)
    block = type(model.model.layers[0])
    forward = block.forward
    assert verify(model, find_anatomy(model)).branch("mlp")
    monkeypatch.setattr(block, "forward", lambda *args, **kwargs: forward(*args, **kwargs) * 1.5)
    found = verify(model, find_anatomy(model))
    assert (found.attention, found.mlp) == ((), ())
    assert found.blocks == found.branch("block")
    for scope in ("attention", "mlp", "attention_residual"):
        with pytest.raises(CheckpointError, match=f"so that {scope} cannot be told apart"):
            found.branch(scope)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_beside_a_large_stream_parts_are_still_told_apart(dtype: torch.dtype) -> None:
    """What is added is no more than a rounding of the largest value, which any two modules add up to."""
    model = FAMILIES["llama"]().requires_grad_(False).to(dtype)
    model.model.embed_tokens.weight[:, 0] += 3e4
    found, blocks = verify(model, find_anatomy(model)), model.model.layers
    assert [*found.attention, *found.mlp] == [*(each.self_attn for each in blocks), *(each.mlp for each in blocks)]


def test_tokens_that_hear_of_later_ones_are_refused() -> None:
    model = FAMILIES["llama"]().requires_grad_(False)
    for block in model.model.layers:
        block.self_attn.is_causal = False
    with pytest.raises(CheckpointError, match="its tokens hear of later ones, so that it is no decoder"):
        verify(model, find_anatomy(model))


def test_a_model_without_as_many_blocks_as_it_says_is_refused() -> None:
    model = FAMILIES["llama"]()
    model.config.num_hidden_layers += 1
    with pytest.raises(CheckpointError, match="family llama is not supported: it has no list of as many blocks"):
        find_anatomy(model)


def test_adding_up_allows_rounding_and_nothing_more() -> None:
    big, small = torch.full((1, 2, 4), 1000.0), torch.ones(1, 2, 4)
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        parts = [(big + small).to(dtype), (-big).to(dtype), small.to(dtype)]
        total = parts[0] + parts[1] + parts[2]
        assert adds_up(total, parts)
        assert not adds_up(total + 100, parts)
        assert not adds_up(total, [parts[0], parts[2]])
        assert not adds_up(total, [part[:, :1] for part in parts])
        quiet = torch.stack([big[0], small[0]]).to(dtype)
        assert not adds_up(quiet, [quiet * torch.tensor([1.0, 1.5]).view(2, 1, 1).to(dtype)]), "each token counts"
    nan = torch.full((1, 2, 4), float("nan"))
    assert not adds_up(nan, [nan])


@pytest.mark.parametrize("output", [None, [1.0], ({"a": 1},)])
def test_block_hidden_takes_tensors_only(output: Any) -> None:
    hidden = torch.ones(1, 2, 3)
    assert block_hidden(hidden) is block_hidden((hidden, None)) is hidden
    with pytest.raises(TypeError, match="not hidden states"):
        block_hidden(output)


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
    target, branch = find_projections(model)[1], verify(model, find_anatomy(model)).mlp[1]
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
        added = target.norm(output)
        wanted = 1e-2 * torch.randn(added.shape, generator=torch.Generator().manual_seed(0)) * added.abs().mean()
        passed, plain = (target.norm(output + shift) - added for shift in (target.shift(wanted, output), wanted))
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
        target.norm.weight[3] = 0.0
    shift = target.shift(torch.ones(2, WIDTH), torch.randn(2, WIDTH))
    assert shift.isfinite().all()
    assert not shift[:, 3].any()


def test_experts_are_told() -> None:
    with pytest.raises(CheckpointError, match=r"family qwen3_moe, block 0: what its MLP adds is given by no plain"):
        find_projections(FAMILIES["qwen3_moe"]())
