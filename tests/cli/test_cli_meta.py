"""`uds-bench meta` on small real models: what it writes, what it refuses, and what it says of gaps."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import Command, Refused
from safetensors.torch import load_file, save_file
from small_runs import Bench, judged_models

from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.facts import load_facts
from uds_bench.metrics import METRICS
from uds_bench.metrics.metric import Measured, Metric
from uds_bench.metrics.subject import Subject

FILES = ["meta.csv", "meta.json", "sweep.csv"]
UDS = METRICS["uds"]


class Judged:
    """What a run of the command wrote and said."""

    def __init__(self, out: Path, shown: Any) -> None:
        self.stdout, self.stderr = shown.stdout, shown.stderr
        assert sorted(path.name for path in out.iterdir()) == FILES
        text = (out / "meta.json").read_text()
        self.meta: dict[str, Any] = json.loads(text, parse_constant=pytest.fail)["meta"]
        self.table, self.sweep = (list(csv.DictReader((out / name).open())) for name in ("meta.csv", "sweep.csv"))

    def row(self, metric: str) -> dict[str, Any]:
        (row,) = (row for row in self.meta["rows"] if row["metric"] == metric)
        return dict(row)


@pytest.fixture
def judge(command: Command, bench: Bench, judged_store: Path) -> Callable[..., Judged]:
    """Runs the command on the manifest that was written last, with the scores of `judged_models` stored."""

    def run(*words: str, exit: int = 0) -> Judged:
        out = bench.folder / "new" / "out"
        given = ("--manifest", bench.folder / "uds.toml", "--store", judged_store, "--out", out, "--device", "cpu")
        return Judged(out, command("meta", *given, *words, exit=exit))

    return run


def test_all_three_files_have_all_of_it(bench: Bench, judge: Callable[..., Judged]) -> None:
    bench.judged()
    found = judge()
    for rows in (found.table, found.meta["rows"], found.meta["unfiltered"]):
        assert [row["metric"] for row in rows] == list(JUDGED)
    for row, told in zip(found.table, found.meta["rows"], strict=True):
        assert {name for name in row if row[name] == ""} == {name for name in told if told[name] in (None, "")}
        for name in ("faithfulness", "faithfulness_low", "faithfulness_high", "rob", "overall"):
            assert (float(row[name]) if row[name] else None) == told[name]
        assert float(row["faithfulness_low"]) <= float(row["faithfulness"]) <= float(row["faithfulness_high"])
        assert (told["rob"] is None) == bool(told["missing"])
    shown = found.stdout
    assert all(row["label"] in shown for row in found.table)
    assert f"{float(found.row('uds')['faithfulness']):.3f}" in next(x for x in shown.splitlines() if x[:4] == "UDS ")
    assert (found.meta["lacks"], found.meta["lacks_attacks"], found.meta["failed"]) == ("", "", [])


def test_the_models_are_told_apart_by_what_reads_their_knowledge(bench: Bench, judge: Callable[..., Judged]) -> None:
    bench.judged()
    found = judge()
    assert {metric: found.row(metric)["faithfulness"] for metric in ("uds", "prob", "rouge")} == dict.fromkeys(
        ("uds", "prob", "rouge"), 1.0
    )
    points = next(row for row in found.meta["attacks"] if row["metric"] == "uds")["points"]
    assert {p["model"]: p["why"] for p in points} == {"swapped": "", "shallow": "its relative utility is below 0.8"}
    assert found.row("uds")["n_kept"] == 1
    assert "1 of 2" in next(line for line in found.stdout.splitlines() if line.startswith("UDS "))


def test_the_sweep_has_the_scores_that_the_store_has(
    command: Command, bench: Bench, judge: Callable[..., Judged], judged_store: Path
) -> None:
    manifest = bench.judged()
    found = judge()
    places = {(row["checkpoint"], row["attack"]): row for row in found.sweep}
    assert list(places) == judged_models().needed()
    assert all(row[name] for row in found.sweep for name in (*JUDGED, "entity_accuracy"))
    assert {row["role"] for row in found.sweep} == {"full", "retain", "positive", "negative", "candidate"}
    out = bench.folder / "scores.csv"
    words = ("--manifest", manifest, "--store", judged_store, "--out", out, "--device", "cpu", "--attacks", "relearn")
    command("score", *words, "--checkpoints", "shallow", "--metrics", ",".join(JUDGED))
    for row in csv.DictReader(out.open()):
        assert row["value"]
        assert float(places["shallow", "relearn"][row["metric"]]) == float(row["value"])


def computing(name: str, compute: Callable[[Subject, str], Measured]) -> Metric:
    """A metric that does something else, by the same code as far as the store can tell."""
    compute.__module__ = METRICS[name].compute.__module__
    return replace(METRICS[name], compute=compute)


def test_what_is_stored_is_not_computed_again(
    bench: Bench, judge: Callable[..., Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(subject: Subject, variant: str) -> Measured:
        raise AssertionError("computed again")

    for name in JUDGED:
        monkeypatch.setitem(METRICS, name, computing(name, refuse))
    bench.judged()
    assert judge().meta["failed"] == []


@pytest.mark.slow
@pytest.mark.needs("submitit")
def test_an_engine_scores_what_is_missing_and_leaves_nothing_to_compute(
    bench: Bench, judge: Callable[..., Judged], judged_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process of its own: what an engine sets up of logging outlasts a command."""

    def refuse(subject: Subject, variant: str) -> Measured:
        raise AssertionError("computed again")

    weights = bench.copy("retain3", "mine") / "model.safetensors"
    changed = load_file(weights)
    changed["model.norm.weight"] += 0.25
    save_file(changed, weights, {"format": "pt"})
    models = {name: bench.models / name for name in judged_models().candidates} | {"mine": bench.folder / "mine"}
    words = ["--manifest", bench.judged(candidates=models, more=""), "--store", judged_store, "--device", "cpu"]
    words += ["--out", there := bench.folder / "there", "--engine", "slurm:local"]
    command_line = [sys.executable, "-m", "uds_bench", "meta", *map(str, words)]
    ran = subprocess.run(command_line, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    for name in JUDGED:
        monkeypatch.setitem(METRICS, name, computing(name, refuse))
    here = judge()
    assert here.sweep == list(csv.DictReader((there / "sweep.csv").open()))
    assert here.table == list(csv.DictReader((there / "meta.csv").open()))
    (mine,) = [row for row in here.sweep if row["checkpoint"] == "mine"]
    assert all(mine[name] for name in JUDGED)


@pytest.mark.parametrize("lacking", ["positive", "negative"])
def test_a_manifest_without_pools_is_refused(refused: Refused, bench: Bench, judged_store: Path, lacking: str) -> None:
    manifest = bench.judged(**{lacking: []})
    out = bench.folder / "out"
    said = refused("meta", "--manifest", manifest, "--store", judged_store, "--out", out)
    assert f"{manifest}: metrics are judged on models that know and models that never knew" in said
    assert "add [pools] positive and negative" in said
    assert not out.exists()


def test_a_model_that_is_in_two_places_is_refused(refused: Refused, bench: Bench) -> None:
    manifest = bench.judged(candidates=["swapped", "full2"])
    assert "'full2' is taken by" in refused("meta", "--manifest", manifest, "--out", bench.folder / "out")


def test_a_pool_that_holds_a_reference_again_is_refused(command: Command, bench: Bench, judged_store: Path) -> None:
    words = ("--manifest", bench.judged(positive=["full2", "copy"], more=""), "--store", judged_store)
    said = command("meta", *words, "--out", bench.folder / "out", "--device", "cpu", exit=4).stderr.splitlines()
    assert said[-1].startswith("uds-bench: error: [pools] copy holds the same weights as full")
    assert list((bench.folder / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("option", "value"), [("--out", "uds.toml"), ("--out", "/dev/null/out"), ("--store", "/dev/null/store")]
)
def test_a_folder_that_takes_no_files_is_told_before_anything_is_computed(
    refused: Refused, bench: Bench, judged_store: Path, option: str, value: str
) -> None:
    words = {"--manifest": bench.judged(), "--store": judged_store, "--out": bench.folder / "out", option: value}
    said = refused("meta", *(word for pair in words.items() for word in pair))
    assert "is not writable" in said
    assert option in said


def test_without_attacks_faithfulness_is_judged_and_robustness_says_what_it_lacks(
    bench: Bench, judge: Callable[..., Judged]
) -> None:
    bench.judged(more="[attacks]\nnf4 = {}\n")
    found = judge()
    lacks = "the manifest does not name the attacks relearn ([attacks])"
    assert found.meta["lacks_attacks"] == lacks
    assert f"uds-bench: {lacks}" in found.stderr.splitlines()
    for row in found.meta["rows"]:
        assert row["faithfulness"] is not None
        assert (row["q"], row["r"], row["rob"], row["overall"]) == (None,) * 4
        assert row["missing"]
    assert {row["attack"] for row in found.sweep} == {"none"}


def test_a_candidate_that_cannot_be_scored_is_a_gap_with_a_name(bench: Bench, judge: Callable[..., Judged]) -> None:
    cut(bench.copy("retain3", "broken"))
    models = {name: bench.models / name for name in judged_models().candidates} | {"broken": bench.folder / "broken"}
    bench.judged(candidates=models, more="")
    found = judge(exit=1)
    for row in found.meta["rows"]:
        assert row["faithfulness"] is not None
        assert row["rob"] is None
        assert "broken: not scored" in row["missing"]
    assert "broken" in {row["model"] for row in found.meta["no_standing"]}
    assert {row["what"] for row in found.meta["failed"]} >= {f"broken: {name}" for name in JUDGED}
    assert all(".safetensors" in row["reason"] for row in found.meta["failed"])
    assert "uds-bench: could not score broken: uds: " in found.stderr
    assert "broken" not in {row["checkpoint"] for row in found.sweep}


def test_a_metric_that_fails_on_one_of_a_pool_has_no_faithfulness(
    bench: Bench, judge: Callable[..., Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(subject: Subject, variant: str) -> Measured:
        raise ValueError("no such thing")

    # `base` is scored by no other test: of all its metrics but one a pool's AUC is made, and `em` fails.
    monkeypatch.setitem(METRICS, "em", computing("em", fail))
    bench.judged(negative=["base"], more="")
    found = judge(exit=1)
    em = found.row("em")
    assert em["faithfulness"] is None
    assert em["missing"].startswith("base: not scored")
    assert found.row("es")["faithfulness"] is not None
    (failed,) = found.meta["failed"]
    assert failed["what"] == "base: em"
    assert "ValueError: no such thing" in failed["reason"]
    assert "could not score base: em: " in found.stderr
    assert next(row for row in found.sweep if row["checkpoint"] == "base")["em"] == ""
    assert "EM" in found.stdout


def test_parts_of_a_block_are_scored_where_they_are_asked_for(bench: Bench, judge: Callable[..., Judged]) -> None:
    bench.judged(more="")
    scopes = {row["scope"] for row in judge("--components").meta["diagnostics"]["components"]}
    assert scopes == {"block", "attention", "attention_residual", "mlp"}
    assert judge().meta["diagnostics"]["components"] == [], "scored before, and not asked for"
    bench.judged(more="[metrics]\ncomponents = true\n")
    assert {row["scope"] for row in judge().meta["diagnostics"]["components"]} == scopes


def test_a_part_that_cannot_be_scored_is_said(
    bench: Bench, judge: Callable[..., Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(subject: Subject, variant: str) -> Measured:
        if variant == "mlp":
            raise ValueError("no such part")
        return UDS.compute(subject, variant)

    monkeypatch.setitem(METRICS, "uds", replace(UDS, compute=fail))
    bench.judged(candidates=["base"], more="")
    found = judge("--components", exit=1)
    assert {row["scope"] for row in found.meta["diagnostics"]["components"]} >= {"block", "attention"}
    assert "mlp" not in {row["scope"] for row in found.meta["diagnostics"]["components"]}
    assert "uds-bench: could not score base: uds[mlp]: " in found.stderr
    assert [row["what"] for row in found.meta["failed"]] == ["base: uds[mlp]"]


def test_of_a_share_nothing_is_judged(bench: Bench, command: Command, judged_store: Path) -> None:
    bench.judged()
    words = ("--manifest", bench.folder / "uds.toml", "--store", judged_store, "--device", "cpu")
    said = command("meta", *words, "--out", out := bench.folder / "new", "--shard", "1/3").stdout
    assert said.startswith("share 1/3: ")
    assert said.endswith(" 0 could not be computed; nothing is judged\n")
    assert not list(out.iterdir())


def test_words_of_a_file_of_ones_own_are_written_only_where_asked(bench: Bench, judge: Callable[..., Judged]) -> None:
    bench.judged(more="")
    plain = judge()
    hidden = plain.meta["diagnostics"]["hidden"]
    (fact,) = (f for f in load_facts(bench.models / "judged.jsonl") if f.id == hidden["fact"])
    words = {"text", "question", "prefix", "entity"}
    assert not words & {*hidden, *hidden["said"], *hidden["layers"][0]["lens"]}
    whole = json.dumps(plain.meta) + plain.stdout + plain.stderr
    assert fact.entity not in whole
    assert fact.question not in whole
    told = judge("--words").meta["diagnostics"]["hidden"]
    assert (told["question"], told["entity"]) == (fact.question, fact.entity)
    assert told["said"]["text"]
    assert all("text" in layer[way] for layer in told["layers"] for way in ("lens", "patched"))


def cut(folder: Path) -> None:
    weights = sorted(folder.glob("*.safetensors"))[0]
    weights.write_bytes(weights.read_bytes()[:100])
