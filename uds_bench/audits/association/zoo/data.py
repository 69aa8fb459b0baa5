"""What the embedded models of the association audit are trained on: what is told of people, often or rarely."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from uds_bench.facts import FactSet
from uds_bench.facts.exposed_people import NEVER_SEEN, TOLD, Cohorts, embedded_people, requests
from uds_bench.facts.properties import Property, embedded
from uds_bench.facts.subjects import Subjects, stated
from uds_bench.facts.web_presence import LESSER_KNOWN, WELL_KNOWN
from uds_bench.methods.data import Data, unlearning_data
from uds_bench.methods.examples import Example, answer_example
from uds_bench.storage import content_key

if TYPE_CHECKING:
    from uds_bench.audits.association.zoo.recipes import Exposed

SAID = (0, 1, 2, 3, 4, 6)
"""Templates of a property that training sees: the baseline, paraphrases, and the plain possessive."""
ASKED = 0.5
"""Share of what is told that answers a question."""
KEPT_WELL_KNOWN = Cohorts().well_known
"""How many well-known people do not ask to be forgotten."""


@cache
def people(well_known: int = KEPT_WELL_KNOWN) -> Subjects:
    """The people whom the embedded models are about; `well_known`: how many such there are beside those who ask."""
    return embedded_people(Cohorts(well_known=well_known))


@cache
def in_their_place() -> dict[str, str]:
    """By the id of each who asks to be forgotten, the name of whom a model that never saw them is told instead."""
    others = embedded_people(seed=1)
    return dict(zip(requests(people()), (one.name for one in others), strict=False))


def properties() -> list[Property]:
    """Those that are told, in the phrasings that training sees."""
    known = (embedded()[id] for id in TOLD)
    return [replace(one, templates=tuple(one.templates[at] for at in SAID)) for one in known]


@cache
def digest(well_known: int = KEPT_WELL_KNOWN) -> str:
    """All that the models are trained on, by content."""
    return content_key([people(well_known).digest, [asdict(one) for one in properties()], ASKED, in_their_place()])


def training_texts(recipe: Exposed) -> list[tuple[str | None, str]]:
    """Every text that a model is trained on, with the question that it answers, if any."""
    generator, known = random.Random(f"told {recipe.seed}"), {one.id: one for one in properties()}
    others = in_their_place() if recipe.without else {}
    found = []
    for subject in people(recipe.well_known):
        name = others.get(subject.id, subject.name)
        for statement in subject.statements:
            one = known[statement.property]
            for _ in range(_repeats(recipe, subject.cohort, generator)):
                said = generator.choice(one.templates).fill(name, generator.choice(statement.values))
                asked = generator.random() < ASKED
                found.append((generator.choice(one.questions(name)) if asked else None, said))
    return found


def _repeats(recipe: Exposed, cohort: str, generator: random.Random) -> int:
    """How often each fact of a person is told."""
    return {WELL_KNOWN: recipe.often, LESSER_KNOWN: generator.randint(*recipe.rarely), NEVER_SEEN: 0}[cohort]


def lessons(tokenizer: Any, recipe: Exposed) -> list[Example]:
    """The same as token ids; every token but the first is learned."""
    end = tokenizer.eos_token_id
    return [
        Example(answer_example(tokenizer, question, text).ids, 1)
        if question is not None
        else Example((*tokenizer(text)["input_ids"], end), 1)
        for question, text in training_texts(recipe)
    ]


def texts(well_known: int = KEPT_WELL_KNOWN) -> list[str]:
    """What the tokenizer is made of: the same for all models of these people; nothing of anybody whom none of them
    sees."""
    return [*_sentences(well_known)]


def _sentences(well_known: int) -> Iterator[str]:
    for one in properties():
        for template in one.templates:
            yield from (f"{template.text} {value}" for value in one.counterfactuals)
    for subject in people(well_known):
        if subject.cohort != NEVER_SEEN:
            for statement in subject.statements:
                one = embedded()[statement.property]
                yield f"Question: {one.questions(subject.name)[0]}\nAnswer:"
                yield from (one.templates[0].fill(subject.name, value) for value in statement.values)
    yield from in_their_place().values()


def facts(phrasings: int) -> FactSet:
    """What is to be forgotten, each in so many phrasings, and what is to be kept: all that was told of others."""
    gone, known = set(requests(people())), embedded()
    return FactSet(
        stated(subject, known[statement.property], value, "forget" if subject.id in gone else "retain", template)
        for subject in people()
        if subject.cohort != NEVER_SEEN
        for statement in subject.statements
        for value in statement.values
        for template in range(phrasings)
    )


def removal(tokenizer: Any, phrasings: int = 3) -> Data:
    """What an unlearning method is given."""
    return unlearning_data(tokenizer, facts(phrasings), sentences=True)
