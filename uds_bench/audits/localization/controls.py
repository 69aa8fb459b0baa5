"""Changes of weights that know nothing of any mask: what they score is no localization."""

from __future__ import annotations

import hashlib

import torch


def random_update(name: str, injected: torch.Tensor, unlearned: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """A tensor moved as far as unlearning moved it (by length), in a direction that is drawn.

    As many weights stay where they are as unlearning left, drawn too: else a sparse update would be told by that alone.
    """
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
    change = unlearned.float() - injected.float()
    moved = int((change != 0).sum())
    if not moved:
        return injected.clone()
    drawn = torch.zeros(change.numel())
    places = torch.randperm(change.numel(), generator=generator)[:moved]
    drawn[places] = torch.randn(moved, generator=generator)
    drawn *= change.norm() / drawn.norm()
    return (injected.float() + drawn.reshape(change.shape)).to(injected.dtype)
