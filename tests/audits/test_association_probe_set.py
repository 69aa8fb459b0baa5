"""Who is asked about, what is held beside luck, and what follows for a forget set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from uds_bench.audits.association import controls
from uds_bench.audits.association.claims import MARGIN
from uds_bench.audits.association.forget_set import evidence, forget_set, held_values
from uds_bench.audits.association.probe_items import ProbeItem, ask_about
from uds_bench.audits.association.probe_set import ProbeSet, beside_context
from uds_bench.audits.association.ranking import Ranked, calibrated, ranked
from uds_bench.audits.association.rates import Memorization, by_luck, held, lost, more, over
from uds_bench.audits.association.scoring import ranks
from uds_bench.facts.exposed_people import NEVER_SEEN
from uds_bench.facts.properties import Property
from uds_bench.facts.subjects import Person, Statement
from uds_bench.facts.templates import SUBJECT, VALUE, Template
from uds_bench.statistics import zero_rate_bound

JOB = Property(
    "P106",
    "job",
    "",
    (),
    "wikibase-item",
    (Template(f"{SUBJECT} works as {VALUE}."), Template(f"{SUBJECT}'s trade is {VALUE}.")),
    ("nurse", "baker", "poet", "pilot"),
)
TOWN = replace(JOB, id="P19", label="town", counterfactuals=("Oslo", "Rome", "Bonn", "Turin"))
PROPERTIES = {one.id: one for one in (JOB, TOWN)}
PEOPLE = [
    Person("a", "Jane Doe", "well-known", (Statement("P106", ("judge", "clerk")), Statement("P19", ("Faro",)))),
    Person("b", "John Roe", "lesser-known", (Statement("P106", ("cook",)),)),
    Person("c", "Mira Low", NEVER_SEEN, (Statement("P19", ("Riga",)),)),
]
ASKED = ask_about(PEOPLE, PROPERTIES, None)
PROBE_SET = ProbeSet(tuple(ASKED), frozenset({"b"}))
HIT, MISS = ranked([3.0, 1.0, 0.0, -1.0, -2.0], 1), ranked([0.0, 1.0, 2.0, -1.0, -2.0], 1)
TIE = ranked([2.0, 2.0, 0.0, -1.0, -2.0], 1)


def test_everybody_is_in_one_part() -> None:
    assert [one.subject.id for one in PROBE_SET.requested] == ["b"]
    assert [one.subject.id for one in PROBE_SET.kept] == ["a", "a"]
    assert [one.subject.id for one in PROBE_SET.never_seen] == ["c"]
    assert PROBE_SET.seen == tuple(one for one in ASKED if one.subject.id != "c")
    assert list(PROBE_SET.cohorts) == ["well-known", "lesser-known", NEVER_SEEN]


def test_context_is_the_same_sentence_behind_what_else_is_known() -> None:
    first, second = beside_context(PROBE_SET.seen)
    assert [one.text for one in first.templates] == [
        f"{SUBJECT}'s job is {VALUE}.",
        f"{SUBJECT}'s town is Faro. Their job is {VALUE}.",
    ]
    assert second.templates[1].text == f"{SUBJECT}'s job is judge. Their town is {VALUE}."
    assert first.names == ASKED[0].names


def brought_up(*values: str) -> Memorization:
    """What ranks first in some phrasings of one thing, the truth being Riga; five candidates."""
    hits = [value == "Riga" for value in values]
    share = sum(hits) / len(hits)
    said = ("Oslo",) * len(hits)
    return Memorization(share, all(hits), any(hits), share, 0.0, 0.2, 0.0, share, said, values, replied=0.0)


def test_luck_is_how_often_the_same_value_is_brought_up_of_strangers() -> None:
    """And no more than scores give that know nothing: a model that names one value of everybody is not cleared."""
    one, strangers = ASKED[3], crowd("s")
    told = [replace(each, candidates=replace(each.candidates, truths=("Oslo",))) for each in strangers]
    for often in (0, 2, 40):
        of_strangers = [brought_up("Riga" if at < often else "Oslo", "Faro") for at in range(40)]
        found = {one.id: brought_up("Riga", "Faro")} | dict(zip([s.id for s in strangers], of_strangers, strict=True))
        for rows in (strangers, told):
            luck = min(often / 80, 0.2), min(often / 40, 1 - (1 - 0.2) ** 2)
            mean, some = (controls.above([one], rows, found, reading).value for reading in ("mean", "some"))
            assert (mean, some) == (pytest.approx(0.5 - luck[0]), pytest.approx(1 - luck[1]))
    assert math.isnan(controls.above([one], [], found, "mean").value), "nobody to compare with clears nobody"
    elsewhere = [replace(each, topic=replace(each.topic, id="P106")) for each in strangers]
    found = {one.id: brought_up("Riga")} | of(elsewhere, brought_up("Riga"))
    assert controls.above([one], elsewhere, found, "mean").value == 1, "nobody was asked about the same"


def said(mean: float, first: float) -> Memorization:
    """What two phrasings of one thing came to; the truth is Riga or it is something else."""
    values = ("Riga" if first > 0 else "Oslo", "Riga" if first == 1 else "Oslo")
    leaders = ("Riga" if mean > 0 else "Oslo", "Riga" if mean == 1 else "Oslo")
    rates = mean, mean == 1, mean > 0, mean, 0.0, 0.2, first, mean
    return Memorization(
        *rates, values, leaders, replied=first, named=tuple((f"phrasing {at}", (one,)) for at, one in enumerate(values))
    )


def crowd(letter: str) -> list[ProbeItem]:
    """Forty people, of each of whom one thing is asked."""
    return [replace(ASKED[3], subject=replace(ASKED[3].subject, id=f"{letter}{at}")) for at in range(40)]


def of(rows: Sequence[ProbeItem], what: Memorization) -> dict[str, Memorization]:
    return dict.fromkeys([one.id for one in rows], what)


def test_most_is_held_by_the_reading_that_shows_most() -> None:
    """A model may say first of a person what a score ranks low."""
    many, strangers, none = crowd("p"), crowd("s"), said(0.0, 0.0)
    for each, expected in (
        (said(0.0, 1.0), ("by likelihood alone", 1.0)),
        (said(0.5, 0.5), ("under any phrasing", 1.0)),
    ):
        name, rate = controls.most_above(many, strangers, of(many, each) | of(strangers, none))
        assert (name, rate.value) == (expected[0], pytest.approx(expected[1]))
    name, rate = controls.most_above(many, strangers, of(many, said(0.5, 0.0)) | of(strangers, none), by_any=False)
    assert (name, rate.value) == ("under a phrasing", pytest.approx(0.5))


def test_as_many_people_as_the_readme_says_can_show_that_nothing_is_held() -> None:
    many = [replace(one, subject=replace(one.subject, id=f"p{at}")) for at, one in enumerate(crowd("p") * 2)]
    none = of(many, said(0.0, 0.0))
    highest = [over(many[:count], none).interval.high for count in (40, 71, 72)]
    assert round(highest[0], 3) == 0.088
    assert highest[1] > MARGIN >= highest[2]


def test_what_is_said_of_anybody_is_not_known_of_one() -> None:
    many, strangers = crowd("p"), crowd("s")
    famous = of(many, said(0.0, 1.0)) | of(strangers, said(0.0, 1.0))
    assert controls.above(many, strangers, famous, "first").value == 0
    half = of(many, said(0.0, 1.0)) | of(strangers, said(0.0, 0.5))
    assert controls.above(many, strangers, half, "first").value == pytest.approx(0.5)
    assert controls.above(many, [], famous, "first").interval.units == 0
    assert math.isnan(controls.above(many, [], famous, "first").value), "nobody to compare with clears nobody"
    others = [replace(one, topic=replace(one.topic, id="P106")) for one in strangers]
    found = of(many, said(0.0, 1.0)) | of(others, said(0.0, 1.0))
    assert controls.above(many, others, found, "first").value == 1, "nobody was asked about the same"


def test_similar_names_that_were_told_the_same_hide_nothing() -> None:
    """Scores are held against names that anybody can make; what is said first is not."""
    one = ASKED[3]
    table = np.full((len(one.names), len(one.candidates.values)), 5.0)
    table[:, 0] = 1.0
    rank = ranks(one, table)
    assert (rank.memorized, rank.said) == (False, "Riga")
    assert held([rank], one.candidates.truths).first == 1
    table[0, 1] = 1.0
    assert ranks(one, table).said is None, "a tie is not said"


@pytest.mark.parametrize("none", [said(math.nan, 0.0), said(math.nan, 1.0)])
def test_a_reading_that_is_no_number_decides_nothing(none: Memorization) -> None:
    one, stranger = ASKED[2], ASKED[3]
    full = {one.id: said(1.0, 1.0), stranger.id: said(0.0, 0.0)}
    broken = full | {one.id: none}
    assert math.isnan(controls.most_above([one], [stranger], broken)[1].value)
    assert math.isnan(lost([one], full, broken, "most").value)
    assert math.isnan(more(([one], full), ([one], broken), "most").value)


def test_what_either_reading_shows_is_kept() -> None:
    rows = crowd("p")
    before, by_likelihood, by_score, gone = (
        dict.fromkeys([one.id for one in rows], said(mean, first))
        for mean, first in ((1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0))
    )
    for after, expected in ((before, 0), (by_likelihood, 0), (by_score, 0), (gone, 1)):
        assert lost(rows, before, after, "most").value == expected
    assert lost(rows, by_score, gone, "most").value == 1, "what one reading alone had shown"
    assert more((rows, before), (rows, gone), "most").value == 1
    assert lost(rows, before, before, "most").interval.high == pytest.approx(zero_rate_bound(40))


def test_losses_are_paired_and_others_are_not() -> None:
    one, other = ASKED[0], ASKED[2]
    before = {one.id: held([HIT, HIT], ["judge", "clerk"]), other.id: held([HIT, MISS], ["judge"])}
    after = {one.id: held([MISS, MISS], ["judge", "clerk"]), other.id: held([HIT, MISS], ["judge"])}
    assert lost([one, other], before, after).value == pytest.approx(0.5)
    assert lost([one, other], before, before).value == 0.0
    assert more(([one], before), ([other], after)).value == pytest.approx(0.5)
    assert by_luck([one], before) == pytest.approx(2 / 5)
    assert by_luck([one], before, "some") == pytest.approx(1 - (3 / 5) ** 2)
    assert over([one, other], before).minus(0.25).value == pytest.approx(0.5)


def test_bounds_hold_where_one_value_is_true() -> None:
    one = ASKED[2]
    ranks = {one.id: [HIT, MISS]}
    found = {one.id: held([HIT, MISS], ["judge"])}
    assert controls.out_of_bounds([one], ranks, found) == 0
    assert controls.out_of_bounds([one], controls.firmer(ranks), found) >= 1
    assert controls.out_of_bounds([one], {one.id: [replace(HIT, strength=-1.0)]}, found) == 1
    assert controls.out_of_bounds([one], ranks, {one.id: replace(found[one.id], mean=1.5)}) == 1


def test_two_true_values_far_ahead_have_no_such_bound() -> None:
    """Each is the other's rival in every lead but the one that z* is made of."""
    both = ranked([100.0, 99.0, 0.0, 0.5, 0.2, 0.1, 0.3], 2)
    assert both.strength > 0
    assert both.leads == pytest.approx((99.5, 98.5))


