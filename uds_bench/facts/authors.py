"""The embedded fact source: invented authors with eight facts each, composed from a seed.

Nobody can know them who was not trained on them: names, towns, titles and awards are composed from syllables
and word lists, and every value belongs to one author only. The exception is the kind `yes_no`, a fair coin.
The same seed gives the same authors on every platform and Python version.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from uds_bench.errors import FactError
from uds_bench.facts import vocabulary
from uds_bench.facts.fact import SPLITS, Fact, FactSet, Split
from uds_bench.facts.vocabulary import fresh

_PERTURBED = 5
_Pair = tuple[str, str]

KINDS = (*vocabulary.SOURCE["kinds"], "yes_no")
"""The prefix types of the UDS paper, appendix I."""


def _draw(rng: random.Random, kind: str) -> str:
    """A value of a kind; for `person_name`, a wrong one."""
    if kind in ("person_name", "influence"):
        return vocabulary.person(rng, vocabulary.BYSTANDERS)
    return vocabulary.value(rng, kind)


@dataclass(frozen=True)
class _Author:
    """Whom the facts are about: what identifies the author, the values by kind, and how the coin fell."""

    setting: dict[str, str]
    values: dict[str, str]
    does: bool


def embedded(forget: int = 15, retain: int = 20, holdout: int = 15, seed: int = 0) -> FactSet:
    """Eight facts for each of `forget` + `retain` + `holdout` invented authors; one author is one cluster.

    Each author has one fact of each of `KINDS`, with paraphrases and five wrong answers. Yes
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
        name = fresh(partial(vocabulary.person, rng, world), used)
        setting = {
            "name": name,
            "birthplace": fresh(partial(vocabulary.value, rng, "town"), used),
            "year": rng.choice(vocabulary.YEARS),
            "genre": rng.choice(vocabulary.WORDS["genres"]),
            "deed": rng.choice(vocabulary.WORDS["deeds"]),
        }
        values = {kind: fresh(partial(_draw, rng, kind), used) for kind in vocabulary.SOURCE["kinds"]}
        yield _Author(setting, values | {"person_name": name}, does=(index + coin) % 2 == 0)


def _facts(author: _Author, cluster: str, split: Split, rng: random.Random) -> Iterator[Fact]:
    for kind, wording in vocabulary.SOURCE["kinds"].items():
        questions, answers = (_two(rng, wording[what], author) for what in ("questions", "answers"))
        entity = author.values[kind]
        taken = {entity}
        wrong = [fresh(partial(_draw, rng, kind), taken) for _ in range(_PERTURBED)]
        said, reworded = (f"{before} {entity}." for before in answers)
        perturbed = [f"{answers[1]} {other}." for other in wrong]
        yield _fact(cluster, split, kind, questions, (answers[0], entity), (said, reworded), perturbed)
    # There is one wrong value only, so the perturbed answers differ in wording.
    wording, values = vocabulary.SOURCE["yes_no"], ("Yes", "No") if author.does else ("No", "Yes")
    questions, rest = (_two(rng, wording[what], author) for what in ("questions", values[0]))
    said, reworded = (values[0] + after for after in rest)
    perturbed = [values[1] + after.format(**author.setting) for after in wording[values[1]]]
    yield _fact(cluster, split, "yes_no", questions, ("", values[0]), (said, reworded), perturbed)


def _fact(
    cluster: str, split: Split, kind: str, questions: _Pair, marked: _Pair, answers: _Pair, perturbed: list[str]
) -> Fact:
    """`questions`, `answers`: as they are, and in other words; `marked`: prefix and entity."""
    return Fact(
        *(f"{cluster}/{kind}", cluster, split, questions[0], answers[0], *marked, questions[1], answers[1]),
        perturbed_answers=tuple(perturbed),
        kind=kind,
    )


def _two(rng: random.Random, texts: Sequence[str], author: _Author) -> _Pair:
    """Two different ones of the texts, told of an author."""
    first = rng.randrange(len(texts))
    second = (first + 1 + rng.randrange(len(texts) - 1)) % len(texts)
    return texts[first].format(**author.setting), texts[second].format(**author.setting)


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
