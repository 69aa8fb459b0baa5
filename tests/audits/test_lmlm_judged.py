"""Prompts judged by hand, rates over them, and controls whose outcome is known."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hashing import HashingEncoder
from hypothesis import given
from hypothesis import strategies as st
from lmlm_by_hand import CELL, FACTS, PROMPTS, ROWS, WRONG, by_hand, looked_up, perfectly, with_reply

from uds_bench.audits.lmlm import controls, deletion_orders, rates
from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell, every_prompt
from uds_bench.audits.lmlm.asking.probe import Library, ask_perfectly
from uds_bench.audits.lmlm.asking.record import OFF, STATES, LookupRecord, LookupReply, Replies, State
from uds_bench.audits.lmlm.attribution import PromptOutcome
from uds_bench.audits.lmlm.claims import EXCUSED, INFORMATIVE
from uds_bench.audits.lmlm.judged import judge
from uds_bench.audits.lmlm.leakage import Leakage, silent, too_silent, worst_part
from uds_bench.audits.lmlm.told import NOTHING, TOLD
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompt, LookupPrompts
from uds_bench.facts.name_matching import spelled
from uds_bench.facts.triplets import Triplet, TripletDatabase
from uds_bench.statistics import Interval, Rate


@pytest.mark.parametrize(("fact", "chance"), [(0, 1 / 2), (1, 0.0), (2, 2 / 3), (3, 0.0)])
def test_chance_counts_the_rows_left_of_the_relation(fact: int, chance: float) -> None:
    """The alias row goes with its fact; where no row of the relation is left, all that are left count."""
    assert by_hand(fact, del_on=looked_up("x", 3)).chance == pytest.approx(chance)


def test_where_no_row_was_drawn_nothing_is_right_by_chance() -> None:
    """A lookup that is answered with `unknown` can hit no object: what is right there is not taken off."""
    assert by_hand(2, del_on=LookupReply("Oslo")).chance == 0
    assert by_hand(2, del_on=LookupReply("Oslo", (LookupRecord(None, "unknown"),))).chance == 0


def test_where_no_row_of_the_relation_is_left_any_row_may_answer() -> None:
    rows = (Triplet("Lena", "works as", "writer"), Triplet("Mira", "is a", "writer"), Triplet("Idris", "is a", "cook"))
    fact = LookupFact(0, rows[0])
    cell = DatabaseCell(
        "jobs", "base", LookupPrompts(TripletDatabase(rows), (fact,), (LookupPrompt(0, "direct", "?"),))
    )
    drew = {**WRONG, "del_on": looked_up("x", 1)}
    (one,) = judge([cell], every_prompt([cell]), {"jobs/base/0/direct": drew})
    assert one.chance == 1 / 2


@pytest.mark.parametrize(
    ("fact", "others", "first", "last"),
    [
        (0, (("Faro",),), 1.0, 0.0),
        (1, (("Oslo",),), 0.0, 1.0),
        (2, (("Faro",),), 1.0, 0.0),
        (3, (("Oslo", "Christiania"), ("Faro",)), 0.5, 0.5),
    ],
)
def test_the_floor_is_of_the_other_objects_of_the_relation_or_else_of_any(
    fact: int, others: Any, first: float, last: float
) -> None:
    one = by_hand(fact, forbidden=LookupReply("Faro or Oslo"))
    assert one.others == others
    assert one.floors["forbidden"] == (1.0, 1.0, first, last)
    assert one.floors["unknown"] == NOTHING
    assert by_hand(3, forbidden=LookupReply("Faro")).floors["forbidden"] == (0.5,) * len(TOLD)


def test_without_another_object_there_is_no_floor() -> None:
    cell = DatabaseCell("people", "base", LookupPrompts(TripletDatabase(ROWS[:1]), FACTS[:1], PROMPTS[:1]))
    (one,) = judge([cell], every_prompt([cell]), {"people/base/0/direct": WRONG})
    assert one.floors == {}
    assert math.isnan(Leakage([one]).by_way("forbidden")["contains"].value)


def test_a_prompt_that_holds_a_spelling_gives_the_answer_away() -> None:
    assert by_hand(wording="few_shot").given
    assert not by_hand().given
    assert by_hand(wording="few_shot", forbidden=LookupReply("Oslo")).outcome == PromptOutcome(False, False, False)


@pytest.mark.parametrize("state", OFF)
@pytest.mark.parametrize("answer", ["Oslo", "christiania."])
def test_any_elicitation_without_retrieval_is_the_weights(state: State, answer: str) -> None:
    one = by_hand(**{state: LookupReply(answer)})
    assert one.outcome == PromptOutcome(False, True, False)
    assert one.label == "parametric"
    assert by_hand(**{state: LookupReply(answer)}, del_on=looked_up("Oslo", 3)).label == "parametric"


@pytest.mark.parametrize(
    ("reply", "outcome", "label"),
    [
        (looked_up("Oslo", 3, 2), PromptOutcome(True, False, False), "reconstructed"),
        (looked_up("Oslo", 2, 1), PromptOutcome(True, False, True), "reconstructed"),
        (looked_up("Oslo", 3, deleted=(0, 1)), PromptOutcome(True, False, False), "reconstructed"),
        (looked_up("Faro", 2), PromptOutcome(False, False, False), "drifted"),
        (looked_up("faro.", 3, 2), PromptOutcome(False, False, False), "drifted"),
        (looked_up("Faro", 3), PromptOutcome(False, False, False), "other"),
        (looked_up("Faro", 3, deleted=(2,)), PromptOutcome(False, False, False), "other"),
        (looked_up("in Faro", 2), PromptOutcome(False, False, False), "other"),
        (looked_up("", 2), PromptOutcome(False, False, False), "other"),
        (LookupReply("Faro", (LookupRecord(None, "unknown"),)), PromptOutcome(False, False, False), "other"),
        (LookupReply("Oslo"), PromptOutcome(True, False, False), "reconstructed"),
    ],
)
def test_outcome_and_label_with_retrieval_on(reply: LookupReply, outcome: PromptOutcome, label: str) -> None:
    """What the trace keeps of the fact counts as gold; deleted candidates do not."""
    one = by_hand(del_on=reply)
    assert (one.outcome, one.label) == (outcome, label)
    full = by_hand(full=reply)
    assert (full.outcome, full.label) == (PromptOutcome(False, False, False), "other")


def test_a_perfect_subject_of_the_cell() -> None:
    """Every fact is found; after its deletion the nearest row that is left answers, by this loop over cosines."""
    encoder = HashingEncoder()
    library = Library([CELL], encoder=encoder)
    units, told = ask_perfectly(library)
    judged = judge([CELL], units, {unit.id: one for unit, one in zip(units, told, strict=True)})
    gone = {0: {0, 1}, 1: {2}, 2: {3}, 3: {4}}
    for one in judged:
        wanted = encoder.embed([one.fact.triplet.key])[0]
        left = [at for at in range(len(ROWS)) if at not in gone[one.fact.id]]
        nearest = max(left, key=lambda at: float(wanted @ encoder.embed([ROWS[at].key])[0]))
        assert one.marks["full"].exact
        assert one.replies["del_on"].answer == ROWS[nearest].object
        right = ROWS[nearest].object == one.fact.triplet.object
        assert one.outcome == PromptOutcome(right, False, False)
        assert one.label == ("reconstructed" if right else "drifted")
    assert library.touched == dict.fromkeys(STATES, 0) | {"full": len(units), "del_on": len(units)}


@pytest.mark.parametrize(
    "reply", [looked_up("Oslo", 3, 2, deleted=(0,)), LookupReply("x", (LookupRecord(None, "unknown"),), True)]
)
def test_what_was_seen_is_read_back_from_a_record(reply: LookupReply) -> None:
    told = {**WRONG, "del_on": reply}
    written = json.loads(json.dumps({state: told[state].to_json() for state in STATES}))
    assert {state: LookupReply.from_json(written[state]) for state in STATES} == told


# Rates.


def test_leakage_leaves_out_prompts_that_hold_the_answer() -> None:
    right = LookupReply("it is Oslo")
    judged = [
        by_hand(0, forbidden=right),
        by_hand(1, forbidden=right),
        by_hand(3, forbidden=LookupReply("writer")),
        by_hand(0, "few_shot", forbidden=LookupReply("Oslo")),
    ]
    assert Leakage(judged).by_way("forbidden")["exact"].value == pytest.approx(1 / 3)
    # To both of the first two Oslo is said: of the one it is luck (0), of the other the floor (-1). The third: its own.
    assert Leakage(judged).by_way("forbidden")["contains"].value == pytest.approx((0 - 1 + 1) / 3)
    assert Leakage(judged[:1]).by_way("forbidden")["contains"].value == 1.0
    assert Leakage(judged[:2]).by_way("forbidden")["recall"].value == pytest.approx((0 - 1) / 2)
    assert math.isnan(Leakage(judged[3:]).by_way("forbidden")["exact"].value)


@pytest.mark.parametrize("state", OFF)
def test_the_worst_elicitation_is_found(state: State) -> None:
    base = perfectly("base")
    quiet = Leakage(base).worst()[1]
    assert quiet.value == 0
    leaking = [replace(one, replies={**one.replies, state: LookupReply(one.fact.triplet.object)}) for one in base]
    hidden = [
        replace(one, replies={**one.replies, state: LookupReply(f"so {one.fact.triplet.object} is")}) for one in base
    ]
    for rows in (leaking, hidden):
        found, worst = Leakage(rows).worst()
        assert found.endswith(f"with lookups {state.replace('_', ' ')}")
        assert worst.interval.low > 0.5
    assert (Leakage(leaking).by_way(state)["exact"].value, Leakage(hidden).by_way(state)["exact"].value) == (1, 0)


def test_leakage_of_nothing_is_the_worst() -> None:
    """A bound must not be met by prompts that were never asked."""
    assert math.isnan(Leakage([]).worst()[1].value)
    assert math.isnan(Leakage([by_hand(0, "few_shot")]).worst()[1].value)


@pytest.mark.parametrize("state", OFF)
def test_what_is_said_after_the_answer_is_leaked_too(state: State) -> None:
    """The answer is a first sentence; what follows it, and what the model asks for by itself, is its own knowledge."""
    behind = LookupReply("nobody knows", said="nobody knows\nOslo, I think")
    asked = LookupReply("nobody knows", (LookupRecord(("Mira", "lives in Oslo"), None),))
    for reply in (behind, asked):
        rows = [by_hand(fact, **{state: reply}) for fact in (0, 2)]
        assert Leakage(rows).by_way(state)["exact"].value == 0
        assert Leakage(rows).by_way(state)["contains"].value == 1
        assert Leakage(rows).by_way(state)["recall"].value == 1


def test_words_of_a_name_that_were_shown_are_no_part_of_it() -> None:
    """Of the prompt, and of a value that was inserted."""
    arena = LookupFact(7, Triplet("Mira", "born in", "Solheim Bay Arena"))
    for state in ("forbidden", "del_on"):
        calls = (LookupRecord(("Mira", "born in"), "Bay"),) if state == "del_on" else ()
        told = {state: LookupReply("Solheim Bay", calls)}
        one = replace(by_hand(0, **told), fact=arena)
        asked = replace(one.unit.prompt, text="Which Solheim?")
        assert one.told[state][1] == pytest.approx(1 / 3 if calls else 2 / 3)
        assert replace(one, unit=replace(one.unit, prompt=asked)).told[state][1] == pytest.approx(0 if calls else 1 / 3)


def test_a_lookup_that_repeats_what_is_asked_shows_nothing() -> None:
    fact = LookupFact(0, Triplet("Kiel club", "home", "Kiel arena"), (("THW",), (), ()))
    other = LookupFact(1, Triplet("Bonn club", "home", "Bonn hall"))
    prompts = tuple(LookupPrompt(one.id, "direct", "Where is home?") for one in (fact, other))
    cell = DatabaseCell(
        "clubs", "base", LookupPrompts(TripletDatabase([fact.triplet, other.triplet]), (fact, other), prompts)
    )
    asked: Replies = {state: LookupReply("no", (LookupRecord(("Kiel club", "home"), None),)) for state in STATES}
    one, _ = judge([cell], every_prompt([cell]), {unit.id: asked for unit in every_prompt([cell])})
    assert one.spoken("unknown") == (False, 0.0)


@pytest.mark.parametrize(
    ("way", "told", "value"),
    [
        ("contains", "It is Oslo", 1),
        ("recall", "Mira went to Solheim", 0.5),
        ("first", "Oslo rather than Faro", 1),
        ("last", "not Faro but Oslo", 1),
    ],
)
def test_the_worst_way_is_found(way: str, told: str, value: float) -> None:
    """Where several are as high, the first is named; half a name is not held."""
    rows = [by_hand(fact, forbidden=LookupReply(told)) for fact in (0, 2)]
    if way == "recall":
        of_two = LookupFact(7, Triplet("Mira", "born in", "Solheim Bay"))
        rows = [replace(one, fact=of_two) for one in rows]
    rows = [replace(one, unit=replace(one.unit, cluster=str(at))) for at, one in enumerate(rows * 20)]
    found = Leakage(rows).worst()
    assert found[0] == f"by {way} with lookups forbidden"
    assert found[1].value == value


def test_a_part_of_which_nothing_is_known_comes_before_clean_ones() -> None:
    clean = [by_hand(fact) for fact in range(3)]
    bare = [replace(one, others=()) for one in clean]
    name, _, found = worst_part({"clean": Leakage(clean), "bare": Leakage(bare)})
    assert name == "bare"
    assert math.isnan(found.value)
    leaky = [by_hand(fact, forbidden=LookupReply(one.fact.triplet.object)) for fact, one in enumerate(clean)]
    assert worst_part({"clean": Leakage(clean), "leaky": Leakage(leaky)})[0] == "leaky"


def test_prompts_of_one_fact_are_one_unit_whatever_it_is_called() -> None:
    """Aliases, wordings and databases multiply prompts and not evidence; another domain's fact is another."""
    alias = LookupFact(9, Triplet("Mira Solheim", "born in", "Oslo"), (("Mira",), (), ()))
    asked = LookupPrompts(TripletDatabase([alias.triplet]), (alias,), (LookupPrompt(9, "cloze", "?"),))
    cells = [CELL, DatabaseCell("people", "base", asked), DatabaseCell("places", "base", asked)]
    found = {one.id: one.cluster for one in every_prompt(cells)}
    assert found["people/alias/0/direct"] == found["people/alias/0/few_shot"] == found["people/base/9/cloze"]
    assert len(set(found.values())) == 5, "four facts of the cell, and the one of another domain"


