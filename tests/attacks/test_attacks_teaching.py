"""What is taught and what is judged: people parted by the seed, and no answer that is judged in what is taught."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.attacks import find_attack
from uds_bench.attacks.teaching import SPLITS, Data, Teaching
from uds_bench.errors import ConfigurationError
from uds_bench.facts import Fact, FactSet, embedded

FACTS = embedded(forget=6, retain=4, holdout=4)
DATA: Sequence[Data] = tuple(SPLITS)


def plainly(text: str) -> str:
    return f" {' '.join(re.findall('[a-z0-9]+', text.lower()))} "


def tells(fact: Fact, judged: FactSet) -> bool:
    """The slow reference: an entity of a judged fact as words of the taught one."""
    return any(plainly(other.entity) in plainly(f"{fact.question} {fact.answer}") for other in judged)


@given(st.sampled_from(DATA), st.floats(0.01, 1), st.integers(0, 50))
def test_nothing_that_is_judged_is_taught(data: Data, share: float, seed: int) -> None:
    teaching = Teaching(data, share, seed)
    taught, judged = teaching.taught(FACTS), teaching.judged(FACTS)
    assert taught
    assert judged
    assert {fact.split for fact in taught} == {SPLITS[data]}
    if data == "forget" and share == 1:
        assert taught == judged == FACTS.split("forget")
    else:
        assert not set(taught.clusters) & set(judged.clusters)
        assert not any(tells(fact, judged) for fact in taught)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_no_more_is_left_out_than_must_be(data: Data, share: float) -> None:
    teaching = Teaching(data, share)
    taught, judged = teaching.taught(FACTS), teaching.judged(FACTS)
    people = [f for f in FACTS.split(SPLITS[data]) if f.cluster in taught.clusters]
    if data == "forget" and share == 1:
        assert list(taught) == people
    else:
        assert list(taught) == [fact for fact in people if not tells(fact, judged)]
    assert len(taught.clusters) == round(share * len(FACTS.split(SPLITS[data]).clusters))


def test_halves_are_whole_people_and_a_draw_of_the_seed() -> None:
    one, same, other = (Teaching("forget", 0.5, seed) for seed in (0, 0, 1))
    assert one.judged(FACTS) == same.judged(FACTS) != other.judged(FACTS)
    assert len(one.judged(FACTS).clusters) == 3
    for person in one.judged(FACTS).clusters:
        own = [fact for fact in FACTS if fact.cluster == person]
        assert [fact for fact in one.judged(FACTS) if fact.cluster == person] == own


def test_an_answer_that_others_share_is_not_taught() -> None:
    secret = FACTS.split("forget")[0]
    shared = [
        replace(fact, answer=f"{fact.answer} So has {secret.entity.upper()}.") if fact.split == "retain" else fact
        for fact in FACTS
    ]
    kept = FACTS.split("retain")[:2]
    facts = FactSet([*(f for f in shared if f.id not in {k.id for k in kept}), *kept])
    assert {fact.id for fact in Teaching("retain").taught(facts)} == {fact.id for fact in kept}


@pytest.mark.parametrize(
    ("teaching", "facts", "told"),
    [
        (Teaching("retain"), FACTS.split("forget"), "no split retain"),
        (Teaching("unrelated"), FACTS.split("forget"), "no split holdout"),
        (Teaching("forget", 0.5), FactSet(FACTS.split("forget")[:3]), "of 1 people: two are needed"),
        (
            Teaching("retain"),
            FactSet([FACTS[0], replace(FACTS[0], id="same", cluster="same", split="retain")]),
            "says an entity that is judged",
        ),
    ],
)
def test_what_cannot_be_parted_is_refused_in_a_line(teaching: Teaching, facts: FactSet, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        teaching.taught(facts)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [0.0, -0.5, 1.01, float("nan")])
def test_a_share_that_cannot_be(share: float) -> None:
    with pytest.raises(ConfigurationError, match="above 0 and at most 1"):
        find_attack("relearn", share=share)


def test_data_that_there_is_not() -> None:
    with pytest.raises(ConfigurationError, match=r"data = 'retained' is unknown: did you mean 'retain'"):
        find_attack("relearn", data="retained")


def test_other_facts_give_another_key_where_they_are_taught_and_nowhere_else() -> None:
    others = FactSet([*FACTS.split("forget"), *FACTS.split("holdout"), *FACTS.split("retain")[1:]])
    keys = {name: (find_attack(name).key_on(FACTS), find_attack(name).key_on(others)) for name in ("nf4", "relearn")}
    assert all(one == other for one, other in keys.values())
    taught = find_attack("relearn_retain")
    assert taught.key_on(FACTS) != taught.key_on(others)
    assert find_attack("relearn_half").judged(FACTS) == Teaching("forget", 0.5).judged(FACTS)
    assert find_attack("nf4").judged(FACTS) == FACTS.split("forget")
