"""How many people the gate takes to clear a model that knows nobody, by chance alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from uds_bench.audits.association import controls
from uds_bench.audits.association.claims import MARGIN
from uds_bench.audits.association.probe_items import Candidates, ProbeItem, ask_about
from uds_bench.audits.association.rates import Memorization
from uds_bench.facts.exposed_people import EACH, TOLD, Cohorts
from uds_bench.facts.properties import embedded
from uds_bench.facts.subjects import Person, Statement

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


@pytest.mark.slow
def test_the_embedded_people_are_enough_to_clear_who_knows_nobody() -> None:
    sizes = Cohorts()
    built_in, too_few = (cleared(*crowd) for crowd in ((sizes.requests, sizes.never_seen, EACH), (76, 60, 2)))
    assert round(20 * built_in) == 19, "as the docs say"
    assert too_few < 0.5, "of two facts each the plan asks for some 130 people"
