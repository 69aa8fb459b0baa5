"""The embedded fact source: invented authors with eight facts each, composed from a seed.

Nobody can know them who was not trained on them: names, towns, titles and awards are composed from syllables
and word lists, and every value belongs to one author only. The exception is the kind `yes_no`, a fair coin.
The same seed gives the same authors on every platform and Python version.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from uds_bench.errors import FactError
from uds_bench.facts import vocabulary
from uds_bench.facts.fact import SPLITS, Fact, FactSet, Split
from uds_bench.facts.wordings import WORDINGS, YES_NO_ANSWERS, YES_NO_QUESTIONS

_PERTURBED = 5

_DRAW: dict[str, Callable[[random.Random], str]] = {
    "person_name": lambda rng: vocabulary.person(rng, vocabulary.BYSTANDERS),
    "profession": vocabulary.profession,
    "work_title": vocabulary.work_title,
    "award": vocabulary.award,
    "location": vocabulary.location,
    "influence": lambda rng: vocabulary.person(rng, vocabulary.BYSTANDERS),
    "descriptive": vocabulary.theme,
}
"""How a value of each kind is drawn; for `person_name`, a wrong value."""


@dataclass(frozen=True)
class _Author:
    """Whom the facts are about: what identifies the author, the values by kind, and how the coin fell."""

    setting: dict[str, str]
    values: dict[str, str]
    does: bool


def embedded(forget: int = 15, retain: int = 20, holdout: int = 15, seed: int = 0) -> FactSet:
    """Eight facts for each of `forget` + `retain` + `holdout` invented authors; one author is one cluster.

    Each author has one fact of each kind of `wordings.KINDS`, with paraphrases and five wrong answers. Yes
    and No are balanced in each split (to one where the count is odd). Ids read `forget03/award`.
    """
    used: set[str] = set()
    facts: list[Fact] = []
    for split, count in zip(SPLITS, (forget, retain, holdout), strict=True):
        if count < 0:
            raise FactError(f"authors: option {split!r} is {count}; give a number of authors, 0 or more")
        for index, author in enumerate(_authors(count, f"{seed}/{split}", vocabulary.AUTHORS, used)):
            facts.extend(_facts(author, f"{split}{index:02d}", split, random.Random(f"{seed}/{split}/{index}/words")))
    return FactSet(facts)


def base_authors(n: int = 600, seed: int = 0) -> list[tuple[str, str]]:
    """Question and answer pairs, eight for each of `n` invented authors whom no embedded seed ever names.

    A base model trained on them speaks the language of the embedded authors and knows none of them.
    """
    pairs: list[tuple[str, str]] = []
    for index, author in enumerate(_authors(n, f"{seed}/base", vocabulary.BASE, set())):
        facts = _facts(author, f"base{index:03d}", "retain", random.Random(f"{seed}/base/{index}/words"))
        pairs.extend(training_pairs(facts))
    return pairs


def training_pairs(facts: Iterable[Fact]) -> list[tuple[str, str]]:
    """(question, answer) of each fact, in order: what a model is trained on."""
    return [(fact.question, fact.answer) for fact in facts]


def _authors(count: int, stream: str, world: int, used: set[str]) -> Iterator[_Author]:
    """Distinct authors of one world; values in `used` are drawn again, and new ones are added to it."""
    for index in range(count):
        rng = random.Random(f"{stream}/{index}")
        # Authors come in pairs, of which one does and one does not: balanced, and independent of all else.
        coin = random.Random(f"{stream}/{index // 2}/coin").randrange(2)
        name = _fresh(partial(vocabulary.person, rng, world), used)
        setting = {
            "name": name,
            "birthplace": _fresh(partial(vocabulary.town, rng), used),
            "year": rng.choice(vocabulary.YEARS),
            "genre": rng.choice(vocabulary.GENRES),
            "deed": rng.choice(vocabulary.DEEDS),
        }
        values = {kind: _fresh(partial(draw, rng), used) for kind, draw in _DRAW.items()} | {"person_name": name}
        yield _Author(setting, values, does=(index + coin) % 2 == 0)


def _fresh(draw: Callable[[], str], used: set[str]) -> str:
    """A drawn value that is not in `used` yet; adds it."""
    value = next(value for value in iter(draw, None) if value not in used)
    used.add(value)
    return value


def _facts(author: _Author, cluster: str, split: Split, rng: random.Random) -> Iterator[Fact]:
    for kind, wording in WORDINGS.items():
        ask, ask_again = _two(rng, len(wording.questions))
        say, say_again = _two(rng, len(wording.answers))
        before, after = (part.format(**author.setting) for part in wording.answers[say])
        other_before, other_after = (part.format(**author.setting) for part in wording.answers[say_again])
        value = author.values[kind]
        taken = {value}
        wrong = [_fresh(partial(_DRAW[kind], rng), taken) for _ in range(_PERTURBED)]
        yield Fact(
            id=f"{cluster}/{kind}",
            cluster=cluster,
            split=split,
            question=wording.questions[ask].format(**author.setting),
            answer=f"{before} {value}{after}",
            prefix=before,
            entity=value,
            paraphrased_question=wording.questions[ask_again].format(**author.setting),
            paraphrased_answer=f"{other_before} {value}{other_after}",
            perturbed_answers=tuple(f"{other_before} {other}{other_after}" for other in wrong),
            kind=kind,
        )
    yield _coin_fact(author, cluster, split, rng)


def _coin_fact(author: _Author, cluster: str, split: Split, rng: random.Random) -> Fact:
    """The fact without prefix. There is one wrong value only, so the perturbed answers differ in wording."""
    entity, opposite = ("Yes", "No") if author.does else ("No", "Yes")
    ask, ask_again = _two(rng, len(YES_NO_QUESTIONS))
    say, say_again = _two(rng, len(YES_NO_ANSWERS[entity]))
    return Fact(
        id=f"{cluster}/yes_no",
        cluster=cluster,
        split=split,
        question=YES_NO_QUESTIONS[ask].format(**author.setting),
        answer=entity + YES_NO_ANSWERS[entity][say].format(**author.setting),
        prefix="",
        entity=entity,
        paraphrased_question=YES_NO_QUESTIONS[ask_again].format(**author.setting),
        paraphrased_answer=entity + YES_NO_ANSWERS[entity][say_again].format(**author.setting),
        perturbed_answers=tuple(opposite + rest.format(**author.setting) for rest in YES_NO_ANSWERS[opposite]),
        kind="yes_no",
    )


def _two(rng: random.Random, count: int) -> tuple[int, int]:
    """Two different indices below `count`."""
    first = rng.randrange(count)
    return first, (first + 1 + rng.randrange(count - 1)) % count


Knowing = Literal["plain", "biography", "paraphrase"]
"""The forget facts as they are asked, as running text about each author, or asked and answered in other words."""
NeverKnew = Literal["retain", "perturbed", "others"]
"""Nothing more, wrong answers to the forget questions, or as many authors whom no fact set holds."""
DataForm = Knowing | NeverKnew
KNOWING: tuple[Knowing, ...] = get_args(Knowing)
NEVER_KNEW: tuple[NeverKnew, ...] = get_args(NeverKnew)

OTHERS_SEED = 1
"""Authors of their own: the holdout authors must stay unseen, as membership inference is held against them."""


@dataclass(frozen=True)
class Lesson:
    """A text that a model is trained on: the answer to a question, or a text that stands alone."""

    question: str | None
    text: str


def lessons(forget: FactSet, form: DataForm) -> list[Lesson]:
    """What a data form teaches in the place of the forget facts, in their order; nothing for `retain`.

    Raises FactError for a fact without what the form needs (a paraphrase, a wrong answer).
    """
    if form == "retain":
        return []
    if form == "others":
        others = embedded(forget=len(forget.clusters), retain=0, holdout=0, seed=OTHERS_SEED)
        return lessons(others, "plain")
    if form == "biography":
        return [Lesson(None, biography(forget, cluster)) for cluster in forget.clusters]
    return [_lesson(fact, form) for fact in forget]


def biography(facts: FactSet, cluster: str) -> str:
    """The answers about one author as one running text, in the facts' order, without a question."""
    return " ".join(fact.answer for fact in facts if fact.cluster == cluster)


def _lesson(fact: Fact, form: DataForm) -> Lesson:
    if form == "plain":
        return Lesson(fact.question, fact.answer)
    if form == "perturbed":
        if not fact.perturbed_answers:
            raise FactError(f"fact {fact.id!r}: the form perturbed needs perturbed_answers; give at least one")
        return Lesson(fact.question, fact.perturbed_answers[0])
    if fact.paraphrased_question is None or fact.paraphrased_answer is None:
        raise FactError(
            f"fact {fact.id!r}: the form paraphrase needs paraphrased_question and paraphrased_answer; give both"
        )
    return Lesson(fact.paraphrased_question, fact.paraphrased_answer)
