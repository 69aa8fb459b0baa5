"""`uds-bench export`: each tracker gets a run a candidate; real ones where they are installed, none of them online."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import Command, Refused

from uds_bench.cards.card import cards
from uds_bench.cli.documents import read_run
from uds_bench.cli.export import SEND, Tracker, numbers, words
from uds_bench.scores import Scores


def _of_mlflow(folder: Path) -> dict[str, float]:
    import mlflow

    (run,) = mlflow.search_runs(experiment_names=["unlearning"], output_format="list")
    assert run.info.run_name == "npo"
    assert run.data.tags["depth.score"]
    return dict(run.data.metrics)


def _of_trackio(folder: Path) -> dict[str, float]:
    from trackio.sqlite_storage import SQLiteStorage

    (row,) = SQLiteStorage.get_logs("unlearning", "npo")
    return {key: value for key, value in row.items() if isinstance(value, float)}


def _of_wandb(folder: Path) -> dict[str, float]:
    (file,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    content = file.read_bytes()
    return {"depth.score": 0.0} if b"depth.score" in content else {}


READ: dict[str, Callable[[Path], dict[str, float]]] = {"mlflow": _of_mlflow, "trackio": _of_trackio, "wandb": _of_wandb}


@pytest.mark.parametrize("tracker", SEND)
def test_a_run_reaches_its_tracker(
    command: Command, run_report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracker: Tracker
) -> None:
    if find_spec(tracker) is None:
        pytest.skip(f"not applicable: {tracker} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    told = command("export", run_report, "--to", tracker, "--project", "unlearning").stdout
    assert f"sent to {tracker}, project unlearning: npo" in told
    sent = READ[tracker](tmp_path)
    (card,) = cards(read_run(run_report))
    assert set(numbers(card)) & set(sent)
    assert {key: sent[key] for key in numbers(card) if key in sent} == numbers(card) or tracker is Tracker.WANDB


def test_what_is_sent_are_numbers_and_verdicts(run_report: Path) -> None:
    (card,) = cards(read_run(run_report))
    assert all(isinstance(value, float) for value in numbers(card).values())
    assert words(card)["result"] == card.result
    assert {*words(card)} == {"result", *(one.id for one in card.claims)}


@pytest.mark.parametrize("tracker", SEND)
def test_a_tracker_that_is_not_installed_is_a_line(
    refused: Refused, run_report: Path, monkeypatch: pytest.MonkeyPatch, tracker: Tracker
) -> None:
    monkeypatch.setattr("uds_bench.extras.is_installed", lambda package: package != tracker)
    assert f"pip install 'uds-bench[{tracker}]'" in refused("export", run_report, "--to", tracker)


@pytest.mark.needs("pyarrow")
def test_rows_of_a_run_and_of_a_file_of_scores_become_a_parquet_file(
    command: Command, run_report: Path, tmp_path: Path
) -> None:
    import pyarrow.parquet as pq

    scores = tmp_path / "scores.json"
    scores.write_text(json.dumps(Scores(read_run(run_report).scores).to_json()))
    tables = []
    for source in (run_report, scores):
        out = tmp_path / f"{source.stem}.parquet"
        told = command("export", source, "--to", "parquet", "--out", out).stdout
        tables.append(pq.read_table(out))
        assert f"{len(tables[-1])} rows written to {out}" in told
    keys = ("checkpoint", "metric", "id", "value")
    of_run, of_scores = ([tuple(row[key] for key in keys) for row in table.to_pylist()] for table in tables)
    assert of_run == of_scores
    assert of_run == [
        (score.checkpoint, score.metric, fact.id, fact.value)
        for score in read_run(run_report).scores
        for fact in score.per_fact
    ]


def test_a_parquet_file_is_named_and_its_extra_asked_for(
    refused: Refused, run_report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "name it by --out rows.parquet" in refused("export", run_report, "--to", "parquet")
    assert "name it by --out" in refused("export", run_report, "--to", "mlflow", "--out", tmp_path / "a.parquet")
    monkeypatch.setattr("uds_bench.extras.is_installed", lambda package: package != "pyarrow")
    said = refused("export", run_report, "--to", "parquet", "--out", tmp_path / "a.parquet")
    assert "pip install 'uds-bench[parquet]'" in said
