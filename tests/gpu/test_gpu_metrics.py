"""Each metric, plain and under both attacks, on a GPU beside a CPU: models trained in seconds, float32."""

from __future__ import annotations

from pathlib import Path

import pytest
import small_models as small

from uds_bench.attacks import NONE, find_attack
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.claims.spec import TOLERANCE
from uds_bench.errors import UdsError
from uds_bench.facts import FactSet, embedded
from uds_bench.metrics import METRICS
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store

pytestmark = pytest.mark.needs("gpu")

APART = {NONE: TOLERANCE, "nf4": 1e-2, "relearn": 5e-2}
"""What scores may differ by. Sums in another order: as between two processors. NF4: a weight between two codes, to the
last bit, may get the other. Relearning: Adam's first step is as long where a gradient is rounding alone."""
FACTS = FactSet(fact for fact in embedded(small.FORGET, small.RETAIN, 4) if fact.kind in small.KINDS)


@pytest.mark.parametrize("attack", APART)
def test_scores_are_those_of_a_cpu(attack: str, device: str, models: Path, tmp_path: Path) -> None:
    specs = {name: CheckpointSpec(str(models / name), dtype="float32") for name in ("full", "retain", "shallow")}
    attacks = {"nf4": find_attack("nf4"), "relearn": find_attack("relearn", epochs=1, lr=3e-3, batch_size=6)}
    plan = [ScoreRequest("shallow", name, variant, attack) for name, one in METRICS.items() for variant in one.variants]
    found: dict[str, dict[str, float | str | None]] = {}
    for on in dict.fromkeys((device, "cpu")):
        runner, found[on] = MetricRunner(specs, FACTS, Store(tmp_path / on), on, attacks=attacks), {}
        for request in plan:
            try:
                found[on][str(request)] = runner.score(request, plan).value
            except UdsError as error:
                found[on][str(request)] = str(error)
    there, here = found[device], found["cpu"]
    apart = {
        name: (there[name], value)
        for name, value in here.items()
        if (
            there[name] != pytest.approx(value, abs=APART[attack]) if isinstance(value, float) else there[name] != value
        )
    }
    assert not apart
    assert sum(isinstance(value, float) for value in here.values()) > len(METRICS) / 2
