"""Methods that do what no method should, and one that does nothing wrong."""

from __future__ import annotations

from typing import Any

import torch


def nudged(model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int) -> Any:
    """Reads both lists, and moves every weight by what the seed says."""
    draw = torch.Generator().manual_seed(seed + len([*forget, *retain]))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1e-3 * torch.randn(weight.shape, generator=draw))
    return model


def idle(model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int) -> Any:
    return model


def rolling(model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int) -> Any:
    """Its seed does not say it all."""
    return nudged(model, tokenizer, forget, retain, int.from_bytes(__import__("os").urandom(4)))


def crashing(model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int) -> Any:
    raise RuntimeError("no\nluck")


def diverging(model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int) -> Any:
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    return model


def growing(model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int) -> Any:
    model.resize_token_embeddings(len(tokenizer) + 8)
    return model


def silent(model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int) -> None:
    return None


def crashing_once(model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int) -> Any:
    if seed == 1:
        raise ValueError("seed 1")
    return nudged(model, tokenizer, forget, retain, seed)


def referring(model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int, reference: Any) -> Any:
    """Trained beside the model as it was, which stays as it was."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for _ in range(2):
        ids = torch.tensor([forget[seed]["input_ids"]])
        with torch.no_grad():
            before = reference(input_ids=ids).logits
        optimizer.zero_grad()
        (-model(input_ids=ids, labels=torch.tensor([retain[seed]["input_ids"][:1] * ids.shape[1]])).loss).backward()
        optimizer.step()
        with torch.no_grad():
            assert torch.equal(reference(input_ids=ids).logits, before)
    return model


def ending(model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int) -> Any:
    """Would have its answers end elsewhere."""
    tokenizer.eos_token = "#"
    return model


def other_arguments(model: Any, facts: Any) -> Any:
    return model


not_a_function = 3


def leaving(model: Any, tokenizer: Any, forget: Any, retain: Any, seed: int) -> Any:
    raise SystemExit(0)
