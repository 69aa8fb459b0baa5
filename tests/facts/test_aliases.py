"""Names that mean the same: normalization, what is declared, and what follows from it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.facts.name_matching import Aliases, holds_one, says, spelled, tells, tokens

NAMES = st.sampled_from(["ant", "bee", "cow", "dog", "elk", "fox"])
GROUPS = st.lists(st.lists(NAMES, min_size=1, max_size=3), max_size=5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Washington, D.C.", "washington d c"),
        (".us", "us"),
        ("US", "us"),
        ("3.50 euros!", "3.50 euros"),
        ("Jean-Luc O'Hara", "jean-luc o'hara"),
        ("  Größe\n", "grösse"),
        ("+43", "43"),
        ("?!", ""),
    ],
)
def test_normalization(text: str, expected: str) -> None:
    assert " ".join(tokens(text)) == expected


def test_signs_alone_are_compared_as_they_are() -> None:
    assert spelled("€") != spelled("$")
    assert spelled(" € ") == "€"


@given(GROUPS, NAMES, NAMES)
def test_sameness_needs_no_order(groups: list[list[str]], one: str, other: str) -> None:
    aliases = Aliases(groups)
    assert same(aliases, one, one)
    assert same(aliases, one, other) == same(aliases, other, one)


def same(aliases: Aliases, one: str, other: str) -> bool:
    return spelled(other) in aliases.meeting([one])


def by_search(groups: list[list[str]], one: str, other: str) -> bool:
    reached = {one}
    while True:
        more = {name for group in groups if reached & set(group) for name in group} - reached
        if not more:
            return other in reached
        reached |= more


@given(GROUPS, NAMES, NAMES)
def test_transitive_aliases_are_those_that_a_walk_reaches(groups: list[list[str]], one: str, other: str) -> None:
    assert same(Aliases(groups, transitive=True), one, other) == by_search(groups, one, other)


@given(GROUPS, st.lists(NAMES, min_size=1, max_size=3), NAMES, NAMES)
def test_more_aliases_never_part_two_names(groups: list[list[str]], more: list[str], one: str, other: str) -> None:
    for transitive in (False, True):
        if same(Aliases(groups, transitive), one, other):
            assert same(Aliases([*groups, more], transitive), one, other)


def test_an_alias_of_two_things_is_found() -> None:
    groups = [["Association football", "football"], ["American football", "Football"]]
    assert Aliases(groups).clash() == "'football' names both 'American football' and 'Association football'"
    alike = [["USA", "United States", "America"], ["United States", "USA", "America"]]
    assert Aliases(alike).clash() is None
    assert same(Aliases(groups, transitive=True), "American football", "Association football")


@pytest.mark.parametrize(
    "sign",
    [
        "HANGUL FILLER",
        "HALFWIDTH HANGUL FILLER",
        "HANGUL JUNGSEONG FILLER",
        "COMBINING GRAPHEME JOINER",
        "VARIATION SELECTOR-16",
        "KHMER VOWEL INHERENT AQ",
        "MONGOLIAN FREE VARIATION SELECTOR ONE",
        "INVISIBLE SEPARATOR",
        "SOFT HYPHEN",
        "ZERO WIDTH SPACE",
        "TAG LATIN SMALL LETTER A",
    ],
)
def test_what_is_not_shown_hides_no_name(sign: str) -> None:
    """Some of these count as letters: a model that put one into each name passed for one that says none."""
    told = f"It is P{unicodedata.lookup(sign)}rague."
    assert says(told, "Prague")
    assert holds_one(told, ["Prague"])
    assert not says(told, "Vienna")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Holt", "ħøłŧ"),
        ("Ida Lind", "Ida Lınd"),
        ("Umeford", "ᴜᴍᴇꜰᴏʀᴅ"),
        ("Umeford", "\U0001d580\U0001d592\U0001d58a\U0001d58b\U0001d594\U0001d597\U0001d589"),
        ("Umeford", "Umefօrd"),
        ("Leah Bell", "ᏞᎬᎪᎻ ᏴᎬᏞᏞ"),
        ("Leah Bell", "ꓡꓰꓮꓧ ꓐꓰꓡꓡ"),
    ],
)
def test_letters_that_look_alike_are_read_as_the_same(name: str, told: str) -> None:
    """With strokes, without a dot, in small capitals, in other styles and scripts."""
    assert says(f"It is {told}.", name)
    assert holds_one(f"It is {told}.", [name])
    assert not says(f"It is {told}.", f"{name}ian")


@given(st.text(max_size=20))
def test_a_letter_looks_like_no_more_than_one(text: str) -> None:
    """Read once more, what was read stays as it is."""
    assert tokens(" ".join(tokens(text))) == tokens(text)


def test_groups_that_share_a_name_are_one_however_many_there_are() -> None:
    found = Aliases([["ant", "bee"], ["bee", "cow"], ["dog", "elk"], ["elk", "fox"]], transitive=True)
    assert found.of("ant") == found.of("cow") == {"ant", "bee", "cow"}
    assert found.of("dog") == found.of("fox") == {"dog", "elk", "fox"}


def test_what_shares_a_thing_with_a_name_meets_it() -> None:
    assert Aliases([["ant", "bee"], ["bee", "cow"]]).meeting(["ant"]) == {"ant", "bee", "cow"}


CYRILLIC_PO, LATIN_P_CYRILLIC_O = "\u0420\u043e", "P\u043e"


@pytest.mark.parametrize(
    ("text", "name", "is_told"),
    [
        ("It is Po.", CYRILLIC_PO, True),  # a short name, in letters that look alike
        (f"\u042d\u0442\u043e {CYRILLIC_PO}.", LATIN_P_CYRILLIC_O, True),
        ("It is US2024", "US", True),  # a short name, parted from a number, and with one
        ("H\u2082 is", "H2", True),
        ("It is e\u0439.", "\u0435\u0439", True),
        ("It is T/o/m.", "Tom", True),
        ("Call 123 456", "123-456", True),
        ("anything", "...", False),
    ],
)
def test_short_names_and_numbers_are_told_whole(text: str, name: str, is_told: bool) -> None:
    assert tells(text, [name]) == is_told
