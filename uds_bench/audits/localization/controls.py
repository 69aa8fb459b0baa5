"""Changes of weights, and masks, of which is known beforehand what they know of each other."""

from __future__ import annotations

import torch

from uds_bench.storage import content_key


def seed_of(name: str, seed: int) -> int:
    """A tensor's own seed, so that what is drawn for it does not hang on the tensors before it."""
    return int(content_key([name, seed])[:16], 16)


def random_update(name: str, injected: torch.Tensor, unlearned: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """A tensor moved as far as unlearning moved it (by length), in a direction that is drawn.

    As many weights stay where they are as unlearning left, drawn too: else a sparse update would be told by that alone.
    """
    generator = torch.Generator().manual_seed(seed_of(name, seed))
    change = unlearned.float() - injected.float()
    moved = int((change != 0).sum())
    if not moved:
        return injected.clone()
    drawn = torch.zeros(change.numel())
    places = torch.randperm(change.numel(), generator=generator)[:moved]
    drawn[places] = torch.randn(moved, generator=generator)
    drawn *= change.norm() / drawn.norm()
    return (injected.float() + drawn.reshape(change.shape)).to(injected.dtype)


def planted_update(name: str, injected: torch.Tensor, inside: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """A tensor whose weights of a mask have all moved, by a tenth of its own spread in directions that are drawn."""
    generator = torch.Generator().manual_seed(seed_of(name, seed))
    drawn = torch.randn(injected.shape, generator=generator) * injected.float().std() / 10
    return torch.where(inside, injected.float() + drawn, injected.float()).to(injected.dtype)


def misplaced_update(
    name: str, before: torch.Tensor | None, injected: torch.Tensor, inside: torch.Tensor, seed: int = 0
) -> torch.Tensor:
    """A tensor whose weights have all moved but those of a mask, by a tenth of its own spread, further the way that
    injection moved them: what no score of a localized change may be told by, also one that looks for less than others.
    """
    generator = torch.Generator().manual_seed(seed_of(name, seed))
    drawn = torch.randn(injected.shape, generator=generator) * injected.float().std() / 10
    if before is not None:
        injection = injected.float() - before.float()
        drawn = torch.where(injection == 0, drawn, drawn.abs() * injection.sign())
    return torch.where(inside, injected.float(), injected.float() + drawn).to(injected.dtype)


def permuted(name: str, word: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """The words of a tensor elsewhere in it: masks as large, of which no update can know."""
    generator = torch.Generator().manual_seed(seed_of(name, seed))
    flat = word.reshape(-1)
    return flat[torch.randperm(len(flat), generator=generator)].reshape(word.shape)
