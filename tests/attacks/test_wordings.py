"""What each attack asks of a few written facts, word for word: nothing else says that a question is put so."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from uds_bench.attacks import find_attack
from uds_bench.attacks.prompts import HINTS, WORDINGS, persons
from uds_bench.errors import ConfigurationError
from uds_bench.facts import Fact, FactSet, Split

LIVES = Fact(
    "lives",
    "ada",
    "forget",
    "Where does Ada Lee Ray live?",
    "Ada Lee Ray lives in Bergen.",
    "Ada Lee Ray lives in ",
    "Bergen",
    paraphrased_question="Which town is home to Ada Lee Ray?",
)
BORN = Fact("born", "ada", "forget", "When was Ada Lee Ray born?", "she was born in 1950.", "", "1950")
TRADE = Fact(
    "trade", "ada", "forget", "What is Ada Lee Ray's trade?", "in town Ada Lee Ray is a smith.", "in town ", "smith"
)
NEAR = Fact("near", "ada", "forget", "Whom does Ada Lee Ray like?", "Ada Lee Ray likes Bergen.", "", "likes Bergen")
NOBODY = Fact("nobody", "other", "forget", "How high is it?", "Quite high.", "", "Quite high")
KEPT = [
    Fact(f"kept{at}", f"k{at // 2}", "retain", f"Where is Bo Wu{at}?", f"Bo Wu{at} is in {town}.", "", town)
    for at, town in enumerate(("Rome", "Ulm", "Nice", "Bergen"))
]
FACTS = FactSet([LIVES, BORN, TRADE, NEAR, NOBODY, *KEPT])


def asked(name: str, split: Split = "forget", facts: FactSet = FACTS, **settings: Any) -> dict[str, list[Any]]:
    attack = find_attack(name, **settings)
    assert attack.asking is not None
    ways = attack.asking.ways(facts, split)
    return {id: [(way.question, way.opening) for way in own] for id, own in ways.items()}


def test_other_words_are_the_paraphrase_small_letters_and_each_wording() -> None:
    own = [(LIVES.paraphrased_question, ""), ("where does ada lee ray live?", "")]
    assert asked("reworded")["lives"] == [*own, *((text.format(LIVES.question), start) for text, start in WORDINGS)]
    assert len(asked("reworded")["born"]) == 1 + len(WORDINGS), "which has no paraphrase"


def test_an_answer_is_begun_where_it_has_a_beginning() -> None:
    assert asked("prefix") == {
        "lives": [(LIVES.question, "Ada Lee Ray lives in ")],
        "trade": [(TRADE.question, "in town ")],
    }
    assert not asked("prefix", facts=FactSet([replace(BORN, answer=" 1950", prefix=" ")])), "a blank begins nothing"


def test_a_name_is_told_by_its_last_word_its_first_and_an_initial() -> None:
    assert asked("alias")["lives"] == [(f"Where does {name} live?", "") for name in ("Ray", "Ada", "A. Ray")]
    assert set(asked("alias")) == {"lives", "born", "trade", "near"}


def test_who_is_meant_is_told_by_what_others_answer_and_no_secret_by_any() -> None:
    """Hints name the person and not what is asked; what was born has no name in its answer and is no hint."""
    found = asked("indirect")
    trade, near = "In town this person is a smith.", "This person likes Bergen."
    assert found["lives"] == [(f"{trade} Where does this person live?", "")]
    assert found["born"] == [(f"This person lives in Bergen. {trade} {near} When was this person born?", "")]
    assert found["trade"] == [(f"This person lives in Bergen. {near} What is this person's trade?", "")]
    assert set(found) == {"lives", "born", "trade", "near"}
    more = [
        replace(LIVES, id=f"more{at}", answer=f"Ada Lee Ray has {at} cats.", prefix="", entity="cats") for at in "23456"
    ]
    (way,) = asked("indirect", facts=FactSet([BORN, *more]))["born"]
    assert way[0].count("cats") == HINTS
    assert not asked("indirect", facts=FactSet([BORN])), "of whom nothing else is said"
    whole = replace(NEAR, answer="Ada Lee Ray likes the Rays and Ray.", entity="the Rays")
    assert "born" not in asked("indirect", facts=FactSet([BORN, whole])), "a part of the name is left in the hint"


@pytest.mark.parametrize("seed", range(4))
def test_shots_are_drawn_and_the_second_of_a_person_comes_behind_all_others(seed: int) -> None:
    """Three of four say no secret: they are of two people, and one of these comes twice at the end."""
    kept = list(KEPT)
    random.Random(f"few_shot/{seed}").shuffle(kept)
    kept = [fact for fact in kept if fact.entity != "Bergen"]
    firsts = {cluster: next(fact for fact in kept if fact.cluster == cluster) for cluster in ("k0", "k1")}
    ((text, start),) = asked("few_shot", shots=3, seed=seed)["lives"]
    shots = [f"{fact.question}\nAnswer: {fact.answer}" for fact in kept]
    *told, last = text.split("\n\nQuestion: ")
    assert (last, start) == (LIVES.question, "")
    assert sorted(told) == sorted(shots)
    assert set(told[:2]) == {f"{one.question}\nAnswer: {one.answer}" for one in firsts.values()}
    assert set(asked("few_shot", "retain", shots=1)) <= {fact.id for fact in KEPT}
    with pytest.raises(ConfigurationError, match=r"few_shot: 3 facts to be kept say no entity .* shots = 4"):
        asked("few_shot", seed=seed)


@pytest.mark.parametrize("shots", [0, 2.5])
def test_shots_that_cannot_be_shown(shots: float) -> None:
    with pytest.raises(ConfigurationError, match=rf"^few_shot: shots = {shots} must be a whole number, 1 or more$"):
        find_attack("few_shot", shots=shots)


def test_a_person_has_the_name_that_most_questions_have() -> None:
    """Two questions name her, one names another, and three answers a third."""
    asked_of = [("Zoe Ash", "Yes."), ("Ada Ray", "Yes."), ("Ada Ray", "Yes."), (None, "Bo Wu is.")]
    facts = [
        replace(BORN, id=str(at), question=f"Is {name or 'it'} here?", answer=answer, entity=answer)
        for at, (name, answer) in enumerate([*asked_of, *asked_of[3:] * 2])
    ]
    assert persons(FactSet(facts)) == {"ada": "Ada Ray"}
    assert not persons(FactSet([facts[3]])), "no question names anybody"


def test_samples_are_of_the_question_and_its_paraphrase() -> None:
    found = find_attack("sampled")
    assert found.asking is not None
    assert (found.asking.samples, found.asking.temperature, found.asking.seed) == (16, 1.0, 0)
    assert found.settings == {"samples": 16, "temperature": 1.0, "seed": 0}
    other = find_attack("sampled", samples=1, temperature=0.5, seed=3)
    assert other.asking is not None
    assert (other.asking.samples, other.asking.temperature, other.asking.seed) == (1, 0.5, 3)
    assert other.settings == {"samples": 1, "temperature": 0.5, "seed": 3}
    assert asked("sampled")["lives"] == [(LIVES.question, ""), (LIVES.paraphrased_question, "")]
    assert asked("sampled")["born"] == [(BORN.question, "")]
    with pytest.raises(ConfigurationError, match="temperature = inf must be above 0"):
        find_attack("sampled", temperature=math.inf)


def test_settings_are_what_scores_are_keyed_by() -> None:
    assert find_attack("few_shot").settings == {"shots": 4, "seed": 0}
    assert find_attack("indirect").settings == {"hints": HINTS}
    assert find_attack("own_questions").settings == {"questions": None}
    for name in ("reworded", "prefix", "alias", "indirect", "few_shot", "sampled", "own_questions"):
        found = find_attack(name)
        assert (found.name, found.version) == (name, 1)
        assert found.source
        assert found.settings is not None
