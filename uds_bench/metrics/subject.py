"""Loaded checkpoints under measurement: what metrics share is read once and kept."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import torch

from uds_bench.checkpoints import Checkpoint
from uds_bench.facts import (
    EncodedAnswer,
    EncodedFact,
    Fact,
    FactSet,
    Form,
    Split,
    Variant,
    answers_of,
    encode,
    encode_answer,
    encode_question,
    spanned,
    stop_tokens,
    tokenizer_key,
)
from uds_bench.facts.asking import Asking
from uds_bench.inference.answers import AnswerScores, score_answers
from uds_bench.inference.basis_map import HALVES, Alignment, align, block_states
from uds_bench.inference.generation import generate_greedily, sample, words
from uds_bench.inference.states import Scope
from uds_bench.inference.target import STACK, PatchingTarget, Reading
from uds_bench.metrics.metric import Arrays, FactValue, Reference
from uds_bench.metrics.retain_facts import drawn_facts, fitted_facts, halves, kept_facts, reworded_facts
from uds_bench.storage import content_key, read_sealed, write_sealed

Loader = Callable[[Reference], Checkpoint]
Recorded = Callable[[str, str | None], Sequence[FactValue]]
Encoded = TypeVar("Encoded")
Part = Split | Literal["reworded", "spans"]
"""Which facts are asked: a split; of the retained ones those that utility is of; of the forgotten those with a span."""
MOST_BYTES = 512 * 1024**2
"""Of the full model's states on what is kept, beyond which they are read anew for every source."""
ROOM = 1.2
"""Times as many positions of text as a state is wide, for each of two maps: a position fixes one direction at most."""
LONGEST = 200
"""New tokens of a generated answer (UDS guide, appendix I, type 3)."""


@dataclass(frozen=True)
class Patching:
    """How a source is patched into the full model: which of its states (`scope`), after which prompts, of which facts.

    `split`: the facts to be forgotten, or `retain` for those that are `kept`. `basis`: the states as they are in the
    source's `own` basis, `aligned` to the full model's before they are patched, or `turned` first, a control of that.
    """

    variant: Variant = "default"
    scope: Scope = "block"
    split: Split = "forget"
    basis: Literal["own", "aligned", "turned"] = "own"


PLAIN = Patching()
KEPT = Patching(split="retain")


