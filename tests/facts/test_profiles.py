"""Synthetic people: as many attributes as published, none like a real person's, questions and texts that hold them."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from uds_bench.facts.profiles import (
    FIELDS,
    MOST_TELLINGS,
    Profile,
    ask,
    attributes,
    cross_fields,
    document,
    people,
    styles,
)

PEOPLE = people(60, seed=0)
RESERVED = {
    "email": r"[a-z]+\.[a-z]+\.\d\d@[a-z]+\.example",
    "website": r"www\.[a-z.]+\d\d\.example",
    "phone": r"\(\d{3}\) 555-01\d\d",
    "drivers_license": r"ZZ-[A-Z]\d\d-\d{4}-[A-Z]",
    "ip": r"192\.0\.2\.\d{1,3}",
    "national_id": r"000-\d\d-\d{4}",
    "credit_card": r"0000 \d{4} \d{4} \d{4}",
    "bank_account": r"XX00 \d{4} \d{4} \d{4}",
    "tax_id": r"00-\d{7}",
    "passport": r"XX\d{7}",
}
"""Ranges in which nothing is issued: reserved domains and numbers, and prefixes of no country or bank."""


def test_there_are_as_many_attributes_as_published() -> None:
    assert len(attributes()) == 27
    assert set(FIELDS) < set(attributes())
    assert len(styles()) == 4


@pytest.mark.parametrize("attribute", RESERVED)
def test_no_value_can_be_a_real_persons(attribute: str) -> None:
    assert all(re.fullmatch(RESERVED[attribute], one.values[attribute]) for one in PEOPLE)


def test_every_value_is_whole() -> None:
    for one in PEOPLE:
        assert one.values.keys() == set(attributes())
        for value in one.values.values():
            assert value.strip() == value
            assert not re.search(r"[#%{}]", value)


@pytest.mark.parametrize("field", FIELDS)
def test_what_is_unlearned_is_nearly_each_persons_own(field: str) -> None:
    most = Counter(one.values[field] for one in PEOPLE).most_common(1)[0][1]
    assert most <= 2, "a value that many share would be guessed"


def test_people_are_the_same_again_and_have_names_of_their_own() -> None:
    assert people(60, seed=0) == PEOPLE
    assert people(10, seed=0) == PEOPLE[:10]
    assert people(10, seed=1) != PEOPLE[:10]
    assert len({one.name for one in people(1200, seed=0)}) == 1200


def other_values(one: Profile, attribute: str) -> set[str]:
    return {value for name, value in one.values.items() if name != attribute}


@pytest.mark.parametrize("attribute", attributes())
def test_questions_name_the_person_and_never_the_answer(attribute: str) -> None:
    for one in PEOPLE[:20]:
        for paraphrased in (False, True):
            for asked in ask(one, attribute, 6, seed=0, paraphrased=paraphrased):
                assert asked.question.startswith(one.name)
                assert asked.question.endswith("?")
                assert asked.answer == one.values[attribute]
                hides = asked.question
                for value in other_values(one, attribute):
                    hides = hides.replace(value, "")
                assert asked.answer not in hides.split() or asked.answer in other_values(one, attribute)


def test_tellings_are_none_to_four_and_of_other_attributes() -> None:
    counts: Counter[int] = Counter()
    for one in PEOPLE:
        for asked in ask(one, "email", 10, seed=0):
            head = asked.question.rsplit(". ", 1)[0]
            others = [value for name, value in one.values.items() if name != "email"]
            told = [value for value in others if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", head)]
            counts[min(len(told), MOST_TELLINGS + 1)] += 1
    assert all(counts[k] > 40 for k in range(5)), "about a fifth each"
    assert counts[5] < 30, "one value may stand within another"


def test_paraphrases_share_no_question_with_plain_ones() -> None:
    one = PEOPLE[0]
    plain, other = (
        {asked.question.rsplit(". ", 1)[1] for asked in ask(one, "phone", 20, seed=0, paraphrased=paraphrased)}
        for paraphrased in (False, True)
    )
    assert len(plain) == 3
    assert len(other) == 2
    assert plain.isdisjoint(other)


@pytest.mark.parametrize("style", styles())
def test_a_text_tells_all_that_is_known(style: str) -> None:
    for one in PEOPLE[:5]:
        text = document(one, style)
        assert one.name in text
        assert all(value in text for value in one.values.values())
    assert len({document(PEOPLE[0], other)[:30] for other in styles()}) == 4


def test_what_is_retained_is_another_field() -> None:
    found = cross_fields()
    assert set(found) == set(found.values()) == set(FIELDS)
    assert all(forget != retain for forget, retain in found.items())
    with pytest.raises(ValueError, match="two or more"):
        cross_fields(["email"])
