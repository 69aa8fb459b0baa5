"""`uds-bench plan --cost`: what the missing scores take, measured on some of the facts."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import Command
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from made_cells import InThisProcess

from uds_bench.attacks.proof import proving
from uds_bench.attacks.relearn import relearn
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.facts import FactSet, embedded, encode, load_facts
from uds_bench.inference.generation import continue_greedily
from uds_bench.methods.memory import gib
from uds_bench.scoring.cost import (
    GROWS,
    PlannedCost,
    StageCost,
    _seconds,
    _Trial,
    counting_tokens,
    planned_cost,
)
from uds_bench.scoring.decoding_cost import DecodingCost
from uds_bench.scoring.engine import BASE, Needs
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.part import FEW, least, part
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store

PLAIN = ("em", "es", "uds")
UNASKED = DecodingCost(lambda: pytest.fail("nothing was decoded"))


def runner_of(folder: Path, facts: FactSet, store: Path) -> MetricRunner:
    specs = {name: CheckpointSpec(str(folder / "runs" / name)) for name in ("full", "retain", "npo")}
    return MetricRunner(specs, facts, Store(store))


def cost_of(runner: MetricRunner, *metrics: str, enough: float = math.inf) -> PlannedCost:
    found = planned_cost(runner, [ScoreRequest(n, m) for n in runner.specs for m in metrics], enough)
    assert found is not None
    return found


def stages(found: PlannedCost) -> dict[str, StageCost]:
    return {stage.what: stage for stage in found.stages}


@pytest.fixture(scope="module")
def authors() -> FactSet:
    return embedded(16, 8, 0)


def test_a_part_has_its_share_of_every_split(authors: FactSet) -> None:
    some = part(authors, 0.25)
    for split in ("forget", "retain"):
        assert 0.25 <= len(some.split(split)) / len(authors.split(split)) <= 0.3
        assert some.split(split).clusters == authors.split(split).clusters[: len(some.split(split).clusters)]
    whole = Counter(fact.cluster for fact in authors)
    assert all(whole[name] == count for name, count in Counter(fact.cluster for fact in some).items())
    assert part(authors, 1) == authors
    few = part(authors, least(authors))
    assert len(few.split("forget")) == FEW
    assert all(len(few.split(split).clusters) == 2 for split in ("forget", "retain"))


def test_one_teacher_forced_pass_is_one_pass(saved_release: Path, tmp_path: Path) -> None:
    facts = load_facts(saved_release / "facts.jsonl")
    runner = runner_of(saved_release, facts, tmp_path / "store")
    one = stages(cost_of(runner, "em"))["a checkpoint"]
    read = [encode(fact, runner.loaded("full").tokenizer) for fact in facts.split("forget")]
    assert 1 <= one.passes * sum(len(each.ids) for each in read) / one.tokens <= 1.001
    # An answer is read to its end, and a fact to that of its entity.
    assert 1 <= one.passes < 2.5


def test_each_layer_that_is_patched_by_itself_takes_a_pass(saved_release: Path, tmp_path: Path) -> None:
    runner = runner_of(saved_release, load_facts(saved_release / "facts.jsonl"), tmp_path / "store")
    layers = len(runner.loaded("full").anatomy.blocks)
    requests = [ScoreRequest("npo", "uds", "attention")]
    slow = planned_cost(runner, requests, 0)
    assert slow is not None
    (only,) = slow.stages
    assert only.passes >= layers


def test_some_facts_tell_what_all_of_them_take(saved_release: Path, authors: FactSet, tmp_path: Path) -> None:
    runner = runner_of(saved_release, authors, tmp_path / "store")
    some, every = cost_of(runner, *PLAIN, enough=0), cost_of(runner, *PLAIN)
    assert (some.tried, every.tried) == (len(part(authors, GROWS * least(authors))), len(authors))
    for what, stage in stages(every).items():
        guessed = stages(some)[what]
        assert (guessed.count, guessed.weights) == (stage.count, stage.weights)
        # UDS looks at its first batch twice, however many there are.
        assert 0.8 < guessed.tokens / stage.tokens < 2
        assert 0.8 < guessed.passes / stage.passes < 2
    assert 0.5 < some.disk / every.disk < 2
    assert every.seconds == pytest.approx(sum(stage.count * stage.seconds for stage in every.stages))
    assert not (tmp_path / "store").exists()


def test_what_cannot_be_scored_is_told(release: Path, tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    save_checkpoint(release / "runs" / "npo", FAMILIES["gpt2"](len(tokenizer), seed=1), tokenizer)
    found = cost_of(runner_of(release, load_facts(release / "facts.jsonl"), tmp_path / "store"), "em")
    assert list(found.failed) == ["npo: em"]
    assert stages(found)["a reference"].tokens > 0


def test_the_command_tells_it_and_writes_nothing(
    command: Command, saved_release: Path, scored: Path, tmp_path: Path
) -> None:
    words = ("plan", "--manifest", saved_release / "uds.toml", "--metrics", "em,uds", "--cost")
    done = command(*words, "--store", tmp_path / "none")
    told = done.stdout
    assert "a reference" in told
    assert "Loading weights" not in done.stderr
    assert "minutes in one process" in told
    assert not (tmp_path / "none").exists()
    (found,) = json.loads(command(*words, "--store", tmp_path / "none", "--json").stdout)["cost"]
    assert found["audit"] == "depth"
    assert [(stage["what"], stage["count"]) for stage in found["stages"]] == [("a reference", 2), ("a checkpoint", 1)]
    assert found["memory"] > 10**8
    assert json.loads(command(*words, "--store", scored / "store", "--json").stdout)["cost"] == []
    assert "nothing was measured" in command(*words, "--store", scored / "store").stdout
    assert "cost" not in json.loads(command(*words[:-1], "--store", tmp_path / "none", "--json").stdout)


def test_what_is_usable_is_measured_beside_what_is_not(command: Command, release: Path, tmp_path: Path) -> None:
    words = ("plan", "--manifest", release / "uds.toml", "--store", tmp_path / "none", "--cost")
    by_metric = command(*words, "--metrics", "em,mia_loss", exit=4)
    assert "minutes in one process" in by_metric.stdout
    assert "not in it: 3 unusable" in by_metric.stdout
    assert "mia_loss needs facts of the split holdout" in by_metric.stderr
    tokenizer = tiny_tokenizer()
    save_checkpoint(release / "runs" / "npo", FAMILIES["llama"](len(tokenizer), layers=2), tokenizer)
    (found,) = json.loads(command(*words, "--metrics", "em,uds", "--json", exit=4).stdout)["cost"]
    assert [(stage["what"], stage["count"]) for stage in found["stages"]] == [("a reference", 2)]
    assert (found["measures"], found["failed"]) == (["em", "uds"], {})
    for file in (release / "runs" / "full").iterdir():
        file.unlink()
    assert "nothing was measured" in command(*words, "--metrics", "uds", exit=4).stdout


def test_what_a_task_of_an_engine_asks_for_is_told(
    command: Command, saved_release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class Asked(InThisProcess):
        def run(self, make: Any, tasks: Any, wait: bool, takes: Needs) -> Any:
            asked.append(takes)
            return iter(())

    words = ("--manifest", saved_release / "uds.toml", "--metrics", "em", "--store", tmp_path / "none")
    (found,) = json.loads(command("plan", *words, "--cost", "--json").stdout)["cost"]
    task = Needs(**found["task"])
    assert task.memory > BASE
    assert f"a task asks for {gib(task.memory)} of memory at most" in command("plan", *words, "--cost").stdout
    monkeypatch.setattr("uds_bench.cli.score.find_engine", lambda _: Asked())
    command("score", *words, "--out", tmp_path / "scores.json", "--engine", "ray", exit=1)
    assert set(asked) == {task}


@pytest.mark.slow
def test_rows_of_one_audit_are_told_apart_by_what_is_scored(command: Command, tmp_path: Path) -> None:
    words = ("plan", "--audits", "localization", "--store", tmp_path / "none", "--cost")
    found = json.loads(command(*words, "--json").stdout)["cost"]
    assert len(found) > 1
    assert len({tuple(one["measures"]) for one in found}) == len(found)
    told = command(*words).stdout
    assert all(name in told for one in found for name in one["measures"])


@pytest.mark.parametrize(("any_number", "each"), [(9.0, 0.5), (0.0, 2.0), (5.0, 0.0)])
def test_two_parts_tell_what_grows_from_what_does_not(any_number: float, each: float) -> None:
    parts = [_Trial(facts, {"one": any_number + each * facts}, steps={"one": {}}) for facts in (6, 12)]
    assert _seconds("one", *parts, 50, UNASKED) == pytest.approx(any_number + 50 * each)
    assert _seconds("one", parts[1], parts[1], 12, UNASKED) == parts[1].seconds["one"], "all of them were tried"
    disturbed = replace(parts[0], seconds={"one": 99.0})
    assert _seconds("one", disturbed, parts[1], 50, UNASKED) == parts[1].seconds["one"]


def test_steps_of_decoding_grow_with_batches(saved_release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step takes as long for any number of rows here: a batch that is not full takes what one row takes."""
    decoding = DecodingCost(lambda: load(CheckpointSpec(str(saved_release / "runs" / "full"))))
    assert decoding.of({4: 1.0}) > 0
    monkeypatch.setattr(DecodingCost, "_step", lambda self, rows: 2.0)
    assert decoding.of({}) == 0.0
    assert [decoding.of({4: 100.0, 2: 100.0}, times) for times in (1, 10, 50)] == [400.0, 400.0, 800.0]
    trial = _Trial(12, {"one": 500.0}, steps={"one": {4: 200.0}})
    assert _seconds("one", trial, trial, 12, decoding) == 500.0
    first = _Trial(6, {"one": 450.0}, steps={"one": {2: 200.0}})
    assert _seconds("one", first, trial, 120, decoding) == pytest.approx(100 + 108 * 50 / 6 + 400)


