"""--uds-json and --uds-html: what a run leaves behind."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from made_reports import page_in
from small_runs import DEPTH, Bench

WORDS = ("pass", "fail", "undecided", "not applicable", "caught", "cleared", "declared", "waived", "result")


def test_the_report_says_who_what_when_and_why(bench: Bench) -> None:
    manifest = bench.manifest(["retain3", "copy"])
    ran = bench.run(DEPTH, "--uds-device", "cpu")
    assert f"uds_bench: manifest {manifest}" in ran.text
    assert "device cpu" in ran.text
    report = ran.report
    assert report["schema"] == 3
    assert report["tool"]["name"] == "uds_bench"
    assert report["manifest"]["path"] == str(manifest)
    assert len(report["manifest"]["digest"]) == 64
    assert report["started"].endswith("Z")
    assert report["environment"]["device"] == "cpu"
    assert set(report["summary"]["counts"]) == set(WORDS)
    assert report["summary"]["ok"] is False
    claim = ran.claims["depth.score[copy]"]
    assert claim["subject"] == "copy"
    assert claim["audit"] == "depth"
    assert claim["bound"]["relation"] == ">="
    assert claim["bound"]["value"] == 0.7
    assert claim["bound"]["origin"]
    assert claim["evidence"] == "checkpoints named by the manifest"
    assert claim["interval"]["units"] == 12
    assert [(c["name"], c["must"], c["held"]) for c in claim["controls"]] == [
        ("full says more of the facts than retain", "pass", True),
        ("retain is another model than copy", "pass", True),
        ("retain, with retain2 as its yardstick", "pass", True),
        ("full2", "fail", True),
        ("retain2", "pass", True),
    ]
    assert {"checkpoint", "references", "facts", "rendered", "dtype", "device"} <= claim["provenance"].keys()
    assert claim["provenance"]["device"] == "cpu"


def test_a_junit_file_has_what_each_claim_came_to(bench: Bench) -> None:
    bench.manifest(["copy"])
    ran = bench.run(DEPTH, "-k", "test_score", "--junitxml", bench.folder / "junit.xml")
    (case,) = ElementTree.parse(bench.folder / "junit.xml").iter("testcase")
    claim = ran.claims["depth.score[copy]"]
    told = {one.get("name"): one.get("value") for one in case.iter("property")}
    keys = ("name", "subject", "audit", "status", "verdict", "observed", "message")
    told_of = {key: claim[key] for key in keys} | {"needs": ">= 0.7"} | claim["interval"]
    assert told == {f"uds_{key}": str(value) for key, value in told_of.items()}
    assert (told["uds_subject"], told["uds_verdict"]) == ("copy", "fail")


def test_a_ci_job_has_candidates_by_audits_and_what_is_red_on_its_page(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = bench.folder / "summary.md"
    place.write_text("What was there.\n\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    bench.manifest(["copy", "retain3"])
    ran = bench.run(DEPTH)
    page = place.read_text()
    assert page.startswith("What was there.\n\n### uds_bench: RED: ")
    assert ran.text.strip().splitlines()[-1].endswith(page.splitlines()[2].removeprefix("### "))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    told = ["copy", "1 **FAIL**, 1 pass, 1 not applicable"]
    assert [row for row in rows if row[0] in ("candidate", "copy")] == [["candidate", "depth"], told]
    red = {row[0]: row[1] for row in rows if len(row) == 6 and "." in row[0]}
    assert red.keys() == {name for name, claim in ran.claims.items() if claim["verdict"] in ("fail", "undecided")}
    assert red["depth.score[copy]"] == "**FAIL**"
    assert page.endswith("Evidence of an evaluation, not of compliance with any law.\n\n")
    assert [claim["message"] for claim in ran.claims.values() if claim["message"] in page] == []


def test_a_summary_that_cannot_be_written_changes_no_exit_code(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(bench.folder))
    bench.manifest(["retain3"])
    ran = bench.run(DEPTH, "-k", "test_self_patch")
    assert ran.code == 0
    assert "note: GITHUB_STEP_SUMMARY was not written" in ran.text


def test_values_that_are_not_finite_are_null(bench: Bench) -> None:
    bench.manifest()
    body = "def test_odd(uds_claim):\n"
    body += "    uds_claim.identity(math.inf, tolerance=1, what='x', provenance={'n': math.nan})\n"
    ran = bench.run(bench.test(body))
    claim = ran.claims["test_odd"]
    assert claim["verdict"] == "fail"
    assert claim["observed"] is None
    assert claim["provenance"] == {"n": None}


def test_a_report_is_written_whatever_the_verdicts_and_its_folder_is_made(bench: Bench) -> None:
    bench.manifest()
    target = bench.folder / "new" / "folder" / "report.json"
    bench.run(bench.test("def test_odd(uds_claim):\n    raise OSError('x')\n"), "--uds-json", target)
    assert json.loads(target.read_text())["summary"]["counts"]["undecided"] == 1


def test_what_was_written_is_named_before_the_last_sentence(bench: Bench) -> None:
    bench.manifest()
    held = bench.test("def test_odd(uds_claim):\n    uds_claim.identity(0.0, tolerance=0.1, what='x')\n")
    json_file = bench.folder / "new" / "run.json"
    ran = bench.run(held, "--uds-json", json_file, "--uds-html", "page")
    told = ran.text.rstrip("\n").splitlines()[-4:-1]
    assert told[:2] == [f"json: {json_file}", f"page: {bench.folder / 'page' / 'index.html'}"]
    assert told[2].startswith("1 claims planned")
    assert all(Path(line.partition(": ")[2]).is_file() for line in told[:2])


def test_what_was_not_written_is_not_named(bench: Bench) -> None:
    bench.manifest()
    held = bench.test("def test_odd(uds_claim):\n    uds_claim.identity(0.0, tolerance=0.1, what='x')\n")
    (bench.folder / "page" / "index.html").mkdir(parents=True)
    ran = bench.run(held, "--uds-html", "page")
    assert ran.code == 1
    assert "error: the report was not written: " in ran.text
    assert f"\njson: {bench.folder / 'report.json'}\n" in ran.text
    assert "\npage: " not in ran.text


def test_the_page_shows_every_claim(bench: Bench) -> None:
    bench.manifest(["copy"])
    ran = bench.run(DEPTH, "--uds-html", "page")
    page = page_in(bench.folder / "page")
    assert page.lstrip().lower().startswith("<!doctype html>")
    for name in ran.verdicts:
        assert name.partition("[")[0] in page
    assert "copy" in page
