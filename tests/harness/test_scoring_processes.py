"""Scoring in several processes gives the scores of one, and what failed there is told here."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import small_models as small
from safetensors.torch import load_file, save_file

from uds_bench.attacks import find_attack
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import UdsError
from uds_bench.facts import load_facts
from uds_bench.scoring import workers
from uds_bench.scoring.engine import BASE, ProcessReport, needs
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.spread import Work
from uds_bench.scoring.store import Store

METRICS = ("uds", "entity_accuracy", "prob")


def runner(models: Path, store: Path, more: dict[str, CheckpointSpec]) -> MetricRunner:
    specs = {name: CheckpointSpec(str(models / name)) for name in small.NAMES} | more
    attacks = {"relearn": find_attack("relearn", lr=1e-3, batch_size=8)}
    return MetricRunner(specs, load_facts(models / "facts.jsonl"), Store(store), attacks=attacks)


def plan(names: list[str]) -> list[ScoreRequest]:
    return [ScoreRequest(n, m, None, attack) for n in names for m in METRICS for attack in ("none", "relearn")]


@pytest.mark.slow
def test_two_processes_and_one_find_the_same(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Path(shutil.copytree(models / "retain2", tmp_path / "broken"))
    weights = load_file(broken / "model.safetensors")
    weights["model.norm.weight"][0] = float("nan")
    save_file(weights, broken / "model.safetensors", {"format": "pt"})
    copy = Path(shutil.copytree(broken, tmp_path / "copy"))
    specs = {"broken": CheckpointSpec(str(broken)), "copy": CheckpointSpec(str(copy))}
    wanted = plan(["full", "retain", "retain2", "full2", "broken", "copy"])
    found = []
    for place, count in (("one", 1), ("two", 2)):
        monkeypatch.setattr("uds_bench.scoring.workers.processes", lambda *_, count=count: count)
        current = runner(models, tmp_path / place, specs)
        values: dict[ScoreRequest, float | str | None] = {}
        for request in wanted:
            try:
                values[request] = current.score(request, wanted).value
            except UdsError as error:
                values[request] = str(error)
        found.append(values)
        assert current.loads["retain2"] == current.loads["full2 under relearn"] == 1
    one, two = found
    for request in wanted:
        if isinstance(one[request], float):
            assert two[request] == pytest.approx(one[request], abs=1e-6), request
        else:
            assert "NaN" in str(one[request]), "the broken checkpoint and its copy alone fail"
            assert str(specs[request.checkpoint].model) in str(one[request]), "each by its own name"
            assert two[request] == one[request]


def test_large_models_few_groups_and_gpus_are_scored_here(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer, full = runner(models, models / "nowhere", {}), CheckpointSpec(str(models / "full"))

    def work(groups: int, of: CheckpointSpec | None = full) -> list[Work]:
        return [Work(scorer, lambda: scorer, [["group"]] * groups, of)]

    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    assert workers.processes(work(20), "cpu") == 2
    assert workers.processes([*work(workers.WORTH_A_PROCESS - 1), *work(1)], "cpu") == 2, "what is foreseen counts"
    assert workers.processes(work(workers.WORTH_A_PROCESS - 1), "cpu") == 1
    assert workers.processes(work(20, None), "cpu") == 1
    assert workers.processes(work(20), "cuda") == 1
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "2")
    assert workers.processes(work(20), "cpu") == 1, "runs side by side share the machine"
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT")
    monkeypatch.setattr(workers, "cores", lambda: 64)
    monkeypatch.setattr("uds_bench.device.CGROUPS", tmp_path)
    (tmp_path / "memory.max").write_text(str(7 << 30))
    assert workers.processes(work(64), "cpu") == 3, "a process takes more than its models"
    (tmp_path / "memory.max").write_text(str(1 << 20))
    assert workers.processes(work(20), "cpu") == 1


@pytest.mark.parametrize(("attack", "models_held"), [("none", 6), ("int8", 6), ("relearn_lora", 6), ("relearn", 9)])
def test_a_task_asks_for_the_memory_of_what_an_attack_trains(
    models: Path, tmp_path: Path, attack: str, models_held: int
) -> None:
    current = runner(models, tmp_path, {})
    current.attacks |= {name: find_attack(name) for name in ("int8", "relearn_lora")}
    work = current.work([ScoreRequest("retain2", "prob", attack=attack)])
    model = sum(tensor.numel() * 4 for tensor in load_file(models / "full" / "model.safetensors").values())
    assert needs(work.largest, work.trains, "cpu").memory == BASE + models_held * model


def test_what_is_foreseen_is_scored_beside_what_is_wanted_and_what_fails_there_is_told_later(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uds_bench.scoring.workers.processes", lambda *_: 2)
    crew, facts, store = workers.WorkerPool(), load_facts(models / "facts.jsonl"), Store(tmp_path)
    specs = {name: CheckpointSpec(str(models / name)) for name in small.NAMES} | {"gone": CheckpointSpec("/nowhere")}
    first, second = (MetricRunner(specs, facts, store, crew=crew) for _ in range(2))
    later = [ScoreRequest(name, "prob") for name in ("retain2", "gone")]
    crew.foresee(lambda: [second.work(later)])
    first.score(ScoreRequest("full", "prob"))
    assert dict(first.loads) == {"full": 1}
    with pytest.raises(UdsError, match="/nowhere"):
        second.score(later[1])
    second.score(later[0])
    assert second.loads["retain2"] == 1, "it is not loaded again"


class Waiting:
    """A scorer whose groups, in another process, wait for a file that this one makes when it goes on."""

    def __init__(self, go_on: Path, parent: int) -> None:
        self.loads: Counter[str] = Counter()
        self.go_on, self.parent = go_on, parent

    def compute_group(self, group: list[str]) -> bool:
        until = time.monotonic() + 60
        while os.getpid() != self.parent and not self.go_on.is_file() and time.monotonic() < until:
            time.sleep(0.05)
        self.loads[group[0] if time.monotonic() < until else "too late"] += 1
        return True

    def failed(self) -> dict[str, UdsError]:
        return {}

    def take(self, outcome: ProcessReport) -> None:
        self.loads += outcome.loads


def test_what_is_foreseen_keeps_nobody_who_wants_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uds_bench.scoring.workers.processes", lambda *_: 2)
    scorers = [Waiting(tmp_path / name, os.getpid()) for name in ("there", "later")]
    scorers[0].go_on.touch()
    now, later = (
        Work(scorer, partial(Waiting, scorer.go_on, os.getpid()), [[f"{name} {at}"] for at in range(3)], None)
        for name, scorer in zip(("now", "later"), scorers, strict=True)
    )
    crew = workers.WorkerPool()
    crew.foresee(lambda: [later])
    crew.score(now)
    assert dict(scorers[0].loads) == {f"now {at}": 1 for at in range(3)}
    scorers[1].go_on.touch()
    left = [group for group in later.groups if group[0] not in scorers[1].loads]
    crew.score(replace(later, groups=left))
    assert dict(scorers[1].loads) == {f"later {at}": 1 for at in range(3)}, "each once, none given up"
    crew.close()


def test_who_closes_begins_nothing_more_and_is_told_what_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uds_bench.scoring.workers.processes", lambda *_: 2)
    scorer = Waiting(tmp_path / "go on", os.getpid())
    scorer.go_on.touch()
    make = partial(Waiting, scorer.go_on, os.getpid())
    crew, other = workers.WorkerPool(), Waiting(scorer.go_on, os.getpid())
    crew.foresee(lambda: [Work(scorer, make, [[f"{at}"] for at in range(40)], None)])
    crew.score(Work(other, make, [["now"]], None))
    crew.close()
    crew.close()
    assert dict(other.loads) == {"now": 1}
    assert set(scorer.loads.values()) <= {1}
    assert scorer.loads.keys() < {f"{at}" for at in range(40)} or len(scorer.loads) == 40


def test_where_there_is_no_other_process_nothing_is_scored_before_it_is_wanted(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uds_bench.scoring.workers.processes", lambda *_: 1)
    crew, specs = workers.WorkerPool(), {name: CheckpointSpec(str(models / name)) for name in small.NAMES}
    first, second = (
        MetricRunner(specs, load_facts(models / "facts.jsonl"), Store(tmp_path), crew=crew) for _ in range(2)
    )
    crew.foresee(lambda: [second.work([ScoreRequest("retain2", "prob")])])
    first.score(ScoreRequest("full", "prob"))
    assert not second.loads
