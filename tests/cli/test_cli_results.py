"""`uds-bench zoo results`: what draws of the zoo found, and what is no draw."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest
from commands import Command, Refused
from made_reports import claim, page_in, run_of
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from uds_bench.claims.record import ClaimRecord, Control
from uds_bench.cli.documents import read_run
from uds_bench.cli.zoo_results import over_draws
from uds_bench.facts import load_facts
from uds_bench.scores import Score

NAMES = ("npo", "none", "uds", "block")


def draw(folder: Path, number: int, *claims: ClaimRecord, **more: object) -> Path:
    file = folder / f"{number}.json"
    scores = [Score(*NAMES, 0.5, provenance={"checkpoint": f"model {number}"})]
    report = run_of(*claims, scores=scores, profile="zoo", draw=number)
    file.write_text(json.dumps(report.to_json() | more))
    return file


def test_a_claim_has_a_line_with_its_interval_over_draws(
    command: Command, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    values = (0.1, 0.25, 0.2)
    files = [
        draw(
            tmp_path,
            number,
            claim("depth.score[npo]", "pass" if number else "fail", observed=value),
            claim("depth.self_patch", observed=0.0, kind="identity"),
            claim("bypass.verdict[npo]", "not applicable"),
        )
        for number, value in enumerate(values)
    ]
    shown = command("zoo", "results", *files).stdout
    assert shown == snapshot
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert f"| {low:.3f}..{high:.3f} " in shown


def test_a_value_whose_control_did_not_come_out_right_is_void(command: Command, tmp_path: Path) -> None:
    missed = claim("a", observed=0.9, controls=(Control("full", "fail", "pass", 0.9, None, held=False),))
    files = [draw(tmp_path, number, claim("a", observed=0.5) if number else missed) for number in range(3)]
    assert "| – 0.500 0.500 | 0.500  | – " in (shown := command("zoo", "results", *files).stdout)
    assert "void 1, pass 2" in shown


def test_what_one_draw_lacks_is_missing_there_and_has_no_interval(command: Command, tmp_path: Path) -> None:
    files = [draw(tmp_path, number, *([claim("a", observed=0.5)] if number else [])) for number in range(3)]
    assert "| – 0.500 0.500 | 0.500  | – " in (shown := command("zoo", "results", *files).stdout)
    assert "missing 1, pass 2" in shown


def test_values_that_agree_have_an_interval_without_width_and_two_have_none() -> None:
    assert over_draws([0.5, 0.5, 0.5]) == (0.5, 0.5)
    assert np.isnan(over_draws([0.1, 0.2])).all()


@pytest.mark.parametrize(
    ("numbers", "more", "said"),
    [
        ([0, 1], {}, "2 given, and a statement about a method takes 3 draws"),
        ([0, 1, 2], {"profile": "quick"}, "is of no draw of the zoo"),
        ([0, 1, 2], {"draw": 4}, "is of draw 4, as another one"),
        ([0, 1, 2], {"manifest": 1}, "is no run report (manifest: "),
        ([0, 1, 2], {"draw": "abc"}, "is no run report (draw: "),
        ([0, 1, 2], {"draw": True}, "is no run report (draw: "),
        ([0, 1, 2], {"profile": "full"}, "is of no draw of the zoo"),
        (
            [0, 1, 2],
            {"scores": [Score(*NAMES, 0.5, provenance={"checkpoint": "one"}).to_json()]},
            "each draw has models of its own",
        ),
        ([0, 1, 2], {"scores": [1]}, "is no run report (scores.0: "),
        ([0, 1, 2], {"scores": [Score(*NAMES, 0.5).to_json()]}, "does not say of which model it is"),
        ([0, 1, 2], {"claims": [1]}, "is no run report (claims.0: "),
    ],
)
def test_what_is_no_three_draws_is_refused(
    refused: Refused, tmp_path: Path, numbers: list[int], more: dict[str, object], said: str
) -> None:
    assert said in refused("zoo", "results", *(draw(tmp_path, number, **more) for number in numbers))


def test_page_shows_the_claims_of_a_real_run(command: Command, run_report: Path, tmp_path: Path) -> None:
    shown = command("report", run_report, "--out", tmp_path / "page").stdout.strip()
    assert shown == str(tmp_path / "page" / "index.html")
    page, claims = html.unescape(page_in(Path(shown).parent)), json.loads(run_report.read_text())["claims"]
    assert claims
    assert all(claim["statement"] in page for claim in claims)


def test_page_says_what_changed_since_another_run(command: Command, run_report: Path, tmp_path: Path) -> None:
    values = read_run(run_report).to_json()
    (before,) = (row for row in values["claims"] if row["name"] == "depth.score[npo]")
    before |= {"verdict": "pass", "cause": None}
    (score,) = (one for one in values["scores"] if (one["checkpoint"], one["variant"]) == ("npo", "free"))
    score["per_fact"][0]["value"] = 1 - score["per_fact"][0]["value"]
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps(values))
    command("report", run_report, "--out", tmp_path / "page", "--against", earlier)
    page = page_in(tmp_path / "page")
    changed = " ".join(re.sub("<[^>]+>", " ", page.partition('id="changes"')[2]).split())
    assert "worse depth.score[npo] pass undecided" in changed
    assert "1 scores moved" in changed
    assert "npo none entity_accuracy free" in changed
    command("report", run_report, "--out", tmp_path / "page", "--against", run_report)
    assert "No verdict changed." in page_in(tmp_path / "page")
    assert "No score moved." in page_in(tmp_path / "page")


def test_score_files_and_other_schemas_are_refused(refused: Refused, tmp_path: Path) -> None:
    file, page = tmp_path / "file.json", tmp_path / "page"
    file.write_text(json.dumps({"schema": 1, "scores": []}))
    assert "is a score file: name a run report" in refused("report", file, "--out", page)
    file.write_text(json.dumps({"schema": 7, "scores": [], "claims": []}))
    assert "has schema 7, this version reads 3" in refused("report", file, "--out", page)
    assert not page.exists()


def everything_in(folder: Path) -> str:
    """What all files of a page say, loaded or not."""
    files = [file.read_text(encoding="utf-8") for file in folder.rglob("*") if file.is_file()]
    return html.unescape("\n".join(files).encode("ascii", "backslashreplace").decode("unicode_escape"))


def test_a_page_to_publish_names_nobody(command: Command, run_report: Path, release: Path, tmp_path: Path) -> None:
    command("report", run_report, "--out", tmp_path / "full")
    command("report", run_report, "--out", tmp_path / "public", "--redact", "--against", run_report)
    full, public = (everything_in(tmp_path / name) for name in ("full", "public"))
    facts = load_facts(release / "facts.jsonl")
    told = {part for one in facts for part in (one.question, one.answer, one.entity, one.id, one.cluster)}
    assert any(part in full for part in told)
    assert [part for part in told if part in public] == []
    assert str(release.parent) not in public
