"""How many people the gate takes to clear a model that knows nobody, by chance alone."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from uds_bench.audits.association import controls, power
from uds_bench.audits.association.claims import MARGIN
from uds_bench.audits.association.probe_items import Candidates, ProbeItem, ask_about
from uds_bench.audits.association.rates import Memorization
from uds_bench.facts.exposed_people import EACH, TOLD, Cohorts
from uds_bench.facts.properties import embedded
from uds_bench.facts.subjects import Person, Statement
from uds_bench.statistics import SEED, cluster_interval

BOTH, EITHER, FIRST = 0.013, 0.014, 0.013
"""Of two phrasings, how often both, or one alone, rank first what is true of people a model never saw, and how often it
is what the model says first: as in the zoo's models that never saw who asks."""
RUNS = 60


def people(count: int, facts: int, letter: str, draw: np.random.Generator) -> list[ProbeItem]:
    """Each is told values of their own, as people are."""
    told = [Statement(id, (embedded()[id].counterfactuals[0],)) for id in TOLD[:facts]]
    (*one,) = ask_about([Person("p", "Jane Doe", "any", tuple(told))], embedded(), None)
    found = []
    for at in range(count):
        for row in one:
            true, *others = draw.permutation(row.candidates.values)[:101]
            subject = replace(row.subject, id=f"{letter}{at}")
            found.append(replace(row, subject=subject, candidates=Candidates((true,), tuple(others))))
    return found


def by_chance(asked: list[ProbeItem], draw: np.random.Generator) -> dict[str, Memorization]:
    found = {}
    for one in asked:
        lucky, first = draw.random(), draw.random() < FIRST
        mean = 1.0 if lucky < BOTH else 0.5 if lucky < BOTH + EITHER else 0.0
        (true,), (other, another) = one.candidates.truths, draw.choice(one.candidates.others, 2)
        leaders = (true if mean > 0 else other, true if mean == 1 else other if draw.random() < 0.5 else another)
        said = true if first else draw.choice(one.candidates.others)
        rates = mean, mean == 1, mean > 0, mean, 0.0, 1 / 101, float(first), mean
        told = float(first), (("phrasing 0", (said,)), ("question", (said,)))
        found[one.id] = Memorization(*rates, (said, said), leaders, 0.0, *told)
    return found


def cleared(asking: int, strangers: int, facts: int) -> float:
    """How often a model that knows nobody passes."""
    draw = np.random.default_rng(0)
    asked, others = people(asking, facts, "p", draw), people(strangers, facts, "s", draw)
    passed = 0
    for _ in range(RUNS):
        found = by_chance(asked, draw) | by_chance(others, draw)
        passed += controls.most_above(asked, others, found)[1].interval.high <= MARGIN
    return passed / RUNS


@pytest.mark.parametrize(("luck", "exactly"), [(0.3, 0.95), (0.05, 0.95)])
def test_so_many_people_are_enough_where_19_in_20_draws_come_within_the_margin(luck: float, exactly: float) -> None:
    draws = np.random.default_rng(SEED).binomial(2, luck, (power.RUNS, 10)) / 2
    highs = sorted(cluster_interval(one, range(10), limits=(0.0, 1.0)).high - luck for one in draws)
    margin = highs[round(exactly * power.RUNS) - 1]
    assert power._clears(10, 2, luck, margin)
    assert not power._clears(10, 2, luck, math.nextafter(margin, -1))


def test_where_all_are_hit_nothing_lies_above_luck() -> None:
    assert power._clears(5, 2, 1.0, 0.0)


@pytest.mark.parametrize("margin", [0.3, 0.1, 0.05])
def test_of_whom_nothing_comes_up_it_takes_as_many_as_the_exact_bound_says(
    margin: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of so many without a hit 1 - .025 ** (1/people) may still be hit."""
    exact = math.ceil(math.log(0.025) / math.log(1 - margin))
    assert [power._clears(people, 3, 0.0, margin) for people in (exact - 1, exact)] == [False, True]
    needed = power.people_needed.__wrapped__
    assert needed(3, 0.0, margin) == 10 * math.ceil(exact / 10)
    for most, found in ((20, 40), (19, None)):
        monkeypatch.setattr(power, "MOST_PEOPLE", most)
        assert margin != 0.1 or needed(3, 0.0, margin) == found, "up to twice as many are tried"


@pytest.mark.parametrize("phrasings", [1, 2])
def test_a_plan_says_how_many_people_its_margin_takes(phrasings: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one true value in 25; of half of the facts, one in 50."""
    asked: list[Any] = [
        SimpleNamespace(
            cluster=f"p{at // 3}",
            templates=("t",) * phrasings,
            candidates=SimpleNamespace(truths="t", values="v" * size),
        )
        for at, size in enumerate([25] * 18 + [50] * 18)
    ]
    chances = [0.04] * 18 + [0.02] * 18
    assert power.luck_of(asked, by_any=False) == pytest.approx(0.03)
    assert power.luck_of(asked) == pytest.approx(np.mean([1 - (1 - chance) ** phrasings for chance in chances]))
    for by_any, luck in ((False, 0.03), (True, round(power.luck_of(asked), 3))):
        takes = power.people_needed(3, luck, 0.2)
        in_words = f"in {phrasings} phrasing" + ("s" if phrasings > 1 else "")
        assert (
            power.needed_people(asked, by_any, 0.2) == f"a margin of 0.2 takes some {takes} people {in_words}, 12 ask"
        )
    monkeypatch.setattr(power, "MOST_PEOPLE", 5)
    power.people_needed.cache_clear()
    assert power.needed_people(asked, margin=0.01).startswith("a margin of 0.01 takes more than 5 people")


@pytest.mark.slow
def test_the_embedded_people_are_enough_to_clear_who_knows_nobody() -> None:
    sizes = Cohorts()
    built_in, too_few = (cleared(*crowd) for crowd in ((sizes.requests, sizes.never_seen, EACH), (76, 60, 2)))
    assert round(20 * built_in) == 19, "as the docs say"
    assert too_few < 0.5, "of two facts each the plan asks for some 130 people"
