"""Texts that are shown otherwise than they are written: names in them are heard, and no others."""

from __future__ import annotations

import time

import pytest

from uds_bench.audits.lmlm.told import near
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


AS_OTHERS_WRITE = [
    ("x 서울 y", "서울"),
    ("x 서울 y", "서울"),
    ("\u30ab\u3099\u30f3\u30bf\u3099\u30e0", "ガンダム"),
    ("ガンダム", "\u30ab\u3099\u30f3\u30bf\u3099\u30e0"),
    ("\u30cf\u3099\u30c3\u30cf", "バッハ"),
    ("\u0bb0\u0bc7\u0bbe\u0bae\u0bcd", "\u0bb0\u0bcb\u0bae\u0bcd"),
    ("\u0bb0\u0bcb\u0bae\u0bcd", "\u0bb0\u0bc7\u0bbe\u0bae\u0bcd"),
    ("\u0995\u09c7\u09be\u09b2\u0995\u09be\u09a4\u09be", "\u0995\u09cb\u09b2\u0995\u09be\u09a4\u09be"),
    ("ｶﾞﾝﾀﾞﾑ", "ガンダム"),
    ("ﾊﾟﾘ", "パリ"),
    ("ﾛｰﾏ", "ローマ"),
    ("\u091c\u093c\u093e\u0915\u093f\u0930", "\u091c\u093e\u0915\u093f\u0930"),
    ("\u092a\u0939\u093e\u0921\u093c\u0940", "\u092a\u0939\u093e\u095c\u0940"),
    ("\u0915\u093c\u093e\u092c\u0941\u0932", "\u0915\u093e\u092c\u0941\u0932"),
    ("\u092b\u093c\u093e\u0930\u0938\u0940", "\u092b\u093e\u0930\u0938\u0940"),
    ("\u0997\u09be\u09a1\u09bc\u09bf", "\u0997\u09be\u09dc\u09bf"),
    ("Pим", "Рим"),
    ("Kиев", "Киев"),
    ("Лeв Толстой", "Лев Толстой"),
    ("Cанкт-Петербург", "Санкт-Петербург"),
    ("Aθήνα", "Αθήνα"),
    ("Zωή", "Ζωή"),
    ("答案是Рим。", "Рим"),
    ("答えはКиевです。", "Киев"),
    ("수도는 Рим입니다", "Рим"),
    ("\\textbf{Ro}\\textit{me}", "Rome"),
    ("\\mbox{Ro}\\mbox{me}", "Rome"),
    ("\\textbf{R}\\textit{ome}", "Rome"),
    ("\\textbf{19}\\textit{24}", "1924"),
    ("\\textcolor{red}{Ro}\\textcolor{blue}{me}", "Rome"),
    ("\u0917\u093e\u0901\u0927\u0940", "\u0917\u093e\u0902\u0927\u0940"),
    ("\u091a\u093e\u0901\u0926", "\u091a\u093e\u0902\u0926"),
    ("\u092e\u093e\u0901", "\u092e\u093e\u0902"),
    ("\u0926\u0941\u0903\u0916", "\u0926\u0941\u0916"),
    ("\u0a2a\u0a70\u0a1c\u0a3e\u0a2c", "\u0a2a\u0a02\u0a1c\u0a3e\u0a2c"),
    ("&#0000000082;ome", "Rome"),
    ("It is _Li_.", "Li"),
    ("_US_", "US"),
    ("_Öz_", "Öz"),
    ("_3M_", "3M"),
    ("Li_(surname)", "Li"),
    ("_12:30_", "12:30"),
    ("\u5317\n\u4eac", "北京"),
    ("北 京", "北京"),
    ("北·京", "北京"),
    ("서 울", "서울"),
    ("1\u2002924", "1924"),
    ("1\u2006924", "1924"),
    ("1\u200a924", "1924"),
    ("1،924", "1924"),
    ("1′924", "1924"),
    ("\u0e42\u0e23\u0e21\u0e4c", "โรม"),
    ("Ro\x1b(Bme", "Rome"),
    ("\x1b(Brome", "Rome"),
    ("\x1b]8;;http://x\x1b\\Ro\x1b]8;;\x1b\\me", "Rome"),
    ("Ro\x1b7me", "Rome"),
    ("\\u001b[1mRo\\u001b[0mme", "Rome"),
    ("^[[1mRo^[[0mme", "Rome"),
    ("\x9b1mRo\x9b0mme", "Rome"),
    ("New[1,2] York", "New York"),
    ("New[1–3] York", "New York"),
    ("New[note 1] York", "New York"),
    ("New[^note] York", "New York"),
    ("New<ref>x</ref> York", "New York"),
    ("New【1】 York", "New York"),
    ("New【4:0†source】 York", "New York"),
    ("> Ro-\n> me", "Rome"),
    ("Ro\xad\nme", "Rome"),
    ("Ro\\\nme", "Rome"),
    ("Ro\\/me", "Rome"),
    ("[Ro][1]me", "Rome"),
    ("R-o-m-e", "Rome"),
    ("R.o.m.e", "Rome"),
    ("R - o - m - e", "Rome"),
]
"""Letters composed of several signs, endings and vowels that may be written otherwise, one letter of another script,
and more of what terminals, LaTeX and pages show."""


