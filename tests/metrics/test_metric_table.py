"""What each metric of outputs says of itself: its direction decides who forgot, and its needs what is loaded."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from uds_bench.facts import FactSet, embedded
from uds_bench.metrics import METRICS
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store

KS = ("k0.4", "k0.2", "k0.1")
BOTH = ("forget", "holdout")
TABLE = {
    "em": ("knowledge", "", ("default",), ("forget",), (), True),
    "es": ("knowledge", "", ("field", "textbook"), ("forget",), (), True),
    "prob": ("knowledge", "", ("default",), ("forget",), (), False),
    "para_prob": ("knowledge", "", ("default",), ("forget",), (), False),
    "truth_ratio": ("knowledge", "", ("prob_mean", "closer_to_1", "true_better"), ("forget",), (), False),
    "forget_quality": ("erasure", "retain", ("prob_mean",), ("forget",), ("truth_ratio",), False),
    "fluency": ("utility", "generations", ("distinct_4",), ("forget",), (), False),
    "rouge": ("knowledge", "generations", ("recall",), ("forget",), (), True),
    "para_rouge": ("knowledge", "generations", ("recall",), ("forget",), (), True),
    "jailbreak_rouge": ("knowledge", "generations", ("recall",), ("forget",), (), True),
    "mia_loss": ("knowledge", "holdout", ("default",), BOTH, (), False),
    "mia_zlib": ("knowledge", "holdout", ("default",), BOTH, (), False),
    "mia_min_k": ("knowledge", "holdout", KS, BOTH, (), False),
    "mia_min_k_plus_plus": ("knowledge", "holdout", KS, BOTH, (), False),
    "s_loss": ("erasure", "holdout retain", ("default",), BOTH, ("mia_loss",), False),
    "s_zlib": ("erasure", "holdout retain", ("default",), BOTH, ("mia_zlib",), False),
    "s_min_k": ("erasure", "holdout retain", KS, BOTH, ("mia_min_k",), False),
    "s_min_k_plus_plus": ("erasure", "holdout retain", KS, BOTH, ("mia_min_k_plus_plus",), False),
    "privleak": ("erasure", "holdout retain", KS, BOTH, ("mia_min_k",), False),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_metric_is_what_the_table_says(name: str) -> None:
    one = METRICS[name]
    told = (one.direction, " ".join(sorted(one.needs)), one.variants, one.splits, one.reads, one.counts_choices)
    assert (one.name, *told) == (name, *TABLE[name])
    assert one.limits == ((-100.0, math.inf) if name == "privleak" else (0.0, 1.0))
    assert one.reversed == ({"closer_to_1"} if name == "truth_ratio" else set())
    assert one.source


@pytest.mark.parametrize("metric", ["entity_accuracy[free]", "uds[aligned]"])
def test_what_is_to_be_kept_is_part_of_what_is_asked_where_it_is_read(metric: str, tmp_path: Path) -> None:
    """A person who is kept under another name of the cluster is another one, and no stored score is of that."""
    name, _, variant = metric.rstrip("]").partition("[")
    facts = embedded(forget=2, retain=2, holdout=0)
    merged = FactSet(replace(fact, cluster="one") if fact.split == "retain" else fact for fact in facts)

    def asked(facts: FactSet) -> str:
        request = ScoreRequest("npo", name, variant)
        return MetricRunner({}, facts, Store(tmp_path)).evaluator_of(request).digest

    assert asked(facts) == asked(FactSet(facts))
    assert asked(facts) != asked(merged)
