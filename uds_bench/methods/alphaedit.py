"""AlphaEdit as unlearning: questions to be forgotten are edited to refusals, in directions that kept texts leave free.

Fang et al. 2025, with a refusal as the new answer as in Li et al. 2026 (Lacuna, section 4.1 and table 5). Keys are what
enters the feed-forward output projection of an edited block. Kept keys are those of every token of the retain answers
with their questions, and of the neutral texts where there are any, before the first edit: the published ones are
Wikipedia's. Each forget question's keys are read at its last token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from uds_bench.checkpoints import Anatomy, find_anatomy
from uds_bench.checkpoints.probe import verify
from uds_bench.checkpoints.projections import Projection, find_projections
from uds_bench.errors import CheckpointError, ConfigurationError, FactError
from uds_bench.inference.hooks import reading, reading_inputs
from uds_bench.methods.data import Data
from uds_bench.methods.examples import Batch, Example, pad
from uds_bench.methods.method import AlphaEdit, Method
from uds_bench.methods.refusal_states import Questions, questions, refusal_states
from uds_bench.methods.training import OnStep

Linears = Mapping[str, torch.nn.Module]
TOGETHER = 8
"""Kept texts in one pass."""


def alphaedit(model: Any, data: Data, method: Method, on_step: OnStep | None = None) -> list[float]:
    """Edit `steps` batches of forget questions, every question once before any is again.

    Args:
        model: A causal language model of transformers; it is changed in place.
        data: Forget answers with a refusal each, in one order, and something to keep.
        method: Its settings; a step edits `batch_size` questions.
        on_step: Called after each step with its number, from 1, and its loss.

    Returns:
        What the search for the states that refuse ended at (`value_loss`), in nats, [steps]; lower is refused more
        surely.

    Raises:
        ConfigurationError: The model lacks a layer that is named, or kept keys leave no direction free.
        CheckpointError: The weights cannot be edited, or their keys are not finite.
        FactError: The data have no refusals in the order of the forget answers, or nothing to keep.
        FloatingPointError: A state that refuses is not finite.

    Source: Fang et al. 2025; Lacuna, section 4.1 and table 5.
    """
    assert isinstance(method, AlphaEdit)  # Method("alphaedit") is refused
    refusals = [pair.preferred for pair in data.preferring(data.refusals)]
    kept = [*data.retain, *data.neutral]
    if not refusals or not kept:
        raise FactError("method alphaedit needs questions to forget and texts to keep: add what is missing")
    model.eval()
    model.requires_grad_(False)
    layers = _edited(model, method)
    projections = _free_directions(model, layers, kept, method.null_space)
    anatomy = verify(model, find_anatomy(model))
    earlier = {layer: projection.new_zeros(0, len(projection)) for layer, projection in projections.items()}
    losses: list[float] = []
    for places in islice(_dealt(len(refusals), method), method.steps):
        asked = questions([refusals[i] for i in places], [kept[i % len(kept)] for i in places], model.device)
        wanted, loss = refusal_states(model, anatomy, asked, method)
        if not wanted.isfinite().all():
            raise FloatingPointError(f"editing diverged: a state that is not finite in batch {len(losses) + 1}")
        for layer, target in layers.items():
            state, keys, output = _read(model, anatomy, target, asked, method.last_layer)
            residual = target.shift((wanted - state) / (method.last_layer - layer + 1), output)
            wide = keys.double(), residual.double()
            target.add(null_space_edit(*wide, earlier[layer], projections[layer], method.l2))
            earlier[layer] = torch.cat([earlier[layer], wide[0]])
        losses.append(loss)
        if on_step is not None:
            on_step(len(losses), loss)
    return losses


def key_moments(model: Any, linears: Linears, examples: Sequence[Example]) -> dict[str, Tensor]:
    """The mean of k k^T over all tokens of some texts, k being what enters a module.

    Args:
        model: A causal language model of transformers.
        linears: Its modules by names of the caller's choice.
        examples: The texts; each token counts once.

    Returns:
        By name [in, in], in float64 and squared units of a key.
    """
    summed: dict[str, Tensor] = {}
    ranked = sorted(examples, key=len)
    for start in range(0, len(ranked), TOGETHER):
        batch = pad(ranked[start : start + TOGETHER]).to(model.device)
        for name, keys in _keys(model, linears, batch).items():
            wide = keys[batch.mask.bool()].double()
            summed[name] = summed.get(name, 0) + wide.T @ wide
    tokens = sum(map(len, ranked))
    return {name: moment / tokens for name, moment in summed.items()}


def _edited(model: Any, method: AlphaEdit) -> dict[int, Projection]:
    found = find_projections(model)
    for key in ("last_layer", "loss_layer"):
        if (layer := getattr(method, key)) >= len(found):
            raise ConfigurationError(
                f"method alphaedit: {key} = {layer}, but the model has {len(found)} blocks: choose up to "
                f"{len(found) - 1}"
            )
    return {layer: found[layer] for layer in range(method.first_layer, method.last_layer + 1)}


def _free_directions(
    model: Any, layers: Mapping[int, Projection], kept: Sequence[Example], threshold: float
) -> dict[int, Tensor]:
    moments = key_moments(model, {str(layer): target.linear for layer, target in layers.items()}, kept)
    for layer in layers:
        if not moments[str(layer)].isfinite().all():
            raise CheckpointError(f"method alphaedit: the keys of block {layer} are not finite: check the weights")
    found = {layer: null_projection(moments[str(layer)], threshold) for layer in layers}
    for layer, projection in found.items():
        if not projection.any():
            least = float(torch.linalg.eigvalsh(moments[str(layer)])[0])
            raise ConfigurationError(
                f"method alphaedit: what is kept uses every direction of block {layer}'s keys (the least has a mean "
                f"square of {least:.2g}): take a null_space above {threshold:g}, or other layers"
            )
    return found


@torch.no_grad()
def _keys(model: Any, linears: Linears, batch: Batch) -> dict[str, Tensor]:
    with reading_inputs(dict(linears), lambda hidden: hidden) as kept:
        model(**batch.inputs(), use_cache=False, logits_to_keep=1)
    return kept


@torch.no_grad()
def _read(
    model: Any, anatomy: Anatomy, target: Projection, asked: Questions, last: int
) -> tuple[Tensor, Tensor, Tensor]:
    """At the end of each forget question: the last edited block's output, and the projection's input and output."""
    rows = torch.arange(asked.count, device=asked.places.device)

    def at_places(hidden: Tensor) -> Tensor:
        return hidden[rows, asked.places[: asked.count]].float()

    outputs = {"state": anatomy.blocks[last], "output": target.linear}
    with reading(outputs, at_places) as out, reading_inputs({"keys": target.linear}, at_places) as into:
        model(**asked.batch.inputs(), use_cache=False, logits_to_keep=1)
    return out["state"], into["keys"], out["output"]


def _dealt(count: int, method: AlphaEdit) -> Iterator[list[int]]:
    """Batches of places, forever: each pass over all of them in a new order, the last batch of a pass what is left."""
    generator = torch.Generator().manual_seed(method.seed)
    while True:
        order = torch.randperm(count, generator=generator).tolist()
        yield from (order[at : at + method.batch_size] for at in range(0, count, method.batch_size))


def null_projection(moment: Tensor, threshold: float) -> Tensor:
    """P, the orthogonal projection onto the directions that kept keys hardly use.

    A direction is free where its eigenvalue, the mean square of the keys along it, is below the threshold. Mean |P k|^2
    is the sum of the eigenvalues below it.

    Args:
        moment: The mean of k k^T over kept keys, [in, in]; of a sum the threshold would depend on how many there are.
        threshold: In squared units of a key.

    Returns:
        [in, in]; zeros where no direction is free.

    Source: AlphaEdit, Fang et al. 2025.

    Example:
        >>> null_projection(torch.diag(torch.tensor([1.0, 1e-6])), threshold=0.02)
        tensor([[0., 0.],
                [0., 1.]])
    """
    values, vectors = torch.linalg.eigh(moment)
    free: Tensor = vectors[:, values < threshold]
    return free @ free.T


def null_space_edit(keys: Tensor, residuals: Tensor, earlier: Tensor, projection: Tensor, l2: float) -> Tensor:
    """Delta = R K^T P (K_p K_p^T P + K K^T P + l2 I)^-1: what is added to the weights W, [out, in].

    Minimises |(W + Delta P) K - V|^2 + |Delta P K_p|^2 + l2 |Delta P|^2 over Delta, R = V - W K, and Delta = Delta P.
    Solved for items instead of directions: with A = [K_p K] and Y = [0 R] it is Y (A^T P A + l2 I)^-1 A^T P.

    Args:
        keys: Rows of K^T, [items, in].
        residuals: Rows of R^T, the shifts of outputs that are wanted, [items, out].
        earlier: Keys of edits made before, K_p, whose values are to stay, [any, in].
        projection: P, [in, in], from `null_projection`.
        l2: What the edit is weighed against, above 0, in squared units of a key; the larger, the smaller the edit.

    Returns:
        [out, in].

    Source: AlphaEdit, Fang et al. 2025.

    Example:
        >>> keys, shift, none = torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0]]), torch.zeros(0, 2)
        >>> null_space_edit(keys, shift, none, torch.eye(2), l2=1.0)  # half of the shift: 2 * 1 / (1 + 1)
        tensor([[1., 0.]])
    """
    known = torch.cat([earlier, keys]) @ projection
    wanted = torch.cat([residuals.new_zeros(len(earlier), residuals.shape[1]), residuals])
    gram = known @ known.T + l2 * torch.eye(len(known), dtype=known.dtype, device=known.device)
    solved: Tensor = torch.linalg.solve(gram, known)
    return wanted.T @ solved
