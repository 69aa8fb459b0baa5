"""Few bits: every weight of the blocks' matrices at the nearest level of its block, and nothing else touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from bitsandbytes.nn import Linear4bit
from families import FAMILIES, PROBE, save_adapter, save_checkpoint, tiny_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from references.rounding import slow_rounded

from uds_bench.attacks import few_bits as module
from uds_bench.attacks.few_bits import few_bits, matrices, rounded
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.errors import CheckpointError, ConfigurationError
from uds_bench.facts import FactSet

Family = Callable[[str], CheckpointSpec]
NOBODY = FactSet(())
BITS = range(1, 9)
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@st.composite
def drawn(draw: st.DrawFn, dtypes: tuple[torch.dtype, ...] = DTYPES) -> tuple[torch.Tensor, int, int]:
    """A matrix, bits and a block: of normal weights, of small whole numbers (ties, zeros), or of any floats."""
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 12))
    numbers: Any = draw(
        st.sampled_from(
            [st.integers(-6, 6).map(float), st.floats(-4, 4, width=16), st.floats(width=16, allow_infinity=False)]
        )
    )
    flat = draw(st.lists(numbers.filter(lambda one: one == one), min_size=rows * columns, max_size=rows * columns))
    matrix = torch.tensor(flat, dtype=torch.float32).reshape(rows, columns).to(draw(st.sampled_from(dtypes)))
    return matrix, draw(st.sampled_from(BITS)), draw(st.integers(1, 14))


def blocks_of(matrix: torch.Tensor, block: int) -> list[torch.Tensor]:
    return [part for row in matrix for part in row.split(block)]


@given(drawn())
def test_the_nearest_level_as_by_hand(case: tuple[torch.Tensor, int, int]) -> None:
    matrix, bits, block = case
    slow = [slow_rounded(row, bits, block) for row in matrix.tolist()]
    found = rounded(matrix, bits, block)
    assert found.dtype == matrix.dtype
    assert torch.equal(found, torch.tensor(slow, dtype=torch.float64).to(matrix.dtype))


@pytest.mark.parametrize(
    ("bits", "row", "found"),
    [
        (1, [1.0, -2.0, 0.0, 5.0], [2.0, -2.0, 2.0, 2.0]),
        (2, [3.0, -2.0, 0.0, -0.1], [3.0, -3.0, 1.0, -1.0]),
        (2, [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]),
        (3, [7.0, 4.0, -3.9, 0.5], [7.0, 5.0, -3.0, 1.0]),
    ],
)
def test_by_hand(bits: int, row: list[float], found: list[float]) -> None:
    assert rounded(torch.tensor([row]), bits, 4).tolist() == [found]


@given(drawn())
def test_rounding_twice_is_rounding_once(case: tuple[torch.Tensor, int, int]) -> None:
    matrix, bits, block = case
    once = rounded(matrix, bits, block)
    assert torch.equal(rounded(once, bits, block), once)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_levels_and_error_of_normal_weights(bits: int, dtype: torch.dtype) -> None:
    matrix = torch.randn(16, 200, generator=torch.Generator().manual_seed(bits)).to(dtype)
    found = rounded(matrix, bits, 64)
    assert torch.equal(rounded(found, bits, 64), found)
    for before, after in zip(blocks_of(matrix.double(), 64), blocks_of(found.double(), 64), strict=True):
        assert after.unique().numel() <= 2**bits
        assert torch.equal(after < 0, before < 0)
        largest = before.abs().max()
        if bits == 1:
            torch.testing.assert_close(
                after.abs().unique()[0], before.abs().mean(), rtol=torch.finfo(dtype).eps, atol=0
            )
        else:
            assert after.abs().max() == largest
            assert (after - before).abs().max() <= largest * (1 / (2**bits - 1) + torch.finfo(dtype).eps)


def test_more_bits_are_nearer() -> None:
    matrix = torch.randn(16, 200, generator=torch.Generator().manual_seed(0))
    errors = [(rounded(matrix, bits, 64) - matrix).square().mean().item() for bits in BITS if bits > 1]
    assert errors == sorted(errors, reverse=True)


def named(checkpoint: Checkpoint) -> dict[str, torch.Tensor]:
    return dict(checkpoint.model.named_parameters())


def changed(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor]) -> set[str]:
    assert before.keys() == after.keys()
    return {name for name in before if not torch.equal(before[name], after[name])}


@pytest.mark.parametrize("name", FAMILIES)
def test_matrices_of_blocks_change_and_the_rest_stays(
    name: str, family: Family, weights: Callable[[Path | str], dict[str, bytes]]
) -> None:
    spec = family(name)
    stored, plain = weights(spec.model), load(spec, "cpu")
    before = named(plain)
    attacked = few_bits(2, 24).apply(spec, "cpu", NOBODY)  # 24 divides no width of the families
    after = named(attacked)
    own = {id(parameter) for block in plain.anatomy.blocks for parameter in block.parameters()}
    expected = {n for n, p in before.items() if id(p) in own and p.dim() > 1 and not n.endswith("mlp.gate.weight")}
    assert expected
    assert changed(before, after) == expected
    for key in expected:
        old, new = (given[key].mT if name == "gpt2" else given[key] for given in (before, after))
        assert torch.equal(new, rounded(old, 2, 24))
    assert weights(spec.model) == stored
    ids = attacked.tokenizer(PROBE, return_tensors="pt")
    told, plainly = (one.model(**ids).logits for one in (attacked, plain))
    assert torch.isfinite(told).all()
    assert not torch.allclose(told, plainly, atol=1e-3)


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2", "phi3"])
def test_it_reaches_what_nf4_reaches(name: str, family: Family) -> None:
    spec = family(name)
    quantized = load(replace(spec, quantization="nf4"), "cpu").model
    reached = {f"{n}.weight" for n, m in quantized.named_modules() if isinstance(m, Linear4bit)}
    assert changed(named(load(spec, "cpu")), named(few_bits(3).apply(spec, "cpu", NOBODY))) == reached


@pytest.mark.parametrize("transposed", [False, True])
def test_experts_are_rounded_along_their_inputs(transposed: bool, family: Family) -> None:
    checkpoint = load(family("qwen3_moe"), "cpu")
    for block in checkpoint.anatomy.blocks:
        block.mlp.experts.is_transposed = transposed
    experts = checkpoint.anatomy.blocks[0].mlp.experts
    tensor = experts.down_proj[1]
    wanted = (tensor.mT if transposed else tensor).shape
    same = [view for view in matrices(checkpoint) if view.data_ptr() == tensor.data_ptr()]
    assert [view.shape for view in same] == [wanted]


def test_chunks_do_not_show(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = named(few_bits(2).apply(family("gpt2"), "cpu", NOBODY))
    monkeypatch.setattr(module, "CHUNK", 70)
    assert not changed(whole, named(few_bits(2).apply(family("gpt2"), "cpu", NOBODY)))


def test_the_dtype_stays(family: Family) -> None:
    spec = replace(family("llama"), dtype="bfloat16")
    before, after = named(load(spec, "cpu")), named(few_bits(1, 8).apply(spec, "cpu", NOBODY))
    key = "model.layers.1.mlp.up_proj.weight"
    assert after[key].dtype == torch.bfloat16
    assert torch.equal(after[key], rounded(before[key], 1, 8))


def test_an_adapter_is_rounded_with_its_base_or_refused(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    base = save_checkpoint(tmp_path / "base", FAMILIES["llama"](384), tokenizer)
    spec = CheckpointSpec(str(base), str(save_adapter(tmp_path / "adapter")), dtype="float32")
    before, after = named(load(spec, "cpu")), named(few_bits(2).apply(spec, "cpu", NOBODY))
    key = "model.layers.0.self_attn.q_proj.weight"
    assert torch.equal(after[key], rounded(before[key], 2, 64))
    assert not torch.equal(after[key], rounded(named(load(replace(spec, adapter=None), "cpu"))[key], 2, 64))
    with pytest.raises(CheckpointError, match=r'adapter .* beside the weights .* dtype = "float32"') as caught:
        few_bits(2).apply(replace(spec, dtype="bfloat16"), "cpu", NOBODY)
    assert "\n" not in str(caught.value)


def test_quantized_weights_are_refused(family: Family) -> None:
    with pytest.raises(CheckpointError, match=r"llama is nf4: .* without quantization") as caught:
        few_bits(2).apply(replace(family("llama"), quantization="nf4"), "cpu", NOBODY)
    assert "\n" not in str(caught.value)


def test_a_family_whose_matrices_are_not_found_is_refused(family: Family) -> None:
    checkpoint = load(family("qwen3_moe"), "cpu")
    for block in checkpoint.anatomy.blocks:
        del block.mlp.experts.is_transposed
    with pytest.raises(CheckpointError, match=r"only 33% of the weights in the blocks of family qwen3_moe") as caught:
        list(matrices(checkpoint))
    assert "\n" not in str(caught.value)


def test_names_and_settings() -> None:
    attack = few_bits(4)
    assert (attack.name, attack.settings) == ("bits4", {"bits": 4, "block": 64})
    assert attack.source == "WikiMem, section 6 (simulated)"
    assert len({few_bits(4).key, few_bits(3).key, few_bits(4, 32).key}) == 3


@pytest.mark.parametrize("bits", [0, -1, 9, 2.0, True])
def test_bits_that_cannot_be(bits: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"few_bits: bits = .* from 1 to 8"):
        few_bits(bits)


@pytest.mark.parametrize("block", [0, -64, 1.5, None])
def test_blocks_that_cannot_be(block: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"few_bits: block = .* 1 or more"):
        few_bits(2, block)


@settings(max_examples=20)
@given(st.integers(1, 8), st.integers(2**30, 2**40))
def test_a_block_longer_than_a_row_is_the_row(bits: int, block: int) -> None:
    matrix = torch.randn(2, 10, generator=torch.Generator().manual_seed(bits))
    assert torch.equal(rounded(matrix, bits, block), rounded(matrix, bits, 10))
