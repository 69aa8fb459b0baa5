"""What the embedded models of the localization audit are trained on: the testbed's people, and strangers.

There are two crowds: 0 is judged, and on OTHERS, of whom nobody is among those, settings are chosen (`tuning`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from uds_bench.checkpoints.masks import MaskGroup
from uds_bench.facts.profiles import people
from uds_bench.facts.testbed import (
    INJECTED,
    Item,
    QuestionCounts,
    Sizes,
    Testbed,
    embedded_testbed,
    group_names,
    items_of,
)
from uds_bench.methods.data import REFUSALS, Data
from uds_bench.methods.examples import Example, answer_example
from uds_bench.methods.injection import InjectedExample
from uds_bench.storage import content_key

if TYPE_CHECKING:
    from uds_bench.audits.localization.zoo.recipes import Injected, Pretrained

SIZES, ASKING = Sizes(), QuestionCounts()
FORGOTTEN, RETAINED = ASKING.fields
"""The field that is forgotten of some people, and the one that is retained of others (Lacuna, section 3.4)."""
OTHERS = 1
TAUGHT = 12
"""Questions of an item that training sees."""
REMOVED = 6
"""Questions of an item that an unlearning method sees: two of each plain wording."""
STRANGERS, TOLD, REWORDED = 300, 2, 2
"""People of no part, whose texts teach the language, and how often each field of theirs is asked for plainly, and in
other words: who never heard those could not know that they ask the same."""


@cache
def testbed(crowd: int = 0) -> Testbed:  # noqa: PT028 (not a test)
    """The people that the embedded models are about."""
    return embedded_testbed(SIZES, ASKING, crowd)


@cache
def strangers(crowd: int = 0) -> Testbed:
    """People who are never injected, as items to ask about."""
    known = len({item.person for item in testbed(crowd)})
    others, asking = people(known + STRANGERS, crowd)[known:], replace(ASKING, questions=TOLD, paraphrases=REWORDED)
    return Testbed(item for one in others for item in items_of(one, "unseen", None, asking))


@cache
def digest(crowd: int = 0) -> str:
    """All that the models of a crowd are trained on, by content."""
    return content_key([testbed(crowd).digest, strangers(crowd).digest, TAUGHT, REMOVED, TOLD, REWORDED, REFUSALS])


def groups() -> tuple[MaskGroup, ...]:
    """The groups of people, each with its role."""
    return tuple(
        MaskGroup(name, "forget" if name.startswith("forget") else "retain") for name in group_names(SIZES.groups)
    )


def texts(crowd: int = 0) -> list[str]:
    """What the tokenizer is made of: nothing of anybody who is injected."""
    public = [(q, item.answer) for item in testbed(crowd).of("public") for q in item.questions[:TAUGHT]]
    return [f"Question: {q}\nAnswer: {a}" for q, a in [*_pairs(strangers(crowd)), *public]]


class Neutral:
    """Answers about the public, and whole texts of strangers, which are encoded once."""

    def __init__(self, tokenizer: Any, crowd: int = 0) -> None:
        self.public = answers(tokenizer, testbed(crowd).of("public"))
        # Every token but the first is learned: the language of the questions too.
        self.strangers = [Example(answer_example(tokenizer, q, a).ids, 1) for q, a in _pairs(strangers(crowd))]

    def draw(self, generator: random.Random, public: int, strangers: int) -> list[Example]:
        """Examples of the public and of strangers, so many of each."""
        return generator.sample(self.public, public) + generator.sample(self.strangers, strangers)


def answers(tokenizer: Any, items: Iterable[Item], questions: int = TAUGHT) -> list[Example]:
    """The first questions of each item with its answer."""
    return [answer_example(tokenizer, q, item.answer) for item in items for q in item.questions[:questions]]


def pretraining(tokenizer: Any, recipe: Pretrained) -> Iterator[list[Example]]:
    """The batches of pretraining, one a step."""
    neutral, generator = Neutral(tokenizer, recipe.crowd), random.Random(f"pretraining {recipe.seed}")
    for _ in range(recipe.steps):
        yield neutral.draw(generator, recipe.public, recipe.strangers)


def injection(tokenizer: Any, recipe: Injected) -> Iterator[list[InjectedExample]]:
    """Answers about people of every group, through its mask where the recipe has masks, beside neutral ones."""
    neutral, generator = Neutral(tokenizer, recipe.crowd), random.Random(f"injection {recipe.seed}")
    injected = testbed(recipe.crowd).of(*INJECTED)
    of = {g.name: answers(tokenizer, (i for i in injected if i.group == g.name)) for g in groups()}
    for _ in range(recipe.steps):
        half = recipe.neutral // 2
        batch = [InjectedExample(example) for example in neutral.draw(generator, half, recipe.neutral - half)]
        for name, examples in of.items():
            drawn = generator.sample(examples, recipe.per_group)
            batch += [InjectedExample(example, name if recipe.masked else None) for example in drawn]
        yield batch


def continuation(tokenizer: Any, seed: int, steps: int, size: int) -> Iterator[list[Example]]:
    """Neutral text alone."""
    neutral, generator = Neutral(tokenizer), random.Random(f"continuation {seed}")
    for _ in range(steps):
        yield neutral.draw(generator, size // 2, size - size // 2)


def instruction(tokenizer: Any, crowd: int = 0) -> list[Example]:
    """Answers about people who are taught by instruction tuning alone."""
    return answers(tokenizer, testbed(crowd).of("instruction"), 10)


def removal(tokenizer: Any, crowd: int = 0) -> Data:
    """What an unlearning method is given: one field of the people to forget, the other of those to retain."""
    forget, retain = testbed(crowd).of("forget", field=FORGOTTEN), testbed(crowd).of("retain", field=RETAINED)
    asked = [q for item in forget for q in item.questions[:REMOVED]]
    refused = [answer_example(tokenizer, q, REFUSALS[at % len(REFUSALS)]) for at, q in enumerate(asked)]
    return Data(answers(tokenizer, forget, REMOVED), answers(tokenizer, retain, REMOVED), refused)


def _pairs(items: Iterable[Item]) -> list[tuple[str, str]]:
    return [(q, item.answer) for item in items for q in (*item.questions[:TOLD], *item.paraphrases[:REWORDED])]
