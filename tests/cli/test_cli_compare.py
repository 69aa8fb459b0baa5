"""compare: two runs of one method, and whether two runs are the same."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import Command, Refused
from hypothesis import given
from hypothesis import strategies as st
from made_reports import BAD, claim, run_of
from small_runs import DEPTH, Bench, made_once
from typer.testing import CliRunner

from uds_bench.claims.compared import changes
from uds_bench.claims.fact_rows import with_rows
from uds_bench.claims.record import STATUSES
from uds_bench.cli import main
from uds_bench.cli.compare_same import EQUAL
from uds_bench.statistics import cluster_interval

WORDS = st.sampled_from(STATUSES)
CLAIMS = st.dictionaries(st.sampled_from(["depth.score[npo]", "depth.score[idk]", "depth.order"]), WORDS)


def _score(values: dict[str, float | None], checkpoint: str = "npo", facts: str = "same") -> dict[str, Any]:
    per_fact = [
        {"id": name, "value": value, "reason": None if value is not None else "why", "cluster": name[0]}
        for name, value in values.items()
    ]
    scored = [value for value in values.values() if value is not None]
    return {
        "checkpoint": checkpoint,
        "attack": "none",
        "metric": "uds",
        "variant": "block",
        "value": math.fsum(scored) / len(scored) if scored else None,
        "per_fact": per_fact,
        "provenance": {"facts": facts},
    }


def _file(path: Path, *scores: dict[str, Any], claims: dict[str, str] | None = None) -> Path:
    document: dict[str, Any] = {"schema": 1, "scores": list(scores)}
    if claims is not None:
        document = run_of(*(claim(name, status) for name, status in claims.items()), scores=scores).to_json()
    path.write_text(json.dumps(document))
    return path


BEFORE = {"a1": 0.2, "a2": 0.4, "b1": 0.6, "c1": 0.5}
AFTER = {"c1": 0.6, "b1": 0.9, "a2": 0.5, "a1": 0.4}


def test_interval_is_of_the_paired_differences(command: Command, tmp_path: Path) -> None:
    a, b = _file(tmp_path / "a.json", _score(BEFORE)), _file(tmp_path / "b.json", _score(AFTER))
    row = json.loads(command("compare", a, b, "--json").stdout)["scores"][0]
    interval = cluster_interval([0.1, 0.3, 0.1, 0.2], ["c", "b", "a", "a"])
    assert row["difference"] == pytest.approx(0.6 - 0.425)
    assert row["paired"]["difference"] == pytest.approx(0.175)
    assert row["paired"]["ci"] == pytest.approx([interval.low, interval.high])
    assert (row["paired"]["facts"], row["paired"]["clusters"], row["paired"]["unmatched"]) == (4, 3, 0)
    assert row["note"] is None
    shown = command("compare", a, b).stdout
    assert f"{interval.low:+.3f}..{interval.high:+.3f}" in shown


def test_only_facts_that_both_scored_are_paired(command: Command, tmp_path: Path) -> None:
    a = _file(tmp_path / "a.json", _score({**BEFORE, "d1": None, "e1": 0.1}))
    b = _file(tmp_path / "b.json", _score({**AFTER, "d1": 0.9, "e1": None}, facts="other"))
    row = json.loads(command("compare", a, b, "--json").stdout)["scores"][0]
    assert (row["paired"]["facts"], row["paired"]["unmatched"]) == (4, 2)
    assert row["paired"]["difference"] == pytest.approx(0.175)
    assert row["difference"] == pytest.approx(0.66 - 0.36)
    assert row["note"] == "other facts"


def test_one_cluster_and_no_match_give_no_interval(command: Command, tmp_path: Path) -> None:
    a = _file(tmp_path / "a.json", _score({"a1": 0.1, "a2": 0.2}), _score({"x1": 0.1}, "idk"), _score({}, "old"))
    b = _file(tmp_path / "b.json", _score({"a1": 0.2, "a2": 0.5}), _score({"y1": 0.3}, "idk"), _score({}, "new"))
    rows = {row["checkpoint"]: row for row in json.loads(command("compare", a, b, "--json").stdout)["scores"]}
    assert rows["npo"]["paired"]["ci"] is None
    assert rows["npo"]["paired"]["difference"] == pytest.approx(0.2)
    assert rows["idk"]["paired"] is None
    assert rows["idk"]["difference"] == pytest.approx(0.2)
    assert (rows["old"]["note"], rows["new"]["note"]) == ("only in A", "only in B")
    command("compare", a, b)


def test_real_score_files_of_the_same_models_do_not_differ(command: Command, scored: Path) -> None:
    rows = json.loads(command("compare", scored / "scores.json", scored / "scores.json", "--json").stdout)["scores"]
    assert len(rows) == len(json.loads((scored / "scores.json").read_text())["scores"])
    # None where neither file has a value.
    assert {row["difference"] for row in rows} == {0.0, None}


def test_a_real_run_compared_with_one_in_which_a_claim_passed(
    command: Command, run_report: Path, tmp_path: Path
) -> None:
    assert "no verdict changed" in command("compare", run_report, run_report, "--fail-on-change").stdout
    run = with_rows(json.loads(run_report.read_text()), run_report)
    row = next(row for row in run["claims"] if row["name"] == "depth.score[npo]")
    assert row["verdict"] != "pass"
    row |= {"verdict": "pass", "cause": None}
    better = tmp_path / "better.json"
    better.write_text(json.dumps(run))
    assert "better" in command("compare", run_report, better, "--fail-on-change").stdout
    assert "worse" in command("compare", better, run_report, "--fail-on-change", exit=1).stdout


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("pass", "fail", "worse"),
        ("pass", "waived", "worse"),
        ("pass", "not applicable", "worse"),
        ("declared", "undecided", "worse"),
        ("undecided", "fail", "worse"),
        ("pass", None, "worse"),
        (None, "undecided", "worse"),
        (None, "declared", "other"),
        (None, "pass", "better"),
        ("fail", None, "worse"),
        ("fail", "undecided", "better"),
        ("waived", "pass", "better"),
        ("pass", "caught", "other"),
        ("caught", "fail", "worse"),
        ("cleared", "result", "worse"),
        ("caught", "undecided", "worse"),
        (None, "cleared", "other"),
    ],
)
def test_fail_on_change_exits_1_only_if_a_verdict_got_worse(
    command: Command, tmp_path: Path, before: str | None, after: str | None, change: str
) -> None:
    a = _file(tmp_path / "a.json", claims={"depth.order": "pass"} | ({"depth.score[npo]": before} if before else {}))
    b = _file(tmp_path / "b.json", claims={"depth.order": "pass"} | ({"depth.score[npo]": after} if after else {}))
    command("compare", a, b)
    shown = command("compare", a, b, "--json", "--fail-on-change", exit=int(change == "worse")).stdout
    found = json.loads(shown)["verdicts"]
    if (before, after) == (None, "pass"):
        change = found[0]["change"]  # a new claim that passes: never worse
    assert found == [{"claim": "depth.score[npo]", "a": before, "b": after, "change": change}]


@given(CLAIMS, CLAIMS)
def test_what_got_worse_one_way_got_better_the_other(a: dict[str, str], b: dict[str, str]) -> None:
    there, back = ({row["claim"]: row["change"] for row in changes(*pair)} for pair in ((a, b), (b, a)))
    assert there.keys() == back.keys() == {name for name in {*a, *b} if a.get(name) != b.get(name)}
    opposite = {"worse": "better", "better": "worse", "other": "other"}
    for name in there.keys() & a.keys() & b.keys():
        assert back[name] == opposite[there[name]]
    for name in there.keys() - a.keys():
        assert (there[name] == "worse") == (b[name] in BAD)
    for name in there.keys() - b.keys():
        assert there[name] == "worse" or a[name] in BAD


def test_the_worst_of_several_verdicts_of_one_name_counts(command: Command, tmp_path: Path) -> None:
    a = _file(tmp_path / "a.json", claims={"depth.score[npo]": "pass"})
    b = _file(tmp_path / "b.json", claims={"depth.score[npo]": "pass"})
    document = json.loads(b.read_text())
    document["claims"] += [claim("depth.score[npo]", "fail").to_json(), *document["claims"]]
    b.write_text(json.dumps(document))
    command("compare", a, b, "--fail-on-change", exit=1)


def test_what_cannot_be_compared_is_refused(refused: Refused, tmp_path: Path) -> None:
    scores, run = _file(tmp_path / "a.json", _score(BEFORE)), _file(tmp_path / "b.json", claims={})
    assert "is a score file and" in refused("compare", scores, run)
    assert "score files have no verdicts" in refused("compare", scores, scores, "--fail-on-change")
    twice = _file(tmp_path / "twice.json", _score(BEFORE), _score(AFTER))
    assert "holds two different scores of npo, none, uds, block" in refused("compare", scores, twice)
    odd = copy.deepcopy(_score(BEFORE))
    del odd["per_fact"][0]["cluster"]
    told = refused("compare", scores, _file(tmp_path / "odd.json", odd))
    assert "odd.json: is no score file (0.per_fact.0.cluster: Field required): write it again" in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no strict JSON"),
        ('{"schema": 1, "scores": [NaN]}', "is no strict JSON (NaN is no number)"),
        ("[]", "is neither a run report nor a score file"),
        ('{"schema": 2, "scores": []}', "has schema 2, this version reads 1"),
    ],
)
def test_other_files_are_refused(refused: Refused, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text)
    assert said in refused("compare", path, path)


Change = Callable[[dict[str, Any]], object]


def row(report: dict[str, Any], metric: str) -> dict[str, Any]:
    """A score of the candidate."""
    found: dict[str, Any] = next(s for s in report["scores"] if (s["checkpoint"], s["metric"]) == ("retain3", metric))
    return found


def moved(report: dict[str, Any], metric: str, by: float) -> None:
    score = row(report, metric)
    score["value"] += by
    score["per_fact"][0]["value"] += by


def verdict(report: dict[str, Any], word: str) -> None:
    report["claims"][0]["verdict"] = word


CASES: dict[str, tuple[Change, int, str]] = {
    "nothing": (lambda _: None, 0, "0 verdicts differ"),
    "rounding": (lambda r: moved(r, "uds", EQUAL / 2), 0, "0 verdicts differ"),
    "a score": (lambda r: moved(r, "uds", -2 * EQUAL), 1, "differs: retain3 none uds aligned: 2e-05 apart"),
    "a choice": (lambda r: moved(r, "entity_accuracy", 1.0), 0, "2 choices of a token or rank came out otherwise"),
    "a missing score": (lambda r: r["scores"].remove(row(r, "uds")), 1, "scored in one alone"),
    "a value that is none": (lambda r: row(r, "uds").update(value=None), 1, "scored in one alone"),
    "a verdict": (lambda r: verdict(r, "not applicable"), 1, "1 verdicts differ"),
    "a red claim of a run that says it is green": (lambda r: verdict(r, "fail"), 4, "was red, or decided nothing"),
    "all choices": (
        lambda r: [fact.update(value=1 - fact["value"]) for fact in row(r, "entity_accuracy")["per_fact"]],
        1,
        "too many choices",
    ),
    "a choice of what does not say that it counts them": (
        lambda r: [moved(r, "entity_accuracy", 1.0), row(r, "entity_accuracy")["provenance"].pop("counts_choices")],
        1,
        "differs: retain3 none entity_accuracy",
    ),
    "a control that missed": (lambda r: r["claims"][0]["controls"][0].update(held=False), 1, "another controls"),
    "a bound": (lambda r: r["claims"][0]["bound"].update(value=0.1), 1, "another bound"),
    "a bound, by rounding": (
        lambda r: r["claims"][0]["bound"].update(value=r["claims"][0]["bound"]["value"] + EQUAL / 9),
        0,
        "0 verdicts differ",
    ),
    "other facts": (lambda r: row(r, "uds")["provenance"].update(facts="x"), 1, "another facts"),
    "other weights": (lambda r: row(r, "uds")["provenance"].update(checkpoint="x"), 1, "another checkpoint"),
    "no facts": (lambda r: row(r, "uds").update(per_fact=[], n_planned=0, n_scored=0), 1, "in one alone"),
    "another manifest": (lambda r: r["manifest"].update(digest="x"), 1, "differs: manifest"),
    "a red run": (lambda r: r["summary"].update(ok=False), 4, "was red, or decided nothing"),
    "an empty run": (lambda r: r["claims"].clear(), 4, "was red, or decided nothing"),
    "no scores": (lambda r: r["scores"].clear(), 1, "scored in one alone"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_may_differ_and_what_may_not(
    bench: Bench, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, case: str
) -> None:
    def run(folder: Path) -> None:
        bench.manifest()
        (folder / "run.json").write_text(json.dumps(bench.run(DEPTH).report))

    change, code, said = CASES[case]
    first, second = made_once(tmp_path_factory, "compared", run) / "run.json", tmp_path / "b.json"
    report = json.loads(first.read_text())
    change(report)
    second.write_text(json.dumps(report))
    done = CliRunner().invoke(main, ["compare", str(first), str(second), "--same"])
    assert done.exit_code == code, done.output
    assert said in done.output


@pytest.mark.parametrize(("value", "code"), [(0.5, 0), (0.513726, 1)])
def test_what_says_that_it_counts_and_has_no_share_for_a_value_is_no_count(
    command: Command, tmp_path: Path, value: float, code: int
) -> None:
    """Else whoever writes a measure may call it a count, and two of its values may lie anywhere."""
    a, b = (_score({"f1": at, "f2": 0.25, "f3": 1.0}) for at in (0.0, value))
    for one in (a, b):
        one["provenance"] |= {"counts_choices": True, "checkpoint": "c"}
    places = _file(tmp_path / "a.json", a), _file(tmp_path / "b.json", b)
    shown = command("compare", *places, "--same", exit=code).stdout
    assert ("2 choices of a token or rank came out otherwise" in shown) is not code