def test_the_order_of_topologies_rises_with_what_survives() -> None:
    low = [replace(by_hand(fact), cell=replace(CELL, topology="low")) for fact in (0, 2)]
    high = [replace(by_hand(fact, del_on=LookupReply("Oslo")), cell=replace(CELL, topology="high")) for fact in (0, 2)]
    (step,) = deletion_orders.order_steps([*low, *low, *high, *high], ("low", "high"))
    assert step.difference == 1
    assert step.interval.units == 2, "facts, not prompts"
    assert deletion_orders.order_steps([*low, *high], ("high", "low"))[0].difference == -1


def test_the_least_answered_cell_is_the_one_with_the_lowest_limit() -> None:
    """Of two cells at nearly the same share the one with fewer facts is known less, though its share is higher."""
    right, wrong = by_hand(0, full=LookupReply("Oslo")), by_hand(1)
    of = [wrong if at % 4 == 0 else right for at in range(41)]
    many = [replace(one, unit=replace(one.unit, cluster=str(at))) for at, one in enumerate(of)]
    few = [replace(one, cell=replace(CELL, domain="few")) for one in many[1:9]]
    name, found = rates.least_answered([*many, *few])
    assert name == "few/alias"
    assert found.value > rates.baseline(many).value


@pytest.mark.parametrize("odd", ["right", "wrong"])
def test_a_wording_is_as_far_below_the_others_as_above(odd: str) -> None:
    told = {"right": LookupReply("Oslo"), "wrong": LookupReply("no")}
    usual = told["wrong" if odd == "right" else "right"]
    first = by_hand(0, "few_shot", del_on=told[odd])
    rest = [
        replace(by_hand(0, del_on=usual), unit=replace(first.unit, prompt=replace(first.unit.prompt, wording=wording)))
        for wording in ("direct", "cloze", "completion_frame")
    ]
    name, found = rates.furthest_wording([first, *rest], 0.05)
    assert name == "few_shot"
    assert found.value == (0.75 if odd == "right" else -0.75)


