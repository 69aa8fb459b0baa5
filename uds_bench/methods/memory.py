"""How many weights a checkpoint has, and what it takes to train them or an adapter beside them, before it is loaded."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.source import config_folder, read_config
from uds_bench.checkpoints.spec import dtype_name
from uds_bench.methods.lora import LoraSettings

LORA_ABOVE = 1_000_000_000
"""Weights above which an adapter is trained where nothing else is asked for: all of so many take 16 GB and more."""
TRAINED = 16
"""Bytes of a weight that is trained: itself, its gradient and AdamW's two moments, each in float32."""
KEPT = 4
"""Bytes of a weight in float32 that is not."""


@dataclass(frozen=True)
class Size:
    """`weights`: all of them; `width`: inputs and outputs of the linear layers that an adapter is put on, summed."""

    weights: int
    width: int

    def to_train(self, remembers: bool, trains: bool = True) -> int:
        """Bytes to train all weights, activations not counted.

        Args:
            remembers: Whether the method keeps a copy of the model as it was.
            trains: Whether it takes gradients of the weights; closed forms take none.

        Returns:
            Bytes, 0 and above.

        Example:
            >>> Size(1000, 0).to_train(remembers=True)
            20000
        """
        return self.weights * ((TRAINED if trains else KEPT) + KEPT * remembers)

    def to_adapt(self, lora: LoraSettings, dtype: str) -> int:
        """Bytes to train an adapter beside the weights, which are kept once, activations not counted.

        Args:
            lora: The adapter's rank.
            dtype: What the weights are in, as torch names it.

        Returns:
            Bytes, 0 and above.

        Example:
            >>> Size(1000, 10).to_adapt(LoraSettings(rank=2), "bfloat16")
            2320
        """
        one: int = getattr(torch, dtype).itemsize
        return self.weights * one + lora.rank * self.width * TRAINED


def size_of(spec: CheckpointSpec) -> Size:
    """The size of a checkpoint from its configuration alone: nothing is loaded, and tied weights count once.

    Args:
        spec: Of a folder, or of a hub id, whose weights are not downloaded.

    Returns:
        Its weights, and the width of its linear layers.

    Raises:
        CheckpointError: The configuration cannot be read, or is of no causal language model.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> shape = '"vocab_size": 10, "hidden_size": 4, "intermediate_size": 8, "num_hidden_layers": 1'
        >>> with TemporaryDirectory() as folder:
        ...     config = f'{{"model_type": "llama", "num_attention_heads": 1, {shape}}}'
        ...     _ = (Path(folder) / "config.json").write_text(config)
        ...     size_of(CheckpointSpec(folder))
        Size(weights=252, width=68)
    """
    from transformers import AutoModelForCausalLM

    config = read_config(config_folder(spec))
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    head = model.get_output_embeddings()
    linear = (one for one in model.modules() if isinstance(one, torch.nn.Linear) and one is not head)
    width = sum(one.in_features + one.out_features for one in linear)
    return Size(sum(one.numel() for one in model.parameters()), width)


def gib(count: int) -> str:
    """Bytes in words.

    Example:
        >>> gib(3 * 2**29), gib(2**20), gib(2048)
        ('1.5 GiB', '1 MiB', '2 KiB')
    """
    if count >= 2**29:
        return f"{count / 2**30:.1f} GiB"
    return f"{count / 2**20:.0f} MiB" if count >= 2**20 else f"{count / 2**10:.0f} KiB"


def memory_line(
    size: Size, lora: LoraSettings | None, spec: CheckpointSpec, device: str, remembers: bool, trains: bool
) -> str:
    """What is trained and what it takes, in a line."""
    many = f"{size.weights / 1e9:.1f} billion" if size.weights >= 1e8 else f"{size.weights:,}"
    every = gib(size.to_train(remembers, trains))
    if lora is None:
        return f"{many} weights, all of them changed: about {every} of memory beside activations"
    adapted = gib(size.to_adapt(lora, dtype_name(spec, device)))
    why = f", as they are more than {LORA_ABOVE / 1e9:g} billion" if size.weights > LORA_ABOVE else ""
    return (
        f"{many} weights stay, and a LoRA adapter of rank {lora.rank} is trained beside them{why}: about {adapted} of "
        f"memory beside activations; --no-lora changes all weights, about {every}"
    )