@pytest.mark.parametrize(("text", "name"), AS_OTHERS_WRITE)
def test_a_name_is_heard_however_it_is_spelled(text: str, name: str) -> None:
    """The first mend of what is shown had lost most of them."""
    assert tells(text, [name])
    assert says(text, name)
    assert near(text, (name,))


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
    ("I don’t know.", "Don"),
    ("He won’t go", "Won"),
    ("You can’t.", "Can"),
    ("Steps 1, 2, 3", "123"),
    ("[1, 0, 0, 0]", "1000"),
    ("1, 9, 2, 4", "1924"),
    ("|1|2|3|", "123"),
    ("section 1.2.3", "123"),
    ("5*(5 - 1)/2", "512"),
    ("two CPUs", "US"),
    ("GPUs", "US"),
    ("the APIs", "Is"),
    ("Ronald McDonald", "Donald"),
    ("McKay", "Kay"),
    ("MacArthur", "Arthur"),
    ("EleutherAI", "Ai"),
    ("PhD", "Ph"),
    ("mpq_1_2", "12"),
    ("x_i-1 … x_i+1", "Xi"),
    ("ARROW_PRE_1_0_METADATA_VERSION", "10"),
    ("year=2024", "24"),
    ("n=1042", "42"),
    ("?page=2015&x=1", "15"),
    ("x=2017", "17"),
    ("size=1984", "84"),
    ("p_a(t)", "Pat"),
    ("t(e, d)", "Ted"),
    ("A(n, n)", "Ann"),
    ("option a, d, a", "Ada"),
    ("J. I. M.", "Jim"),
    ("B. E. N. Smith", "Ben"),
    ("\\042", "42"),
    ("\\017", "17"),
    ("v1.066", "1066"),
    ("1.066e-01", "1066"),
    ("\u092c\u0921\u093c\u093e", "\u092c\u0921\u093c\u0940"),
    ("\u091c\u093c\u0940", "\u091c\u093c\u0942"),
]
"""Words of Hindi and Thai with other vowels, common words of Russian and Greek, of English that hold a short name,
numbers of formulas, tables and lists, abbreviations, surnames of two capitals."""


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


@pytest.mark.slow
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
        "\\e]",
        "aB",
        "a\u0431",
        "\u093e",
    ],
)
def test_a_text_twice_as_long_takes_about_twice_as_long(part: str) -> None:
    """Shares of the same process: what takes the square of the length would take four times as long, and sixteen."""

    def seconds(length: int) -> float:
        """The least of three, each of a text of its own, as the machine does other things as well."""
        took = []
        for at in range(3):
            text = f"<a {at}" + part * (length // len(part))
            begun = time.process_time()
            tells(text, ["Vienna", "1924"])
            took.append(time.process_time() - begun)
        return min(took)

    seconds(1000)
    short, long = seconds(10_000), seconds(80_000)
    assert long < 24 * max(short, 0.01), (short, long)


def test_a_code_beyond_all_letters_is_none() -> None:
    assert tells(r"Ro\u{110000}me", ["Rome"])
    assert tells(r"Ro\u{10ffff}me Oslo", ["Oslo"])


def test_signs_of_a_mail_are_read_where_they_show_something() -> None:
    """`=0A` may be a number of a program's; of an address `%0A` ends a line."""
    assert not any("\n" in one for one in readings("a=0A=0Ab"))
    assert any("\n" in one for one in readings("a%0Ab"))
    assert "aRo" in readings("a=52=6F")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a &#99999999 Rome", "a  Rome"),  # a number beyond all signs
        ("Ro[](x)me", "Rome"),  # a link without words
        (r"\frac{19}{24}", "19 24"),
        ("eRome", "e Rome"),
        ("inRio.", "in Rio."),
    ],
)
def test_nothing_is_put_in_the_place_of_what_is_not_shown(text: str, shown: str) -> None:
    assert shown in readings(text)