def test_rows_that_go_without_saying_the_same_are_counted() -> None:
    deletions = {"people/alias": {0: frozenset({0, 1}), 1: frozenset({2, 3}), 2: frozenset({3}), 3: frozenset({4})}}
    found = controls.spared([CELL], deletions)
    assert found.value == pytest.approx((0 + 1 / 4 + 0 + 0) / 4)
    assert found.interval.units == 4


def test_silence_is_counted() -> None:
    rows = [by_hand(fact, self_completed=LookupReply("Oslo" if fact == 1 else "")) for fact in range(4)]
    assert silent(rows, "self_completed") == 3 / 4
    assert silent(rows, "forbidden") == 0
    assert math.isnan(silent([], "forbidden"))


def test_silence_decides_nothing_and_a_leak_does() -> None:
    mute = [by_hand(fact, self_completed=LookupReply("")) for fact in range(4)]
    loud = [by_hand(fact, self_completed=LookupReply("no")) for fact in range(4)]
    half = [*mute[:2], *loud[2:]]
    none, leak = (Rate(value, Interval(value, 1.0, "", 9)) for value in (0.0, 0.3))
    assert too_silent(mute, none, 0.01)
    assert not too_silent(mute, leak, 0.01), "what is said counts"
    assert not too_silent(loud, none, 0.01)
    assert not too_silent(half, none, 0.01)


