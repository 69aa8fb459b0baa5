"""Changes of weights, and masks, of which is known beforehand what they know of each other."""

from __future__ import annotations

import torch

from uds_bench.storage import content_key


def seed_of(name: str, seed: int) -> int:
    """A tensor's own seed, so that what is drawn for it does not hang on the tensors before it.

    Args:
        name: The tensor.
        seed: Of the whole draw.

    Returns:
        64 bits, 0 and above.

    Example:
        >>> seed_of("a", 0) == seed_of("a", 0), seed_of("a", 0) == seed_of("b", 0), seed_of("a", 0) < 2**64
        (True, False, True)
    """
    return int(content_key([name, seed])[:16], 16)


def random_update(name: str, injected: torch.Tensor, unlearned: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """A tensor moved as far as unlearning moved it (by length), in a direction that is drawn.

    As many weights stay where they are as unlearning left, drawn too: else a sparse update would be told by that alone.

    Args:
        name: The tensor, on which the draw hangs.
        injected: Its weights before unlearning, of any shape.
        unlearned: Those after, of the same shape.
        seed: Of the whole draw.

    Returns:
        Weights of the same shape and dtype.

    Example:
        >>> before, after = torch.zeros(8), torch.tensor([3.0, 4.0, 0, 0, 0, 0, 0, 0])
        >>> drawn = random_update("a", before, after)
        >>> round(float(drawn.norm()), 4), int((drawn != 0).sum())
        (5.0, 2)
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
    """A tensor whose weights of a mask have all moved, by a tenth of its own spread in directions that are drawn.

    Args:
        name: The tensor, on which the draw hangs.
        injected: Its weights, of any shape.
        inside: Which are of the mask, of the same shape.
        seed: Of the whole draw.

    Returns:
        Weights of the same shape and dtype.

    Example:
        >>> weights, inside = torch.arange(4.0), torch.tensor([True, False, True, False])
        >>> (planted_update("a", weights, inside) != weights).tolist()
        [True, False, True, False]
    """
    generator = torch.Generator().manual_seed(seed_of(name, seed))
    drawn = torch.randn(injected.shape, generator=generator) * injected.float().std() / 10
    return torch.where(inside, injected.float() + drawn, injected.float()).to(injected.dtype)


def misplaced_update(
    name: str, before: torch.Tensor | None, injected: torch.Tensor, inside: torch.Tensor, seed: int = 0
) -> torch.Tensor:
    """A tensor whose weights have all moved but those of a mask, further the way that injection moved them.

    They move by a tenth of the tensor's own spread. No score of a localized change may be told by it, also none that
    looks for less than others.

    Args:
        name: The tensor, on which the draw hangs.
        before: Its weights before injection, of any shape; None where they are not known.
        injected: Those after, of the same shape.
        inside: Which are of the mask, of the same shape.
        seed: Of the whole draw.

    Returns:
        Weights of the same shape and dtype.

    Example:
        >>> weights, inside = torch.arange(4.0), torch.tensor([True, False, True, False])
        >>> (misplaced_update("a", weights - 1, weights, inside) > weights).tolist()
        [False, True, False, True]
    """
    generator = torch.Generator().manual_seed(seed_of(name, seed))
    drawn = torch.randn(injected.shape, generator=generator) * injected.float().std() / 10
    if before is not None:
        injection = injected.float() - before.float()
        drawn = torch.where(injection == 0, drawn, drawn.abs() * injection.sign())
    return torch.where(inside, injected.float(), injected.float() + drawn).to(injected.dtype)


def permuted(name: str, word: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """The words of a tensor elsewhere in it: masks as large, of which no update can know.

    Args:
        name: The tensor, on which the draw hangs.
        word: A bit a group, of any shape.
        seed: Of the whole draw.

    Returns:
        The same words in another order, of the same shape.

    Example:
        >>> word = torch.arange(6).reshape(2, 3)
        >>> found = permuted("a", word)
        >>> found.shape == word.shape, sorted(found.flatten().tolist())
        (True, [0, 1, 2, 3, 4, 5])
    """
    generator = torch.Generator().manual_seed(seed_of(name, seed))
    flat = word.reshape(-1)
    return flat[torch.randperm(len(flat), generator=generator)].reshape(word.shape)
