"""Rates over people beside sums by hand: each person's share, in each form and with each seed, in its own place."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from uds_bench.audits.localization import rates
from uds_bench.audits.localization.rates import FORMS, KNOWN, ItemShares
from uds_bench.statistics import zero_rate_bound

PEOPLE: list[Any] = [SimpleNamespace(id=f"i{at}", cluster=f"p{at}") for at in range(8)]
SHARES = st.floats(0.0, 1.0, allow_subnormal=False)
FORMS_OF_ALL = st.lists(st.tuples(SHARES, st.none() | SHARES, SHARES), min_size=8, max_size=8)
LEAKS = st.lists(st.lists(st.booleans(), min_size=8, max_size=8), min_size=1, max_size=3)


def told(of: list[Any], cut: bool = False) -> dict[str, dict[str, ItemShares | None]]:
    """Shares of plain and paraphrased questions; the last number is of replies that did not end, in the last form."""
    found: dict[str, dict[str, ItemShares | None]] = {}
    for one, (plain, other, going_on) in zip(PEOPLE, of, strict=True):
        ends = going_on if cut else 0.0
        found[one.id] = {
            "plain": ItemShares(plain, 0, 0, 0, 0, cut=0.0 if other is not None else ends),
            "paraphrased": None if other is None else ItemShares(other, 0, 0, 0, 0, cut=ends),
        }
    return found


def leaks(seeds: list[list[bool]]) -> list[dict[str, bool]]:
    return [{one.id: leak for one, leak in zip(PEOPLE, seed, strict=True)} for seed in seeds]


def close(found: float, expected: list[float]) -> bool:
    return math.isnan(found) if not expected else found == pytest.approx(sum(expected) / len(expected), abs=1e-12)


@given(FORMS_OF_ALL)
@settings(max_examples=20)
def test_extraction_is_the_mean_over_people_of_a_form_or_of_the_best(of: list[Any]) -> None:
    said = told(of)
    assert close(rates.extraction(PEOPLE, said).value, [plain for plain, _, _ in of])
    assert close(rates.extraction(PEOPLE, said, "paraphrased").value, [x for _, x, _ in of if x is not None])
    assert close(rates.extraction(PEOPLE, said, None).value, [max(plain, other or 0) for plain, other, _ in of])
    in_any_words = [f"i{at}" for at in range(8) if max(of[at][0], of[at][1] or 0) > KNOWN]
    assert [one.id for one in rates.known(PEOPLE, said)] == in_any_words


@given(FORMS_OF_ALL, FORMS_OF_ALL)
@settings(max_examples=20)
def test_what_is_kept_is_summed_over_the_forms_that_were_known(after: list[Any], before: list[Any]) -> None:
    expected = []
    for now, then in zip(after, before, strict=True):
        forms = [(now[form] or 0.0, then[form]) for form in (0, 1) if then[form]]
        if forms:
            expected.append(sum(min(a, b) for a, b in forms) / sum(b for _, b in forms))
    assert close(rates.kept(PEOPLE, told(after), told(before)).value, expected)


def test_replies_that_did_not_end_count_at_the_upper_end_alone() -> None:
    """As if each had told it: in the form that gives most so, and with the same lower end."""
    of = [(0.25, 0.0, 0.5), (0.5, None, 0.25), *[(0.0, 0.25, 0.0)] * 6]
    most = [(0.25, 0.5, 0.0), (0.75, None, 0.0), *[(0.0, 0.25, 0.0)] * 6]
    ended, cut, told_all = told(of), told(of, cut=True), told(most)
    assert (rates.going_on(PEOPLE, ended), rates.going_on(PEOPLE, cut)) == (0, 2)
    plain, found, ceiling = (rates.above_floor(PEOPLE, said, 0.125) for said in (ended, cut, told_all))
    assert found.value == plain.value == pytest.approx((0.25 + 0.5 + 6 * 0.25) / 8 - 0.125)
    assert (found.interval.low, found.interval.high) == (plain.interval.low, ceiling.interval.high)
    assert plain.interval.high < ceiling.interval.high


@given(LEAKS, LEAKS)
@example([[False] * 8], [[True] * 8])
@settings(max_examples=20)
def test_leaks_are_counted_person_by_person_over_seeds(seeds: list[list[bool]], other: list[list[bool]]) -> None:
    seeds, other = ([*one, *one, *one][: len(seeds)] for one in (seeds, other))
    first, second = leaks(seeds), leaks(other)
    share, more = (sum(map(sum, one)) / 8 / len(seeds) for one in (seeds, other))
    assert rates.leaked(PEOPLE, first).value == pytest.approx(share)
    assert rates.leaked_above(PEOPLE, first, 0.25).value == pytest.approx(share - 0.25)
    step = rates.leak_step(PEOPLE, ("a", first), ("b", second))
    back = rates.leak_step(PEOPLE, ("b", second), ("a", first))
    assert (step.earlier, step.later, step.difference) == ("a", "b", pytest.approx(more - share))
    assert (back.earlier, back.interval.high) == ("b", pytest.approx(-step.interval.low))
    ids = [[{f"i{at}" for at in range(8) if seed[at]} for seed in both] for both in zip(seeds, other, strict=True)]
    assert [set(rates.who(PEOPLE, seed)) for seed in first] == [x for x, _ in ids]
    may = [{one.id: one.id in x | y for one in PEOPLE} for x, y in ids]
    assert rates.count_unheard(PEOPLE, first, may) == len(set().union(*(y - x for x, y in ids)))
    for count in (rates.count_unheard, rates.overlap):
        with pytest.raises(ValueError, match="shorter"):
            count(PEOPLE, [*first, first[0]], second)
    shares = [len(x & y) / len(x | y) for x, y in ids if x | y]
    found, counted = rates.overlap(PEOPLE, first, second)
    assert (close(found, shares), counted) == (True, len(shares))


def test_who_may_have_leaked_widens_a_step_downwards_and_a_share_upwards() -> None:
    half, none, every = ([at < some for at in range(8)] for some in (4, 0, 8))
    few, possible, more = leaks([none]), leaks([half]), leaks([every])
    sure, unsure = (rates.leak_step(PEOPLE, ("a", few), ("b", more), may) for may in (None, possible))
    assert (unsure.difference, unsure.interval.high) == (sure.difference, sure.interval.high)
    assert unsure.interval.low == rates.leak_step(PEOPLE, ("a", possible), ("b", more)).interval.low < sure.interval.low
    least = rates.leak_step(PEOPLE, ("a", possible), ("b", more), few)
    assert least.interval.low == rates.leak_step(PEOPLE, ("a", possible), ("b", more)).interval.low, "never narrower"
    share = rates.leaked_above(PEOPLE, few, 0.125, possible)
    assert (share.value, share.interval.low) == (-0.125, -0.125)
    assert share.interval.high == rates.leaked_above(PEOPLE, possible, 0.125).interval.high
    assert rates.leaked_above(PEOPLE, possible, 0.125, few) == rates.leaked_above(PEOPLE, possible, 0.125)


def test_nobody_is_no_number_and_people_are_the_units() -> None:
    twice: list[Any] = [*PEOPLE, *(SimpleNamespace(id=one.id, cluster=one.cluster) for one in PEOPLE)]
    silent = rates.silent(PEOPLE)
    found = rates.extraction(twice, silent)
    assert (found.interval.units, found.interval.high) == (8, pytest.approx(zero_rate_bound(8)))
    assert silent == {one.id: {FORMS[0]: ItemShares(0, 0, 0, 0, 0)} for one in PEOPLE}
    assert [rates.extraction(PEOPLE, silent, form).value for form in ("plain", None)] == [0, 0]
    everything = told([(1.0, 1.0, 0.0)] * 8)
    assert rates.extraction(PEOPLE, everything).interval.high == 1
    for rate in (rates.extraction([], silent), rates.kept(PEOPLE, silent, silent), rates.leaked([], [{}])):
        assert math.isnan(rate.value)
        assert rate.interval.units == 0
