"""What a model says or holds at the labelled tokens of a batch: the vocabulary is read out there and nowhere else."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from uds_bench.inference.hooks import reading
from uds_bench.methods.examples import IGNORED, Batch
from uds_bench.methods.objectives import answer_logprobs, nll


def answer_logits(model: Any, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits that predict the labelled tokens, and those tokens.

    Prompts and padding never reach the head, whose table over the vocabulary is a large part of a small model's work
    and most of a large one's memory.

    Args:
        model: A causal language model of transformers.
        batch: [items, length].

    Returns:
        Logits [items, answer, vocabulary] and token ids [items, answer]; rows with fewer labels than the longest are
        padded at the end, with -100 in the ids.
    """
    at, targets = labelled(batch.labels)

    def keep(_head: Any, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        hidden = args[0]
        return (hidden.gather(1, at.unsqueeze(-1).expand(-1, -1, hidden.shape[-1])), *args[1:])

    handle = model.get_output_embeddings().register_forward_pre_hook(keep)
    try:
        # No cache: nobody continues from a training batch.
        return model(**batch.inputs(), use_cache=False).logits, targets
    finally:
        handle.remove()


def answer_likelihoods(model: Any, batch: Batch) -> tuple[Tensor, Tensor]:
    """How likely each answer is to the model.

    Args:
        model: A causal language model of transformers.
        batch: [items, length].

    Returns:
        Log-probabilities summed over an answer's tokens, [items], in nats, at most 0, higher is likelier; and how many
        tokens each has, [items].
    """
    return answer_logprobs(*answer_logits(model, batch))


def answer_nll(model: Any, batch: Batch) -> Tensor:
    """What fine-tuning minimises: the mean loss of the batch's labelled tokens.

    Args:
        model: A causal language model of transformers.
        batch: [items, length].

    Returns:
        A scalar in nats a token, 0 or more; lower is likelier. Every token counts alike, whichever answer it is of.
    """
    return nll(*answer_likelihoods(model, batch))


def answer_states(model: Any, block: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """What a block gives out where the labelled tokens are predicted, and which places count.

    Args:
        model: A causal language model of transformers.
        block: One of its blocks.
        batch: [items, length].

    Returns:
        States [items, answer, width] at the positions of `answer_logits`, and [items, answer], true where one is
        labelled.
    """
    with reading({"block": block}, lambda hidden: hidden) as kept:
        _, targets = answer_logits(model, batch)
    at, _ = labelled(batch.labels)
    hidden = kept["block"]
    return hidden.gather(1, at.unsqueeze(-1).expand(-1, -1, hidden.shape[-1])), targets != IGNORED


def labelled(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Where each label is predicted, one position before it, and the label.

    Args:
        labels: Token ids, -100 where nothing is scored, [items, length].

    Returns:
        Places in a row and token ids, [items, answer] both; rows with fewer labels than the longest are padded at the
        end, with -100 in the ids.

    Example:
        >>> labelled(torch.tensor([[-100, -100, 5, 6]]))
        (tensor([[1, 2]]), tensor([[5, 6]]))
    """
    following = labels[:, 1:]
    scored = following != IGNORED
    order = torch.argsort((~scored).long(), dim=1, stable=True)[:, : int(scored.sum(1).max())]
    return order, following.gather(1, order)
