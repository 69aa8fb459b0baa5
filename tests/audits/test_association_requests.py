"""Fakes of one request, made by rule: who is not forgotten never passes, and who is mostly does."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from uds_bench.audits.association.claims import RATE
from uds_bench.audits.association.exact_rank import decide_each, decide_requests, rank_tests, strangers_needed
from uds_bench.audits.association.rates import held
from uds_bench.audits.association.reach import SAID, Shown, by_luck, rank_test
from uds_bench.audits.association.rechecks import unknown_before
from uds_bench.audits.association.scoring import ranks
from uds_bench.verdicts import Decision, Verdict

NLL = NDArray[np.float64]
Rule = Callable[[int, NLL], None]
"""What becomes of a fact: its number, and the likelihoods of its values about the person, changed in place."""
KNOWN = 6.0
"""Nats by which a value that was told is likelier."""
STRANGERS = strangers_needed(2)
RUNS = 40


def honest(at: int, own: NLL) -> None:
    """Nobody told anything."""


def kept(at: int, own: NLL) -> None:
    own[0] -= KNOWN


def one_forgotten(at: int, own: NLL) -> None:
    """Of three facts two are said as before."""
    if at:
        kept(at, own)


def crowded(at: int, own: NLL) -> None:
    """The truth and a dozen false values are told, and it stays the likeliest."""
    own[:13] -= KNOWN
    own[0] = own.min() - 0.1


def judged(rule: Rule, facts: int, values: int, seed: int, popular: float = 0.0) -> Decision:
    """One person by a rule, and strangers of whom nothing was told. `popular`: nats by which the truth is guessed."""
    rng = np.random.default_rng(seed)
    known = rng.normal(0, 1, (facts, values))
    known[:, 0] -= popular
    item = SimpleNamespace(generic=False, candidates=SimpleNamespace(truths=("0",), values=[*map(str, range(values))]))
    rows, found = [], {}
    for name in range(1 + STRANGERS):
        for at in range(facts):
            nll = known[at] + rng.normal(0, 1, (2, values))
            if not name:
                rule(at, nll[0])
            one: Any = SimpleNamespace(id=f"{name}/{at}", cluster=str(name), kind=str(at), templates=("one",))
            known_as = ranks(item, nll)
            found[one.id] = held([known_as], ["0"], [("phrasing 0", (known_as.said or "",))])
            rows.append(one)
    tests = rank_tests(dict.fromkeys(("own", "before"), (rows[:facts], rows[facts:], found, found)))
    decided = decide_each(tests)["0"]
    assert decide_requests(tests, alone=True).verdict is decided.verdict
    return decided


def counted(rule: Rule, facts: int, values: int) -> Counter[Verdict]:
    return Counter(judged(rule, facts, values, seed).verdict for seed in range(RUNS))


@pytest.mark.parametrize(
    ("rule", "facts", "values"),
    [(kept, 1, 60), (kept, 3, 26), (one_forgotten, 3, 26), (crowded, 3, 26), (crowded, 3, 101), (crowded, 1, 101)],
)
def test_who_is_not_forgotten_never_passes(rule: Rule, facts: int, values: int) -> None:
    assert counted(rule, facts, values)[Verdict.PASS] == 0


def test_two_facts_that_are_left_fail() -> None:
    assert counted(one_forgotten, 3, 26)[Verdict.FAIL] >= 0.9 * RUNS


@pytest.mark.parametrize(("facts", "values"), [(1, 101), (3, 26)])
def test_who_is_forgotten_passes(facts: int, values: int) -> None:
    found = counted(honest, facts, values)
    bound = RATE + 3 * math.sqrt(RATE * (1 - RATE) / RUNS)
    assert found[Verdict.FAIL] <= bound * RUNS
    assert found[Verdict.UNDECIDED] <= bound * RUNS


@pytest.mark.parametrize("rule", [honest, kept])
def test_a_fact_of_two_values_tells_nobody_and_says_so(rule: Rule) -> None:
    for seed in range(10):
        found = judged(rule, 1, 2, seed)
        assert found.verdict is Verdict.UNDECIDED
        assert "luck ranks all of it first with 0.500, by the number of values" in found.text
        assert "give 39 counterfactuals, or more facts" in found.text


def test_facts_of_few_values_tell_together() -> None:
    """Luck says six of them once in sixty-four times."""
    assert {judged(kept, 6, 2, seed).verdict for seed in range(10)} <= {Verdict.FAIL, Verdict.UNDECIDED}
    assert sum(judged(kept, 8, 2, seed).verdict is Verdict.FAIL for seed in range(10)) >= 8


def test_a_value_that_most_strangers_are_guessed_to_have_is_told_or_undecided() -> None:
    """Similar names are guessed to have it too, so that it is no rival's fame that is ranked."""
    known, unknown = ([judged(rule, 1, 101, seed, popular=5.0) for seed in range(20)] for rule in (kept, honest))
    assert sum(one.verdict is Verdict.FAIL for one in known) >= 15
    assert Verdict.PASS not in {one.verdict for one in known}
    unsure = [one for one in unknown if one.verdict is Verdict.UNDECIDED]
    assert unsure
    assert all("is of strangers: ask for what is harder to guess" in one.text for one in unsure)