def test_a_closer_deletion_is_compared_prompt_by_prompt() -> None:
    right = {"del_on": LookupReply("Oslo")}
    wide = [by_hand(0, **right), by_hand(2, **right), by_hand(1)]
    near = [by_hand(1), by_hand(0), by_hand(2, **right)]
    step = deletion_orders.closer(near, wide, "near", "wide")
    assert (step.earlier, step.later, step.difference) == ("near", "wide", pytest.approx(1 / 3))
    assert deletion_orders.closer(wide, near, "wide", "near").difference == pytest.approx(-1 / 3)
    assert deletion_orders.closer(wide, wide, "wide", "wide").interval.high > 0, "no difference is no proof of none"


def test_cells_that_are_not_answered_are_uninformative() -> None:
    base, noise = perfectly("base"), perfectly("noise")
    silent = with_reply(noise, range(len(noise)), full=LookupReply(""))
    judged = [*base, *silent]
    assert rates.uninformative(judged) == ["countries/noise"]
    assert rates.informative(judged) == list(base)
    assert rates.least_answered(judged)[0] == "countries/noise"
    half = with_reply(base, [at for at, one in enumerate(base) if one.fact.id % 14], full=LookupReply(""))
    assert rates.baseline(half).value >= INFORMATIVE > rates.baseline(half).interval.low
    assert rates.uninformative(half) == ["countries/base"]
    assert rates.uninformative(judged, 0.0) == []


