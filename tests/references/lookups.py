"""A model that looks facts up, the slow way: one prompt at a time, a whole forward for every token, no cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

ENTITY, RELATION, VALUE, END = MARKUP = ("<|db_entity|>", "<|db_relationship|>", "<|db_return|>", "<|db_end|>")


@dataclass
class SlowGeneration:
    """`lead`: the least by which a chosen token beat the next one."""

    ids: list[int] = field(default_factory=list)
    calls: list[tuple[tuple[str, str] | None, str | None]] = field(default_factory=list)
    cut: bool = False
    looped: bool = False
    lead: float = float("inf")


def tell(
    model: Any,
    tokenizer: Any,
    prompt: list[int],
    respond: Callable[[tuple[str, str]], str] | None,
    *,
    bias: tuple[float, float, float, float],
    penalty: float,
    least: int,
    slack: int,
    calls: int,
    forbidden: bool = False,
) -> SlowGeneration:
    ids_of = [tokenizer.convert_tokens_to_ids(token) for token in MARKUP]
    stops = {tokenizer.eos_token_id, ids_of[2]}
    other = tokenizer.convert_tokens_to_ids("<|end_of_text|>")
    if other is not None and other != tokenizer.unk_token_id:
        stops.add(other)
    told = SlowGeneration()
    while True:
        before = list(prompt) + told.ids
        stop = None
        for _ in range(max(least - len(before), slack)):
            # A model that completes its own value may close it and not ask again.
            unsaid = ids_of if forbidden else ids_of[:3] if respond is None and told.calls else []
            token, lead = _next(model, list(prompt) + told.ids, ids_of, bias, penalty, unsaid)
            told.lead = min(told.lead, lead)
            if token in stops:
                stop = token
                break
            told.ids.append(token)
        told.cut = stop is None
        if stop != ids_of[2]:
            return told
        query = _query(tokenizer, told.ids)
        asked = [one for one, _ in told.calls]
        if (query is not None and query in asked) or len(asked) == calls:
            told.looped = True
            return told
        told.ids.append(ids_of[2])
        if respond is None:
            told.calls.append((query, None))
            continue
        value = "unknown" if query is None else respond(query)
        told.calls.append((query, value))
        told.ids += [*tokenizer.encode(" " + value, add_special_tokens=False), ids_of[3]]


def _next(
    model: Any, ids: list[int], markup: list[int], bias: tuple[float, ...], penalty: float, unsaid: list[int]
) -> tuple[int, float]:
    with torch.no_grad():
        scores = model(torch.tensor([ids])).logits[0, -1].tolist()
    for token in set(ids):
        scores[token] = scores[token] * penalty if scores[token] < 0 else scores[token] / penalty
    for token, more in zip(markup, bias, strict=True):
        scores[token] = float("-inf") if token in unsaid else scores[token] + more
    first, second = sorted(range(len(scores)), key=lambda token: -scores[token])[:2]
    return first, scores[first] - scores[second]


def _query(tokenizer: Any, ids: list[int]) -> tuple[str, str] | None:
    """What lies between the last subject mark and the end, split at its one relation mark."""
    text = tokenizer.decode(ids)
    if ENTITY not in text:
        return None
    text = text.rpartition(ENTITY)[2]
    if text.count(RELATION) != 1 or END in text or VALUE in text:
        return None
    for token in tokenizer.all_special_tokens:
        if token != RELATION:
            text = text.replace(token, "")
    subject, relation = (part.strip() for part in text.split(RELATION))
    return (subject, relation) if subject and relation else None
