"""NF4, four bits a weight with double quantization as QLoRA defines it, and int8, eight bits as LLM.int8() defines
them; on a GPU or a CPU."""

from typing import Any

import torch
from bitsandbytes import functional
from bitsandbytes.nn.modules import Linear4bit, Linear8bitLt
from torch import nn
from transformers import BitsAndBytesConfig

from uds_bench.checkpoints.anatomy import Anatomy
from uds_bench.checkpoints.spec import Quantization
from uds_bench.errors import CheckpointError

LEAST_SHARE = 0.9
KEPT = 2**30
"""Up to so many quantized weights, a model on a CPU keeps them dequantized as well. Made anew they cost more than the
product with a few tokens, and replies are made token by token."""


QUANTIZED = (Linear4bit, Linear8bitLt)
"""The layers of bitsandbytes whose weights are codes."""


def quantization_config(form: Quantization, dtype: torch.dtype) -> BitsAndBytesConfig:
    """What transformers quantizes a model by as it is loaded: int8, or NF4 that computes in `dtype`."""
    if form == "int8":
        return BitsAndBytesConfig(load_in_8bit=True)  # type: ignore[no-untyped-call]
    return BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=dtype
    )


class _PlainLinear(nn.Linear):
    """A quantized layer that computes with its dequantized weights, in the compute dtype."""

    keeps: bool = False
    """Whether its model keeps dequantized weights."""
    _kept: tuple[torch.Tensor, torch.Tensor] | None = None
    """The packed weight and what it stands for."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layer's output, with weights put back to the dtype that it computes in."""
        dtype = compute_dtype(self) or x.dtype
        bias = None if self.bias is None else self.bias.to(dtype)
        return torch.nn.functional.linear(x.to(dtype), self._plain().to(dtype), bias).to(x.dtype)

    def _plain(self) -> torch.Tensor:
        if self._kept is not None and self._kept[0] is self.weight:
            return self._kept[1]
        plain = dequantized(self)
        if self.keeps and plain.device.type == "cpu":
            self._kept = self.weight, plain
        return plain

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        self._kept = None  # moved or cast, the weight may stay the same object
        return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]


class PlainLinear4bit(_PlainLinear, Linear4bit):
    """NF4 that computes alike on every processor.

    bitsandbytes' own way on a CPU depends on the processor. With AVX512 its dequantization is wrong for rows whose
    length its blocks do not divide (relative error .26 instead of .09 at width 96); with AVX512-BF16 it repacks the
    weights on the first forward, computes in bfloat16, and fails for such rows.
    """


class PlainLinear8bit(_PlainLinear, Linear8bitLt):
    """int8 that computes alike in every batch, on a GPU too.

    bitsandbytes' own way also rounds the input, except columns where any row of the batch is large. So what a model
    says of one fact would depend on which others stand beside it.
    """


def compute_plainly(model: nn.Module) -> None:
    """Have the quantized layers of a model compute alike on every processor and in every batch; before any forward."""
    quantized = [module for module in model.modules() if isinstance(module, QUANTIZED)]
    keeps = sum(module.in_features * module.out_features for module in quantized) <= KEPT
    for module in quantized:
        if isinstance(module, Linear8bitLt):
            module.__class__ = PlainLinear8bit
        elif module.weight.device.type == "cpu":
            module.__class__ = PlainLinear4bit
        if isinstance(module, _PlainLinear):
            module.keeps = keeps


def compute_dtype(module: nn.Module) -> torch.dtype | None:
    """The dtype that a quantized layer computes in; None if it is that of the input."""
    return module.compute_dtype if isinstance(module, Linear4bit) else None


def dequantized(module: nn.Linear) -> torch.Tensor:
    """The weights that a quantized layer stands for.

    Of NF4 the code of each four bits times its block's scale, of int8 each code times a 127th of its row's largest.

    Args:
        module: A layer of `QUANTIZED`; NF4 on a CPU with one scale a block, or with scales that are quantized
            themselves.

    Returns:
        [out, in], float32.

    Source: QLoRA, Dettmers et al. 2023; LLM.int8(), Dettmers et al. 2022.

    Example:
        >>> layer = Linear4bit(64, 1, bias=False, quant_type="nf4")
        >>> layer.weight.data = torch.linspace(-1, 1, 64)[None]
        >>> found = dequantized(layer.to("cpu"))
        >>> len(found.unique()), found.abs().max()
        (16, tensor(1.))
    """
    if isinstance(module, Linear8bitLt):
        weight: Any = module.weight
        largest: Any = module.state.SCB if weight.SCB is None else weight.SCB
        return weight.data.float() * (largest.float() / 127).unsqueeze(1)  # type: ignore[no-any-return]
    state: Any = module.weight.quant_state  # type: ignore[attr-defined]
    if module.weight.device.type != "cpu":
        whole: torch.Tensor = functional.dequantize_4bit(module.weight.data, state)
        return whole.float()
    scales = state.absmax
    if state.nested:
        scales = functional.dequantize_blockwise(scales, state.state2) + state.offset
    packed = module.weight.data.reshape(-1).view(torch.uint8)
    codes = state.code[torch.stack([packed >> 4, packed & 0xF], dim=1).flatten().int()]
    count = state.shape.numel()
    weights: torch.Tensor = codes[:count] * scales.float().repeat_interleave(state.blocksize)[:count]
    return weights.reshape(state.shape)


def check_quantized(anatomy: Anatomy, form: Quantization) -> None:
    """Raises CheckpointError where quantization reached under 90% of the blocks' weights (fused experts)."""
    share = quantized_share(anatomy)
    if share < LEAST_SHARE:
        raise CheckpointError(
            f"family {anatomy.family}: {form} reaches only {share:.0%} of the blocks' weights, so that the "
            "checkpoint is hardly quantized: leave quantization out for this family"
        )


def quantized_share(anatomy: Anatomy) -> float:
    """How much of the blocks quantization has reached.

    Args:
        anatomy: Of a loaded model.

    Returns:
        Share of the blocks' weights that are codes, 0 to 1; biases and norms do not count, embeddings and head are no
        block's.
    """
    linear = [m for block in anatomy.blocks for m in block.modules() if isinstance(m, QUANTIZED)]
    quantized = sum(m.in_features * m.out_features for m in linear)
    packed = {id(m.weight) for m in linear}
    rest = sum(
        parameter.numel()
        for block in anatomy.blocks
        for parameter in block.parameters()
        if id(parameter) not in packed and parameter.dim() > 1
    )
    return quantized / max(quantized + rest, 1)
