"""Quantized layers stand for the weights that their definitions give, whatever the processor, width and batch."""

from __future__ import annotations

import copy

import pytest
import torch
from bitsandbytes import functional
from bitsandbytes.nn.modules import Linear4bit, Linear8bitLt

from uds_bench.checkpoints import quantization
from uds_bench.checkpoints.quantization import compute_plainly, dequantized

BLOCK = 64


def nearest_codes(weight: torch.Tensor) -> torch.Tensor:
    """NF4 by definition: each block of 64 scaled by its largest magnitude, each weight to the nearest of 16 codes."""
    code = functional.get_4bit_type("nf4", device="cpu").tolist()
    found = []
    flat = weight.flatten().tolist()
    for start in range(0, len(flat), BLOCK):
        block = flat[start : start + BLOCK]
        scale = max(map(abs, block))
        found += [scale * min(code, key=lambda c: abs(c - value / scale)) for value in block]
    return torch.tensor(found).reshape(weight.shape)


def quantized(weight: torch.Tensor, nested: bool) -> Linear4bit:
    out, width = weight.shape
    layer = Linear4bit(width, out, bias=False, quant_type="nf4", compress_statistics=nested)
    layer.load_state_dict({"weight": weight})
    return layer.to("cpu")


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("shape", [(32, 32), (64, 96), (48, 64), (96, 256)])
def test_weights_are_those_of_the_definition(shape: tuple[int, int], nested: bool) -> None:
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    layer, wanted = quantized(weight, nested), nearest_codes(weight)
    # The scales themselves are rounded to 8 bits in double quantization.
    torch.testing.assert_close(dequantized(layer), wanted, rtol=0.02 if nested else 1e-6, atol=0.02 if nested else 0)
    assert 0.05 < (dequantized(layer) - weight).norm() / weight.norm() < 0.12


def test_a_layer_computes_with_those_weights() -> None:
    weight = torch.randn(64, 96, generator=torch.Generator().manual_seed(1))
    layer = quantized(weight, nested=True).eval()
    compute_plainly(layer)
    x = torch.randn(5, 96, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(layer(x), x @ dequantized(layer).T)
    torch.testing.assert_close(layer(x), layer(x), rtol=0, atol=0)


def test_a_kept_matrix_is_never_stale() -> None:
    """A weight put in its place, and a cast of the weight in place, are seen; a deep copy has its own."""
    first, second = (torch.randn(64, 96, generator=torch.Generator().manual_seed(seed)) for seed in (3, 4))
    layer, other = (quantized(weight, nested=True).eval() for weight in (first, second))
    compute_plainly(layer)
    x = torch.randn(5, 96, generator=torch.Generator().manual_seed(5))
    before, copied = layer(x), copy.deepcopy(layer)
    layer.weight = other.weight
    torch.testing.assert_close(layer(x), x @ dequantized(other).T)
    torch.testing.assert_close(copied(x), before, rtol=0, atol=0)
    layer.weight.data = quantized(first, nested=True).weight.data
    layer.weight.quant_state = copied.weight.quant_state
    torch.testing.assert_close(layer.to("cpu")(x), before)


# ---- int8


def in_eight_bits(weight: torch.Tensor) -> Linear8bitLt:
    layer = Linear8bitLt(weight.shape[1], weight.shape[0], bias=False, has_fp16_weights=False, threshold=6.0)
    layer.load_state_dict({"weight": weight})
    return layer.to("cpu").eval()


@pytest.mark.parametrize("shape", [(32, 32), (48, 96), (5, 7)])
def test_codes_of_eight_bits_are_those_of_the_definition(shape: tuple[int, int]) -> None:
    """Each row is scaled by its largest magnitude, and each weight is a whole number of 127ths, in 16-bit floats."""
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    found = dequantized(in_eight_bits(weight))
    for row, codes in zip(weight.half().tolist(), found.tolist(), strict=True):
        step = max(map(abs, row)) / 127
        for value, code in zip(row, codes, strict=True):
            assert abs(code / step - round(code / step)) < 1e-3
            # Half a step, and what a product in 16 bits may round by.
            assert abs(code - value) <= 0.5 * step + abs(value) * 2**-10


def test_a_row_of_zeros_stays_one() -> None:
    weight = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))
    weight[2] = 0
    assert dequantized(in_eight_bits(weight))[2].tolist() == [0.0] * 8


def test_who_stands_beside_a_row_changes_nothing() -> None:
    """bitsandbytes' own way sets whole columns apart where one row is large."""
    weight = torch.randn(64, 96, generator=torch.Generator().manual_seed(2))
    own, plain = in_eight_bits(weight), in_eight_bits(weight)
    compute_plainly(plain)
    calm = torch.randn(1, 96, generator=torch.Generator().manual_seed(3)).clamp(-3, 3)
    both = torch.cat([calm, torch.where(torch.arange(96) % 3 == 0, 20.0, calm)])
    with torch.no_grad():
        torch.testing.assert_close(plain(both)[:1], plain(calm))
        torch.testing.assert_close(plain(calm), calm @ dequantized(plain).T)
        assert not torch.allclose(own(both)[:1], own(calm), rtol=1e-3, atol=1e-3), "then the plain way is not needed"
    torch.testing.assert_close(copy.deepcopy(plain)(calm), plain(calm), rtol=0, atol=0)


def test_a_small_model_keeps_what_it_stands_for_and_a_large_one_makes_it_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of both the same comes out."""
    weight = torch.randn(64, 96, generator=torch.Generator().manual_seed(2))
    model = torch.nn.Sequential(in_eight_bits(weight))
    made: list[object] = []

    def counted(layer: torch.nn.Linear) -> torch.Tensor:
        made.append(layer)
        return dequantized(layer)

    monkeypatch.setattr(quantization, "dequantized", counted)
    row, said = torch.randn(1, 96, generator=torch.Generator().manual_seed(3)), []
    for kept, times in ((weight.numel(), 1), (weight.numel() - 1, 3)):
        monkeypatch.setattr(quantization, "KEPT", kept)
        made.clear()
        compute_plainly(model)
        said += [model(row) for _ in range(3)]
        assert len(made) == times
        model.float()  # what was kept is left behind
    assert all(torch.equal(said[0], one) for one in said)