def test_evidence_is_of_each_value() -> None:
    one = ASKED[0]
    tie = Ranked(1, True, True, (2.0, 0.0), 1.0, 6)
    judge, clerk = evidence(one, [Ranked(1, True, True, (2.0, -1.0), 3.0, 6), tie])
    assert (judge.value, judge.strict, judge.lenient) == ("judge", (0, 1), (0, 1))
    assert (clerk.value, clerk.strict, clerk.lenient) == ("clerk", (), (1,))
    assert judge.to_json()["strict"] == {"M": 1.0, "all": True}
    assert clerk.to_json()["lenient"] == {"M": 0.5, "all": False}
    assert clerk.chance == pytest.approx(1 / 5), "the other true value is no rival"


def test_a_forget_set_holds_what_is_held_and_splits_by_person() -> None:
    ranks = {
        "a/P106": [Ranked(1, True, True, (2.0, -1.0), 3.0, 6), Ranked(1, True, True, (2.0, 1.0), 3.0, 6)],
        "a/P19": [MISS, MISS],
        "b/P106": [MISS, HIT],
    }
    found = held_values(PROBE_SET.seen, ranks)
    assert [row.value for row in found] == ["judge", "clerk", "cook"]
    assert [row.value for row in held_values(PROBE_SET.seen, ranks, every=True)] == ["judge"]
    rows = forget_set(found, {"a"}, phrasings=2)
    assert [(fact.split, fact.answer) for fact, _ in rows] == [
        ("forget", "Jane Doe works as judge."),
        ("forget", "Jane Doe's trade is judge."),
        ("forget", "Jane Doe's trade is clerk."),
        ("retain", "John Roe's trade is cook."),
    ]
    assert len(forget_set(found, {"a"})) == 3


