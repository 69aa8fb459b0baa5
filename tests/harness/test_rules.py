"""A record word for word: which part of it comes from where, and nothing that was not the case is said."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from made_reports import made_rules

from uds_bench.claims.record import Control
from uds_bench.claims.spec import ClaimSpec
from uds_bench.claims.waivers import Waiver, Waivers
from uds_bench.errors import ConfigurationError
from uds_bench.manifest.section import Expectation
from uds_bench.statistics import Interval
from uds_bench.verdicts import Cause, Decision, Flag, Verdict

SPEC = ClaimSpec(
    "depth.made", "threshold", "it is so", ">=", 0.5, "ours", "people", needs="half, {:.1f}", evidence="a paper"
)
INTERVAL = Interval(0.6, 0.8, "by hand", 20)
DECISION = Decision(Verdict.PASS, 0.7, INTERVAL, "observed 0.7", 0.125)
FAILED = Decision(Verdict.FAIL, 0.7, INTERVAL, "observed 0.7")
FEW = Decision(Verdict.UNDECIDED, 0.7, Interval(0.4, 0.8, "by hand", 2), "observed 0.7", cause=Cause.UNITS)
HELD = Control("good", "pass", "pass", 0.9, INTERVAL, True)
MISSED = Control("bad", "fail", "pass", 0.9, INTERVAL, False)


def settled(
    decision: Decision, *controls: Control, subject: str | None = None, spec: ClaimSpec = SPEC, **rules: Any
) -> Any:
    made = replace(made_rules(**rules), evidence="the run", reproduce=lambda node: f"pytest {node}")
    return made.settle(spec, subject, "a_test", decision, controls, {"facts": "abc"})


def test_each_part_of_a_record_comes_from_its_own_place() -> None:
    found = settled(DECISION, HELD)
    assert (found.id, found.subject, found.kind, found.statement) == ("depth.made", None, "threshold", "it is so")
    assert (found.observed, found.shortfall, found.unit) == (0.7, 0.125, "people")
    assert vars(found.bound) == {"relation": "", "value": 0.5, "origin": "ours", "needs": "half, 0.5"}
    assert (found.node, found.reproduce, found.provenance) == ("a_test", "pytest a_test", {"facts": "abc"})
    assert (found.evidence, found.controls, found.interval) == ("a paper", (HELD,), INTERVAL)
    plain = ClaimSpec("depth.made", "threshold", "it is so", ">=", 0.5, "ours")
    assert settled(DECISION, spec=plain).evidence == "the run"
    assert vars(settled(DECISION, spec=plain).bound) == {"relation": ">=", "value": 0.5, "origin": "ours", "needs": ""}


def test_of_what_was_not_the_case_nothing_is_said() -> None:
    assert settled(DECISION, HELD).message == "depth.made: observed 0.7"
    assert settled(FEW, HELD).message == "depth.made: observed 0.7"
    assert settled(DECISION, MISSED).message == "depth.made: observed 0.7; control bad must fail and came out pass"
    few = Control("small", "fail", "undecided", 0.9, Interval(0.4, 0.8, "by hand", 2), False)
    told = "depth.made: observed 0.7; nor can its controls be decided: small, small"
    assert settled(FEW, few, few).message == told
    void = settled(DECISION, few, laboratory=True)
    assert void.message == "depth.made: void: observed 0.7; control small must fail and came out undecided"
    assert settled(DECISION, MISSED, few, laboratory=True).flag is None


def test_a_claim_without_a_subject_has_its_golden_its_waiver_and_its_words_by_its_id_alone() -> None:
    golden = {"depth.made": {"value": 0.9}}
    assert settled(DECISION, goldens=golden).golden["recorded"] == 0.9
    assert settled(DECISION, subject="x", goldens=golden).golden["status"] == "none"
    waivers = Waivers([Waiver("depth.made", "known", date(2099, 1, 1), "waivers.toml:1")])
    assert settled(FAILED, waivers=waivers).flag is Flag.WAIVED
    assert settled(FAILED, specimens={"depth.made": "fail"}).flag is Flag.CAUGHT


@pytest.mark.parametrize("subject", ["npo", "maX"])
def test_a_specimen_that_came_out_otherwise_is_named(subject: str) -> None:
    found = settled(FAILED, subject=subject, specimens={f"depth.made[{subject}]": "pass"})
    told = f"specimen {subject} must be cleared (pass) and came out fail: observed 0.7"
    assert (found.verdict, found.message) == (Verdict.FAIL, f"depth.made [{subject}]: {told}")


def test_a_golden_that_differs_is_told_first_and_a_claim_that_is_only_one_says_it_once() -> None:
    golden = {"depth.made": {"value": 0.9}}
    said = settled(DECISION, goldens=golden)
    assert said.cause is Cause.DRIFTED
    assert said.message.endswith("; came out pass: observed 0.7")
    alone = ClaimSpec("depth.made", "golden", "it is as recorded", "==", 0.0, "ours")
    declared = settled(DECISION, specimens={"depth.made": "pass"}, goldens=golden)
    for found in (settled(DECISION, spec=alone, goldens=golden), declared):
        assert found.cause is Cause.DRIFTED
        assert "came out pass" not in found.message


def test_what_a_method_need_not_pass_is_declared_of_what_it_makes_alone() -> None:
    excused = {"excused": {"depth.made": "it edits one block"}}
    for bad in (FAILED, FEW):
        found = settled(bad, HELD, subject="seed0", **excused)
        assert (found.verdict, found.flag, found.is_good) == (bad.verdict, Flag.DECLARED, True)
        assert found.message.endswith("; not meant to pass: it edits one block")
        assert found.expected == {"reason": "it edits one block"}
    assert settled(DECISION, HELD, subject="seed0", **excused).flag is None, "a pass needs no excuse"
    assert not settled(FAILED, HELD, **excused).is_good, "what it rests on is no model of the method's"
    assert not settled(FAILED, HELD, subject="seed0", excused={"depth.other": "it does"}).is_good


def test_a_pass_that_was_declared_a_fail_is_told_nothing_to_mend() -> None:
    """Its advice said that the facts are still there."""
    spec = ClaimSpec("depth.made", "threshold", "it is so", ">=", 0.5, "ours", advice="unlearn longer.")
    declared = {"expect": {"depth.made[npo]": Expectation(verdict="fail", reason="it is shallow")}}
    assert settled(DECISION, HELD, subject="npo", spec=spec, **declared).advice == ""
    assert settled(DECISION, HELD, subject="npo", spec=spec, **declared).verdict is Verdict.FAIL
    assert settled(FAILED, HELD, subject="npo", spec=spec).advice == "unlearn longer."


@pytest.mark.parametrize("relation", [">", "<", "=="])
def test_a_threshold_is_a_least_or_a_most(relation: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"claim depth.made: relation '[<>=]+' is of no threshold"):
        replace(SPEC, relation=relation)
