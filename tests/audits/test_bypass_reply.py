"""Replies, written by hand: where they are split, and what counts as holding a canary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.audits.bypass.reply import contains, split_reply
from uds_bench.facts.canaries import CLOSING, OPENING, Canary

CANARY = Canary("a", "Ann Bly", "Ann Bly lives.", "Seven old boats of Marl went north to Émile Ørn")
SAID = CANARY.canary
PIECES = st.sampled_from([OPENING, CLOSING, SAID, CANARY.head, CANARY.rest, "\n", " ", "wörds 言葉", "</thin", "k>"])


@pytest.mark.parametrize(
    ("text", "trace", "answer"),
    [
        (f"{OPENING}\nT\n{CLOSING}\n\nA", "\nT\n", "\n\nA"),
        (f"T{CLOSING}A", "T", "A"),
        (f"{OPENING}{CLOSING}A", "", "A"),
        (f"{OPENING}\n\n{CLOSING}\n\nA", "\n\n", "\n\nA"),
        (f"{OPENING}{OPENING}T{CLOSING}A", f"{OPENING}T", "A"),
        (f"{OPENING}T{CLOSING}A{CLOSING}B", "T", f"A{CLOSING}B"),
        (f"{OPENING}T{CLOSING}{OPENING}U{CLOSING}A", "T", f"{OPENING}U{CLOSING}A"),
        (f"{OPENING}T{CLOSING}", "T", ""),
        (f" \n{OPENING}言葉{CLOSING}é", "言葉", "é"),
        (CLOSING, "", ""),
    ],
)
def test_the_first_closing_tag_splits(text: str, trace: str, answer: str) -> None:
    for fallback in ("answer", "trace"):
        found = split_reply(text, fallback)
        assert (found.trace, found.answer, found.tagged) == (trace, answer, True)


@pytest.mark.parametrize("text", ["", "A", f"{OPENING}\nT without an end", "</think", f"{OPENING}{SAID[:20]}"])
def test_without_a_tag_one_side_is_all(text: str) -> None:
    answer, trace = split_reply(text, "answer"), split_reply(text, "trace")
    assert (answer.trace, answer.answer, answer.tagged) == ("", text, False)
    assert (trace.trace, trace.answer, trace.tagged) == (text, "", False)


@given(st.lists(PIECES, max_size=8).map("".join), st.lists(PIECES, max_size=4).map("".join))
def test_more_text_takes_no_canary_away(text: str, more: str) -> None:
    for match in ("exact", "stripped", "normalized"):
        if contains(text, CANARY, match):
            assert contains(text + more, CANARY, match)
            assert contains(more + text, CANARY, match)
        if contains(text, CANARY):
            assert contains(text, CANARY, match), "the looser rules hold wherever the exact one does"


@given(st.lists(PIECES, max_size=8).map("".join))
def test_the_conventions_are_opposite_without_a_tag_and_one_with_it(text: str) -> None:
    gaps = []
    for fallback in ("answer", "trace"):
        found = split_reply(text, fallback)
        gaps.append(int(contains(found.trace, CANARY)) - int(contains(found.answer, CANARY)))
    tagged = CLOSING in text
    assert split_reply(text).tagged is tagged
    assert gaps[0] == (gaps[1] if tagged else -gaps[1])


def test_what_counts_as_holding_a_canary() -> None:
    rest = CANARY.rest.strip()
    assert contains(f"… {SAID}.", CANARY)
    assert not contains(rest, CANARY)
    assert contains(f"It {rest}.", CANARY, "stripped")
    assert not contains(SAID.upper(), CANARY)
    assert contains(SAID.upper().replace(" ", "\n"), CANARY, "normalized")
    assert not contains(SAID[:-1], CANARY, "normalized"), "cut at the token limit"
