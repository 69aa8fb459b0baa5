"""In the laboratory, whose models are trained by the run, identities and controls gate and all else is a result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from made_reports import made_rules
from small_runs import DEPTH, Bench

from uds_bench.audits import registry
from uds_bench.claims.record import ClaimRecord, Control, count, is_good
from uds_bench.statistics import Interval
from uds_bench.verdicts import Cause, Decision, Flag, Verdict

KINDS = {
    "threshold": "depth.score",
    "equivalence": "bypass.prefill_invariance",
    "ordering": "depth.order",
    "golden": "bypass.gap",
    "outcome": "bypass.verdict",
    "identity": "depth.self_patch",
}
NAME = "depth.score[npo]"


def settled(
    claim: str, came_out: Verdict, *controls: Control, goldens: dict[str, Any] | None = None, laboratory: bool = True
) -> ClaimRecord:
    decision = Decision(came_out, 0.2345, Interval(0.2, 0.3, "any", 15), "observed 0.234")
    rules = made_rules(goldens, laboratory=laboratory)
    return rules.settle(registry.claims()[claim], "npo", "node", decision, controls, {"facts": "abc"})


def stopped_by(record: ClaimRecord) -> Cause | None:
    """Why a claim is undecided that stops a release."""
    return None if record.is_good else record.cause


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("came_out", [Verdict.FAIL, Verdict.UNDECIDED])
def test_findings_are_results_but_for_identities(kind: str, came_out: Verdict) -> None:
    assert registry.claims()[KINDS[kind]].kind == kind
    record = settled(KINDS[kind], came_out)
    assert record.outcome == came_out
    assert settled(KINDS[kind], came_out, laboratory=False).verdict is came_out
    assert record.verdict is came_out
    assert record.flag is (None if kind == "identity" else Flag.RESULT)
    if kind != "identity":
        assert f": came out {came_out}: observed 0.234" in record.message


@pytest.mark.parametrize("came_out", [Verdict.PASS, Verdict.NOT_APPLICABLE])
def test_what_holds_stays_as_it_is(came_out: Verdict) -> None:
    assert settled("depth.score", came_out).verdict is came_out


@pytest.mark.parametrize("word", ["undecided", "undecided (undecided)"])
def test_a_control_trained_here_that_is_undecided_makes_a_claim_void_and_a_wrong_one_red(word: str) -> None:
    undecided, wrong = (Control("erased", "pass", verdict, 0.1, None, held=False) for verdict in (word, "fail"))
    record = settled("bypass.verdict", Verdict.PASS, undecided)
    assert record.flag is Flag.RESULT
    assert f": void: observed 0.234; control erased must pass and came out {word}" in record.message
    assert stopped_by(settled("bypass.verdict", Verdict.PASS, undecided, wrong)) is Cause.CONTROL
    assert stopped_by(settled("bypass.verdict", Verdict.PASS, undecided, laboratory=False)) is Cause.CONTROL
    assert stopped_by(settled("depth.self_patch", Verdict.PASS, undecided)) is Cause.CONTROL


@pytest.mark.parametrize("entry", [{"value": 0.23}, {"value": 0.2345, "facts": "other"}])
@pytest.mark.parametrize("came_out", [Verdict.PASS, Verdict.FAIL])
def test_a_golden_of_models_trained_here_only_tells(entry: dict[str, object], came_out: Verdict) -> None:
    goldens = {NAME: entry}
    record = settled("depth.score", came_out, goldens=goldens)
    assert (record.verdict, record.flag) == (came_out, None if came_out is Verdict.PASS else Flag.RESULT)
    assert record.golden["status"] in ("differs", "stale")
    assert record.message.endswith(str(record.golden["text"]))
    assert not settled("depth.score", came_out, goldens=goldens, laboratory=False).is_good


def test_results_alone_are_a_green_run_and_no_pass() -> None:
    record = settled("depth.score", Verdict.FAIL)
    assert is_good([record])
    assert not is_good([record, replace(record, verdict=Verdict.UNDECIDED, cause=Cause.CRASHED, flag=None)])
    assert count([record])["pass"] == 0


def test_who_asks_the_default_for_it_is_told_where_it_is(bench: Bench) -> None:
    said = bench.refused(DEPTH.with_name("test_faithfulness.py"))
    assert "test_faithfulness.py::" in said
    assert "is of the laboratory: add --uds-profile zoo" in said


def test_pytest_says_how_many_tests_of_the_laboratory_stay_out(bench: Bench) -> None:
    ran = bench.run(DEPTH.with_name("test_lmlm.py"), "--collect-only", "-q")
    assert "deselected" in ran.text.splitlines()[-1], ran.text


@pytest.mark.parametrize(("options", "laboratory"), [((), False), (("--uds-profile", "full"), True)])
def test_it_is_every_embedded_profile_but_the_default(bench: Bench, options: tuple[str, ...], laboratory: bool) -> None:
    body = "def test_mine(uds_claim, uds_run):\n"
    body += "    uds_claim.identity(0.0, tolerance=0, what=str(uds_run.rules.laboratory))\n"
    ran = bench.run(bench.test(body), *options)
    assert ran.code == 0, ran.text
    assert ran.claims["test_mine"]["message"].startswith(f"test_mine: {laboratory}")


def test_a_manifest_of_ones_own_is_a_gate_whatever_the_profile(bench: Bench) -> None:
    bench.manifest(["copy"])
    ran = bench.run(DEPTH, "-k", "test_score", "--uds-profile", "full")
    assert ran.code == 1
    assert ran.counts == {"fail": 1}
