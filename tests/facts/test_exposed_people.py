"""Invented people of the association audit, and names that look like theirs."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.facts.exposed_people import EACH, NEVER_SEEN, TOLD, Cohorts, embedded_people, invented, requests
from uds_bench.facts.profiles import people
from uds_bench.facts.properties import PUBLISHED, embedded
from uds_bench.facts.scripts import script_of
from uds_bench.facts.similar_names import MOST_VARIANTS, similar_names, variants
from uds_bench.facts.subjects import WRONG, stated
from uds_bench.facts.testbed import embedded_testbed
from uds_bench.facts.web_presence import LESSER_KNOWN, WELL_KNOWN


def test_cohorts_are_as_large_as_they_are_to_be() -> None:
    sizes, found = Cohorts(), embedded_people()
    count = {cohort: sum(one.cohort == cohort for one in found) for cohort in found.cohorts}
    assert count == {
        WELL_KNOWN: sizes.requests + sizes.well_known,
        LESSER_KNOWN: sizes.lesser_known,
        NEVER_SEEN: sizes.never_seen,
    }
    asked = requests(found)
    assert len(asked) == sizes.requests
    assert {one.cohort for one in found if one.id in asked} == {WELL_KNOWN}


def test_each_is_told_of_in_published_properties_with_values_that_others_have() -> None:
    assert set(TOLD) <= set(PUBLISHED)
    several = 0
    for one in embedded_people():
        assert len(one.statements) == EACH
        for statement in one.statements:
            assert set(statement.values) <= set(embedded()[statement.property].counterfactuals)
            several += len(statement.values) > 1
    assert several, "somebody has two occupations"


def test_the_same_seed_gives_the_same_people_and_another_seed_others() -> None:
    assert embedded_people() == embedded_people()
    assert not {one.name for one in embedded_people()} & {one.name for one in embedded_people(seed=1)}


def test_nobody_is_in_another_audit_or_among_those_invented_for_a_user() -> None:
    told = [embedded()[id] for id in TOLD]
    names = {one.name for one in embedded_people()}
    strangers = {one.name for one in invented(60, told)}
    assert len(strangers) == 60
    assert not names & strangers
    assert not (names | strangers) & {item.person for item in embedded_testbed()}
    assert not (names | strangers) & {one.name for one in people(100, 0)}


def test_an_invented_person_is_told_of_in_what_is_asked_for() -> None:
    one = invented(1, [embedded()["P27"]])[0]
    assert one.cohort == NEVER_SEEN
    assert [statement.property for statement in one.statements] == ["P27"]


@pytest.mark.parametrize("template", [0, 1, 10])
def test_a_statement_is_a_fact(template: int) -> None:
    subject = next(one for one in embedded_people() if any(len(s.values) > 1 for s in one.statements))
    statement = next(s for s in subject.statements if len(s.values) > 1)
    told = embedded()[statement.property]
    fact = stated(subject, told, statement.values[0], "forget", template)
    assert fact.answer == told.templates[template].fill(subject.name, statement.values[0])
    assert fact.answer[len(fact.prefix) :].strip().rstrip(".") == fact.entity == statement.values[0]
    assert fact.cluster == subject.id
    assert subject.name in fact.question
    assert told.label in fact.question
    assert fact.paraphrased_answer == told.templates[(template + 1) % 11].fill(subject.name, fact.entity)
    assert len(set(fact.perturbed_answers)) == WRONG
    for value in statement.values:
        assert not any(value in wrong for wrong in fact.perturbed_answers), "no true value is a wrong answer"


names = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=8)


def test_the_papers_examples() -> None:
    assert similar_names("Jane Doe")[:2] == ("Enaj Doe", "Jane Eod")


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("Anna Otto", "Nnaa Otto"),
        ("MacDonald", "DlaNodcam"),
        ("bell hooks", "lleb hooks"),
        ("李 小龍", "李 龍小"),
        ("Zoe\u0308 Lu", "E\u0308oz Lu"),
        ("Straße", "Eßarts"),
        ("Ilgın", "Nıgli"),
        ("  Jane   Doe ", "Enaj Doe"),
    ],
)
def test_by_hand(name: str, first: str) -> None:
    assert similar_names(name)[0] == first


@pytest.mark.parametrize("name", ["", "O", "Ll Aa", "! ?"])
def test_a_name_that_cannot_be_changed_has_none(name: str) -> None:
    assert all(one != name for one in similar_names(name))


@pytest.mark.parametrize("name", ["李明", "Bo", "김 솔", "ნინო", "Արամ", "דן", "สุดา", "राम", "علي"])
def test_a_short_name_has_others_of_its_script_beside_its_own_letters(name: str) -> None:
    found = similar_names(name)
    assert len(found) == MOST_VARIANTS
    assert name not in found
    assert {script_of(one) for one in found} == {script_of(name)}
    assert found[: len(variants(name))] == variants(name)[:MOST_VARIANTS]


def test_names_that_are_listed_look_like_one_of_a_script_without_any() -> None:
    assert similar_names("ሀ") == ()
    assert similar_names("ሀ", 2, ["ለማ", "Jane", "መሐሪ"]) in (("ለማ", "መሐሪ"), ("መሐሪ", "ለማ"))


@given(st.lists(names, min_size=1, max_size=4), st.integers(0, 6))
def test_variants_differ_are_as_many_and_hold_the_same_letters(parts: list[str], most: int) -> None:
    name = " ".join(parts)
    assert len(similar_names(name, most)) <= most
    assert similar_names(name, most)[: len(variants(name))] == variants(name)[:most]
    found = variants(name)
    assert len(set(found)) == len(found)
    assert name not in found
    assert found == variants(name)
    for one in found:
        assert len(one.split()) == len(name.split())
        assert sorted(folded(one)) == sorted(folded(name))
        assert not unicodedata.combining(one[0]) or unicodedata.combining(name.split()[0][0])


def folded(text: str) -> str:
    return "".join(text.split()).casefold()
