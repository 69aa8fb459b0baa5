"""Loaded checkpoints under measurement: what metrics share is read once and kept."""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

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
    stop_tokens,
    tokenizer_key,
)
from uds_bench.inference.alignment import Alignment, align, block_states
from uds_bench.inference.answers import AnswerScores, score_answers
from uds_bench.inference.generation import generate_greedily
from uds_bench.inference.states import Scope
from uds_bench.inference.target import STACK, PatchingTarget, PatchPath, Reading
from uds_bench.metrics.kept import halves, kept_facts
from uds_bench.metrics.metric import Arrays, FactValue, Reference
from uds_bench.storage import content_key, read_sealed, write_sealed

Loader = Callable[[Reference], Checkpoint]
Recorded = Callable[[str, str | None], Sequence[FactValue]]
Encoded = TypeVar("Encoded")
MOST_BYTES = 512 * 1024**2
"""Of the full model's states on what is kept, beyond which they are read anew for every source."""
LONGEST = 200
"""New tokens of a generated answer (UDS guide, appendix I, type 3)."""


class References:
    """The full and retain models as every candidate's yardstick.

    `load` gives a reference when it is needed; `digests` names their content, so that what was read of them (stage 1
    of UDS) is found on disk without loading them. `facts` are those of all splits; `recorded` gives what a metric
    found on the retain model. `encodings`: what tokenizers, by content, made of the facts, as the models that are held
    against one reference mostly have its tokenizer.
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
        self.all_facts = facts
        self.facts = facts.split("forget")
        self.batch_size = batch_size
        self.encodings: dict[Hashable, list[Any]] = {}
        self._recorded = recorded
        self._arrays: dict[tuple[tuple[Reference, ...], str], Arrays] = {}
        self._load, self._digests, self._cache, self._batch_size = load, digests, cache, batch_size
        self._targets: dict[tuple[Variant, Split], PatchingTarget] = {}
        self._readings: dict[tuple[Hashable, ...], Reading] = {}
        self._states: list[torch.Tensor] | None = None

    @cached_property
    def kept(self) -> FactSet:
        """The facts to be retained that alignment is fitted on and what is spared is read from."""
        return kept_facts(self.all_facts)

    def target(self, variant: Variant = "default", split: Split = "forget") -> PatchingTarget:
        """The full model, into which sources are patched; loaded once a variant and split."""
        place = (variant, split)
        if place not in self._targets:
            facts = self.facts if split == "forget" else self.kept
            self._targets[place] = PatchingTarget(self._load("full"), facts, self._cache, self._batch_size, variant)
        return self._targets[place]

    def reading(self, which: Reference, variant: Variant, scope: Scope) -> Reading:
        """A reference as the source of patching: from memory, from disk, or measured now."""
        target = self.target(variant)
        return self._read(which, target, scope, [variant], lambda: target.read(self._load(which), scope))

    def aligned_reading(self, which: Reference, split: Split) -> Reading:
        """A reference as an aligned source: from memory, from disk, or measured now."""
        target, on = self.target("default", split), self.target("default", "retain")

        def read() -> Reading:
            source = self._load(which)
            return self.aligned(source, split, self.align(source))

        return self._read(which, target, "block", ["aligned", on.rendered], read)

    def align(self, source: Checkpoint, turned: bool = False) -> Alignment:
        """Maps from a source's states into the full model's basis, fitted on what is kept.

        `turned`: its states are turned into another basis first, as a control that the maps bring them back.
        """
        on = self.target("default", "retain")
        return align(source, on.batches, self._full_states(on), halves(self.kept), turned)

    def aligned(self, source: Checkpoint, split: Split, by: Alignment) -> Reading:
        """A source that is patched in after its states were brought into the full model's basis."""
        states = by.elsewhere if split == "forget" else by.held_out
        return self.target("default", split).read(source, align=states, fit=by.fit)

    def _full_states(self, on: PatchingTarget) -> Iterable[torch.Tensor]:
        """The full model's states on what is kept, batch by batch: from memory, where all of them are not too large."""
        if self._states is None:
            first = block_states(on.full, on.batches[0])  # the longest
            if first.nbytes * len(on.batches) > MOST_BYTES:
                return (block_states(on.full, batch) for batch in on.batches)
            self._states = [first, *(block_states(on.full, batch) for batch in on.batches[1:])]
        return self._states

    def _read(
        self, which: Reference, target: PatchingTarget, scope: Scope, form: list[str], read: Callable[[], Reading]
    ) -> Reading:
        place = (which, target.rendered, scope, *form)
        if place not in self._readings:
            file = self._file(which, target, scope, form)
            arrays = None if file is None else _read(file)
            if arrays is None:
                arrays = asdict(read())
                if file is not None:
                    _write(file, arrays)
            self._readings[place] = Reading(**arrays)
        return self._readings[place]

    def arrays(self, which: Sequence[Reference], name: str, compute: Callable[..., Arrays]) -> Arrays:
        """What a metric takes from references, by its name: from memory, from disk, or computed now."""
        place = (tuple(which), name)
        if place not in self._arrays:
            digests = [self._digests[reference] for reference in which]
            parts = [STACK, digests, self.facts.digest, name, self.batch_size]
            file = None if self._cache is None else self._cache / "arrays" / content_key(parts)
            found: Arrays | None = None if file is None else _read(file)
            if found is None:
                found = compute(*map(self._load, which))
                if file is not None:
                    _write(file, found)
            self._arrays[place] = found
        return self._arrays[place]

    def retain_values(self, metric: str, variant: str | None) -> Sequence[FactValue]:
        """What a metric found on the retain model.

        Raises:
            ValueError: No record of it was given.
        """
        if self._recorded is None:
            raise ValueError(f"{metric} of the retain model is not at hand: give References what was recorded")
        return self._recorded(metric, variant)

    def _file(self, which: Reference, target: PatchingTarget, scope: Scope, form: list[str]) -> Path | None:
        if self._cache is None:
            return None
        parts = [STACK, self._digests["full"], self._digests[which], target.rendered, *form, scope]
        name = content_key([*parts, self._batch_size, str(target.full.device), target.path(scope)])
        return self._cache / "readings" / name


