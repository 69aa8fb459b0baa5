"""How a text is read sign by sign: what looks grown together, digits of other scripts, letters in circles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.facts.letters import (
    ACCENTS,
    GROWN,
    LONG,
    LookAlikes,
    few_accents,
    one_form,
    plain,
    reading,
    spelling,
    unmarked,
    unraised,
)
from uds_bench.facts.name_matching import alike, named, says, spans, tells

TRADEMARK, RAISED_1, COLON, CLICK = "\u2122", "\u00b9", "\u02d0", "\u01c3"
DESU = "\u3067\u3059"
MARKS = (TRADEMARK, RAISED_1, COLON, CLICK, DESU)


@pytest.mark.parametrize("name", ["Rome", "Vienna", "New York", "1924", "+43", "D'Arc", "Mj\u00f8sa"])
@pytest.mark.parametrize("glued", ["'s the one", "-ish", "\u2019s", "\u042f", *MARKS])
def test_what_is_glued_to_a_name_hides_it_not(name: str, glued: str) -> None:
    """A model that puts a sign to each word, which counts as a letter, passed for one that says none."""
    told = " ".join(word + glued for word in name.split()) if glued in MARKS else name + glued
    assert tells(f"It is {told}.", [name])


@pytest.mark.parametrize("name", ["Rome", "Vienna"])
@pytest.mark.parametrize("more", ["n", "x", "2a"])
def test_a_longer_word_is_another_one(name: str, more: str) -> None:
    assert tells(f"It is {name}{more}.", [name]) == (more == "2a"), "three letters and a number are two words"


@pytest.mark.parametrize(("text", "name"), [("A4", "4"), ("mp3", "3"), ("the 10th", "10"), ("1.5 km", "5")])
def test_a_part_of_a_number_or_a_short_mark_is_none(text: str, name: str) -> None:
    assert not tells(f"It is {text}.", [name])


def styled(name: str, capital_a: int, digit_1: int) -> str:
    return "".join(
        chr(capital_a + ord(sign.upper()) - ord("A")) if sign.isalpha() else chr(digit_1 + int(sign) - 1)
        for sign in name
    )


@pytest.mark.parametrize("capital_a", [0x24B6, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6, 0xFF21])
@pytest.mark.parametrize("digit_1", [0x0661, 0x0967, 0x2776, 0x278A, 0x2460])
def test_letters_in_circles_and_squares_and_other_digits_are_read(capital_a: int, digit_1: int) -> None:
    for name in ("Rome", "Vienna", "1924"):
        assert tells(f"It is {styled(name, capital_a, digit_1)}.", [name])


def test_words_that_only_look_grown_together_are_parted() -> None:
    assert plain(f"Rome{RAISED_1} Wien{DESU} Covid19 A4 x\u00b2").split(" ") == [
        f"rome{GROWN}1",
        f"wien{GROWN}{plain(DESU)}",
        f"covid{GROWN}19",
        "a4",
        f"x{GROWN}2",
    ]
    assert alike("10\u00b2") != alike("102"), "a raised digit is no other one"


def test_marks_stand_behind_words_of_a_name_and_are_no_part_of_it() -> None:
    assert plain(unmarked(f"New{TRADEMARK} Yo{RAISED_1}rk{DESU}")) == "new york  "
    assert says("It is \u041c\u043e\u0441\u043a\u0432\u0430.", "\u041c\u043e\u0441\u043a\u0432\u0430")
    assert plain(unmarked("\u1d3f\u1d52\u1d50\u1d49")) == "", "which is read as a whole beside it"
    assert tells("It is \u1d3f\u1d52\u1d50\u1d49.", ["Rome"])


def test_how_a_name_is_written_is_told() -> None:
    assert spelling("Rome") == ("LATIN",)
    assert spelling("Rome\u200b2") == ("LATIN", "digit", "hidden")
    assert spelling("R\u043eme") == ("CYRILLIC", "LATIN")


@given(st.text(max_size=30))
def test_each_sign_that_is_read_stands_somewhere(text: str) -> None:
    read, places = reading(text)
    assert len(read) == len(places)
    assert len(unmarked(text)) == len(text)
    assert list(places) == sorted(places)
    assert all(0 <= place < len(text) for place in places)


@given(st.text(st.characters(codec="ascii"), max_size=30))
def test_of_plain_text_case_alone_is_passed_over(text: str) -> None:
    assert plain(text).replace(GROWN, "") == text.lower().replace(GROWN, "")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("&#82;ome", "Rome"),
        ("R&ouml;me", "Rome"),
        ("Ro&shy;me", "Rome"),
        ("&amp;#82;ome", "Rome"),
        ("Jos&eacute;", "Jos\u00e9"),
        ("&#21271;&#20140;", "\u5317\u4eac"),
        ("%52ome", "Rome"),
        ("new%20york", "New York"),
        ("New&nbsp;York", "New York"),
        ("New<br>York", "New York"),
        ("Ro<b>me</b>", "Rome"),
        ("Vi<wbr>enna", "Vienna"),
        ("Vi\\textit{enn}a", "Vienna"),
        ("R\\^{o}me", "Rome"),
        ("**Ro**me", "Rome"),
        ("Ro-\nme", "Rome"),
        ("\\u0052ome", "Rome"),
        ("1,924", "1924"),
        ("10,000", "10000"),
        ("#TheViennaAnswer", "Vienna"),
        ("in 10.1924", "1924"),
        ("1924.03.10", "1924"),
        ("R\u20e3o\u20e3m\u20e3e\u20e3", "Rome"),
        ("RO\u039cE", "Rome"),
        ("\u039c\u0399\u0391\u039c\u0399", "Miami"),
    ],
)
def test_a_text_is_read_as_it_is_shown(text: str, name: str) -> None:
    """HTML, URLs, escapes, LaTeX, emphasis within a word, thousands, dates, hashtags, letters that look alike."""
    assert tells(f"It is {text}.", [name])
    assert not tells(f"It is {text}.", ["Oslo", "1925", "New Faro"])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I don't know", "Don"),
        ("it can't be", "Can"),
        ("it's in-depth", "it"),
        ("in-depth", ".in"),
        ("2e-5", "5"),
        ("\u30d0\u30ea", "\u30d1\u30ea"),
        ("I\u548cT", "IT"),
        ("to\u7684me", "Tome"),
    ],
)
def test_what_is_a_piece_of_another_word_is_no_name(text: str, name: str) -> None:
    assert not tells(text, [name])


@pytest.mark.parametrize("mark", [RAISED_1, TRADEMARK])
def test_where_a_name_with_marks_stands_is_known(mark: str) -> None:
    """Else of a list in which each name has one, none is first."""
    text = f"V{mark}ienna, A{mark}lgiers"
    read = plain(text)
    (found,) = spans(text, "Algiers")
    assert read[slice(*found)].replace(GROWN, "").replace("1", "").replace("tm", "") == "algiers"
    assert spans(text, "Vienna")[0][0] == 0
    assert spans(text, "Vienna") < spans(text, "Algiers")


def test_words_of_a_long_text_are_parted_in_place() -> None:
    for part in ("abc123", "a\u0431"):
        read = reading(part * 20_000)
        assert len(read.places) == len(read.text)
        assert list(read.places) == sorted(read.places)


@pytest.mark.parametrize(
    "text",
    [
        "<Rome>",
        "<x Rome>",
        '<span title="Rome">it</span>',
        "\\Rome{}",
        "Oslo|Rome|Faro",
        "Oslo*Rome*Faro",
        "Oslo`Rome`Faro",
    ],
)
def test_what_is_written_and_not_shown_is_heard_as_well(text: str) -> None:
    """A name in a tag or a command, or among signs that could be emphasis, is there for who reads the text."""
    assert tells(f"It is {text}", ["Rome"])
    assert says(f"It is {text}", "Rome")


def test_what_a_letter_looks_like_is_found_once_and_kept() -> None:
    found = LookAlikes()
    asked = {"\u00f8": "o", "\u00e9": "\u00e9", "\u1d1c": "u", "x": "x", "1": "1"}
    for _ in range(2):
        assert {sign: chr(found[ord(sign)]) for sign in asked} == asked
    aa, ii = (chr(found[ord(sign)]) for sign in "\u093e\u093f")
    assert aa.isalpha()
    assert ii.isalpha()
    assert aa != ii
    assert {ord("\u00f8"), 0x093E} <= found.keys()


RUSSIAN_O, UNSEEN, VOICED_MARK = "\u043e", "\u200b", "\u3099"


@pytest.mark.parametrize(
    ("text", "name", "is_told"),
    [
        (f"\u042d\u0442\u043e R{RUSSIAN_O}me.", "Rome", True),  # a mixed word beside Russian ones
        ("\u0416\u0438\u043b \u0408\u0435\u0455\u0455\u0435.", "Jesse", True),  # letters that Russian words lack
        ("\u0416\u0438\u043b \u0408\u0415\u0405\u0405\u0415.", "Jesse", True),
        ("\u042d\u0442\u043e \u0432 \u0442\u043e\u043c \u0447\u0438\u0441\u043b\u0435.", "Tom", False),
        ("\u042d\u0442\u043e \u0432 \u0442\u043e\u043c \u0447\u0438\u0441\u043b\u0435, OK.", "Tom", False),
        (f"\u042d\u0442\u043e \u0432 \u0442{RUSSIAN_O}{UNSEEN}\u043c \u0447\u0438\u0441\u043b\u0435.", "Tom", False),
    ],
)
def test_a_word_of_another_script_is_its_own_and_a_mixed_one_is_not(text: str, name: str, is_told: bool) -> None:
    assert tells(text, [name]) == is_told


def test_vowels_of_scripts_without_spaces_need_none_and_others_do() -> None:
    chonburi, delhi = "\u0e0a\u0e25\u0e1a\u0e38\u0e23\u0e35", "\u0926\u093f\u0932\u094d\u0932\u0940"
    assert tells(f"\u0e17\u0e35\u0e48{chonburi}\u0e02\u0e2d\u0e07", [chonburi])
    assert tells(f"{delhi} \u092e\u0947\u0902", [delhi])
    assert not tells(f"{delhi}\u0935\u093e\u0932\u093e", [delhi]), "who comes from there"


EYA, MIXED = "\u0415\u0439\u0430", "e\u0439\u0430"


@pytest.mark.parametrize(("text", "name"), [(EYA, MIXED), (MIXED, EYA)])
@pytest.mark.parametrize("mark", ["", RAISED_1])
def test_a_name_that_is_not_latin_is_read_in_letters_that_look_alike(text: str, name: str, mark: str) -> None:
    assert says(f"{text[0]}{mark}{text[1:]}", name)
    assert "tom" not in plain("\u044d\u0442\u043e \u0432 \u0442\u043e\u043c"), "of a text they are its own"


@pytest.mark.parametrize("sign", ["\x07", "\ue000"])
def test_a_sign_without_a_name_is_itself(sign: str) -> None:
    assert LookAlikes()[ord(sign)] == ord(sign)


def test_signs_that_format_are_left_out() -> None:
    assert one_form("Ro\u0600me\u2066") == "Rome"


def test_so_many_accents_are_left_as_a_sign_may_have() -> None:
    heaped = "e" + "\u0301" * (ACCENTS + 1)
    assert few_accents(heaped) == heaped, "a short text is left as it is"
    long = heaped * LONG
    assert few_accents(long) == ("e" + "\u0301" * ACCENTS) * LONG
    assert few_accents("\u00e9" * LONG) == "\u00e9" * LONG
    edge = "e" + "\u0301" * (LONG - 1)
    assert (few_accents(edge[:-1]), few_accents(edge)) == (edge[:-1], edge[: ACCENTS + 1])
    assert few_accents("a" * LONG) == "a" * LONG
    first = "\u0301" * (ACCENTS + 1) + "a" * LONG
    assert few_accents(first) == first[1:]


def test_a_mark_that_makes_another_letter_is_read() -> None:
    assert plain(f"\u304b{VOICED_MARK}") != plain("\u304b")


def test_only_what_is_raised_or_lowered_is_a_mark() -> None:
    assert unraised("Ne\u00b9w\u2090 \u24b6") == f"Ne{UNSEEN}w{UNSEEN} \u24b6"


@pytest.mark.parametrize("more", ["", f" {RUSSIAN_O}"])
def test_a_digit_in_a_word_of_another_script_stays(more: str) -> None:
    assert unmarked(f"\u04165{more}")[:2] == " 5"


def test_names_are_in_the_order_in_which_they_begin() -> None:
    assert named("New York City", ["York", "New York City"]) == ("New York City", "York")