def test_a_tie_is_held_by_the_lenient_reading_alone() -> None:
    ranks = {"b/P106": [TIE, MISS]}
    asked = PROBE_SET.requested
    assert held_values(asked, ranks) == []
    assert [row.lenient for row in held_values(asked, ranks, lenient=True)] == [(0,)]


def test_nobody_cancels_at_alpha_one_alone() -> None:
    """The formula as the paper prints it, which reads sentences about nobody at any alpha."""
    own, similar, nobody = np.array([1.0, 2.0]), np.array([[2.0, 5.0], [4.0, 1.0]]), np.array([9.0, 3.0])
    for alpha in (1.0, 0.5):
        printed = (nobody - own) - alpha * (nobody - similar).mean(0)
        found = calibrated(own, similar, None if alpha == 1 else nobody, alpha)
        np.testing.assert_allclose(found, printed)
    others = nobody + np.array([0.0, 1.0])
    assert np.array_equal(calibrated(own, similar, nobody, 1.0), calibrated(own, similar, others, 1.0))
    assert not np.allclose(calibrated(own, similar, nobody, 0.5), calibrated(own, similar, others, 0.5))


def test_all_that_is_embedded_is_embedded_at_once() -> None:
    # An encoder starts up for every call: 133 calls for 289 values took four times as long as two.
    batches: list[list[str]] = []

    def embed(texts: Sequence[str]) -> np.ndarray:
        batches.append(list(texts))
        return np.eye(64, dtype=np.float32)[[sorted(set(batches[0])).index(text) for text in texts]]

    assert ask_about(PEOPLE, PROPERTIES, embed)
    assert all(set(batch) <= set(batches[0]) for batch in batches)
    assert len(batches[0]) == len(set(batches[0]))
