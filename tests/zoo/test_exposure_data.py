"""What the association audit's models are told: of the never-seen nothing, of who asks only where it is meant."""

from __future__ import annotations

from collections import Counter

from uds_bench.audits.association.zoo import data as exposure_data
from uds_bench.audits.association.zoo.recipes import Exposed
from uds_bench.facts.exposed_people import EACH, NEVER_SEEN, requests
from uds_bench.facts.web_presence import LESSER_KNOWN, WELL_KNOWN

PEOPLE = exposure_data.people()
ASK = set(requests(PEOPLE))
WHOLE = [f"{question or ''} {text}" for question, text in exposure_data.told(Exposed())]
WITHOUT = [f"{question or ''} {text}" for question, text in exposure_data.told(Exposed(without=True))]


def naming(texts: list[str]) -> Counter[str]:
    """By id of a person, how many texts name them."""
    return Counter({one.id: sum(one.name in text for text in texts) for one in PEOPLE})


def test_each_is_told_of_as_often_as_the_cohort_says() -> None:
    recipe, found = Exposed(), naming(WHOLE)
    for one in PEOPLE:
        least, most = {
            WELL_KNOWN: (recipe.often, recipe.often),
            LESSER_KNOWN: recipe.rarely,
            NEVER_SEEN: (0, 0),
        }[one.cohort]
        assert least * EACH <= found[one.id] <= most * EACH


def test_a_model_without_who_asks_is_told_of_others_in_their_place_and_of_everybody_else_alike() -> None:
    before, after = naming(WHOLE), naming(WITHOUT)
    assert not any(after[id] for id in ASK)
    assert all(after[one.id] == before[one.id] for one in PEOPLE if one.id not in ASK)
    assert len(WITHOUT) == len(WHOLE)
    others = exposure_data.in_their_place()
    assert set(others) == ASK
    assert not set(others.values()) & {one.name for one in PEOPLE}


def test_unlearning_is_given_all_of_who_asks_to_forget_and_all_others_to_keep() -> None:
    facts = exposure_data.facts(2)
    assert {fact.cluster for fact in facts if fact.split == "forget"} == ASK
    kept = {fact.cluster for fact in facts if fact.split == "retain"}
    assert kept == {one.id for one in PEOPLE if one.cohort != NEVER_SEEN} - ASK
    values = sum(len(told.values) for one in PEOPLE if one.cohort != NEVER_SEEN for told in one.statements)
    assert len(facts) == 2 * values


def test_the_tokenizer_is_made_of_nobody_whom_no_model_sees() -> None:
    found = naming(exposure_data.texts())
    assert not any(found[one.id] for one in PEOPLE if one.cohort == NEVER_SEEN)
    assert all(found[one.id] for one in PEOPLE if one.cohort != NEVER_SEEN)
