"""What is asked of a model about a person: every template, with every candidate value, about every name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from uds_bench.audits.association.ranking import ALPHA
from uds_bench.errors import FactError
from uds_bench.facts.name_matching import alike
from uds_bench.facts.own_wording import Worded
from uds_bench.facts.properties import Property
from uds_bench.facts.similar_names import MOST_VARIANTS, similar_names
from uds_bench.facts.subjects import Person
from uds_bench.facts.templates import GENERIC, Template


@dataclass(frozen=True)
class ProbeItem:
    """`topic`: one property of one person. `names`: the person's, then those that look like it, then, where alpha asks
    for it, nobody's."""

    subject: Person
    topic: Property
    candidates: Candidates
    names: tuple[str, ...]
    generic: bool

    @property
    def id(self) -> str:
        """The person and what is told of them, as one id."""
        return f"{self.subject.id}/{self.topic.id}"

    @property
    def cluster(self) -> str:
        """What intervals resample: the person."""
        return self.subject.id

    @property
    def kind(self) -> str:
        """The property that is told, or the id of a fact in own words."""
        return self.topic.id

    @property
    def templates(self) -> tuple[Template, ...]:
        """The phrasings that it is asked in."""
        return self.topic.templates

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Templates, names, candidates."""
        return len(self.templates), len(self.names), len(self.candidates.values)

    def sentences(self) -> Iterator[str]:
        """All of them, by template, then by name, then by value."""
        for template in self.templates:
            for name in self.names:
                for value in self.candidates.values:
                    yield template.fill(name, value)


def ask_about(
    subjects: Sequence[Person],
    properties: Mapping[str, Property],
    embed: Embed | None,
    alpha: float = ALPHA,
    most: int = MOST_VARIANTS,
    names: Sequence[str] = (),
) -> list[ProbeItem]:
    """Everything that is known of some people, in order. `most`: similar names of a person; of a short one, whose
    letters make no more, others of its script as well, of `names` first.

    Of facts in somebody's own words, whatever the language, meaning is not looked at. Raises FactError, naming the
    person, for a name that none looks like where alpha asks for such, for a property without templates, and as
    `candidates` does.
    """
    if embed is not None:
        embed([*dict.fromkeys(_meant(subjects, properties))])  # at once: one by one they take four times as long
    found = []
    for subject in subjects:
        similar = similar_names(subject.name, most, names) if alpha else ()
        if alpha and not similar:
            raise FactError(
                f"subject {subject.id!r}: no other name looks like {subject.name!r}: list some of its script, "
                "one a line, in a file under [association] names, or score it with alpha 0"
            )
        generic = alpha != 1  # at 1 sentences about nobody cancel, and need not be scored
        told_of = (subject.name, *similar, *([GENERIC] if generic else []))
        for statement in subject.statements:
            if statement.property not in properties:
                raise FactError(f"subject {subject.id!r}: property {statement.property} has no template")
            topic = properties[statement.property]
            what = f"subject {subject.id!r}, {topic.id}"
            meant = None if isinstance(topic, Worded) else embed
            others = candidates(what, statement.values, topic.counterfactuals, meant)
            found.append(ProbeItem(subject, topic, others, told_of, generic))
    return found


def _meant(subjects: Sequence[Person], properties: Mapping[str, Property]) -> Iterator[str]:
    """Every value whose meaning is looked at: what is true of some people, and what it is told from."""
    asked = {id: one for id, one in properties.items() if not isinstance(one, Worded)}
    for subject in subjects:
        for statement in subject.statements:
            if statement.property in asked:
                yield from (*statement.values, *asked[statement.property].counterfactuals)


ALIKE = 0.75
"""Cosine of sentence embeddings above which two values count as one (section 6)."""
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts as unit vectors, [texts, width]."""


@dataclass(frozen=True)
class Candidates:
    """`truths`: the values that are true; `others`: values that are not, and mean none of them."""

    truths: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """All values that are ranked, the true ones first."""
        return self.truths + self.others


def candidates(what: str, truths: Sequence[str], counterfactuals: Sequence[str], embed: Embed | None) -> Candidates:
    """Values with those counterfactuals left out that are, or mean, what is true; of equal ones the first is kept.

    Equal: the same letters and numbers. `embed`: without it meaning is not looked at. Raises FactError, naming `what`,
    where no counterfactual is left to be told from.
    """
    kept, spelled = _once(truths), _once(counterfactuals)
    others = [value for key, value in spelled.items() if key not in kept]
    if embed is not None and others:
        alike = embed(others) @ embed([*kept.values()]).T
        others = [value for value, row in zip(others, alike, strict=True) if row.max() <= ALIKE]
    if not others:
        raise FactError(f"{what}: every counterfactual means what is true ({', '.join(kept.values())}): give it others")
    return Candidates(tuple(kept.values()), tuple(others))


def _once(values: Sequence[str]) -> dict[str, str]:
    """By its letters, digits and the signs of numbers, the first value that is spelled with them."""
    found: dict[str, str] = {}
    for value in values:
        found.setdefault(alike(value), value)
    return found
