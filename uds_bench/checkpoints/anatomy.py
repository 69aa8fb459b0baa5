"""Where the parts of a decoder are: blocks, what each adds to the residual stream, final norm and head.

Blocks, norm and head are found in any HF decoder. `probe.verify` holds them against the model's own forward pass, in
which it finds what attention and MLP add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from uds_bench.errors import CheckpointError


class FamilyError(CheckpointError):
    """A family whose blocks cannot be read, whatever its weights are."""


CAPS = ("final_logit_softcapping", "logits_soft_cap")
"""What families call the soft cap of their logits."""


@dataclass(frozen=True)
class Anatomy:
    """The parts of a decoder; index i of `attention` and `mlp` belongs to `blocks[i]`.

    The output of `attention[i]` (its first item where it is a tuple) is what the block adds to the residual
    stream for attention, that of `mlp[i]` likewise: block output - block input = attention + mlp. Both are empty where
    a family's blocks are not made so, and before `probe.verify` has looked.
    """

    family: str
    blocks: tuple[nn.Module, ...]
    norm: nn.Module
    head: nn.Module
    softcap: float | None = None
    scale: float = 1.0
    attention: tuple[nn.Module, ...] = ()
    mlp: tuple[nn.Module, ...] = ()

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
    return Anatomy(
        family=family,
        blocks=tuple(blocks),
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
    """The last norm beside the blocks, as the first is of embeddings. A norm has gains of the stream's width alone, or
    is called a norm and has none."""
    shapes = {name: {weight.shape for weight in each.parameters()} for name, each in parent.named_children()}
    found = [name for name, each in shapes.items() if each == {torch.Size([width])} or (not each and "norm" in name)]
    return parent.get_submodule(found[-1]) if found else nn.Identity()


def _scale(text: Any) -> float:
    """What logits are multiplied by."""
    times, over = (getattr(text, name, None) for name in ("logit_scale", "logits_scaling"))
    return float(times) if isinstance(times, float) else 1 / over if isinstance(over, float | int) else 1.0
