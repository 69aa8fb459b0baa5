"""An attack that does not bring back what is merely hidden is no attack: relearning on real small models."""

from pathlib import Path

import pytest
import small_models as small

from uds_bench.attacks import find_attack
from uds_bench.audits.depth.reading import order_steps
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.facts import load_facts
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store
from uds_bench.verdicts import Step, Verdict, decide_ordering

GENTLE = {"epochs": 3, "lr": 1e-3, "batch_size": 2}
"""A tenth of the rate that the small models were trained at, for long enough to undo a last block trained to refuse."""


@pytest.fixture(scope="module")
def runner(models: Path, tmp_path_factory: pytest.TempPathFactory) -> MetricRunner:
    attacks = {"gentle": find_attack("relearn", **GENTLE), "idle": find_attack("relearn", lr=1e-12)}
    specs = {name: CheckpointSpec(str(models / name)) for name in small.NAMES}
    store = Store(tmp_path_factory.mktemp("store"))
    return MetricRunner(specs, load_facts(models / "facts.jsonl"), store, attacks=attacks)


def regained(runner: MetricRunner, name: str, attack: str) -> Step:
    """Entity accuracy after the attack minus before it, paired over facts, with its interval over authors."""
    plan = [ScoreRequest(name, "entity_accuracy", None, which) for which in ("none", attack)]
    (step,) = order_steps([runner.score(request, plan) for request in plan])
    return step


def test_what_was_hidden_comes_back_by_an_interval(runner: MetricRunner) -> None:
    step = regained(runner, "shallow", "gentle")
    assert decide_ordering([step], "authors").verdict is Verdict.PASS, step


def test_what_was_never_known_does_not(runner: MetricRunner) -> None:
    never, hidden = regained(runner, "retain3", "gentle"), regained(runner, "shallow", "gentle")
    assert never.interval.high < hidden.interval.low, (never, hidden)


def test_what_is_known_is_not_destroyed(runner: MetricRunner) -> None:
    step = regained(runner, "full", "gentle")
    assert step.difference > -0.1, step


def test_an_attack_that_changes_nothing_is_seen_to_change_nothing(runner: MetricRunner) -> None:
    step = regained(runner, "shallow", "idle")
    assert decide_ordering([step], "authors").verdict is not Verdict.PASS, step
