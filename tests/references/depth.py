"""Plain references for the depth audit: one fact, one layer, one forward pass of the whole model at a time.

No batch, no padding, no cache, no shared code with the package; written from the definitions (UDS paper, sec. 3)
to be compared with the package, and slow on purpose. A fact is `ids` with its entity at `ids[start:end]`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

Drops = Sequence[float]
SCOPES = ("block", "attention", "attention_residual", "mlp")


def predicting(start: int, end: int) -> list[int]:
    """The positions at which the entity tokens are predicted: one before each token."""
    return [at - 1 for at in range(start, end)]


def logits_of(model: Any, ids: Sequence[int]) -> torch.Tensor:
    """Logits (tokens, vocabulary) in float64 of one unpadded sequence."""
    with torch.no_grad():
        logits: torch.Tensor = model(input_ids=torch.tensor([list(ids)]), use_cache=False).logits[0].double()
    return logits


def entity_logprobs(logits: torch.Tensor, ids: Sequence[int], start: int, end: int) -> list[float]:
    """log p(ids[t] | ids[:t]) for t in start..end-1, in nats."""
    return [float(torch.log_softmax(logits[at - 1], -1)[ids[at]]) for at in range(start, end)]


def _tensor(output: Any) -> torch.Tensor:
    hidden: torch.Tensor = output[0] if isinstance(output, tuple) else output
    return hidden


@contextmanager
def _hooked(module: Any, change: Callable[[torch.Tensor], torch.Tensor | None]) -> Iterator[None]:
    """While active, `change(output)` sees the module's output, and replaces it where it returns a tensor."""

    def hook(_module: Any, _inputs: Any, output: Any) -> Any:
        new = change(_tensor(output))
        if new is None:
            return None
        return (new, *output[1:]) if isinstance(output, tuple) else new

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _block_input(block: Any, seen: list[torch.Tensor]) -> Iterator[None]:
    """While active, what enters the block is appended to `seen`."""

    def hook(_module: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        seen.append((inputs[0] if inputs else named["hidden_states"]).detach().clone())

    handle = block.register_forward_pre_hook(hook, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def source_state(
    model: Any, anatomy: Any, ids: Sequence[int], layer: int, scope: str = "block", published: bool = False
) -> torch.Tensor:
    """(tokens, width): what `scope` names at `layer`, for the whole sequence.

    block: the block's output; attention, mlp: what that branch adds to the residual stream;
    attention_residual: the stream after attention, which is the block's input plus the attention branch.
    `published`: at the last layer the block's output after the model's final norm (as HF's `hidden_states`).
    """
    entering: list[torch.Tensor] = []
    leaving: list[torch.Tensor] = []
    module = {
        "block": anatomy.blocks,
        "attention": anatomy.attention,
        "attention_residual": anatomy.attention,
        "mlp": anatomy.mlp,
    }[scope][layer]
    with (
        _block_input(anatomy.blocks[layer], entering),
        _hooked(module, lambda hidden: leaving.append(hidden.detach().clone())),
    ):
        logits_of(model, ids)
    (state,) = leaving
    if scope == "attention_residual":
        state = entering[0] + state
    if published and scope == "block" and layer == len(anatomy.blocks) - 1:
        with torch.no_grad():
            state = anatomy.norm(state)
    return state[0]


def patched_logprobs(
    full: Any,
    anatomy: Any,
    ids: Sequence[int],
    start: int,
    end: int,
    layer: int,
    state: torch.Tensor,
    scope: str = "block",
    positions: Sequence[int] | None = None,
) -> list[float]:
    """Entity log-probabilities of `full` with `state` (tokens, width) put in at `layer` and `positions`.

    `positions` are the predicting ones unless given.
    """
    at = predicting(start, end) if positions is None else list(positions)
    entering: list[torch.Tensor] = []

    def put(hidden: torch.Tensor) -> torch.Tensor:
        new = hidden.clone()
        wanted = state[at]
        # A branch gives what the stream still lacks: then stream + branch is the state that was asked for.
        new[0, at] = wanted - entering[0][0, at] if scope == "attention_residual" else wanted
        return new

    module = {
        "block": anatomy.blocks,
        "attention": anatomy.attention,
        "attention_residual": anatomy.attention,
        "mlp": anatomy.mlp,
    }[scope][layer]
    with _block_input(anatomy.blocks[layer], entering), _hooked(module, put):
        logits = logits_of(full, ids)
    return entity_logprobs(logits, ids, start, end)


def drops(
    full: Any,
    full_anatomy: Any,
    source: Any,
    source_anatomy: Any,
    ids: Sequence[int],
    start: int,
    end: int,
    scope: str = "block",
    published: bool = False,
    positions: Sequence[int] | None = None,
) -> list[float]:
    """Per layer, the mean over entity tokens of s_full - s_patched, in nats; positive: the patch took knowledge."""
    plain = entity_logprobs(logits_of(full, ids), ids, start, end)
    found = []
    for layer in range(len(full_anatomy.blocks)):
        state = source_state(source, source_anatomy, ids, layer, scope, published)
        patched = patched_logprobs(full, full_anatomy, ids, start, end, layer, state, scope, positions)
        found.append(math.fsum(a - b for a, b in zip(plain, patched, strict=True)) / len(plain))
    return found


def lens_logprobs(
    full: Any,
    full_anatomy: Any,
    source: Any,
    source_anatomy: Any,
    ids: Sequence[int],
    start: int,
    end: int,
    layer: int,
) -> list[float]:
    """Entity log-probabilities read from the source's block output through the full model's final norm and head.

    Done by letting the source's states stand for the whole output of the full model's last block, so that
    whatever the family does after it (norm, head, caps, scales) is done by the model itself.
    """
    state = source_state(source, source_anatomy, ids, layer)
    with _hooked(full_anatomy.blocks[-1], lambda hidden: state[None].to(hidden)):
        logits = logits_of(full, ids)
    return entity_logprobs(logits, ids, start, end)


def lens_drops(
    full: Any,
    full_anatomy: Any,
    source: Any,
    source_anatomy: Any,
    ids: Sequence[int],
    start: int,
    end: int,
) -> list[float]:
    """Per layer, mean over entity tokens of lens(full) - lens(source), both through the full model's readout."""
    found = []
    for layer in range(len(full_anatomy.blocks)):
        own = lens_logprobs(full, full_anatomy, full, full_anatomy, ids, start, end, layer)
        other = lens_logprobs(full, full_anatomy, source, source_anatomy, ids, start, end, layer)
        found.append(math.fsum(a - b for a, b in zip(own, other, strict=True)) / len(own))
    return found


def knowledge_layers(retain: Drops, tau: float = 0.05) -> list[int]:
    """Layers at which the full model knows what the retain model does not: drop of the retain model > tau."""
    return [layer for layer, drop in enumerate(retain) if drop > tau]


def erasure(retain: Drops, candidate: Drops, tau: float = 0.05, clipped: bool = True) -> float | None:
    """UDS of one fact, from 0 (knowledge intact) to 1 (as absent as in the retain model).

    sum over knowledge layers of D1 * clip(D2 / D1, 0, 1) / sum of D1; None (the fact is skipped) where no layer
    holds knowledge, or where a number that is needed is missing. `clipped=False`: the ratio as it is.
    """
    if any(math.isnan(drop) for drop in retain):
        return None
    layers = knowledge_layers(retain, tau)
    if not layers or any(math.isnan(candidate[layer]) for layer in layers):
        return None
    parts = []
    for layer in layers:
        ratio = candidate[layer] / retain[layer]
        parts.append(retain[layer] * (min(max(ratio, 0.0), 1.0) if clipped else ratio))
    return math.fsum(parts) / math.fsum(retain[layer] for layer in layers)


def score(facts: Sequence[tuple[Drops, Drops]], tau: float = 0.05) -> tuple[float | None, int]:
    """Mean UDS over the facts that are not skipped, and how many those are, from (retain, candidate) drops."""
    values = [value for retain, drop in facts if (value := erasure(retain, drop, tau)) is not None]
    return (math.fsum(values) / len(values) if values else None), len(values)


def entity_correct(model: Any, ids: Sequence[int], start: int, end: int) -> bool:
    """Whether every entity token is the most probable one, given the true tokens before it."""
    logits = logits_of(model, ids)
    return all(int(logits[at - 1].argmax()) == ids[at] for at in range(start, end))
