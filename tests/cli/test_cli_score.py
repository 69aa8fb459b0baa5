"""`uds-bench score` on small real models: what it writes, keeps, refuses and survives."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import Command, Refused

from uds_bench.claims.fact_rows import with_rows
from uds_bench.engines.shard import Shard
from uds_bench.metrics import METRICS
from uds_bench.metrics.metric import Measured, Metric
from uds_bench.metrics.subject import Subject
from uds_bench.scores import Scores


def _strict(text: str) -> Any:
    def refuse(word: str) -> float:
        raise AssertionError(f"{word} in strict JSON")

    return json.loads(text, parse_constant=refuse)


def test_file_has_one_row_for_each_checkpoint_metric_and_variant(fed: list[Metric], scored: Path) -> None:
    document = _strict((scored / "scores.json").read_text())
    assert document.keys() == {"schema", "scores", "errors"}
    assert (document["schema"], document["errors"]) == (1, [])
    found = [tuple(row[key] for key in ("checkpoint", "attack", "metric", "variant")) for row in document["scores"]]
    wanted = [
        (checkpoint, "none", metric.name, variant)
        for checkpoint in ("full", "retain", "npo")
        for metric in fed
        for variant in metric.variants
    ]
    assert found == wanted
    assert Scores.from_json(document).to_json()["scores"] == document["scores"]


def test_rows_keep_the_facts_ids_and_give_a_reason_for_every_null(scored: Path) -> None:
    rows = _strict((scored / "scores.json").read_text())["scores"]
    for row in rows:
        kept = row["metric"] in ("model_utility", "spared")
        planned = ["duarte/prize", "vey/town"] if kept else ["solheim/born", "kamau/genre"]
        assert [fact["id"] for fact in row["per_fact"]] == planned
        skipped = [fact for fact in row["per_fact"] if fact["value"] is None]
        assert all(fact["reason"] for fact in skipped)
        assert row["n_planned"] == len(planned)
        assert (row["n_scored"], row["n_invalid"]) == (len(planned) - len(skipped), len(skipped))
    values = {row["checkpoint"]: row["value"] for row in rows if (row["metric"], row["variant"]) == ("uds", "block")}
    assert values["full"] == pytest.approx(0, abs=1e-5)
    assert values["retain"] == pytest.approx(1, abs=1e-5)


def test_pytest_finds_every_score_and_loads_no_model(scored: Path, run_report: Path) -> None:
    run = with_rows(_strict(run_report.read_text()), run_report)
    assert run["loads"] == {}
    written = {json.dumps(row, sort_keys=True) for row in _strict((scored / "scores.json").read_text())["scores"]}
    assert run["scores"]
    assert {json.dumps(row, sort_keys=True) for row in run["scores"]} <= written


def test_only_what_is_asked_for_is_written(command: Command, saved_release: Path, scored: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "scores.csv"
    words = ("--manifest", saved_release / "uds.toml", "--store", scored / "store", "--out", out)
    shown = command("score", *words, "--metrics", "uds, entity_accuracy,uds", "--checkpoints", "npo").stdout
    rows = list(csv.DictReader(out.open()))
    assert [(row["checkpoint"], row["metric"], row["variant"]) for row in rows] == [
        ("npo", "uds", "aligned"),
        ("npo", "entity_accuracy", "prefixed"),
    ]
    assert float(rows[0]["low"]) <= float(rows[0]["value"]) <= float(rows[0]["high"])
    assert f"{float(rows[0]['value']):.3f}" in shown
    assert [path.name for path in out.parent.iterdir()] == ["scores.csv"]


def test_a_checkpoint_that_fails_is_listed_and_the_others_are_written(
    command: Command, release: Path, tmp_path: Path
) -> None:
    weights = sorted((release / "runs" / "npo").glob("*.safetensors"))[0]
    weights.write_bytes(weights.read_bytes()[:100])
    words = ("--manifest", release / "uds.toml", "--store", tmp_path / "store", "--out", tmp_path / "scores.json")
    said = command("score", *words, "--metrics", "uds", exit=1).stderr
    document = _strict((tmp_path / "scores.json").read_text())
    assert [row["checkpoint"] for row in document["scores"]] == ["full", "retain", "npo"]
    lost = document["scores"][-1]
    assert (lost["value"], lost["ci"], lost["n_scored"]) == (None, None, 0)
    assert lost["n_planned"] == lost["n_invalid"] == document["scores"][0]["n_planned"]
    assert {(row["value"], row["reason"]) for row in lost["per_fact"]} == {(None, document["errors"][0]["message"])}
    error = document["errors"][0]
    assert len(document["errors"]) == 1
    assert (error["checkpoint"], error["metric"], error["variant"]) == ("npo", "uds", "aligned")
    assert weights.name in error["message"]
    assert f"could not score npo: {error['message']}" in said


def test_what_was_computed_before_a_metric_failed_is_kept(
    command: Command, saved_release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(subject: Subject, variant: str) -> Measured:
        raise ValueError("no such thing")

    broken = Metric("broken", "knowledge", "this test", compute=fail)
    monkeypatch.setitem(METRICS, "broken", broken)
    words = ("--manifest", saved_release / "uds.toml", "--store", tmp_path / "store", "--out", tmp_path / "s.json")
    command("score", *words, "--metrics", "entity_accuracy,broken", "--checkpoints", "npo", exit=1)
    document = _strict((tmp_path / "s.json").read_text())
    assert [row["metric"] for row in document["scores"] if row["n_scored"]] == ["entity_accuracy"]
    assert [row["metric"] for row in document["errors"]] == ["broken"]
    assert "ValueError: no such thing" in document["errors"][0]["message"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--attacks", "nf4"), "--attacks: nf4 is not in the manifest: add nf4 = {} under [attacks]"),
        (("--attacks", "none, relearn"), "--attacks: relearn is not in the manifest: add relearn = {} under [attacks]"),
        (("--attacks", "nf5"), "--attacks: there is no 'nf5': choose from none"),
        (("--metrics", "uds,udz"), "--metrics: there is no 'udz': did you mean 'uds'?"),
        (("--metrics", ","), "--metrics: ',' holds no name"),
        (("--checkpoints", "nopo"), "--checkpoints: there is no 'nopo': did you mean 'npo'?"),
        (("--device", "tpu"), "--device: 'tpu' is not a device: choose auto, cpu or cuda"),
        (("--engine", "slurn"), "--engine: there is no 'slurn': did you mean 'slurm'"),
        (("--shard", "3/2"), "--shard: '3/2' is no share: write it as 2/8, from 1/8 to 8/8"),
        (("--out", "."), "--out: . is a folder: name a file"),
        (("--store", "/dev/null/store"), "/dev/null/store is not writable"),
    ],
)
def test_an_option_that_cannot_be_used_is_told_before_anything_is_computed(
    refused: Refused, saved_release: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    out = tmp_path / "out" / "scores.json"
    assert said in refused("score", "--manifest", saved_release / "uds.toml", "--out", out, *words)
    assert not out.exists()


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("slurm:local", marks=pytest.mark.needs("submitit")),
        pytest.param("ray", marks=[pytest.mark.needs("ray"), pytest.mark.slow]),
    ],
)
def test_an_engine_writes_what_this_process_does(engine: str, saved_release: Path, tmp_path: Path) -> None:
    """As processes of their own: what an engine sets up of logging outlasts a command."""
    found = []
    for name in (engine, "local"):
        place = tmp_path / name.replace(":", "_")
        words = ["score", "--manifest", saved_release / "uds.toml", "--store", place / "store", "--metrics", "prob,uds"]
        words += ["--out", place / "s.json", "--engine", name]
        ran = subprocess.run(
            [sys.executable, "-m", "uds_bench", *map(str, words)], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        rows = _strict((place / "s.json").read_text())["scores"]
        found.append([{key: row[key] for key in ("checkpoint", "metric", "value", "per_fact")} for row in rows])
    assert found[0] == found[1]
    assert len(found[0]) == 2 * len(("full", "retain", "npo"))


def test_a_share_that_is_empty_says_so(
    command: Command, saved_release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shard, "has", lambda *_: False)
    words = ("--manifest", saved_release / "uds.toml", "--store", tmp_path / "store", "--metrics", "prob")
    said = command("score", *words, "--out", tmp_path / "s.json", "--shard", "7/8").stderr
    assert "share 7/8 is empty, all scores are in other shares" in said


def test_shares_are_scored_apart_and_read_together(command: Command, saved_release: Path, tmp_path: Path) -> None:
    words = ("--manifest", saved_release / "uds.toml", "--store", tmp_path / "store", "--metrics", "prob,uds")
    names = []
    for share in ("1/2", "2/2"):
        command("score", *words, "--out", out := tmp_path / "share.json", "--shard", share)
        names.append({(row["checkpoint"], row["metric"]) for row in _strict(out.read_text())["scores"]})
    assert not names[0] & names[1]
    assert names[0] | names[1] == {(name, metric) for name in ("full", "retain", "npo") for metric in ("prob", "uds")}
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "store" / "cells").rglob("*.json")}
    command("score", *words, "--out", tmp_path / "all.json")
    assert len(_strict((tmp_path / "all.json").read_text())["scores"]) == len(before) == 6
    assert before == {path: path.stat().st_mtime_ns for path in before}
