"""Names that look like a name: the paper's examples, any script, and none that is the name itself."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.facts.similar_names import similar_names

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


@given(st.lists(names, min_size=1, max_size=4), st.integers(0, 6))
def test_variants_differ_are_as_many_and_hold_the_same_letters(parts: list[str], most: int) -> None:
    name = " ".join(parts)
    found = similar_names(name, most)
    assert len(found) <= most
    assert len(set(found)) == len(found)
    assert name not in found
    assert found == similar_names(name, most)
    for one in found:
        assert len(one.split()) == len(name.split())
        assert sorted(folded(one)) == sorted(folded(name))
        assert not unicodedata.combining(one[0]) or unicodedata.combining(name.split()[0][0])


def folded(text: str) -> str:
    return "".join(text.split()).casefold()
