"""How many people the gate takes to clear a model that knows nobody, by chance alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from uds_bench.audits.association import controls
from uds_bench.audits.association.claims import MARGIN
from uds_bench.audits.association.probe_items import ProbeItem, ask_about
from uds_bench.audits.association.rates import Memorization
from uds_bench.facts.exposed_people import EACH, TOLD, Cohorts
from uds_bench.facts.properties import embedded
from uds_bench.facts.subjects import Person, Statement

BOTH, EITHER, FIRST = 0.013, 0.014, 0.013
"""Of two phrasings, how often both, or one alone, rank first what is true of people a model never saw, and how often it
is what the model says first: as in the zoo's models that never saw who asks."""
RUNS = 60


def people(count: int, facts: int, letter: str) -> list[ProbeItem]:
    told = [Statement(id, (embedded()[id].counterfactuals[0],)) for id in TOLD[:facts]]
    (*one,) = ask_about([Person("p", "Jane Doe", "any", tuple(told))], embedded(), None)
    return [replace(row, subject=replace(row.subject, id=f"{letter}{at}")) for at in range(count) for row in one]


def by_chance(asked: list[ProbeItem], draw: np.random.Generator) -> dict[str, Memorization]:
    found = {}
    for one in asked:
        lucky, first = draw.random(), draw.random() < FIRST
        mean = 1.0 if lucky < BOTH else 0.5 if lucky < BOTH + EITHER else 0.0
        said = one.candidates.truths[0] if first else "nothing"
        found[one.id] = Memorization(mean, mean == 1, mean > 0, mean, 0.0, 1 / 101, float(first), mean, (said, said))
    return found


def cleared(asking: int, strangers: int, facts: int) -> float:
    """How often a model that knows nobody passes."""
    draw, asked, others = np.random.default_rng(0), people(asking, facts, "p"), people(strangers, facts, "s")
    passed = 0
    for _ in range(RUNS):
        found = by_chance(asked, draw) | by_chance(others, draw)
        passed += controls.most_above(asked, others, found)[1].interval.high <= MARGIN
    return passed / RUNS


@pytest.mark.slow
def test_the_embedded_people_are_enough_to_clear_who_knows_nobody() -> None:
    sizes = Cohorts()
    of_twenty = [round(20 * cleared(*crowd)) for crowd in ((sizes.requests, sizes.never_seen, EACH), (76, 60, 2))]
    assert of_twenty == [19, 17], "as the docs say"
