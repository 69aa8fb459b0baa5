"""Greedy decoding of models that look facts up: they write a lookup, are interrupted, and read the value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import torch
from transformers import LogitsProcessor, LogitsProcessorList
from transformers.generation.logits_process import (
    SequenceBiasLogitsProcessor,
    SuppressTokensLogitsProcessor,
)

from uds_bench.checkpoints import Checkpoint
from uds_bench.inference.generation import BATCH, Continuation, continue_greedily, words
from uds_bench.inference.markup import END_OF_TEXT, markup_of, query_of, single_token, text_and_calls

Query = tuple[str, str]
Respond = Callable[[Sequence[tuple[int, Query]]], Sequence[str]]
"""From (prompt, lookup) pairs of one round to a value for each."""
Mode = Literal["free", "silent", "completing"]
"""What of the markup may be said in a stretch: all of it, none, or the end of a value alone."""
UNKNOWN = "unknown"
"""What a lookup that finds nothing is answered with (LMLM audit, section 4)."""


@dataclass(frozen=True)
class Decoding:
    """`bias`: added to the logits of the four markup tokens; `penalty`: of repetition, over prompt and reply; `least`,
    `slack`: a stretch of text ends at max(least, |p| + slack) tokens, p being all before it; `calls`: lookups of a
    reply, after which it is cut (LMLM audit, table 4; the last is ours)."""

    bias: tuple[float, float, float, float] = (4.0, 2.0, 2.0, 2.0)
    penalty: float = 1.2
    least: int = 32
    slack: int = 28
    calls: int = 4


@dataclass(frozen=True)
class Call:
    """A lookup as the model wrote it, None where it was malformed, and the value that it was given, None where the
    model was left to complete it itself."""

    query: Query | None
    value: str | None


@dataclass
class Generation:
    """One reply: all token ids, markup and values among them, its lookups, and how it ended.

    `cut`: a stretch met its limit. `looped`: it asked the same again, or once more than it may, and was cut there.
    """

    ids: list[int] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    cut: bool = False
    looped: bool = False


class LookupDecoder:
    """A model that is asked many prompts in many states. Stretches of text that were decoded once are not again: up to
    the first value every state says the same."""

    def __init__(self, model: Checkpoint, decoding: Decoding | None = None, batch_size: int = BATCH) -> None:
        self.model, self.decoding, self.batch_size = model, decoding or Decoding(), batch_size
        self.markup = markup_of(model.tokenizer, model.spec.model)
        ends = single_token(model.tokenizer, END_OF_TEXT), model.tokenizer.eos_token_id
        self._ends = sorted({id for id in ends if id is not None})
        self._known: dict[tuple[tuple[int, ...], Mode], Continuation] = {}

    def tell(
        self, prompts: Sequence[Sequence[int]], respond: Respond | None, forbidden: bool = False
    ) -> list[Generation]:
        """Replies to prompts of token ids.

        `respond` gives the values. None lets the model complete the first value itself. It may not end it at once, as
        silence shows nothing, and not ask again: one that was never left alone with a value would only ask for ever.
        `forbidden`: markup is never said.
        """
        mode: Mode = "silent" if forbidden else "free"
        prefixes = [tuple(prompt) for prompt in prompts]
        told = [Generation() for _ in prompts]
        going = list(range(len(prompts)))
        while going:
            stretches = self._say([prefixes[i] for i in going], mode)
            asked = []
            for i, stretch in zip(going, stretches, strict=True):
                told[i].ids += stretch.ids
                told[i].cut = not stretch.ended
                if stretch.stop == self.markup.value:
                    query = query_of(self.model.tokenizer, self.markup, told[i].ids)
                    # A lookup that was answered once and is written again would be for ever.
                    again = query is not None and any(call.query == query for call in told[i].calls)
                    told[i].looped = again or len(told[i].calls) == self.decoding.calls
                    if not told[i].looped:
                        asked.append((i, query))
            values = self._values(asked, respond)
            for (i, query), value in zip(asked, values, strict=True):
                told[i].calls.append(Call(query, value))
                told[i].ids += [self.markup.value, *self._inserted(value)]
                prefixes[i] = (*prompts[i], *told[i].ids)
            going = [i for i, _ in asked]
            mode = "completing" if respond is None else mode
        return told

    def text(self, told: Generation) -> str:
        """The reply as a reader sees it, without markup."""
        return words(self.model.tokenizer, text_and_calls(self.markup, told.ids)[0])

    def asked(self, told: Generation) -> str:
        """All that its lookups hold, also those that cannot be read."""
        return " ".join(words(self.model.tokenizer, ids) for ids in text_and_calls(self.markup, told.ids)[1])

    def _values(self, asked: Sequence[tuple[int, Query | None]], respond: Respond | None) -> list[str | None]:
        if respond is None:
            return [None] * len(asked)
        well_formed = [(i, query) for i, query in asked if query is not None]
        values = iter(respond(well_formed) if well_formed else [])
        return [UNKNOWN if query is None else next(values) for _, query in asked]

    def _inserted(self, value: str | None) -> list[int]:
        if value is None:
            return []
        ids: list[int] = self.model.tokenizer.encode(f" {value}", add_special_tokens=False)
        return [*ids, self.markup.end]

    def _say(self, prefixes: Sequence[tuple[int, ...]], mode: Mode) -> list[Continuation]:
        new = list(dict.fromkeys(p for p in prefixes if (p, mode) not in self._known))
        if new:
            limits = [max(self.decoding.least - len(p), self.decoding.slack) for p in new]
            stops = [self.markup.value, *self._ends]
            found = continue_greedily(
                self.model, new, max(limits), self.batch_size, stops, lambda mask, _: self._processors(mask, mode)
            )
            for prefix, limit, stretch in zip(new, limits, found, strict=True):
                self._known[prefix, mode] = _within(stretch, limit)
        return [self._known[prefix, mode] for prefix in prefixes]

    def _processors(self, mask: torch.Tensor, mode: Mode) -> LogitsProcessorList:
        penalty = RepetitionPenalty(self.decoding.penalty, mask.shape[1] - mask.sum(dim=1))
        bias: Any = {(id,): float(more) for id, more in zip(self.markup.ids, self.decoding.bias, strict=True) if more}
        processors: list[LogitsProcessor] = [penalty, *([SequenceBiasLogitsProcessor(bias)] if bias else [])]
        unsaid = {"free": [], "silent": list(self.markup.ids), "completing": list(self.markup.ids[:3])}[mode]
        if unsaid:
            processors.append(SuppressTokensLogitsProcessor(unsaid, device=str(mask.device)))
        if mode == "completing":
            processors.append(SomeValue(self.markup.value, [self.markup.end, *self._ends]))
        return LogitsProcessorList(processors)


class SomeValue(LogitsProcessor):
    """A value that was opened does not end before its first token. `value`: the token that opens it; `ends`: those that
    would end it, or the text."""

    def __init__(self, value: int, ends: Sequence[int]) -> None:
        self.value, self.ends = value, list(ends)

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Scores [texts, vocabulary] of the next token, those of an end -inf where a value was just opened."""
        opened = (input_ids[:, -1] == self.value).nonzero()
        changed = scores.clone()
        changed[opened, torch.tensor(self.ends, device=scores.device)] = -torch.inf
        return cast(torch.FloatTensor, changed)


class RepetitionPenalty(LogitsProcessor):
    """That of the library, but for the padding on the left: it is no token of the prompt, and is not penalized as one.

    `padding`: tokens of it, [texts]. The library takes them by text from some version 5 on.
    """

    def __init__(self, penalty: float, padding: torch.Tensor) -> None:
        self.penalty, self.padding = penalty, padding

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Scores [texts, vocabulary] of the next token, lowered for what a text says already."""
        nothing = scores.shape[-1]
        padded = torch.arange(input_ids.shape[1], device=input_ids.device) < self.padding[:, None]
        said = scores.new_zeros(len(scores), nothing + 1, dtype=torch.bool)
        said.scatter_(1, input_ids.masked_fill(padded, nothing), value=True)
        penalized = torch.where(scores < 0, scores * self.penalty, scores / self.penalty)
        return cast(torch.FloatTensor, torch.where(said[:, :nothing], penalized, scores))


def _within(stretch: Continuation, limit: int) -> Continuation:
    """A continuation as it is under a smaller limit."""
    whole = len(stretch.ids) < limit
    return stretch if whole else replace(stretch, ids=stretch.ids[:limit], stop=None)
