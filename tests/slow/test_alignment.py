"""Alignment over the trained zoo: honest models keep their order, other initializations are told apart.

Each draw is judged on its own models; the other draws are models of another initialization.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from uds_bench.audits.depth.zoo import MODELS, candidates, pools
from uds_bench.audits.depth.zoo.recipes import facts
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.facts.authors import KNOWING
from uds_bench.metrics import METRICS
from uds_bench.metrics.subject import ReferenceModels, Subject
from uds_bench.statistics import auc
from uds_bench.zoo.ready import build_models

pytestmark = pytest.mark.slow
DRAWS = (0, 1, 2)
KNOW = ("full2", *(name for name in pools.QUICK if name.split("_")[0] in KNOWING))
NEVER = ("retain2", *(name for name in pools.QUICK if name.split("_")[0] not in KNOWING))
RANDOM_SPARED = 0.1
"""Above what random weights come to, .05 (`tests/fakes`)."""
JUDGED = ("retain99", "retain95", *candidates.MODELS, *KNOW, *NEVER)


@cache
def folders() -> dict[str, Path]:
    names = [f"{name}@{draw}" if draw else name for name, draw in product(MODELS, DRAWS)]
    return build_models(names)


@cache
def references(draw: int) -> ReferenceModels:
    known = {name: load(CheckpointSpec(str(folders()[at(name, draw)]))) for name in ("full", "retain")}
    return ReferenceModels(known.__getitem__, {name: one.digest for name, one in known.items()}, facts())


def at(name: str, draw: int) -> str:
    return f"{name}@{draw}" if draw else name


@cache
def measured(name: str, of: int, judged_in: int, metric: str, variant: str) -> tuple[float, float]:
    """A metric of a model of one draw, patched into the full model of another, and the least fit over layers."""
    checkpoint = load(CheckpointSpec(str(folders()[at(name, of)])))
    found = METRICS[metric].compute(Subject(checkpoint, references(judged_in)), variant)
    fit: list[float] = found.notes.get("fit", [1.0])
    return float(np.mean([one.value for one in found.values if one.value is not None])), min(fit)


def uds(name: str, of: int, judged_in: int, variant: str) -> float:
    return measured(name, of, judged_in, "uds", variant)[0]


@pytest.mark.parametrize("draw", DRAWS)
def test_honest_models_keep_their_order(draw: int) -> None:
    plain, aligned = ([uds(name, draw, draw, variant) for name in JUDGED] for variant in ("block", "aligned"))
    correlation = spearmanr(plain, aligned).statistic
    print(f"draw {draw}: rank correlation {correlation:.4f} over {len(JUDGED)} models")
    assert correlation >= 0.95


@pytest.mark.parametrize("draw", DRAWS)
def test_pools_are_told_apart_no_worse(draw: int) -> None:
    found = {
        variant: auc(*([uds(name, draw, draw, variant) for name in side] for side in (NEVER, KNOW)))
        for variant in ("block", "aligned")
    }
    print(f"draw {draw}: AUC {found}")
    assert found["aligned"] >= found["block"]


@pytest.mark.parametrize("draw", [1, 2])
def test_of_another_initialization_who_knows_lies_below_who_never_knew(draw: int) -> None:
    sides = ("full", *KNOW), ("retain", *NEVER)
    know, never = ([uds(name, draw, 0, "aligned") for name in side] for side in sides)
    print(f"draw {draw} in draw 0: knows at most {max(know):.3f}, never knew at least {min(never):.3f}")
    assert max(know) < min(never)


def test_no_knowledge_comes_in_by_the_map() -> None:
    """Models that never knew lose no more than twins in another basis may differ by, .02."""
    gaps = [uds(name, draw, draw, "aligned") - uds(name, draw, draw, "block") for name in NEVER for draw in DRAWS]
    print(f"never knew, aligned less plain: {min(gaps):+.3f} to {max(gaps):+.3f}")
    assert np.mean(gaps) > -0.02


@pytest.mark.parametrize("draw", DRAWS)
def test_what_a_map_explains_and_what_is_spared(draw: int) -> None:
    """The figures that both bounds were set beside; no trained model is as bare as random weights."""
    told = {name: measured(name, draw, draw, "spared", "default") for name in (*JUDGED, "full")}
    for name, (spared, fit) in sorted(told.items(), key=lambda one: one[1]):
        print(f"draw {draw}: {name:24} spared {spared:.3f}  fit {fit:+.3f}")
    assert min(spared for spared, _ in told.values()) > RANDOM_SPARED
