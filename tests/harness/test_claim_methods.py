"""A claim decides by the plain rules of `verdicts`, records what it was given, and holds controls to the same rule."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from made_reports import made_rules

from uds_bench.audits import registry
from uds_bench.claims.claim import Claim, ControlSubject
from uds_bench.claims.record import ClaimRecord, Control
from uds_bench.claims.waivers import Waiver, Waivers
from uds_bench.errors import ConfigurationError
from uds_bench.metrics.erasure import NO_LAYER
from uds_bench.scores import LEAST_SCORED, FactScore, Score
from uds_bench.statistics import Interval, Rate
from uds_bench.verdicts import (
    ADVICE,
    Cause,
    Decision,
    Flag,
    Step,
    Verdict,
    decide_equivalence,
    decide_identity,
    decide_ordering,
    decide_threshold,
)

CLAIMS = registry.claims()
UP, DOWN = "depth.score", "association.forgotten"
"""A claim whose value must lie above its bound, and one whose must lie below."""
TOLD = {"facts": "abc"}
VERDICTS = (Verdict.PASS, Verdict.FAIL, Verdict.UNDECIDED)


def made(name: str, node: str = "node", subject: str | None = "npo", **rules: Any) -> Claim:
    return Claim(name, subject, node, made_rules(rules.pop("goldens", None), **rules))


def record(claim: Claim, test: Callable[[Claim], object]) -> ClaimRecord:
    with contextlib.suppress(pytest.fail.Exception):
        test(claim)
    assert claim.record is not None
    return claim.record


def around(value: float, reach: float = 0.02, units: int = 20) -> Interval:
    return Interval(value - reach, value + reach, "by hand", units)


def score(value: float, *facts: FactScore) -> Score:
    listed = facts or (FactScore("f", "a", value),)
    return Score("npo", "none", "uds", "block", value, around(value), listed, {}, TOLD)


# ---- a value and its bound


@pytest.mark.parametrize("id", [UP, DOWN])
@pytest.mark.parametrize("off", [-0.5, -0.01, 0.01, 0.03])
def test_all_ways_to_hold_a_value_against_a_bound_agree(id: str, off: float) -> None:
    spec = CLAIMS[id]
    value = spec.bound + off
    expected = decide_threshold(value, around(value), spec.relation, spec.bound, spec.unit)
    other = made("depth.self_patch")
    assert other.judge(Rate(value, around(value)), id) == other.judge(score(value), id) == expected
    assert other.record is None
    assert other.bound(id) == spec.bound
    measured = record(made(id), lambda c: c.measured(value, around(value), provenance=TOLD))
    named = record(made(id), lambda c: c.threshold(score(value)))
    for found in (measured, named):
        assert (found.id, found.subject, found.outcome) == (id, "npo", expected.verdict)
        assert (found.observed, found.interval, found.shortfall) == (value, around(value), expected.shortfall)
        assert (found.statement, found.unit, found.provenance) == (spec.statement, spec.unit, TOLD)
        assert (found.bound.value, found.bound.relation) == (spec.bound, spec.relation)
        assert expected.text in found.message


@pytest.mark.parametrize(("id", "key", "tighter"), [(UP, "at_least", 0.05), (DOWN, "at_most", -0.01)])
def test_a_test_may_only_tighten(id: str, key: str, tighter: float) -> None:
    bound, other = CLAIMS[id].bound, {"at_least": "at_most", "at_most": "at_least"}[key]
    for change in (0.0, tighter):
        found = record(made(id), lambda c, at=bound + change: c.measured(0.5, around(0.5), **{key: at}))
        assert found.bound.value == bound + change
    for given in ({key: bound - tighter}, {other: bound}):
        with pytest.raises(ConfigurationError, match="which a test may only tighten"):
            made(id).measured(0.5, around(0.5), **given)
    with pytest.raises(ConfigurationError, match="give at_least or at_most, not both"):
        made(id).measured(0.5, around(0.5), at_least=0.1, at_most=0.2)


@pytest.mark.parametrize(("share", "allowed"), [(1.0, True), (0.5, True), (1.5, False)])
def test_how_far_off_a_value_may_be_is_as_much_as_the_table_says_or_less(share: float, allowed: bool) -> None:
    tolerance = CLAIMS["depth.self_patch"].bound * share
    with contextlib.nullcontext() if allowed else pytest.raises(ConfigurationError, match="only tighten"):
        found = record(made("depth.self_patch"), lambda c: c.identity(0.0, tolerance=tolerance, what="a sum"))
        assert found.bound.value == tolerance


def test_a_claim_of_no_table_takes_its_bound_from_the_test() -> None:
    for key, relation, verdict in (("at_least", ">=", "pass"), ("at_most", "<=", "fail")):
        told = record(made("test_mine"), lambda c, k=key: c.threshold(score(0.9), **{k: 0.5}))
        assert (told.id, told.kind, told.bound.relation, told.verdict) == ("test_mine", "threshold", relation, verdict)
        assert (told.statement, told.bound.origin) == ("uds of npo", "given by the test")
    with pytest.raises(ConfigurationError, match="test_mine is not in the table of claims: give at_least or at_most"):
        made("test_mine").threshold(score(0.9))


def test_the_bound_of_a_subject_is_its_own() -> None:
    names = {f"{UP}[npo]": 0.9}
    claim = made(UP, thresholds=names, explicit=frozenset(names))
    assert (claim.bound(), claim.judge(score(0.8), UP).verdict) == (0.9, Verdict.FAIL)
    assert record(claim, lambda c: c.threshold(score(0.8))).outcome is Verdict.FAIL
    assert made(UP, subject="rmu", thresholds=names, explicit=frozenset(names)).bound() == CLAIMS[UP].bound
    knows = [ControlSubject.of(score(0.1), "fail")]
    cut = record(made(UP), lambda c: c.threshold(score(0.8), cut=0.5, pools=knows))
    assert "the cut between the manifest's pools" in cut.bound.origin


def test_one_test_decides_once() -> None:
    claim = made("mine")
    claim.threshold(score(0.95), at_least=0.7)
    with pytest.raises(RuntimeError, match="decided already"):
        claim.threshold(score(0.95), at_least=0.7)


def test_a_remark_and_what_cannot_be_read_are_said() -> None:
    def unread(decision: Decision, of: Score) -> Decision:
        assert of == score(0.95)
        return replace(decision, verdict=Verdict.UNDECIDED, text="unreadable")

    found = record(made(UP), lambda c: c.threshold(score(0.95), readable=unread, remark="by hand"))
    assert (found.outcome, found.message) == (Verdict.UNDECIDED, f"{UP} [npo]: unreadable; by hand")
    found = record(made("mine"), lambda c: c.threshold(score(0.95), at_least=0.7))
    assert "; " not in found.message


@pytest.mark.parametrize("scored", [0, 1, 2, 3, 4])
def test_a_mean_over_too_few_facts_decides_nothing(scored: int) -> None:
    """Half of them are enough."""
    facts = [FactScore(f"f{at}", "a", *((0.95, None) if at < scored else (None, NO_LAYER))) for at in range(4)]
    found = record(made(UP), lambda c: c.threshold(score(0.95, *facts)))
    assert found.outcome is (Verdict.PASS if scored >= LEAST_SCORED * 4 else Verdict.UNDECIDED)
    assert (f"{4 - scored} of 4 facts without a knowledge-encoding layer" in found.message) is (scored < 4)
    assert ("too few to decide" in found.message) is (scored < LEAST_SCORED * 4)


def test_a_fact_that_broke_decides_nothing_and_is_counted() -> None:
    good = [FactScore(f"f{at}", "a", 0.95) for at in range(20)]
    broken = [FactScore(name, "a", None, why) for name, why in (("g", "cut"), ("h", "cut"), ("i", "broke"))]
    found = record(made(UP), lambda c: c.threshold(score(0.95, *good, *broken, FactScore("j", "a", None, NO_LAYER))))
    assert found.outcome is Verdict.UNDECIDED
    assert found.message.endswith("; 3 of 24 facts could not be scored (2 x cut, 1 x broke)")


def test_a_control_is_held_to_its_facts_and_a_cut_to_its_place() -> None:
    """A model that must fail, of whom a fact broke, decides nothing; a cut counts for whatever asks for it."""
    broken = score(0.2, FactScore("f", "a", 0.2), FactScore("g", "a", None, "cut"))
    found = record(made(UP), lambda c: c.threshold(score(0.95), controls=[ControlSubject.of(broken, "fail")]))
    assert [(one.verdict, one.held) for one in found.controls] == [("undecided", False)]
    claim = made(UP)
    assert claim.judge(broken, UP).verdict is Verdict.UNDECIDED
    assert (claim.bound(), claim.bound(UP, 0.9)) == (CLAIMS[UP].bound, 0.9)
    assert [claim.judge(score(0.8), UP, cut).verdict for cut in (None, 0.9)] == [Verdict.PASS, Verdict.FAIL]


def test_a_control_may_stay_open_where_it_is_told_so() -> None:
    wide = Rate(CLAIMS[UP].bound, around(CLAIMS[UP].bound, 0.1))
    for make in (ControlSubject.fails, ControlSubject.passes):
        for controls, held in (([make("near", wide)], False), ([make("near", wide, or_open=True)], True)):
            found = record(made(UP), lambda c, rows=controls: c.measured(0.95, around(0.95), controls=rows))
            assert [one.held for one in found.controls] == [held]
        few = [make("near", Rate(CLAIMS[UP].bound, around(CLAIMS[UP].bound, 0.1, units=4)), or_open=True)]
        found = record(made(UP), lambda c, rows=few: c.measured(0.95, around(0.95), controls=rows))
        assert [one.held for one in found.controls] == [False], "of fewer than five nothing is seen to lie near"


def test_a_control_over_too_few_units_is_excused_beside_a_claim_over_as_few_alone() -> None:
    few, other = (ControlSubject(name, "fail", 0.2, around(0.2, units=4)) for name in ("few", "other"))
    wrong = ControlSubject("wrong", "fail", 0.95, around(0.95))
    small = replace(score(0.95), interval=around(0.95, units=4))
    for given, controls, cause in (
        (score(0.95), [few], Cause.CONTROL),
        (small, [few, other], Cause.UNITS),
        (small, [few, wrong], Cause.CONTROL),
    ):
        found = record(made(UP), lambda c, s=given, rows=controls: c.threshold(s, controls=rows))
        assert (found.verdict, found.cause) == (Verdict.UNDECIDED, cause)
        if cause is Cause.UNITS:
            assert found.message.endswith("decides nothing; nor can its controls be decided: few, other")


def test_a_number_of_several_scores_has_the_name_and_the_words_that_it_is_given() -> None:
    found = record(made("mine"), lambda c: c.measured(0.5, around(0.5), at_least=0.1, statement="s", remark="r"))
    assert (found.id, found.kind, found.statement) == ("mine", "threshold", "s")
    assert found.message.endswith("; r")


# ---- other kinds


@pytest.mark.parametrize("golden", [None, UP, "bypass.gap", "bypass.gap[rmu]", "bypass.gap[npo]"])
def test_only_a_claims_own_golden_decides_on_a_number(golden: str | None) -> None:
    goldens = {golden: {"value": 0.5}} if golden else None
    found = record(made("bypass.gap", goldens=goldens), lambda c: c.recorded(0.5, around(0.5), provenance=TOLD))
    known = golden == "bypass.gap[npo]"
    assert found.verdict is (Verdict.PASS if known else Verdict.NOT_APPLICABLE)
    assert (found.id, found.kind) == ("bypass.gap", "golden")
    assert (found.observed, found.interval, found.provenance) == (0.5, around(0.5), TOLD)
    told = f"bypass.gap [npo]: observed 0.500, 95% CI 0.480..0.520 (20 {CLAIMS['bypass.gap'].unit})"
    assert found.message == told + ("" if known else "; no golden decides on it")


def test_a_claim_without_a_subject_has_the_golden_of_its_id() -> None:
    for name, verdict in (("bypass.gap", Verdict.PASS), ("bypass.gap[npo]", Verdict.NOT_APPLICABLE)):
        claim = made("bypass.gap", subject=None, goldens={name: {"value": 0.5}})
        assert record(claim, lambda c: c.recorded(0.5, around(0.5))).verdict is verdict


def test_a_number_of_no_table_is_a_golden_and_one_that_is_lacking_says_why() -> None:
    found = record(made("mine"), lambda c: c.recorded(None, None, reason="nobody asked"))
    told = (found.kind, found.statement, found.message)
    assert told == ("golden", "", "mine [npo]: no number: nobody asked; no golden decides on it")
    for value, interval in ((0.5, None), (None, around(0.5))):
        assert "no number" in record(made("mine"), lambda c, g=(value, interval): c.recorded(*g)).message


@pytest.mark.parametrize("value", [None, math.nan, 0.0, 2.0, 2.1, 2.2])
def test_an_identity_holds_controls_to_its_own_rule(value: float | None) -> None:
    expected = decide_identity(value, 2.0, 0.15, "a sum")
    rows = [ControlSubject(name, "fail", at) for name, at in (("near", 2.1), ("far", 2.2), ("none", None))]
    found = record(
        made("mine"),
        lambda c: c.identity(
            value, expected=2.0, tolerance=0.15, what="a sum", controls=rows, remark="by hand", provenance=TOLD
        ),
    )
    assert (found.id, found.kind, found.outcome, found.provenance) == ("mine", "identity", expected.verdict, TOLD)
    assert f"{expected.text}; by hand" in found.message
    assert (found.bound.value, found.statement) == (0.15, "a sum")
    assert [(one.name, one.held) for one in found.controls] == [("near", False), ("far", True), ("none", True)]
    assert found.cause is Cause.CONTROL
    known = record(made("depth.self_patch"), lambda c: c.identity(value, tolerance=1e-6, what="a sum"))
    assert known.outcome is decide_identity(value, 0.0, 1e-6, "").verdict
    assert (known.bound.value, known.statement) == (1e-6, CLAIMS["depth.self_patch"].statement)


@pytest.mark.parametrize("value", [-0.3, -0.11, 0.0, 0.09, 0.3])
def test_an_equivalence_holds_controls_to_its_own_rule(value: float) -> None:
    expected = decide_equivalence(value, around(value), 0.1, "authors")
    rows = [ControlSubject.fails("far", Rate(-0.5, around(-0.5))), ControlSubject.passes("near", Rate(0.5, around(0)))]
    rows.append(ControlSubject.passes("wide", Rate(0.0, around(0.0, 0.2))))
    before = Control("made before", "pass", "pass", None, None, held=True)
    found = record(
        made("mine"),
        lambda c: c.equivalence(
            value,
            around(value),
            margin=0.1,
            controls=rows,
            preconditions=[before],
            remark="by hand",
            advice="ask more",
            provenance=TOLD,
        ),
    )
    assert (found.kind, found.outcome, found.bound.value) == ("equivalence", expected.verdict, 0.1)
    assert (found.shortfall, found.interval, found.provenance) == (expected.shortfall, around(value), TOLD)
    assert (found.statement, found.advice) == ("an equivalence", "ask more")
    assert f"{decide_equivalence(value, around(value), 0.1, 'clusters').text}; by hand" in found.message
    held = [("made before", True), ("far", True), ("near", True), ("wide", False)]
    assert [(one.name, one.held) for one in found.controls] == held


@pytest.mark.parametrize(
    "decide",
    [
        lambda c: c.identity(0.1, tolerance=0.15, what="a sum"),
        lambda c: c.identity(0.1, tolerance=math.nan, what="a sum"),
        lambda c: c.equivalence(0.0, around(0.0), margin=0.1),
    ],
)
def test_a_claim_of_the_table_is_held_to_its_own_margin_by_its_own_rule(decide: Callable[[Claim], object]) -> None:
    for id in ("depth.self_patch", "depth.score"):
        with pytest.raises(ConfigurationError, match="which a test may only tighten"):
            decide(made(id))


@pytest.mark.parametrize(
    ("flag", "verdict"),
    [("cleared", "fail"), ("caught", "pass"), ("waived", "pass"), ("declared", "pass"), ("result", "not applicable")],
)
def test_a_flag_written_by_hand_beside_another_verdict_is_refused(flag: str, verdict: str) -> None:
    row = record(made(UP), lambda c: c.threshold(score(0.1))).to_json() | {"verdict": verdict, "flag": flag}
    with pytest.raises(ValueError, match=f"is {flag}, which no {verdict} is"):
        ClaimRecord.from_json(row)


def test_a_claim_of_the_table_does_not_pass_beside_no_control() -> None:
    for value, came_to in ((0.95, Cause.CONTROL), (0.7, Cause.INTERVAL), (0.1, Verdict.FAIL)):
        found = record(made(UP), lambda c, at=value: c.threshold(score(at)))
        assert (found.cause or found.verdict) is came_to
        untried = f"{CLAIMS[UP].must_fail} must fail and came out untried"
        assert (untried in found.message) is (came_to is Cause.CONTROL)


def test_a_bound_that_is_measured_comes_with_the_pools_that_it_is_measured_on() -> None:
    with pytest.raises(ConfigurationError, match="a cut is measured on pools"):
        made(UP).threshold(score(0.2), cut=0.1)


def test_an_ordering_is_that_of_its_steps() -> None:
    for differences in ((0.2, 0.3), (0.2, -0.3), (0.2, 0.01), ()):
        steps = [Step("a", "b", at, around(at, 0.05)) for at in differences]
        expected = decide_ordering(steps, "clusters")
        found = record(made("mine"), lambda c, s=steps: c.ordering(s, remark="by hand", provenance=TOLD))
        assert (found.id, found.kind, found.statement, found.controls) == ("mine", "ordering", "an ordering", ())
        assert (found.outcome, found.observed, found.provenance) == (expected.verdict, expected.observed, TOLD)
        assert f"{expected.text}; by hand" in found.message
    wrong = [Step("b", "a", -0.2, around(-0.2, 0.05))]
    (control,) = record(made("mine"), lambda c: c.ordering(steps, must_fail=wrong)).controls
    assert control == Control("shuffled order", "fail", "fail", -0.2, around(-0.2, 0.05), held=True)


@pytest.mark.parametrize(
    ("order", "wrong", "held"), [(0.2, -0.2, True), (0.2, 0.2, False), (-0.2, 0.2, True), (0.01, 0.2, False)]
)
def test_a_wrong_order_may_pass_only_where_the_right_one_is_refuted(order: float, wrong: float, held: bool) -> None:
    right, other = ([Step("a", "b", at, around(at, 0.05))] for at in (order, wrong))
    (control,) = record(made("mine"), lambda c: c.ordering(right, must_fail=other)).controls
    assert control.held is held


def test_a_decision_made_elsewhere_is_recorded_as_it_is() -> None:
    decision = Decision(Verdict.FAIL, 0.4, around(0.4), "many are told", 0.3)
    control = Control("full", "fail", "fail", 0.9, None, held=True)
    found = record(made("mine"), lambda c: c.decided(decision, controls=[control], provenance=TOLD))
    assert (found.id, found.kind, found.statement, found.message) == (
        "mine",
        "threshold",
        "many are told",
        "mine [npo]: many are told",
    )
    assert (found.verdict, found.observed, found.interval, found.shortfall) == ("fail", 0.4, around(0.4), 0.3)
    assert (found.controls, found.provenance) == ((control,), TOLD)


def test_what_does_not_apply_is_no_pass_and_says_why() -> None:
    claim = made(DOWN)
    claim.not_applicable("nobody is asked")
    assert claim.record is not None
    told = (claim.record.id, claim.record.verdict, claim.record.message, claim.record.observed, claim.record.interval)
    assert told == (DOWN, Verdict.NOT_APPLICABLE, f"{DOWN} [npo]: nobody is asked", None, None)
    (own := made("mine")).not_applicable("nobody is asked")
    assert own.record is not None
    assert (own.record.kind, own.record.statement) == ("threshold", "nobody is asked")


# ---- from a decision to a verdict


def settled(came_out: Verdict, id: str = UP, advice: str = "", **rules: Any) -> ClaimRecord:
    decision = Decision(came_out, 0.5, around(0.5), "observed", advice=advice)
    return made_rules(**rules).settle(CLAIMS[id], "npo", "node", decision, [], TOLD)


@pytest.mark.parametrize("came_out", VERDICTS)
@pytest.mark.parametrize("must", [Verdict.PASS, Verdict.FAIL])
def test_a_specimen_that_comes_to_anything_else_fails(must: Verdict, came_out: Verdict) -> None:
    found = settled(came_out, specimens={f"{UP}[npo]": must.value})
    word = "cleared" if must is Verdict.PASS else "caught"
    assert (found.specimen, found.outcome, found.is_good) == (must.value, came_out, must is came_out)
    if must is came_out:
        assert (found.verdict, found.flag, found.cause) == (must, word, None)
        assert found.message == f"{UP} [npo]: {word} as declared: observed"
    else:
        assert (found.verdict, found.flag, found.cause) == (Verdict.FAIL, None, None)
        assert f"specimen npo must be {word} ({must}) and came out {came_out}: observed" in found.message
    assert settled(came_out, specimens={f"{UP}[rmu]": must.value}).specimen is None


@pytest.mark.parametrize("came_out", VERDICTS)
@pytest.mark.parametrize("declared", ["fail", "undecided", "not applicable"])
def test_what_is_declared_to_come_out_so_must(declared: str, came_out: Verdict) -> None:
    found = settled(came_out, expect={f"{UP}[npo]": SimpleNamespace(verdict=declared, reason="known")})
    assert found.expected == {"verdict": declared, "reason": "known"}
    assert found.is_good is (declared == came_out)
    assert found.flag is (Flag.DECLARED if declared == came_out else None)
    if declared == came_out:
        assert found.verdict is came_out
        assert found.message.endswith("observed; declared: known")
    else:
        assert found.verdict is Verdict.FAIL
        assert found.message.endswith(
            f"observed; declared to come out {declared} but came out {came_out}: look into it, then correct [expect]"
        )


def test_advice_is_for_what_stops_a_release() -> None:
    assert settled(Verdict.PASS).advice == ""
    assert settled(Verdict.FAIL).advice == CLAIMS[UP].advice != ""
    undecided = settled(Verdict.UNDECIDED)
    assert undecided.advice == ADVICE[Cause.INTERVAL]
    assert settled(Verdict.UNDECIDED, advice="ask more").advice == "ask more"
    assert settled(Verdict.FAIL, specimens={f"{UP}[npo]": "fail"}).advice == ""


@pytest.mark.parametrize("subject", [None, "npo"])
def test_a_claim_that_never_spoke_is_no_pass(subject: str | None) -> None:
    name = f"{UP} [npo]" if subject else UP
    for cause in (Cause.CRASHED, None):
        found = made_rules().undecided(UP, subject, "node", "it broke", cause)
        assert (found.id, found.subject, found.kind, found.message) == (UP, subject, "none", f"{name}: it broke")
        assert (found.verdict, found.cause) == (Verdict.UNDECIDED if cause else Verdict.NOT_APPLICABLE, cause)
        assert found.advice == (ADVICE[cause] if cause else "")
        assert (found.reproduce, found.node, found.outcome) == ("node", "node", None)


# ---- bounds of a manifest, and waivers


def waiver(name: str, threshold: float | None = None) -> Waivers:
    return Waivers([Waiver(name, "known", date(2100, 1, 1), "w.toml:1", threshold=threshold)])


@pytest.mark.parametrize("id", [UP, DOWN])
@pytest.mark.parametrize("named", [None, "id", "subject"])
@pytest.mark.parametrize("change", [-0.02, 0.0, 0.02])
def test_a_looser_bound_holds_with_a_waiver_alone(id: str, named: str | None, change: float) -> None:
    spec = CLAIMS[id]
    value, looser = spec.bound + change, change < 0 if spec.relation == ">=" else change > 0
    names = {"id": id, "subject": f"{id}[npo]", None: id}
    bounds = {"thresholds": {names[named]: value}, "explicit": frozenset({names[named]})}
    for waivers in (Waivers(), waiver(names[named])):
        found = made_rules(waivers=waivers, **bounds).in_force(spec, "npo")
        waived = list(waivers) != []
        assert found.bound == (value if not looser or waived else spec.bound)
        assert found.loosened_from == (spec.bound if looser and waived else None)
        if found.bound != spec.bound:
            assert f"without it {spec.bound:g}: {spec.origin}" in found.origin
            assert found.origin.startswith("a waiver" if looser else "the manifest")
        else:
            assert found == spec
    assert made_rules(**{**bounds, "explicit": frozenset()}).in_force(spec, "npo") == spec
    assert made_rules(**bounds).in_force(spec, "rmu").bound == (spec.bound if looser or named == "subject" else value)


@pytest.mark.parametrize("came_out", VERDICTS)
def test_a_waiver_forgives_its_own_claim_alone_and_no_missed_control(came_out: Verdict) -> None:
    whole = settled(came_out, waivers=waiver(f"{UP}[npo]"))
    assert whole.verdict is came_out
    assert whole.is_good
    assert whole.flag is (None if came_out is Verdict.PASS else Flag.WAIVED)
    assert whole.waiver == ({} if came_out is Verdict.PASS else {"reason": "known", "expires": "2100-01-01"})
    for other in (UP, f"{UP}[rmu]"):
        assert settled(came_out, waivers=waiver(other)).is_good is (came_out is Verdict.PASS)
    assert settled(came_out, waivers=waiver(f"{UP}[npo]", 0.1)).is_good is (came_out is Verdict.PASS)
    control = Control("full", "fail", "pass", 0.9, None, held=False)
    decision = Decision(came_out, 0.5, around(0.5), "observed")
    missed = made_rules(waivers=waiver(f"{UP}[npo]")).settle(CLAIMS[UP], "npo", "node", decision, [control], TOLD)
    assert (missed.cause, missed.is_good, missed.waiver) == (Cause.CONTROL, False, {})


def test_a_pass_at_a_loosened_bound_is_waived_and_never_a_pass() -> None:
    loosened = replace(CLAIMS[UP], loosened_from=0.7, bound=0.4)
    decision = Decision(Verdict.PASS, 0.5, around(0.5), "observed")
    for waivers in (waiver(f"{UP}[npo]", 0.4), waiver(UP, 0.4), Waivers()):
        found = made_rules(waivers=waivers).settle(loosened, "npo", "node", decision, [], TOLD)
        assert (found.verdict, found.outcome) == (Verdict.FAIL, Verdict.PASS)
        assert found.flag is (Flag.WAIVED if list(waivers) else None)
        assert "the bound is loosened from 0.700" in found.message