class ReferenceModels:
    """The full and retain models as every candidate's yardstick.

    `load` gives a reference when it is needed; `digests` names their content, so that what was read of them (stage 1
    of UDS) is found on disk without loading them. `all_facts` are those of all splits, `facts` those to be forgotten,
    `spans` of these the ones that are scored by their entity; `recorded` gives what a metric found on the retain model.
    `encodings`: what tokenizers, by content, made of the facts, as the models that are held against one reference
    mostly have its tokenizer.
    """

    def __init__(
        self,
        load: Loader,
        digests: dict[Reference, str],
        facts: FactSet,
        cache: Path | None = None,
        batch_size: int = 16,
        recorded: Recorded | None = None,
    ) -> None:
        self.all_facts, self.facts, self.batch_size = facts, facts.split("forget"), batch_size
        self.spans = spanned(facts)
        self.encodings: dict[Hashable, list[Any]] = {}
        self._load, self._digests, self._cache, self._recorded = load, digests, cache, recorded
        self._arrays: dict[tuple[Hashable, ...], Arrays] = {}
        self._targets: dict[tuple[Variant, Split], PatchingTarget] = {}
        self._fitted: PatchingTarget | None = None
        self._states: list[torch.Tensor] | None = None

    @cached_property
    def kept(self) -> FactSet:
        """The facts to be retained that what is spared is read from, and alignment is fitted on with others."""
        return kept_facts(self.all_facts)

    @cached_property
    def reworded(self) -> FactSet:
        """The facts to be retained that utility is of."""
        return reworded_facts(self.all_facts)

    def batch(self, size: int) -> None:
        """Facts go through models `size` at a time from here on; what was read already stands."""
        self.batch_size, self._states, self._fitted = size, None, None
        self._targets.clear()

    def target(self, how: Patching = PLAIN) -> PatchingTarget:
        """The full model, into which sources are patched; loaded once a variant and split."""
        place = (how.variant, how.split)
        if place not in self._targets:
            facts = self.spans if how.split == "forget" else self.kept
            full = self._load("full")
            self._targets[place] = PatchingTarget(full, facts, self._cache, self.batch_size, how.variant)
        return self._targets[place]

    @property
    def fitted(self) -> PatchingTarget:
        """The full model with the text that alignment is fitted on: what is kept, and more where states are wider."""
        if self._fitted is None:
            kept = self.target(KEPT)
            wanted = HALVES * ROOM * (kept.full.model.config.get_text_config(decoder=True).hidden_size + 1)
            facts = fitted_facts(self.all_facts, math.ceil(len(self.kept) * wanted / kept.positions))
            more = len(facts) > len(self.kept)
            self._fitted = PatchingTarget(kept.full, facts, self._cache, self.batch_size) if more else kept
        return self._fitted

    def said(self, source: Checkpoint, facts: FactSet) -> list[tuple[str, float, float]]:
        """Of each fact its person, and whether a source and the full model predict every entity token greedily."""
        on = PatchingTarget(self._load("full"), facts, None, self.batch_size)
        own, full = (np.nan_to_num(on.said(one)).tolist() for one in (source, on.full))
        return list(zip((fact.cluster for fact in facts), own, full, strict=True))

    def reading(self, which: Reference, how: Patching = PLAIN) -> Reading:
        """A reference as the source of patching: from memory, from disk, or measured now."""
        target = self.target(how)
        form = [how.variant] if how.basis == "own" else [how.basis, self.fitted.rendered]

        def content() -> list[Any]:
            parts = [self._digests["full"], self._digests[which], target.rendered, *form, how.scope]
            return [*parts, self.batch_size, str(target.full.device), target.path(how.scope)]

        place = (which, target.rendered, how.scope, *form)
        return Reading(**self._kept("readings", place, content, lambda: asdict(self.read(self._load(which), how))))

    def read(self, source: Checkpoint, how: Patching, known: dict[str, Alignment] | None = None) -> Reading:
        """Any source, measured now.

        `known`: maps from its states into the full model's basis, by kind; a missing one is fitted on what is kept.
        """
        target, known = self.target(how), {} if known is None else known
        if how.basis == "own":
            return target.read(source, how.scope)
        if how.basis not in known:
            on, turned = self.fitted, how.basis == "turned"
            half_of = halves(FactSet(one.fact for one in on.encoded))
            known[how.basis] = align(source, on.batches, self._full_states(on), half_of, turned)
        by = known[how.basis]
        found = target.read(source, align=by.elsewhere if how.split == "forget" else by.held_out)
        return replace(found, fit=by.fit, open=by.whole.open)

    def _full_states(self, on: PatchingTarget) -> Iterable[torch.Tensor]:
        """The full model's states on that text, batch by batch: from memory, where all of them are not too large."""
        if self._states is None:
            first = block_states(on.full, on.batches[0])  # the longest
            if first.nbytes * len(on.batches) > MOST_BYTES:
                return (block_states(on.full, batch) for batch in on.batches)
            self._states = [first, *(block_states(on.full, batch) for batch in on.batches[1:])]
        return self._states

    def arrays(self, which: Sequence[Reference], name: str, compute: Callable[..., Arrays]) -> Arrays:
        """What a metric takes from references, by its name: from memory, from disk, or computed now."""

        def content() -> list[Any]:
            return [[self._digests[reference] for reference in which], self.spans.digest, name, self.batch_size]

        return self._kept("arrays", (*which, name), content, lambda: compute(*map(self._load, which)))

    def retain_values(self, metric: str, variant: str | None) -> Sequence[FactValue]:
        """What a metric found on the retain model.

        Raises:
            ValueError: No record of it was given.
        """
        if self._recorded is None:
            raise ValueError(f"{metric} of the retain model is not at hand: give References what was recorded")
        return self._recorded(metric, variant)

    def _kept(
        self, folder: str, place: tuple[Hashable, ...], content: Callable[[], list[Any]], compute: Callable[[], Arrays]
    ) -> Arrays:
        """Arrays by their place in memory, or by what they are made of on disk, or computed now."""
        if place not in self._arrays:
            file = None if self._cache is None else self._cache / folder / content_key([STACK, *content()])
            found: Arrays | None = None if file is None else _read(file)
            if found is None:
                found = compute()
                if file is not None:
                    _write(file, found)
            self._arrays[place] = found
        return self._arrays[place]


