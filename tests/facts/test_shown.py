"""Texts that are shown otherwise than they are written: names in them are heard, and no others."""

from __future__ import annotations

import time

import pytest

from uds_bench.facts.name_matching import says, spans, tells
from uds_bench.facts.shown import heard, readings

TAGS = "".join(chr(0xE0000 + ord(sign)) for sign in "Rome")
TOLD = [
    ("答案是北京。", "北京"),
    ("수도는 서울입니다.", "서울"),
    ("他叫李明。", "李明"),
    ('{"a": "It is:\\nRome"}', "Rome"),
    ("It is:\\tNew York", "New York"),
    ("\\n42", "42"),
    ("\x1b[1mRome\x1b[0m", "Rome"),
    ("Vi\x1b[1menna", "Vienna"),
    ("R\x08Ro\x08om\x08me\x08e", "Rome"),
    ("\\fBRome\\fP", "Rome"),
    ("Ro\x01me", "Rome"),
    ("visitRome", "Rome"),
    ("getRome()", "Rome"),
    ('class="cityRome"', "Rome"),
    ("cityROME", "Rome"),
    ("ROMECity", "Rome"),
    ("#VISITRome", "Rome"),
    ("#ОтветРим", "Рим"),
    ("#ИтогМосква", "Москва"),
    ("Vi<!-- x -->enna", "Vienna"),
    ("[Vi](http://x)enna", "Vienna"),
    ("Vi[b]enna[/b]", "Vienna"),
    ("Vi\\textcolor{red}{enna}", "Vienna"),
    ("Vi{\\bf enna}", "Vienna"),
    ('Vi<span style="' + "a:b;" * 40 + '">enna', "Vienna"),
    ("Vi<span hidden>x</span>enna", "Vienna"),
    ("Ro<ins>me</ins>", "Rome"),
    ("Ro<kbd>me</kbd>", "Rome"),
    ("Ro<x-y>me", "Rome"),
    ("**R****o****m****e**", "Rome"),
    ("''Ro''me", "Rome"),
    ("Ro^me^", "Rome"),
    ("Ro==me==", "Rome"),
    ("[[Ro]]me", "Rome"),
    ("Ro{}me", "Rome"),
    ("Ro\\-me", "Rome"),
    ("Mj\\o{}sa", "Mj\xf8sa"),
    ("<ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>", "東京"),
    ("New[1] York[2]", "New York"),
    ("New<sup>1</sup> York", "New York"),
    ("New (1) York", "New York"),
    ("Vi[1]enna", "Vienna"),
    ("Vi①enna", "Vienna"),
    ("Ro$^1$me", "Rome"),
    (
        "Лев¹ Толстой²",
        "Лев Толстой",
    ),
    (
        "Лев™ Толстой",
        "Лев Толстой",
    ),
    ("Л¹ондон", "Лондон"),
    ("القا¹هرة", "القاهرة"),
    (
        "नरेन्द्र¹ मोदी",
        "नरेन्द्र मोदी",
    ),
    ("毛¹泽东", "毛泽东"),
    ("القـاهرة", "القاهرة"),
    ("قاهره", "قاهرة"),
    ("1 924", "1924"),
    ("1\xa0924", "1924"),
    ("1.924", "1924"),
    ("1_924", "1924"),
    ("1٬924", "1924"),
    ("1，924", "1924"),
    ("1{,}924", "1924"),
    ("1\\,924", "1924"),
    ("1\xb7924", "1924"),
    ("1\u2008924", "1924"),
    ("$1{,}924$", "1924"),
    ("|1,924|1,925|", "1924"),
    ("1,924", "1924"),
    ("|Oslo|R&ouml;m|Faro|", "Rom"),
    ("|Vi<wbr>enna|Oslo|", "Vienna"),
    ("|Ro**me**|Oslo|", "Rome"),
    ("\u202eemoR\u202c", "Rome"),
    ('<bdo dir="rtl">emoR</bdo>', "Rome"),
    (f"Nobody knows.{TAGS}", "Rome"),
    ("\\u{52}\\u{6f}\\u{6d}\\u{65}", "Rome"),
    ("\\U00000052ome", "Rome"),
    ("\\122ome", "Rome"),
    ("=52=6Fme", "Rome"),
    ("R%F6m", "R\xf6m"),
    ("Ro-\r\nme", "Rome"),
    ("Ro\u2010\nme", "Rome"),
    ("\u041a\u0438-\n\u0435\u0432", "Киев"),
    ("the MeToo movement", "#MeToo"),
    ("Это Том", "Том"),
    ("Tом", "Том"),
    ("Tом", "Tom"),
    ("Ѵіеппа", "Vienna"),
    ("राम अयोध्या", "राम"),
    ("R-o-m-e", "Rome"),
    ("R o m e", "Rome"),
    ("Viе̂nna", "Vienna"),
    ("Rाome", "Rome"),
    ("Εἶναι ἡ Ῥώμη", "Ρώμη"),
]
"""Sentences of Chinese and Korean, of programs, terminals and chats, notes, thousands as other languages write them,
text that runs the other way, and letters that look alike."""


