"""Where the parts of a decoder are: blocks, what each adds to the residual stream, final norm and head.

A family that HF builds in the usual way needs no entry here; one with other names is one row of `LAYOUTS`.
`verify` checks any anatomy against the model itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from uds_bench.errors import CheckpointError


@dataclass(frozen=True)
class Layout:
    """Attribute names: of the decoder, and of a block's modules whose outputs are added to the stream."""

    blocks: str = "layers"
    norm: str = "norm"
    attention: str = "self_attn"
    mlp: str = "mlp"
    down: str = "down_proj"
    """Of the feed-forward module `mlp`: the last matrix."""


USUAL = Layout()
POST_NORM = Layout(attention="post_attention_layernorm", mlp="post_feedforward_layernorm")
"""Families that normalise what a sublayer gives before they add it: OLMo 2 and 3, Gemma 2 and 3."""

LAYOUTS: dict[str, Layout] = {
    "gpt2": Layout(blocks="h", norm="ln_f", attention="attn", down="c_proj"),
    "gpt_neox": Layout(norm="final_layer_norm", attention="attention", down="dense_4h_to_h"),
}


@dataclass(frozen=True)
class Anatomy:
    """The parts of a decoder; index i of `attention` and `mlp` belongs to `blocks[i]`.

    The output of `attention[i]` (its first item where it is a tuple) is what the block adds to the residual
    stream for attention, that of `mlp[i]` likewise: block output - block input = attention + mlp.
    """

    family: str
    blocks: tuple[nn.Module, ...]
    attention: tuple[nn.Module, ...]
    mlp: tuple[nn.Module, ...]
    norm: nn.Module
    head: nn.Module
    softcap: float | None = None

    def readout(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits (..., vocabulary) of a residual stream (..., width), such as a block's output.

        Final norm, head and the family's soft cap: of the last block's output, these are the model's logits.
        """
        logits: torch.Tensor = self.head(self.norm(hidden))
        return logits if self.softcap is None else torch.tanh(logits / self.softcap) * self.softcap


def block_hidden(output: Any) -> torch.Tensor:
    """The hidden states (batch, tokens, width) in the output of a block or sublayer, which may be a tuple."""
    hidden = output[0] if isinstance(output, tuple) else output
    if not isinstance(hidden, torch.Tensor):
        raise TypeError(f"a block gave {type(hidden).__name__}, not hidden states")
    return hidden


def find_anatomy(model: Any) -> Anatomy:
    """The anatomy of an HF causal language model.

    Raises CheckpointError where a part is not where HF puts it.
    """
    family = model.config.model_type
    decoder, text = model.get_decoder(), model.config.get_text_config(decoder=True)
    layout = LAYOUTS.get(family, USUAL)
    try:
        blocks = tuple(getattr(decoder, layout.blocks))
        if family not in LAYOUTS and hasattr(blocks[0], POST_NORM.mlp):
            layout = POST_NORM
        head = model.get_output_embeddings()
        if head is None:
            raise AttributeError("no output embeddings")
        return Anatomy(
            family=family,
            blocks=blocks,
            attention=tuple(getattr(block, layout.attention) for block in blocks),
            mlp=tuple(getattr(block, layout.mlp) for block in blocks),
            norm=getattr(decoder, layout.norm),
            head=head,
            softcap=getattr(text, "final_logit_softcapping", None),
        )
    except (AttributeError, IndexError, TypeError) as error:
        raise CheckpointError(
            f"family {family} is not supported: {error}; add a row for it to LAYOUTS in {__name__}"
        ) from error


PLAIN = (nn.Linear, Conv1D)
"""What is edited; an adapter or quantized weights would answer otherwise than their matrix says."""


@dataclass(frozen=True)
class Projection:
    """`linear` maps keys [..., inner] to [..., width]; `norm`: what its output passes before it is added, if any."""

    linear: nn.Module
    norm: nn.Module | None

    def shift(self, wanted: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """By how much `output` of the matrix has to move so that what is added to the stream moves by `wanted`.

        Both [..., width]. Behind an RMS norm (OLMo 2, Gemma) the direction is exact and the length right for small
        shifts: the norm divides by the output's own length. A dimension that its gain cuts off stays.
        """
        if self.norm is None:
            return wanted
        gain = self.norm(torch.ones_like(output[:1]))
        length = output.square().mean(-1, keepdim=True).sqrt()
        return torch.where(gain == 0, 0.0, wanted * length / gain)

    def add(self, change: torch.Tensor) -> None:
        """Add [width, inner] to the matrix, in its own layout."""
        weight = self.linear.weight
        assert isinstance(weight, torch.Tensor)
        with torch.no_grad():
            weight.add_((change.T if type(self.linear) is Conv1D else change).to(weight.dtype))


def find_projections(model: Any) -> tuple[Projection, ...]:
    """One a block. Raises CheckpointError where a block has no single plain one, as with experts or an adapter."""
    anatomy = find_anatomy(model)
    layout, found = LAYOUTS.get(anatomy.family, USUAL), []
    for place, (block, branch) in enumerate(zip(anatomy.blocks, anatomy.mlp, strict=True)):
        inner = getattr(block, layout.mlp, None)
        linear = getattr(inner, layout.down, None)
        if type(linear) not in PLAIN:
            what = "none" if linear is None else f"a {type(linear).__name__}"
            raise CheckpointError(
                f"family {anatomy.family}, block {place}: {layout.mlp}.{layout.down} is to be one plain matrix and is "
                f"{what}: experts, adapters and quantized weights cannot be edited; other names go into LAYOUTS"
            )
        assert isinstance(linear, nn.Module)
        found.append(Projection(linear, None if branch is inner else branch))
    return tuple(found)