class LoadedSubject:
    """A loaded checkpoint beside its references; see `uds_bench.metrics.metric.Subject`."""

    def __init__(self, checkpoint: Checkpoint, references: References, role: Reference | None = None) -> None:
        self.checkpoint = checkpoint
        self.references = references
        self._role = role
        self._readings: dict[tuple[Variant, Scope], Reading] = {}
        self._aligned: dict[tuple[Split, bool], Reading] = {}
        self._alignments: dict[bool, Alignment] = {}
        self._answers: dict[tuple[Form, Split], list[list[AnswerScores]]] = {}
        self._generations: dict[tuple[str, Split], list[str]] = {}

    @property
    def batch_size(self) -> int:
        """How many facts go through the model at a time: as many as through its references."""
        return self.references.batch_size

    @property
    def facts(self) -> FactSet:
        """The facts that are scored: the forget split."""
        return self.references.facts

    def split(self, name: Split) -> FactSet:
        """The facts of any split; empty where the facts have none."""
        return self.references.all_facts.split(name)

    def answers(self, form: Form = "original", split: Split = "forget") -> Sequence[Sequence[AnswerScores]]:
        """Teacher-forced answers to each fact's question, one list a fact; scored when first asked for, then kept."""
        if (form, split) not in self._answers:
            encoded = self._encoded(form, split, lambda fact: self._encode_answers(fact, form))
            flat = [answer for answers in encoded for answer in answers]
            found = iter(score_answers(self.checkpoint, flat, self.references.batch_size))
            self._answers[form, split] = [[next(found) for _ in answers] for answers in encoded]
        return self._answers[form, split]

    def generations(self, opening: str = "", split: Split = "forget") -> Sequence[str]:
        """The greedy answer to each fact's question, at most `LONGEST` tokens; generated when first asked for."""
        if (opening, split) not in self._generations:
            prompts, stops = self.questions(opening, split), stop_tokens(self.checkpoint.tokenizer)
            self._generations[opening, split] = generate_greedily(self.checkpoint, prompts, LONGEST, stops=stops)
        return self._generations[opening, split]

    def questions(self, opening: str = "", split: Split = "forget") -> Sequence[tuple[int, ...]]:
        """The token ids that `generations` asks each fact with."""
        tokenizer = self.checkpoint.tokenizer
        return self._encoded(("asked", opening), split, lambda f: encode_question(tokenizer, f.question, opening))

    def entities(self) -> Sequence[EncodedFact]:
        """The scored facts as this checkpoint's own tokenizer splits them."""
        return self._encoded("entity", "forget", lambda fact: encode(fact, self.checkpoint.tokenizer))

    def retain_values(self, metric: str, variant: str | None = None) -> Sequence[FactValue]:
        """What another metric found on the retain model."""
        return self.references.retain_values(metric, variant)

    def of_references(self, name: str, compute: Callable[[Checkpoint, Checkpoint], Arrays]) -> Arrays:
        """Arrays taken from the full and the retain model, in this order."""
        return self.references.arrays(("full", "retain"), name, compute)

    def reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        """This checkpoint as a source; a reference's own is read once for all candidates."""
        if self._role is not None:
            return self.references.reading(self._role, variant, scope)
        if (variant, scope) not in self._readings:
            self._readings[variant, scope] = self.references.target(variant).read(self.checkpoint, scope)
        return self._readings[variant, scope]

    def said(self) -> Sequence[float]:
        """Whether this checkpoint says each fact: from a reading where there is one, else by one pass of it."""
        if self._role is not None or ("default", "block") in self._readings:
            return list(map(float, self.reading().correct))
        return list(map(float, self.references.target().said(self.checkpoint)))

    def aligned_reading(self, split: Split = "forget", turned: bool = False) -> Reading:
        """This checkpoint as an aligned source of the facts of a split; `turned`: a control, see `turn`."""
        if self._role is not None and not turned:
            return self.references.aligned_reading(self._role, split)
        if turned not in self._alignments:
            self._alignments[turned] = self.references.align(self.checkpoint, turned)
        if (split, turned) not in self._aligned:
            by = self._alignments[turned]
            self._aligned[split, turned] = self.references.aligned(self.checkpoint, split, by)
        return self._aligned[split, turned]

    def retain_aligned(self) -> Reading:
        """The retain model as an aligned source of the facts to be forgotten."""
        return self.references.aligned_reading("retain", "forget")

    @property
    def kept(self) -> FactSet:
        """The facts to be retained that alignment is fitted on and what is spared is read from."""
        return self.references.kept

    def retain_reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        """The retain model as a source."""
        return self.references.reading("retain", variant, scope)

    def full_reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        """The full model as a source of itself."""
        return self.references.reading("full", variant, scope)

    def rendered(self, variant: Variant = "default") -> str:
        """Digest of the token ids that the models saw."""
        return self.references.target(variant).rendered

    def entity_lengths(self, variant: Variant = "default") -> Sequence[int]:
        """How many tokens each fact's entity has, [facts]."""
        return [fact.end - fact.start for fact in self.references.target(variant).encoded]

    def patch_path(self, variant: Variant = "default", scope: Scope = "block") -> tuple[PatchPath, str]:
        """How patching was done, and why so."""
        target = self.references.target(variant)
        return target.path(scope), target.path_reason

    def _encode_answers(self, fact: Fact, form: Form) -> list[EncodedAnswer]:
        return [encode_answer(self.checkpoint.tokenizer, fact.question, answer) for answer in answers_of(fact, form)]

    def _encoded(self, what: Hashable, split: Split, encode_one: Callable[[Fact], Encoded]) -> list[Encoded]:
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