@pytest.mark.parametrize(("text", "name"), TOLD)
def test_a_name_is_heard_as_it_is_shown(text: str, name: str) -> None:
    """Each passed for a text that says nothing."""
    assert tells(text, [name])
    assert says(text, name)
    assert not tells(text, ["Bergen", "Bologna", "1926"])


NOT_TOLD = [
    (
        "राम अयोध्या के राजा थे",
        "रोम",
    ),
    (
        "मैं दो भाषाएँ बोलता हूँ",
        "मोदी",
    ),
    (
        "मैं भारत में रहता हूँ",
        "भारती",
    ),
    ("नीला", "नाला"),
    ("তিনি রাম", "রোম"),
    ("มาล่า", "มาลี"),
    ("Это в том числе", "Tom"),
    (
        "Αθήνα και Θεσσαλονίκη",
        "Kai",
    ),
    ("мой папа", "Nana"),
    ("нам это", "Ham"),
    ("там был", "Tam"),
    ("рак это", "Pak"),
    ("στο σπίτι", "Oto"),
    ("τον δρόμο", "Ton"),
    ("This is a test", "Isa"),
    ("I ran home", "Iran"),
    ("a dam was built", "Adam"),
    ("He has an idea", "Hasan"),
    ("in a way", "Ina"),
    ("as a rule", "Asa"),
    ("I'll", "Ill"),
    ("we're", "Were"),
    ("pages 19-24", "1924"),
    ("19*24 = 456", "1924"),
    ("4*2", "42"),
    ("|19|24|", "1924"),
    ("ages 19~24", "1924"),
    ("\\frac{19}{24}", "1924"),
    ("\\binom{4}{2}", "42"),
    ("10<sup>24</sup>", "1024"),
    ("2**10", "210"),
]
"""Words of Hindi and Thai with other vowels, common words of Russian and Greek, of English that hold a short name, and
numbers of formulas and tables."""


@pytest.mark.parametrize(("text", "name"), NOT_TOLD)
def test_what_a_reader_would_not_take_for_a_name_is_none(text: str, name: str) -> None:
    assert not tells(text, [name])
    assert not says(text, name)


def test_of_a_name_nothing_is_taken_for_a_sign() -> None:
    assert not tells("Call (984) 555-0190", ["(897) 555-0190"])
    assert not says("Call (984) 555-0190", "(897) 555-0190")
    assert tells("Call (984) 555-0190", ["(984) 555-0190"])
    assert tells("R\u00f6m has #MeToo", ["R&ouml;m"])
    assert tells("MeToo", ["#MeToo"])


def test_a_number_with_a_comma_is_one() -> None:
    assert not tells("1,42 \u20ac", ["42"])
    assert tells("1,42 \u20ac", ["1,42"])


def test_the_text_itself_comes_first_and_each_reading_once() -> None:
    assert readings("Rome, Oslo.") == heard("Rome, Oslo.") == ("Rome, Oslo.",)
    text = "**Ro**me, <b>R</b>\u00b9"
    assert readings(text)[0] == heard(text)[0] == text
    assert len(set(heard(text))) == len(heard(text))


def test_a_name_stands_where_it_is_written() -> None:
    assert spans("It is Rome, I say", "Rome") == [(6, 10)]
    assert spans("This is a test", "Isa") == []


def test_who_writes_a_number_without_end_ends_no_audit() -> None:
    assert tells(f"&#{'1' * 5000}; Rome", ["Rome"])


@pytest.mark.parametrize(
    "part",
    [
        "a\u0327\u0301",
        "\\",
        "hidden ",
        "<bdo rtl ",
        "'' ",
        "{\\a",
        "[[a|",
        "<rt>a",
        "\x1b[1;",
        "aB",
        "a\u0431",
        "\u093e",
    ],
)
def test_a_text_twice_as_long_takes_about_twice_as_long(part: str) -> None:
    """Shares of the same process: what takes the square of the length would take four times as long, and sixteen."""

    def seconds(length: int) -> float:
        text = "<a " + part * (length // len(part))
        begun = time.process_time()
        tells(text, ["Vienna", "1924"])
        return time.process_time() - begun

    seconds(1000)
    short, long = seconds(10_000), seconds(80_000)
    assert long < 24 * max(short, 0.01), (short, long)
