"""Where the parts of a decoder are: blocks, what each adds to the residual stream, final norm and head.

Blocks, norm and head are found in any HF decoder: `verify` holds them against the model's own forward pass. What
attention and MLP add is known of families that name them as most do, or by a row of `LAYOUTS`, where it adds up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from uds_bench.errors import CheckpointError


class FamilyError(CheckpointError):
    """A family whose blocks cannot be read, whatever its weights are."""


@dataclass(frozen=True)
class Layout:
    """Attribute names of a block's modules whose outputs are added to the stream."""

    attention: str = "self_attn"
    mlp: str = "mlp"
    down: str = "down_proj"
    """Of the feed-forward module `mlp`: the last matrix."""


USUAL = Layout()
POST_NORM = Layout(attention="post_attention_layernorm", mlp="post_feedforward_layernorm")
"""Families that normalise what a sublayer gives before they add it: OLMo 2 and 3, Gemma 2 and 3."""

LAYOUTS: dict[str, Layout] = {
    "gpt2": Layout(attention="attn", down="c_proj"),
    "gpt_neox": Layout(attention="attention", down="dense_4h_to_h"),
}


CAPS = ("final_logit_softcapping", "logits_soft_cap")
"""What families call the soft cap of their logits."""


@dataclass(frozen=True)
class Anatomy:
    """The parts of a decoder; index i of `attention` and `mlp` belongs to `blocks[i]`.

    The output of `attention[i]` (its first item where it is a tuple) is what the block adds to the residual
    stream for attention, that of `mlp[i]` likewise: block output - block input = attention + mlp. Both are empty where
    a family's blocks are not made so.
    """

    family: str
    blocks: tuple[nn.Module, ...]
    attention: tuple[nn.Module, ...]
    mlp: tuple[nn.Module, ...]
    norm: nn.Module
    head: nn.Module
    softcap: float | None = None
    scale: float = 1.0

    def readout(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits (..., vocabulary) of a residual stream (..., width), such as a block's output.

        Final norm, head and the family's scale and soft cap: of the last block's output, these are the model's logits.
        """
        logits: torch.Tensor = self.head(self.norm(hidden))
        logits = logits if self.scale == 1.0 else logits * self.scale
        return logits if self.softcap is None else torch.tanh(logits / self.softcap) * self.softcap

    def branch(self, scope: str) -> tuple[nn.Module, ...]:
        """The modules whose outputs a scope is about: `block`, `mlp`, or else attention, one a block.

        Raises CheckpointError for parts of a family whose blocks are not made of them.
        """
        if scope == "block":
            return self.blocks
        found = self.mlp if scope == "mlp" else self.attention
        if not found:
            raise CheckpointError(
                f"family {self.family}: its blocks add something other than attention and MLP, so that {scope} cannot "
                "be told apart: use the outputs of blocks"
            )
        return found


def block_hidden(output: Any) -> torch.Tensor:
    """The hidden states in what a block or sublayer gives, which may be a tuple that begins with them.

    Args:
        output: Of its forward pass.

    Returns:
        [batch, tokens, width].

    Raises:
        TypeError: It gives something else.

    Example:
        >>> block_hidden((torch.zeros(1, 2, 3), None)).shape
        torch.Size([1, 2, 3])
    """
    hidden = output[0] if isinstance(output, tuple) else output
    if not isinstance(hidden, torch.Tensor):
        raise TypeError(f"a block gave {type(hidden).__name__}, not hidden states")
    return hidden


def find_anatomy(model: Any) -> Anatomy:
    """The anatomy of an HF causal language model, to be held against a forward pass by `probe.verify`.

    Raises FamilyError where there are no blocks, or no head.
    """
    family = model.config.model_type
    decoder, text = model.get_decoder(), model.config.get_text_config(decoder=True)
    head, listed = model.get_output_embeddings(), _blocks(decoder, text)
    if head is None or not listed:
        lacks = "no output embeddings" if head is None else "no list of as many blocks as its configuration counts"
        raise FamilyError(f"family {family} is not supported: it has {lacks}: use a causal language model")
    place, blocks = listed
    layout = LAYOUTS.get(family, USUAL)
    if family not in LAYOUTS and hasattr(blocks[0], POST_NORM.mlp):
        layout = POST_NORM
    named = all(hasattr(block, name) for block in blocks for name in (layout.attention, layout.mlp))
    attention, mlp = (
        tuple(getattr(block, name) for block in blocks if named) for name in (layout.attention, layout.mlp)
    )
    return Anatomy(
        family=family,
        blocks=tuple(blocks),
        attention=attention,
        mlp=mlp,
        norm=_norm(decoder.get_submodule(place.rpartition(".")[0]), text.hidden_size),
        head=head,
        softcap=next((cap for name in CAPS if (cap := getattr(text, name, None))), None),
        scale=_scale(text),
    )


def _blocks(decoder: nn.Module, text: Any) -> tuple[str, nn.ModuleList] | None:
    """The outermost list of as many modules as the configuration counts, and its name."""
    lists = ((name, each) for name, each in decoder.named_modules() if isinstance(each, nn.ModuleList))
    return next(((name, each) for name, each in lists if len(each) == text.num_hidden_layers), None)


def _norm(parent: nn.Module, width: int) -> nn.Module:
    """What stands beside the blocks and has gains of the stream's width alone, or is called a norm and has none: the
    last, as the first is of embeddings."""
    shapes = {name: {weight.shape for weight in each.parameters()} for name, each in parent.named_children()}
    found = [name for name, each in shapes.items() if each == {torch.Size([width])} or (not each and "norm" in name)]
    return parent.get_submodule(found[-1]) if found else nn.Identity()


def _scale(text: Any) -> float:
    """What logits are multiplied by."""
    times, over = (getattr(text, name, None) for name in ("logit_scale", "logits_scaling"))
    return float(times) if isinstance(times, float) else 1 / over if isinstance(over, float | int) else 1.0


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
    for place, (block, branch) in enumerate(zip(anatomy.blocks, anatomy.branch("mlp"), strict=True)):
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
