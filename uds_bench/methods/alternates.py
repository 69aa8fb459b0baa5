"""Alternate answers: what the full model itself says to a question when it does not say the truth (for AltPO)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from uds_bench.errors import FactError
from uds_bench.facts import Fact, FactSet, encode_answer

TEMPERATURES = (1.0, 1.5, 2.0)
"""Tried in turn for a fact: of some, above all yes or no, a model that knows them says nothing else at 1."""
MOST_SAMPLES, AT_ONCE = 64, 8
"""Samples of one fact at one temperature, in all and side by side."""


@dataclass(frozen=True)
class Alternates:
    """One answer for each fact, in order; at which temperatures they were said, and how many samples were not taken.

    `rejected` counts by reason: `entity` (holds what is to be forgotten), `truth` (is the true answer), `empty`,
    `unfinished`.
    """

    answers: tuple[str, ...]
    temperatures: Counter[float] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)


def sample_alternates(model: Any, tokenizer: Any, facts: FactSet, seed: int = 0) -> Alternates:
    """For each fact the first answer sampled from `model` that holds neither the truth nor its entity.

    The field asks an instructed model for another answer (Mekala et al. 2025); a small model follows no such
    instruction, and its greedy answer is the truth. So answers are sampled, drawn from `seed` fact by fact: at
    temperature 1, and where 64 samples give none at 1.5 and then at 2. Samples with the entity, equal to the truth,
    empty, or without an end within twice the length of the truth are rejected and counted.

    Raises FactError for a fact to which the model has nothing else to say, and where no token ends an answer.
    """
    found = Alternates((), Counter(), Counter())
    generator = torch.Generator().manual_seed(seed)
    return replace(
        found, answers=tuple(_alternate(model, tokenizer, fact, facts.date_string, generator, found) for fact in facts)
    )


def _alternate(model: Any, tokenizer: Any, fact: Fact, date: str, generator: torch.Generator, tally: Alternates) -> str:
    truth = encode_answer(tokenizer, fact.question, fact.answer, date)
    if not truth.ends:
        raise FactError("the tokenizer has no end-of-text token: sampled answers would have no end; set eos_token")
    prompt, end, limit = truth.ids[: truth.start], truth.ids[-1], 2 * (len(truth.ids) - truth.start)
    reasons: Counter[str] = Counter()
    for temperature in TEMPERATURES:
        for _ in range(0, MOST_SAMPLES, AT_ONCE):
            for ids in _sampled(model, prompt, limit, end, temperature, generator):
                text = None if ids is None else str(tokenizer.decode(ids, skip_special_tokens=True)).strip()
                reason = _objection(text, fact)
                if text is not None and reason is None:
                    tally.temperatures[temperature] += 1
                    return text
                tally.rejected[str(reason)] += 1
                reasons[str(reason)] += 1
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    raise FactError(
        f"fact {fact.id!r}: none of {MOST_SAMPLES} answers sampled from the full model at each of the temperatures "
        f"{', '.join(map(str, TEMPERATURES))} is an alternate to the truth (rejected: {told}): use another method"
    )


def _objection(text: str | None, fact: Fact) -> str | None:
    """Why a sample is no alternate answer, or None."""
    if text is None:
        return "unfinished"
    said = _plain(text)
    if not said:
        return "empty"
    if said == _plain(fact.answer):
        return "truth"
    return "entity" if _plain(fact.entity) in said else None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


@torch.no_grad()
def _sampled(
    model: Any, prompt: tuple[int, ...], limit: int, end: int, temperature: float, generator: torch.Generator
) -> list[list[int] | None]:
    """Continuations of the prompt up to their end; None for one that has none within `limit` tokens.

    By hand and not by `generate`: a checkpoint's own generation settings must not decide what it says.
    """
    ids = torch.tensor([prompt] * AT_ONCE, device=model.device)
    said = torch.empty(AT_ONCE, 0, dtype=torch.long)
    past = None
    while said.shape[1] < limit and not (said == end).any(1).all():
        output = model(input_ids=ids, past_key_values=past, use_cache=True)
        # Drawn on the CPU, so that a seed gives the same answers wherever the model runs, up to its rounding.
        chances = (output.logits[:, -1].float() / temperature).softmax(-1).cpu()
        drawn = torch.multinomial(chances, 1, generator=generator)
        said = torch.cat([said, drawn], 1)
        past, ids = output.past_key_values, drawn.to(model.device)
    return [row[: row.index(end)] if end in row else None for row in said.tolist()]
