"""NF4: four bits per weight, with double quantization, as QLoRA defines it; on a GPU or a CPU."""

import torch
from bitsandbytes.nn.modules import Linear4bit
from transformers import BitsAndBytesConfig

from uds_bench.checkpoints.anatomy import Anatomy
from uds_bench.errors import CheckpointError

LEAST_SHARE = 0.9


def nf4(dtype: torch.dtype) -> BitsAndBytesConfig:
    """NF4 with double quantization that computes in `dtype`."""
    return BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )


def check_quantized(anatomy: Anatomy) -> None:
    """Raises CheckpointError where NF4 reached under 90% of the blocks' weights (fused experts)."""
    share = quantized_share(anatomy)
    if share < LEAST_SHARE:
        raise CheckpointError(
            f"family {anatomy.family}: NF4 reaches only {share:.0%} of the blocks' weights, so that the "
            "checkpoint is hardly quantized: leave quantization out for this family"
        )


def quantized_share(anatomy: Anatomy) -> float:
    """The share of the blocks' weights that are NF4, 0 to 1."""
    linear = [m for block in anatomy.blocks for m in block.modules() if isinstance(m, Linear4bit)]
    quantized = sum(m.in_features * m.out_features for m in linear)
    packed = {id(m.weight) for m in linear}
    rest = sum(
        parameter.numel()
        for block in anatomy.blocks
        for parameter in block.parameters()
        if id(parameter) not in packed and parameter.dim() > 1
    )
    return quantized / max(quantized + rest, 1)
