"""Answers held against objects: cleaning by example, token scores beside plain loops, and what always holds of them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.audits.lmlm.asking.answers import Marks, clean, mark, overlap
from uds_bench.inference.markup import TOKENS

WORDS = st.sampled_from(["Oslo", "oslo", "the", "sea", "3.14", "3", "co-op", "it's", "U.S.", ".us", "US", "!?", "St."])
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
GOLDS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


def words_of(text: str) -> list[str]:
    return re.findall(r"\d+\.\d+|\w+(?:[-']\w+)*", text.lower())


def shared(said: list[str], wanted: list[str]) -> int:
    left, found = list(wanted), 0
    for word in said:
        if word in left:
            left.remove(word)
            found += 1
    return found


def slowly(answer: str, golds: list[str]) -> Marks:
    """Definitions 000.2, one spelling at a time; texts of signs alone are compared as they are."""
    said, best = words_of(answer), (0.0, 0.0, 0.0)
    exact = contains = False
    for gold in golds:
        wanted = words_of(gold)
        if not said or not wanted:
            if answer.strip() and not said and not wanted and answer.strip() == gold.strip():
                exact, best = True, (1.0, 1.0, 1.0)
            continue
        exact |= said == wanted
        contains |= any(said[at : at + len(wanted)] == wanted for at in range(len(said)))
        both = shared(said, wanted)
        p, r = both / len(said), both / len(wanted)
        f1 = 2 * p * r / (p + r) if both else 0.0
        if f1 > best[2]:
            best = p, r, f1
    return Marks(exact, contains or exact, *best)


@given(TEXTS, st.lists(GOLDS, min_size=1, max_size=3))
def test_marks_are_the_loops(answer: str, golds: list[str]) -> None:
    found, expected = mark(answer, golds), slowly(answer, golds)
    assert (found.exact, found.contains) == (expected.exact, expected.contains)
    assert found.f1 == pytest.approx(expected.f1, abs=1e-12)
    # Spellings may tie on F1 with precision and recall the other way round: the first of them is taken.
    assert (found.precision, found.recall) == pytest.approx((expected.precision, expected.recall), abs=1e-12)


@given(TEXTS, GOLDS)
def test_overlap_is_the_loops(answer: str, gold: str) -> None:
    expected = slowly(answer, [gold])
    assert overlap(answer, gold) == pytest.approx((expected.precision, expected.recall, expected.f1), abs=1e-12)


@given(st.lists(st.tuples(TEXTS, st.lists(GOLDS, min_size=1, max_size=3)), min_size=1, max_size=8))
def test_identities_of_prompts_and_of_means(pairs: list[tuple[str, list[str]]]) -> None:
    """An exact match scores 1 in every token score, so no mean lies below that of exact matches; F1 lies between 0 and
    the mean of precision and recall; neither is above 1."""
    marks = [mark(answer, golds) for answer, golds in pairs]
    for one in marks:
        if one.exact:
            assert (one.contains, one.precision, one.recall, one.f1) == (True, 1.0, 1.0, 1.0)
        if one.contains and not one.exact:
            assert one.f1 > 0
        assert 0 <= one.f1 <= (one.precision + one.recall) / 2 + 1e-12 <= 1 + 1e-12
        assert (one.f1 == 0) == (one.precision == 0) == (one.recall == 0)

    def mean(name: str) -> float:
        return math.fsum(float(getattr(one, name)) for one in marks) / len(marks)

    for name in ("precision", "recall", "f1", "contains"):
        assert mean(name) >= mean("exact") - 1e-12
    assert mean("f1") <= (mean("precision") + mean("recall")) / 2 + 1e-12


def test_the_mean_of_f1_is_not_that_of_the_means() -> None:
    first, second = mark("Oslo", ["Oslo by the sea"]), mark("the cold grey Oslo", ["Oslo"])
    precision, recall = (first.precision + second.precision) / 2, (first.recall + second.recall) / 2
    assert (first.f1 + second.f1) / 2 == pytest.approx(0.4)
    assert 2 * precision * recall / (precision + recall) == pytest.approx(0.625)


def test_token_scores_count_every_token_once() -> None:
    assert overlap("Oslo Oslo Oslo", "Oslo Bergen") == pytest.approx((1 / 3, 1 / 2, 2 / 5))
    assert overlap("a b", "c d") == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("answer", ["", " ", "\n"])
@pytest.mark.parametrize("gold", ["Oslo", "!?"])
def test_an_empty_answer_is_wrong(answer: str, gold: str) -> None:
    assert mark(answer, [gold]) == Marks(False, False, 0.0, 0.0, 0.0)


def test_signs_alone_are_compared_as_they_are() -> None:
    assert mark("!?", ["!?"]) == Marks(True, True, 1.0, 1.0, 1.0)
    assert mark("?!", ["!?"]) == Marks(False, False, 0.0, 0.0, 0.0)
    assert not mark("!? Oslo", ["!?"]).contains


def test_contains_looks_one_way_and_at_whole_tokens() -> None:
    assert mark("It is Oslo, of course", ["Oslo"]).contains
    assert not mark("Oslo", ["Oslo by the sea"]).contains
    assert not mark("Oslofjord", ["Oslo"]).contains
    assert not mark("sea the by Oslo", ["Oslo by the sea"]).contains
    assert not mark("co-op", ["op"]).contains


def test_a_domain_and_a_country_are_spelled_alike() -> None:
    """A trap of the published normalization: `.us` becomes `us`, and so does `US`."""
    assert mark(".us", ["US"]).exact
    assert mark("us", [".us"]).exact
    assert not mark("U.S.", ["US"]).exact


def test_any_spelling_counts_and_the_best_is_scored() -> None:
    found = mark("the Spice Girls", ["Geri's band", "Spice Girls"])
    assert (found.exact, found.contains) == (False, True)
    assert (found.precision, found.recall, found.f1) == pytest.approx((2 / 3, 1.0, 0.8))
    assert mark("SPICE girls!", ["a band", "Spice Girls"]).exact


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Oslo", "Oslo"),
        ("", ""),
        ("  Oslo \n", "Oslo"),
        ("Answer: Oslo", "Oslo"),
        ("answer : Oslo", "Oslo"),
        ("A: Oslo", "Oslo"),
        ("Answer: Answer: the answer is Oslo", "Oslo"),
        ("The answer is: Oslo", "Oslo"),
        ("The answers are Oslo", "The answers are Oslo"),
        ("Oslo\nQuestion: Where is it?", "Oslo"),
        ("Oslo\n Answer: Bergen", "Oslo"),
        ("Oslo\nand Bergen", "Oslo"),
        ("Answer:\nOslo", "Oslo"),
        ("Oslo lies north. Bergen lies west.", "Oslo lies north."),
        ("Is it Oslo? Yes.", "Is it Oslo?"),
        ("St. Paul", "St. Paul"),
        ("Washington, D.C. Metro", "Washington, D.C. Metro"),
        ("3.5 million", "3.5 million"),
        (f"{TOKENS[0]} Oslo {TOKENS[3]}", "Oslo"),
        (f"Answer:{TOKENS[2]} Oslo{TOKENS[3]}\nQ: next", "Oslo"),
    ],
)
def test_cleaning_keeps_the_first_sentence(text: str, answer: str) -> None:
    assert clean(text) == answer
    assert clean(answer) == answer


@given(st.lists(st.sampled_from([*TOKENS, "Answer:", "Oslo", "north.", "The", "\n", "Question:", " "]), max_size=8))
def test_cleaning_twice_is_cleaning_once(parts: list[str]) -> None:
    once = clean(" ".join(parts))
    assert clean(once) == once
    assert "\n" not in once
    assert not any(token in once for token in TOKENS)