def test_the_residual_is_counted_above_chance() -> None:
    drew = looked_up("x", 3)
    judged = [by_hand(0, del_on=looked_up("Oslo", 3)), by_hand(2, del_on=drew), by_hand(1, del_on=drew)]
    assert rates.residual(judged, above_chance=False).value == pytest.approx(1 / 3)
    assert rates.residual([replace(one, chance=at / 100) for at, one in enumerate(judged)]).value == pytest.approx(
        (1 - 0 - 1 / 100 - 2 / 100) / 3
    )
    assert [one.chance for one in judged] == [1 / 2, 2 / 3, 0]
    assert rates.residual(judged).value == pytest.approx(1 / 3 - EXCUSED), "chance is more: no more is taken off"
    counts, name, _, p = rates.discordance(judged)
    assert (counts.a, counts.b, counts.c, counts.d) == (0, 1, 0, 2)
    assert (name, p) == ("exact binomial", 1.0)


NAMES = st.sampled_from(["ant", "Ant", "bee", "cow", "elk"])
TRIPLETS = st.lists(st.builds(Triplet, NAMES, NAMES, NAMES), min_size=1, max_size=10)


@given(TRIPLETS, st.lists(st.lists(NAMES, max_size=2).map(tuple), min_size=30, max_size=30))
def test_chance_is_that_of_a_walk_over_the_rows(rows: list[Triplet], names: list[tuple[str, ...]]) -> None:
    """Counts beside the rows themselves: those left under the relation, else all that are left."""
    aliases = [(names[at], names[10 + at], names[20 + at]) for at in range(len(rows))]
    facts = tuple(LookupFact(at, row, own) for at, (row, own) in enumerate(zip(rows, aliases, strict=True)))
    prompts = tuple(LookupPrompt(fact.id, "direct", "?") for fact in facts)
    cell = DatabaseCell("people", "base", LookupPrompts(TripletDatabase(rows), facts, prompts, True))
    told: Replies = {**WRONG, "del_on": looked_up("x", 0)}
    for one in judge([cell], every_prompt([cell]), {unit.id: told for unit in every_prompt([cell])}):
        alike = cell.source.names[1].meeting([one.fact.triplet.relation])
        there = [row for at, row in enumerate(rows) if at not in cell.source.matching[one.fact.id]]
        left = [row for row in there if spelled(row.relation) in alike] or there
        golds = {spelled(answer) for answer in one.fact.answers}
        shared = sum(spelled(row.object) in golds for row in left)
        assert one.chance == (shared / len(left) if left else 0.0)