class Subject:
    """One loaded checkpoint under measurement, with the references that a metric may need: all that a metric may ask.

    `role`: the reference that it is itself, whose readings are taken once for all candidates. `asking`: how facts are
    asked, where it is not by their own questions.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        references: ReferenceModels,
        role: Reference | None = None,
        asking: Asking | None = None,
    ) -> None:
        self.checkpoint, self.references, self._role, self.asking = checkpoint, references, role, asking
        self._readings: dict[Patching, Reading] = {}
        self._alignments: dict[str, Alignment] = {}
        self._answers: dict[tuple[Form, Part], list[list[AnswerScores]]] = {}
        self._generations: dict[tuple[str, Part, Form], list[str]] = {}

    @property
    def batch_size(self) -> int:
        """How many facts go through the model at a time: as many as through its references."""
        return self.references.batch_size

    @property
    def facts(self) -> FactSet:
        """The facts that are scored: the forget split."""
        return self.references.facts

    @property
    def spans(self) -> FactSet:
        """Of these, the facts that are scored by their entity."""
        return self.references.spans

    @property
    def kept(self) -> FactSet:
        """The facts to be retained that what is spared is read from."""
        return self.references.kept

    def drawn(self) -> list[tuple[str, float, float]]:
        """Of others, drawn by this checkpoint's content, see `ReferenceModels.said`; none where there are no others."""
        facts = drawn_facts(self.references.all_facts, self.checkpoint.digest)
        return self.references.said(self.checkpoint, facts) if facts else []

    def split(self, name: Part) -> FactSet:
        """The facts of any split; empty where the facts have none."""
        if name == "reworded":
            return self.references.reworded
        return self.references.spans if name == "spans" else self.references.all_facts.split(name)

    def answers(self, form: Form = "original", split: Part = "forget") -> Sequence[Sequence[AnswerScores]]:
        """Teacher-forced answers to each fact's question, one list a fact; one pass, shared by metrics.

        A fact that lacks the form (no paraphrase, no wrong answers) has an empty list.
        """
        if (form, split) not in self._answers:
            encoded = self._encoded(form, split, lambda fact: self._encode_answers(fact, form))
            flat = [answer for answers in encoded for answer in answers]
            found = iter(score_answers(self.checkpoint, flat, self.batch_size))
            self._answers[form, split] = [[next(found) for _ in answers] for answers in encoded]
        return self._answers[form, split]

    def generations(self, opening: str = "", split: Part = "forget", form: Form = "original") -> Sequence[str]:
        """The greedy answer to each fact's question, at most `LONGEST` tokens.

        `opening`: words put into its mouth. `form`: `paraphrased` asks in other words, where a fact has them.
        """
        place = (opening, split, form)
        if place not in self._generations:
            # What is asked alike is answered alike: a fact without other words is not asked twice.
            known = self._generations.get((opening, split, "original"), ())
            answers = dict(zip(self.questions(opening, split), known, strict=True)) if known else {}
            prompts = self.questions(opening, split, form)
            new = [prompt for prompt in dict.fromkeys(prompts) if prompt not in answers]
            stops = stop_tokens(self.checkpoint.tokenizer)
            answers |= dict(zip(new, generate_greedily(self.checkpoint, new, LONGEST, stops=stops), strict=True))
            self._generations[place] = [answers[prompt] for prompt in prompts]
        return self._generations[place]

    def replies(self, split: Split = "forget") -> tuple[dict[str, list[str]], str]:
        """All that is said of each fact of a split, by its id, and a digest of how it was asked.

        By their own questions facts to be forgotten are asked, and each has the greedy reply to its question, and to
        its paraphrase where one has any. Asked otherwise, others are as many as those at most.
        """
        if self.asking is None:
            forms: list[Form] = ["original"]
            if any(fact.paraphrased_question is not None for fact in self.spans):
                forms.append("paraphrased")
            found = zip(*(self.generations(form=form) for form in forms), strict=True)
            rendered = content_key([self.questions(form=form) for form in forms])
            return {fact.id: list(said) for fact, said in zip(self.facts, found, strict=True)}, rendered
        asking, tokenizer, date = self.asking, self.checkpoint.tokenizer, self.references.all_facts.date_string
        of = asking.ways(self.references.all_facts, split)
        ways = [(id, way) for id in list(of)[: len(self.facts)] for way in of[id]]
        prompts = [encode_question(tokenizer, way.question, way.opening, date) for _, way in ways]
        stops = stop_tokens(tokenizer)
        if asking.samples:
            places: Sequence[int] = [at for at in range(len(ways)) for _ in range(asking.samples)]
            # The first draws of a question are the same, however many there are, and whatever else is asked.
            keys = [f"{asking.seed}/{id}/{way.question}/{nth}" for id, way in ways for nth in range(asking.samples)]
            asked = [prompts[at] for at in places]
            drawn = sample(self.checkpoint, asked, keys, LONGEST, asking.temperature, stops=stops)
            texts = [words(tokenizer, one.ids) for one in drawn]
        else:
            places, texts = range(len(ways)), generate_greedily(self.checkpoint, prompts, LONGEST, stops=stops)
        told: dict[str, list[str]] = {}
        for at, text in zip(places, texts, strict=True):
            told.setdefault(ways[at][0], []).append(text)
        return told, content_key(prompts)

    def questions(
        self, opening: str = "", split: Part = "forget", form: Form = "original"
    ) -> Sequence[tuple[int, ...]]:
        """The token ids that `generations` asks each fact with."""
        tokenizer, date = self.checkpoint.tokenizer, self.references.all_facts.date_string

        def asked(fact: Fact) -> str:
            return (fact.paraphrased_question if form == "paraphrased" else None) or fact.question

        return self._encoded(
            ("asked", opening, form), split, lambda f: encode_question(tokenizer, asked(f), opening, date)
        )

    def entities(self) -> Sequence[EncodedFact]:
        """The scored facts as this checkpoint's own tokenizer splits them, with the tokens of their entities."""
        return self._encoded("entity", "spans", lambda fact: encode(fact, self.checkpoint.tokenizer))

    def retain_values(self, metric: str, variant: str | None = None) -> Sequence[FactValue]:
        """What another metric found on the retain model; the metric must declare it in `reads`."""
        return self.references.retain_values(metric, variant)

    def of_references(self, name: str, compute: Callable[[Checkpoint, Checkpoint], Arrays]) -> Arrays:
        """Arrays taken from the full and the retain model, in this order, which `name` says what they are.

        Computed once for the models' content, then kept.
        """
        return self.references.arrays(("full", "retain"), name, compute)

    def reading(self, how: Patching = PLAIN, of: Reference | None = None) -> Reading:
        """This checkpoint as a source patched into the full model, or a reference; read once, shared by metrics."""
        which = of or (None if how.basis == "turned" else self._role)
        if which is not None:
            return self.references.reading(which, how)
        if how not in self._readings:
            self._readings[how] = self.references.read(self.checkpoint, how, self._alignments)
        return self._readings[how]

    def said(self) -> Sequence[float]:
        """Of each fact of `spans` 1 where this checkpoint predicts every entity token greedily, else 0."""
        known = self._role is not None or PLAIN in self._readings
        return list(map(float, self.reading().correct if known else self.target().said(self.checkpoint)))

    def target(self, how: Patching = PLAIN) -> PatchingTarget:
        """The full model that sources are patched into: its encoded facts, their digest, and which way it is done."""
        return self.references.target(how)

    def _encode_answers(self, fact: Fact, form: Form) -> list[EncodedAnswer]:
        tokenizer, date = self.checkpoint.tokenizer, self.references.all_facts.date_string
        return [encode_answer(tokenizer, fact.question, answer, date) for answer in answers_of(fact, form)]

    def _encoded(self, what: Hashable, split: Part, encode_one: Callable[[Fact], Encoded]) -> list[Encoded]:
        place, known = (self._tokenizer, what, split), self.references.encodings
        if place not in known:
            known[place] = [encode_one(fact) for fact in self.split(split)]
        return known[place]

    @cached_property
    def _tokenizer(self) -> str:
        return tokenizer_key(self.checkpoint.tokenizer)


def _write(path: Path, arrays: Arrays) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **dict(arrays))  # type: ignore[arg-type]
    write_sealed(path, buffer.getvalue())


def _read(path: Path) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]] | None:
    payload = read_sealed(path)
    if payload is None:
        return None
    with np.load(io.BytesIO(payload)) as arrays:
        return {name: arrays[name] for name in arrays.files}
