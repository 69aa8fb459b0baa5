"""`uds-bench import`: reported numbers beside measured ones, as open-unlearning or as a paper writes them."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import Command, Refused


def value(scored: Path, metric: str) -> Any:
    scores = json.loads((scored / "scores.json").read_text())["scores"]
    return next(s for s in scores if (s["checkpoint"], s["attack"], s["metric"]) == ("npo", "none", metric))


def test_aggregates_of_open_unlearning_stand_beside_scores(command: Command, scored: Path, tmp_path: Path) -> None:
    es = value(scored, "es")
    evaluated = {
        "extraction_strength": {"agg_value": es["value"], "value_by_index": {"0": {"score": 0.1}}},
        "exact_memorization": {"agg_value": 2.0},
        "forget_Q_A_gibberish": {"agg_value": 0.9},
        "mia_loss": {"agg_value": None},
        "model_utility": {"agg_value": 0.5},
        "forget_truth_ratio": {"agg_value": 0.5},
    }
    (tmp_path / "TOFU_EVAL.json").write_text(json.dumps(evaluated))
    words = ("import", tmp_path / "TOFU_EVAL.json", scored / "scores.json", "--checkpoint", "npo")
    first, second, third, fourth, fifth = json.loads(command(*words, "--json").stdout)["rows"]
    assert (first["metric"], first["variant"]) == ("es", "field")
    assert first["measured"] == first["reported"] == es["value"]
    assert first["interval"] == es["ci"]
    assert second["holds"] is False, "two is no share"
    assert (third["metric"], third["reported"], third["holds"]) == ("mia_loss", None, None)
    assert (fourth["metric"], fourth["variant"], fourth["holds"]) == ("model_utility", "nine", None)
    assert (fifth["metric"], fifth["variant"]) == ("truth_ratio", "closer_to_1")
    shown = command(*words).stdout
    assert shown.splitlines()[-1] == "not measured here: forget_Q_A_gibberish"


def test_a_papers_numbers_go_by_our_names(command: Command, scored: Path, tmp_path: Path) -> None:
    (tmp_path / "paper.json").write_text(json.dumps({"uds": 0.5, "rouge": 0.25, "mia_zlib": 0.5}))
    rows = json.loads(
        command("import", tmp_path / "paper.json", scored / "scores.json", "--checkpoint", "npo", "--json").stdout
    )["rows"]
    assert [row["metric"] for row in rows] == ["uds", "rouge", "mia_zlib"]
    assert rows[2]["measured"] is None, "these facts have no holdout"


SCORE = "uds-bench score --manifest uds.toml --metrics es,truth_ratio,mia_min_k --variants --checkpoints npo --out"


def test_what_is_not_scored_is_told_with_the_command_that_scores_it(
    command: Command, refused: Refused, scored: Path, tmp_path: Path
) -> None:
    reported = tmp_path / "TOFU_EVAL.json"
    numbers = {"extraction_strength": 0.1, "forget_truth_ratio": 0.2, "mia_min_k": 0.3}
    reported.write_text(json.dumps({name: {"agg_value": number} for name, number in numbers.items()}))
    words = ("import", reported, tmp_path / "none.json", "--checkpoint", "npo")
    assert f"none.json: no such file; score what was reported first: {SCORE} {tmp_path / 'none.json'}" in refused(
        *words
    )
    told = refused("import", reported, scored / "scores.json", "--checkpoint", "mpo")
    assert SCORE.replace("npo", "mpo") in told
    told = command("import", reported, scored / "scores.json", "--checkpoint", "npo").stderr
    assert told.splitlines()[-1].endswith("--metrics mia_min_k --checkpoints npo --out scores.json")


@pytest.mark.parametrize(
    ("content", "checkpoint", "told"),
    [
        ("{", "npo", "is no JSON"),
        ("[1]", "npo", "is no object of metrics"),
        ('{"bleu": 0.5}', "npo", "reports no metric that is known here: it has bleu"),
        ('{"es": 0.5}', "mpo", "there is no 'mpo' in"),
    ],
)
def test_what_cannot_be_read_is_a_line(
    refused: Refused, scored: Path, tmp_path: Path, content: str, checkpoint: str, told: str
) -> None:
    (tmp_path / "paper.json").write_text(content)
    words = ("import", tmp_path / "paper.json", scored / "scores.json", "--checkpoint", checkpoint)
    assert told in refused(*words)
