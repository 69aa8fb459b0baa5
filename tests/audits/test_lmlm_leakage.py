"""Leakage of parts, in every way, and by what its reader draws halves."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from lmlm_by_hand import perfectly, with_reply

from uds_bench.audits.lmlm import leakage
from uds_bench.audits.lmlm.asking.record import OFF, LookupRecord, LookupReply
from uds_bench.audits.lmlm.leakage import Leakage, worst_part
from uds_bench.audits.lmlm.luck import Luck
from uds_bench.retrieval.retriever import Lookup
from uds_bench.statistics import Interval, Rate

PERFECT = perfectly("base")[::3]
TOLD = with_reply(PERFECT, range(0, len(PERFECT), 3), forbidden=LookupReply("Rome, or Euro"))


def alike(one: dict[str, Rate], other: dict[str, Rate]) -> bool:
    return {name: repr(rate) for name, rate in one.items()} == {name: repr(rate) for name, rate in other.items()}


def test_a_part_is_of_its_prompts_and_its_luck_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Luck is counted once for all parts: where a fact is asked, nobody of another part is."""
    counted: list[Any] = []

    class Counted(Luck):
        def __init__(self, prompts: Any, state: Any) -> None:
            super().__init__(prompts, state)
            counted.append(state)

    monkeypatch.setattr(leakage, "Luck", Counted)
    whole = Leakage(TOLD, PERFECT)
    parts = whole.parts(lambda one: one.wording)
    assert list(parts) == list(dict.fromkeys(one.wording for one in TOLD))
    found = {(name, under): part.by_way("forbidden", under) for name, part in parts.items() for under in (0, 1)}
    assert counted == ["forbidden"] * 2, "under each fallback once"
    for (name, under), rates in found.items():
        alone = Leakage([one for one in (TOLD, PERFECT)[under] if one.wording == name])
        assert alike(dict(rates), dict(alone.by_way("forbidden")))
        assert not alike(dict(rates), dict(whole.by_way("forbidden", under)))


def test_what_is_told_ever_is_looked_for_in_whole_and_in_part() -> None:
    found = Leakage(TOLD).ever("forbidden")
    once = ["contains", "contains or its lack", "recall", "recall or its lack"]
    assert sorted(found) == [
        *once[:2],
        "contains or its lack, at each prompt,",
        *once[2:],
        "recall or its lack, at each prompt,",
    ]


def test_halves_of_the_reader_are_drawn_by_all_that_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    salts: list[str] = []

    def heard(facts: Any, salt: str = "") -> Rate:
        salts.append(salt)
        return nothing

    nothing = Leakage([]).by_way("forbidden")["exact"]
    monkeypatch.setattr(leakage, "reading", heard)
    for rows in (PERFECT, TOLD):
        Leakage(rows, PERFECT).worst_ever()
    half = len(salts) // 2
    # Of each elicitation and of DEL-ON under two fallbacks how it is named, and by which elicitations.
    assert half == len(OFF) + 2 + 1 + 2
    assert {len(set(salts[:half])), len(set(salts[half:]))} == {1}
    assert salts[0] != salts[-1]
    assert "" not in salts


def test_what_is_repeated_after_it_was_read_is_told_by_nobody() -> None:
    """Every second lookup is given the object, which the reply says; the others draw another row, and say nothing."""
    found = []
    for at, one in enumerate(PERFECT):
        name = one.fact.triplet.object if at % 2 else "nothing"
        call = LookupRecord(("Subject", "relation"), name, Lookup(("Subject", "relation"), (), (), 0, False))
        found.append(replace(one, replies={**one.replies, "del_on": LookupReply(name, (call,), said=name)}))
    whole = Leakage(found)
    assert {rate.value for rate in whole.ever("del_on").values()} == {0}
    assert whole.read("del_on")["how it is named"].value == 0


def test_where_nothing_is_told_the_interval_has_a_width() -> None:
    for rate in Leakage(PERFECT).by_way("forbidden").values():
        assert rate.value == 0
        assert rate.interval.high > 0.01


def rate(low: float, width: float = 0.02) -> Rate:
    return Rate(low + width / 2, Interval(low, low + width, "by hand", 9))


def test_what_was_not_told_after_deletion_hides_no_clear_leak_there() -> None:
    """Of nothing there is no number; of two fallbacks the clearer counts."""
    nothing = Leakage([]).by_way("del_on")["exact"]
    assert leakage._worst({"off": rate(0.0)}, {"none": nothing, "told": rate(0.3)}, 0.9)[0] == "told"


@pytest.mark.parametrize("turned", [False, True])
def test_what_is_clear_comes_before_what_reaches_highest(turned: bool) -> None:
    found = {"wide": rate(-0.5, 1.4), "clear": rate(0.3), "a clearer": rate(0.4)}
    found = dict(reversed(found.items())) if turned else found
    parts: Any = {name: SimpleNamespace(worst=lambda bound, one=one: ("said", one)) for name, one in found.items()}
    for bound, named in ((0.2, "a clearer"), (0.35, "a clearer"), (0.4, "wide")):
        assert leakage._worst(found, {"after": rate(0)}, bound)[0] == named, "what is at the bound is not above it"
        assert worst_part(parts, bound)[0] == named


@pytest.mark.parametrize(("many", "low", "too"), [(1, 0.04, False), (2, 0.04, True), (2, 0.05, True), (2, 0.06, False)])
def test_of_a_tenth_of_facts_a_reply_may_name_many_and_what_is_clear_is_red(many: int, low: float, too: bool) -> None:
    asked: Any = [
        SimpleNamespace(
            unit=SimpleNamespace(cluster=str(at)),
            lists=lambda state, most, at=at, once=once: at < many and once and most == 5,
        )
        for at in range(10)
        for once in (False, True, False)
    ]
    quiet: Any = [SimpleNamespace(unit=one.unit, lists=lambda state, most: False) for one in asked]
    assert Leakage(asked).lists_too_much(rate(low), 0.05) == too
    assert Leakage(quiet, asked).lists_too_much(rate(low), 0.05) == too, "under any fallback"
    assert Leakage([]).lists_too_much(rate(low), 0.05) == (low <= 0.05), "of nothing nobody is cleared"