@pytest.mark.parametrize(("first", "guessed", "is_guess"), [(1.0, 0.6, True), (0.0, 0.6, False), (1.0, 0.01, False)])
def test_why_the_model_before_shows_nothing(first: float, guessed: float, is_guess: bool) -> None:
    assert ("easily guessed" in unknown_before(first, guessed)) is is_guess


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.data())
def test_luck_is_counted_over_all_outcomes(shares: list[float], data: st.DataObject) -> None:
    said = data.draw(st.integers(0, len(shares)))
    outcomes = product((0, 1), repeat=len(shares))
    chances = [
        math.prod(share if hit else 1 - share for share, hit in zip(shares, hits, strict=True))
        for hits in outcomes
        if sum(hits) >= said
    ]
    assert by_luck(shares, said) == pytest.approx(sum(chances), abs=1e-12)


def slow_rank_test(standing: NLL, lead: NLL, first: NLL, chance: float) -> tuple[float, int]:
    """Name by name, fact by fact."""
    names, facts = standing.shape
    luck = [max(chance, sum(first[name, at] >= SAID for name in range(names)) / names) for at in range(facts)]
    above, below = [], []
    for name in range(names):
        high, low = 0.0, 0.0
        for at in range(facts):
            seldom = 1 - standing[name, at]
            if first[name, at] >= SAID:
                seldom = min(seldom, luck[at] / 2)
            high -= math.log(seldom)
            low -= math.log(standing[name, at])
        total = sum(lead[name])
        above.append((round(high, 9), total))
        below.append((round(low, 9), -total))
    places = [sum(other >= sums[0] for other in sums) for sums in (above, below)]
    return min(1.0, 2 * min(places) / names), places[0]


@pytest.mark.parametrize("facts", [1, 2, 5])
@pytest.mark.parametrize("values", [2, 7, 50])
def test_the_rank_test_is_that_of_its_slow_reference(facts: int, values: int) -> None:
    rng = np.random.default_rng(facts * values)
    for _ in range(20):
        standing = (rng.integers(0, values, (40, facts)) + 0.5) / values
        lead, first = rng.integers(-3, 4, (40, facts)).astype(float), rng.integers(0, 2, (40, facts)).astype(float)
        p, _, rank = rank_test(Shown(standing, lead, first, first, np.full(facts, 1 / values)))
        assert (p, rank) == slow_rank_test(standing, lead, first, 1 / values)


def test_places_are_as_likely_whatever_the_facts_are() -> None:
    """Of people like the strangers one in twenty is told, with facts of few values and of many, said or not."""
    rng, runs = np.random.default_rng(0), 1500
    told = 0
    for _ in range(runs):
        standing = np.stack([(rng.integers(0, n, 60) + 0.5) / n for n in (3, 26, 101)], axis=1)
        first = (rng.random((60, 3)) < (0.4, 0.04, 0.01)).astype(float)
        shown = Shown(standing, rng.normal(size=(60, 3)), first, first, np.array([1 / 3, 1 / 26, 1 / 101]))
        told += rank_test(shown)[0] <= RATE
    assert told / runs <= RATE + 3 * math.sqrt(RATE * (1 - RATE) / runs)
    assert told / runs > 0.02


def test_a_number_that_is_none_tells_nothing() -> None:
    standing = np.full((5, 1), 0.5)
    lead = np.array([math.nan, 0, 0, 0, 0]).reshape(-1, 1)
    p, side, _ = rank_test(Shown(standing, lead, *[np.zeros((5, 1))] * 2, np.array([0.1])))
    assert (math.isnan(p), side) == (True, "")