def test_what_is_generated_is_counted_in_steps(saved_release: Path, tmp_path: Path) -> None:
    runner = runner_of(saved_release, load_facts(saved_release / "facts.jsonl"), tmp_path / "store")
    full = runner.loaded("full")
    with counting_tokens({type(block) for block in full.anatomy.blocks}, len(full.anatomy.blocks)) as passed:
        continue_greedily(full, [[5, 6, 7], [5, 8, 9]], 5)
    assert sum(passed.steps.values()) <= 4
    assert max(passed.steps) == 2
    assert passed.tokens == 6 + sum(rows * steps for rows, steps in passed.steps.items())


def test_what_a_proof_takes_does_not_grow_with_what_is_asked(saved_release: Path, tmp_path: Path) -> None:
    """It is of people whom nobody knows, as many of them for two facts as for two hundred."""
    runner = runner_of(saved_release, load_facts(saved_release / "facts.jsonl"), tmp_path / "store")
    full, words = runner.loaded("full"), torch.tensor([[5, 6, 7]])
    with counting_tokens({type(block) for block in full.anatomy.blocks}, len(full.anatomy.blocks)) as passed:
        with proving():
            full.model(words)
        assert (passed.fixed, passed.tokens) == (3, 0)
        full.model(words)
    assert (passed.fixed, passed.tokens) == (3, 3)
    spec, attack = runner.spec("npo"), relearn(epochs=1, lr=1e-3, batch_size=6)
    with counting_tokens({type(block) for block in full.anatomy.blocks}, len(full.anatomy.blocks)) as passed:
        attack.proof(spec, "cpu", runner.facts)
    assert passed.fixed > passed.tokens == 0


def test_rows_that_do_not_fit_at_a_time_are_decoded_one_part_after_the_other(
    saved_release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timed(self: DecodingCost, rows: int) -> float:
        if rows > 2:
            raise torch.OutOfMemoryError
        return 1.0

    monkeypatch.setattr(DecodingCost, "_timed", timed)
    decoding = DecodingCost(lambda: load(CheckpointSpec(str(saved_release / "runs" / "full"))))
    assert [decoding.of({rows: 1.0}) for rows in (2, 4, 5)] == [1.0, 2.0, 3.0]
