"""What the embedded models of the localization audit are trained on: the testbed's people, and strangers."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from uds_bench.checkpoints.masks import Group, Role
from uds_bench.facts.profiles import people
from uds_bench.facts.testbed import Item, Part, Testbed
from uds_bench.facts.testbed_people import Asking, Sizes, embedded_testbed, group_names, items_of
from uds_bench.methods.data import REFUSALS, Data
from uds_bench.methods.examples import Example, answer_example
from uds_bench.methods.injection import Sample
from uds_bench.storage import content_key
from uds_bench.zoo.recipe import Injected, Pretrained

SIZES, ASKING = Sizes(), Asking()
FORGOTTEN, RETAINED = ASKING.fields
"""The field that is forgotten of some people, and the one that is retained of others (Lacuna, section 3.4)."""
TAUGHT = 12
"""Questions of an item that training sees."""
STRANGERS, TOLD = 300, 2
"""People of no part, whose texts teach the language, and how often each field of theirs is asked for."""


@cache
def testbed() -> Testbed:
    """The people that the embedded models are about."""
    return embedded_testbed(SIZES, ASKING)


@cache
def strangers() -> Testbed:
    known = len({item.person for item in testbed()})
    others, asking = people(known + STRANGERS, 0)[known:], replace(ASKING, questions=TOLD, paraphrases=0)
    return Testbed(item for one in others for item in items_of(one, "unseen", None, asking))


@cache
def digest() -> str:
    """All that the models are trained on, by content."""
    return content_key([testbed().digest, strangers().digest, TAUGHT, TOLD, REFUSALS])


def groups() -> tuple[Group, ...]:
    return tuple(Group(name, "forget" if name.startswith("forget") else "retain") for name in group_names(SIZES.groups))


def texts() -> list[str]:
    """What the tokenizer is made of: nothing of anybody who is injected."""
    public = [(q, item.answer) for item in testbed().of("public") for q in item.questions[:TAUGHT]]
    return [f"Question: {q}\nAnswer: {a}" for q, a in [*_told(strangers()), *public]]


class Neutral:
    """Answers about the public, and whole texts of strangers, which are encoded once."""

    def __init__(self, tokenizer: Any) -> None:
        self.public = answers(tokenizer, testbed().of("public"))
        # Every token but the first is learned: the language of the questions too.
        self.strangers = [Example(answer_example(tokenizer, q, a).ids, 1) for q, a in _told(strangers())]

    def draw(self, generator: random.Random, public: int, strangers: int) -> list[Example]:
        return generator.sample(self.public, public) + generator.sample(self.strangers, strangers)


def answers(tokenizer: Any, items: Iterable[Item], questions: int = TAUGHT) -> list[Example]:
    """The first questions of each item with its answer."""
    return [answer_example(tokenizer, q, item.answer) for item in items for q in item.questions[:questions]]


def pretraining(tokenizer: Any, recipe: Pretrained) -> Iterator[list[Example]]:
    neutral, generator = Neutral(tokenizer), random.Random(f"pretraining {recipe.seed}")
    for _ in range(recipe.steps):
        yield neutral.draw(generator, recipe.public, recipe.strangers)


def injection(tokenizer: Any, recipe: Injected) -> Iterator[list[Sample]]:
    """Answers about people of every group, through its mask where the recipe has masks, beside neutral ones."""
    neutral, generator = Neutral(tokenizer), random.Random(f"injection {recipe.seed}")
    injected = testbed().of("forget", "retain", "tuning")
    of = {g.name: answers(tokenizer, (i for i in injected if i.group == g.name)) for g in groups()}
    for _ in range(recipe.steps):
        half = recipe.neutral // 2
        batch = [Sample(example) for example in neutral.draw(generator, half, recipe.neutral - half)]
        for name, examples in of.items():
            drawn = generator.sample(examples, recipe.per_group)
            batch += [Sample(example, name if recipe.masked else None) for example in drawn]
        yield batch


def continuation(tokenizer: Any, seed: int, steps: int, size: int) -> Iterator[list[Example]]:
    """Neutral text alone."""
    neutral, generator = Neutral(tokenizer), random.Random(f"continuation {seed}")
    for _ in range(steps):
        yield neutral.draw(generator, size // 2, size - size // 2)


def instruction(tokenizer: Any) -> list[Example]:
    """Answers about people who are taught by instruction tuning alone."""
    return answers(tokenizer, testbed().of("instruction"), 10)


def removal(tokenizer: Any, tuning: bool = False) -> Data:
    """What an unlearning method is given: one field of the people to forget, the other of those to retain.

    `tuning`: of the people of their groups on whom settings are chosen, and of nobody else.
    """
    forget, retain = _of_role("forget", FORGOTTEN, tuning), _of_role("retain", RETAINED, tuning)
    asked = [q for item in forget for q in item.questions[:TAUGHT]]
    refused = [answer_example(tokenizer, q, REFUSALS[at % len(REFUSALS)]) for at, q in enumerate(asked)]
    return Data(answers(tokenizer, forget), answers(tokenizer, retain), refused)


def _of_role(role: Role, field: str, tuning: bool) -> tuple[Item, ...]:
    names = {group.name for group in groups() if group.role == role}
    part: Part = "tuning" if tuning else role
    return tuple(item for item in testbed().of(part, field=field) if item.group in names)


def _told(items: Iterable[Item]) -> list[tuple[str, str]]:
    return [(q, item.answer) for item in items for q in item.questions[:TOLD]]
