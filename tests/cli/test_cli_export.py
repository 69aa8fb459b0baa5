"""`uds-bench export`: each tracker gets a run a candidate; real ones where they are installed, none of them online."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import Command, Refused

from uds_bench.cards.card import cards
from uds_bench.cli.documents import read_run
from uds_bench.cli.export import Tracker, numbers, words


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


@pytest.mark.parametrize("tracker", Tracker)
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


@pytest.mark.parametrize("tracker", Tracker)
def test_a_tracker_that_is_not_installed_is_a_line(
    refused: Refused, run_report: Path, monkeypatch: pytest.MonkeyPatch, tracker: Tracker
) -> None:
    monkeypatch.setattr("uds_bench.extras.is_installed", lambda package: package != tracker)
    assert f"pip install 'uds-bench[{tracker}]'" in refused("export", run_report, "--to", tracker)
