"""`uds-bench compare --same`: one run on two machines has equal verdicts and equal scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_runs import DEPTH, Bench
from typer.testing import CliRunner

from uds_bench.cli import main
from uds_bench.cli.same import EQUAL

Change = Callable[[dict[str, Any]], object]


def row(report: dict[str, Any], metric: str) -> dict[str, Any]:
    """A score of the candidate."""
    found: dict[str, Any] = next(s for s in report["scores"] if (s["checkpoint"], s["metric"]) == ("retain3", metric))
    return found


def moved(report: dict[str, Any], metric: str, by: float) -> None:
    score = row(report, metric)
    score["value"] += by
    score["per_fact"][0]["value"] += by


def verdict(report: dict[str, Any]) -> None:
    report["claims"][0]["verdict"] = "fail"


CASES: dict[str, tuple[Change, int, str]] = {
    "nothing": (lambda _: None, 0, "0 verdicts differ"),
    "rounding": (lambda report: moved(report, "uds", EQUAL / 2), 0, "0 verdicts differ"),
    "a score": (lambda report: moved(report, "uds", -2 * EQUAL), 1, "differs: retain3 none uds aligned: 2e-05 apart"),
    "a choice": (
        lambda report: moved(report, "entity_accuracy", 1.0),
        0,
        "2 choices of a token or rank came out otherwise",
    ),
    "a missing score": (lambda report: report["scores"].remove(row(report, "uds")), 1, "scored in one alone"),
    "a value that is none": (lambda report: row(report, "uds").update(value=None), 1, "scored in one alone"),
    "a verdict": (verdict, 1, "1 verdicts differ"),
    "all choices": (
        lambda report: [fact.update(value=1 - fact["value"]) for fact in row(report, "entity_accuracy")["per_fact"]],
        1,
        "too many choices",
    ),
    "a control that missed": (
        lambda report: report["claims"][0]["controls"][0].update(held=False),
        1,
        "another controls",
    ),
    "a bound": (lambda report: report["claims"][0]["bound"].update(value=0.1), 1, "another bound"),
    "a bound, by rounding": (
        lambda report: report["claims"][0]["bound"].update(value=report["claims"][0]["bound"]["value"] + EQUAL / 9),
        0,
        "0 verdicts differ",
    ),
    "other facts": (lambda report: row(report, "uds")["provenance"].update(facts="x"), 1, "another facts"),
    "other weights": (lambda report: row(report, "uds")["provenance"].update(checkpoint="x"), 1, "another checkpoint"),
    "no facts": (lambda report: row(report, "uds").update(per_fact=[], n_planned=0, n_scored=0), 1, "in one alone"),
    "another manifest": (lambda report: report["manifest"].update(digest="x"), 1, "differs: manifest"),
    "a red run": (lambda report: report["summary"].update(ok=False), 4, "was red, or decided nothing"),
    "an empty run": (lambda report: report["claims"].clear(), 4, "was red, or decided nothing"),
    "no scores": (lambda report: report["scores"].clear(), 1, "scored in one alone"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_may_differ_and_what_may_not(bench: Bench, tmp_path: Path, case: str) -> None:
    change, code, said = CASES[case]
    bench.manifest()
    report = bench.run(DEPTH).report
    assert report is not None
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text(json.dumps(report))
    change(report)
    second.write_text(json.dumps(report))
    done = CliRunner().invoke(main, ["compare", str(first), str(second), "--same"])
    assert done.exit_code == code, done.output
    assert said in done.output
