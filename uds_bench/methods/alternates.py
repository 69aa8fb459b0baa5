"""Alternate answers: what the full model itself says to a question when it does not say the truth (for AltPO)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import torch

from uds_bench.errors import FactError
from uds_bench.facts import FactSet, encode_answer
from uds_bench.methods.examples import Example, answered

TEMPERATURES = (1.0, 1.5, 2.0)
"""Tried in turn for a fact: of some, above all yes or no, a model that knows them says nothing else at 1."""
MOST_SAMPLES, AT_ONCE = 64, 8
"""Samples of one fact at one temperature, in all and side by side."""
RARE = 0.05
"""The share of lessons up to which a word tells whose answer it is."""
WORD = re.compile(r"\w+")


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
    found, generator = Alternates((), Counter(), Counter()), torch.Generator().manual_seed(seed)
    answers = []
    for fact in facts:
        truth = encode_answer(tokenizer, fact.question, fact.answer, facts.date_string)
        if not truth.ends:
            raise FactError("the tokenizer has no end-of-text token: sampled answers would have no end; set eos_token")
        asked = Asked(
            f"fact {fact.id!r}",
            Example(truth.ids, truth.start),
            partial(_objection, fact.answer, partial(_holds, fact.entity)),
        )
        answers.append(_alternate(model, tokenizer, asked, generator, found)[1])
    return replace(found, answers=tuple(answers))


def other_answers(model: Any, tokenizer: Any, lessons: Sequence[Example], seed: int = 0) -> list[Example]:
    """Each lesson with another answer, as `sample_alternates` does where there are facts.

    Of a lesson nobody says what its entity is. A sample is rejected that holds a word of the answer that its prompt
    does not have, and that one lesson in twenty says, or fewer: or one of its rarest, where all are said by more.

    Raises FactError for a lesson to which the model has nothing else to say.
    """
    read = partial(tokenizer.decode, skip_special_tokens=True)
    answers = [read(one.ids[one.prompt_length :]) for one in lessons]
    prompts = [read(one.ids[: one.prompt_length]) for one in lessons]
    added = [_words(answer) - _words(prompt) for prompt, answer in zip(prompts, answers, strict=True)]
    said = Counter(word for words in added for word in words)
    found, generator = Alternates((), Counter(), Counter()), torch.Generator().manual_seed(seed)
    others = []
    for place, (lesson, answer) in enumerate(zip(lessons, answers, strict=True)):
        few = max(len(lessons) * RARE, min((said[word] for word in added[place]), default=0))
        own = frozenset(word for word in added[place] if said[word] <= few)
        asked = Asked(f"lesson {place}", lesson, partial(_objection, answer, partial(_shares, own)))
        ids, _ = _alternate(model, tokenizer, asked, generator, found)
        others.append(answered(lesson, Example((*ids, lesson.ids[-1]), 0)))
    return others


class Asked(NamedTuple):
    """What another answer is sampled to: `truth` is prompt and answer; `objection` says why a text is no other one."""

    name: str
    truth: Example
    objection: Callable[[str], str | None]


def _alternate(
    model: Any, tokenizer: Any, asked: Asked, generator: torch.Generator, tally: Alternates
) -> tuple[list[int], str]:
    start, ids = asked.truth.prompt_length, asked.truth.ids
    reasons: Counter[str] = Counter()
    for temperature in TEMPERATURES:
        for _ in range(0, MOST_SAMPLES, AT_ONCE):
            for said in _sampled(model, ids[:start], 2 * (len(ids) - start), ids[-1], temperature, generator):
                text = "" if said is None else str(tokenizer.decode(said, skip_special_tokens=True)).strip()
                reason = "unfinished" if said is None else asked.objection(text)
                if said is not None and reason is None:
                    tally.temperatures[temperature] += 1
                    return said, text
                tally.rejected[str(reason)] += 1
                reasons[str(reason)] += 1
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    raise FactError(
        f"{asked.name}: none of {MOST_SAMPLES} answers sampled from the full model at each of the temperatures "
        f"{', '.join(map(str, TEMPERATURES))} is an alternate to the truth (rejected: {told}): use another method"
    )


def _objection(answer: str, tells: Callable[[str], bool], text: str) -> str | None:
    """Why a sample is no alternate to an answer, or None. `tells`: whether a text tells what is to be forgotten."""
    said = _plain(text)
    if not said or said == _plain(answer):
        return "truth" if said else "empty"
    return "entity" if tells(text) else None


def _holds(entity: str, text: str) -> bool:
    return _plain(entity) in _plain(text)


def _shares(words: frozenset[str], text: str) -> bool:
    return not words.isdisjoint(_words(text))


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold()))


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
