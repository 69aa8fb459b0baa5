"""How many people a margin takes is said before a run, and is what an interval takes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from uds_bench.audits.association import power
from uds_bench.audits.association.audit import notes
from uds_bench.audits.association.claims import LOSS
from uds_bench.audits.association.probe_set import ProbeSet
from uds_bench.audits.association.section import Association
from uds_bench.statistics import cluster_interval


@pytest.mark.parametrize(("facts", "luck"), [(1, 0.02), (3, 0.04), (3, 0.12)])
def test_so_many_clear_a_model_that_knows_nobody_and_half_do_not(facts: int, luck: float) -> None:
    """Facts drawn one by one, of people as they are asked, from other seeds."""
    needed = power.people_needed(facts, luck)
    assert needed is not None

    def cleared(people: int) -> float:
        passed, clusters = 0, np.repeat(np.arange(people), facts)
        for seed in range(200):
            hits = [float(one < luck) for one in np.random.default_rng([7, seed]).random(people * facts)]
            passed += cluster_interval(hits, clusters, limits=(0.0, 1.0)).high - luck <= 0.05
        return passed / 200

    assert cleared(needed) >= 0.9, "19 of 20, less what two hundred draws leave open"
    assert cleared(needed // 2) < 0.9


def test_a_margin_that_nobody_can_show_has_no_number() -> None:
    assert power.people_needed(1, 0.3, margin=0.001) is None


def test_the_plan_tells_of_each_way_of_asking() -> None:
    def item(at: int, phrasings: int) -> SimpleNamespace:
        values = ("Riga", *map(str, range(99)))
        return SimpleNamespace(
            cluster=f"p{at}",
            subject=SimpleNamespace(id=f"p{at}", cohort="known"),
            templates=("t",) * phrasings,
            candidates=SimpleNamespace(truths=("Riga",), values=values),
        )

    def told(people: int, kept: int = 0, **section: object) -> list[str]:
        asked, held_out = ([item(at, count) for at in range(people)] for count in (3, 2))
        others = [item(people + at // 3, 1) for at in range(3 * kept)]
        probe_set = ProbeSet((*asked, *others), frozenset(one.cluster for one in asked), tuple(held_out))
        manifest = SimpleNamespace(of=lambda kind: Association(model="m", **section))
        return notes(SimpleNamespace(data=lambda name: probe_set, manifest=manifest))

    asked, held_out = (power.people_needed(1, luck) for luck in (round(1 - 0.99**3, 3), 0.01))
    assert told(40, candidates={"npo": "n"}) == [
        f"association.forgotten: a margin of 0.05 takes some {asked} people in 3 phrasings, 40 ask",
        f"association.rephrased: a margin of 0.05 takes some {held_out} people in 2 phrasings, 40 ask",
    ]
    assert told(4, candidates={"npo": "n"}) == [], "each is decided alone"
    assert told(40) == [], "nobody is judged"
    takes = power.people_needed(3, power.HONEST_LOSS, LOSS - power.HONEST_LOSS)
    assert told(4, 60, candidates={"npo": "n"}) == [
        f"association.retained: a bound of 0.1 takes some {takes} people of whom something is held, 60 are asked about"
    ]
