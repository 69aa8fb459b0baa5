"""A user's run is about its candidates: what else is run, what is left out, and what is said of it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from small_runs import DEPTH, Bench, Ran

from uds_bench.zoo import specimens

SUITES = DEPTH.parent
METRICS = SUITES / "test_faithfulness.py"


def audits(ran: Ran) -> set[str]:
    return {claim["audit"] for claim in ran.claims.values()}


def test_metrics_and_audits_without_models_stay_out(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(SUITES)
    assert audits(ran) == {"depth"}
    assert (
        "note: not asked, as the manifest names nothing for them: association, bypass, lmlm, localization\n" in ran.text
    )
    assert ran.report["summary"]["whole"]


@pytest.mark.parametrize("how", ["[metrics]", "[sweep]", "-m", "named alone"])
def test_metrics_are_judged_where_they_are_asked_for(bench: Bench, judged_store: Path, how: str) -> None:
    more = {"[metrics]": "[metrics]\n", "[sweep]": f"[sweep]\nmore = '{bench.models / 'shallow'}'\n"}.get(how, "")
    bench.judged(more)
    files = [METRICS] if how == "named alone" else [METRICS, f"{DEPTH}::test_frozen"]
    marks = ["-m", "laboratory or not laboratory"] if how == "-m" else []
    ran = bench.run(*files, "-k", "uds_first or frozen", *marks, store=judged_store)
    assert "faithfulness.uds_first" in ran.claims
    assert ran.claims["faithfulness.uds_first"]["status"] != "fail"


def test_a_run_from_which_claims_were_left_out_is_not_whole(bench: Bench) -> None:
    bench.manifest()
    for words in ((DEPTH, "-k", "test_score"), (f"{DEPTH}::test_score",)):
        assert not bench.run(*words).report["summary"]["whole"]


HIDDEN = ("-o", "python_functions=test_basis test_self_patch")


@pytest.mark.parametrize("how", [HIDDEN, ("-k", "basis or self_patch")])
def test_claims_that_were_not_asked_are_told_last_however_they_were_left_out(
    bench: Bench, how: tuple[str, ...]
) -> None:
    """Tests that pytest never collected were missed by nobody: `2 claims hold for shallow.`"""
    bench.manifest(["shallow"])
    ran = bench.run(SUITES, *how)
    assert not ran.report["summary"]["whole"]
    last = ran.text.strip().splitlines()[-1]
    assert ran.code == 0
    of_candidate = [f"depth.{claim} [shallow]" for claim in ("score", "spared", "hidden")]
    assert re.fullmatch(
        rf"uds_bench: 2 claims hold; \d+ left out \({re.escape(', '.join(of_candidate))}, ...\)\.", last
    )
    assert left_out_of(ran)[:3] == of_candidate


def test_an_audit_that_the_manifest_asks_for_is_missed(bench: Bench) -> None:
    """Its file was ignored, and its candidate stood nowhere."""
    full = specimens.folder("assoc_full")
    bench.manifest(["shallow"], more=f"[association]\nmodel = '{full}'\ncandidates = {{ vanished = '{full}' }}\n")
    ran = bench.run(DEPTH, "-k", "test_self_patch or spared")
    assert "association.forgotten [vanished]" in [*left_out_of(ran)]


def test_one_attack_of_several_is_missed(bench: Bench) -> None:
    bench.manifest(["retain3"], more="[attacks]\nnf4 = {}\nrelearn = {}\n")
    ran = bench.run(SUITES / "test_withstanding.py", DEPTH, "-k", "not relearn")
    assert left_out_of(ran) == ["depth.withstands.relearn [retain3]"]


def left_out_of(ran: Ran) -> list[str]:
    (note,) = (one for one in ran.report["summary"]["notes"] if "and left out: " in one)
    return str(note).partition("left out: ")[2].split(", ")


def test_each_candidate_has_a_row_and_one_that_cannot_be_used_costs_no_other(bench: Bench) -> None:
    broken = bench.copy("retain3", "broken")
    (broken / "config.json").write_text('{"model_type": ["llama"]}')
    bench.manifest({"good": bench.models / "retain3", "bad": bench.models / "shallow", "broken": broken})
    ran = bench.run(DEPTH)
    at = ran.text.splitlines().index("candidate    depth")
    assert [line.split() for line in ran.text.splitlines()[at + 1 : at + 4]] == [
        ["good", "3", "pass"],
        ["bad", "3", "FAIL"],
        ["broken", "3", "UNDECIDED"],
    ]
    assert ran.verdicts["depth.score[broken]"] == "refused"
    assert ran.text.count("model_type \"['llama']\" is unknown") == 1
    assert "  so are: depth.spared[broken], depth.hidden[broken]\n" in ran.text
    assert "  next: mend its files, name others, or take it out; the others are judged all the same.\n" in ran.text
    assert len(ran.text[ran.text.index("candidate    depth") :].splitlines()) < 30


def test_where_no_candidate_or_reference_is_left_nothing_is_run(bench: Bench) -> None:
    broken = bench.copy("retain3", "broken")
    shutil.copy(bench.models / "facts.jsonl", broken / "config.json")
    bench.manifest({"broken": broken})
    assert "broken: " in bench.refused(DEPTH)
    bench.manifest(retain=broken)
    assert "retain: " in bench.refused(DEPTH)


def test_of_whom_something_is_excused_it_is_not_said_that_all_holds(bench: Bench) -> None:
    excused = "".join(
        f'"depth.{claim}[shallow]" = {{ verdict = "fail", reason = "known" }}\n'
        for claim in ("score", "spared", "hidden")
    )
    bench.manifest(["retain3", "shallow"], more=f"[expect]\n{excused}")
    ran = bench.run(DEPTH)
    assert ran.code == 0
    assert re.search(r"claims hold for retain3; 3 missed as declared \(depth.score \[shallow\], ", ran.text)


def test_a_run_that_cannot_be_made_leaves_no_report_of_an_earlier_one(bench: Bench) -> None:
    bench.manifest(["retain3"])
    report = bench.folder / "run.json"
    assert bench.run(DEPTH, "-k", "self_patch", "--uds-json", report).code == 0
    bench.run(DEPTH, "--co", "--uds-json", report)
    assert report.is_file()
    bench.manifest(["retain3"], more='[expect]\n"depth.score[nobody]" = { verdict = "fail", reason = "x" }\n')
    bench.refused(DEPTH, "--uds-json", report)
    assert not report.exists()
