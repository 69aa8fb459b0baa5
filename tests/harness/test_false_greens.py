"""Ways in which a run could come out green that it must not: each was possible once, or nearly."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import small_models as small
from made_reports import made_rules
from small_runs import DEPTH, Bench

from uds_bench.audits import registry
from uds_bench.audits.depth import reading as depth
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.claims.claim import Claim, ControlSubject
from uds_bench.claims.record import Control
from uds_bench.claims.waivers import Waiver, Waivers
from uds_bench.errors import ConfigurationError
from uds_bench.facts import load_facts
from uds_bench.manifest.section import Expectation
from uds_bench.scores import FactScore, Score
from uds_bench.statistics import Interval, Rate, cluster_interval
from uds_bench.verdicts import Cause, Decision, Flag, Step, Verdict, decide_threshold


def score(name: str, digest: str, values: list[float], clusters: int = 8) -> Score:
    facts = tuple(FactScore(f"f{i}", f"a{i % clusters}", value) for i, value in enumerate(values))
    interval = cluster_interval(values, [fact.cluster for fact in facts], limits=(0.0, 1.0))
    mean = sum(values) / len(values)
    return Score(name, "none", "uds", "block", mean, interval, facts, {}, {"checkpoint": digest})


def test_a_pool_may_hold_no_reference_no_candidate_and_nothing_twice() -> None:
    full, pool = score("full", "f", [0.1] * 8), score("p", "p", [0.2] * 8)
    depth.require_independent([pool], [full])
    with pytest.raises(ConfigurationError, match=r"\[pools\] q holds the same weights as full"):
        depth.require_independent([score("q", "f", [0.1] * 8)], [full])
    with pytest.raises(ConfigurationError, match=r"\[pools\] q holds the same weights as p"):
        depth.require_independent([pool, score("q", "p", [0.2] * 8)], [full])


@pytest.mark.parametrize("model", ["shallow", "retain"])
def test_a_candidate_that_is_its_own_yardstick_is_undecided(bench: Bench, model: str) -> None:
    own = bench.models / model
    bench.manifest({"mine": own}, positive=(), negative=(), retain=own)
    ran = bench.run(DEPTH, "-k", "test_score")
    assert ran.verdicts == {"depth.score[mine]": "control"}
    assert "retain is another model than mine must pass and came out fail" in ran.text


def test_a_yardstick_that_knows_more_than_who_never_knew_decides_nothing(bench: Bench) -> None:
    bench.manifest(["retain3"], retain=bench.models / "shallow")
    ran = bench.run(DEPTH, "-k", "test_score")
    assert ran.code == 1
    controls = {one["name"]: one["held"] for one in ran.claims["depth.score[retain3]"]["controls"]}
    assert controls["retain, with retain2 as its yardstick"] is False


def test_facts_that_the_full_model_never_knew_cannot_be_forgotten() -> None:
    retain = score("retain", "r", [0.0, 1.0] * 8)
    assert depth.full_knows(score("full", "f", [1.0] * 16), retain)[0] is Verdict.PASS
    assert depth.full_knows(score("full", "f", [0.0, 1.0] * 8), retain)[0] is not Verdict.PASS


def test_the_shuffled_order_is_neither_the_order_nor_its_reverse() -> None:
    scores = [score(str(i), str(i), [i / 10] * 8) for i in range(5)]
    for count in (2, 3, 4, 5):
        found = [s.checkpoint for s in depth.shuffled(scores[:count])]
        assert sorted(found) == [str(i) for i in range(count)]
        assert found != sorted(found)
        assert count < 3 or found != sorted(found, reverse=True)


@pytest.mark.parametrize(("golden", "came_to"), [(0.233, Cause.DRIFTED), (0.90, Verdict.FAIL)])
def test_a_declared_miss_that_drifted_or_does_not_come_true_is_none(golden: float, came_to: Cause | Verdict) -> None:
    decision = Decision(Verdict.PASS, 0.90, Interval(0.85, 0.95, "any", 15), "observed 0.900")
    expect = {"depth.score[npo]": Expectation(verdict="fail", reason="known")}
    known = made_rules({"depth.score[npo]": {"value": golden}}, expect=expect)
    settled = known.settle(registry.claims()["depth.score"], "npo", "node", decision, [], {})
    assert (settled.cause or settled.verdict) is came_to
    assert ("golden" in settled.message) is (came_to is Cause.DRIFTED)


def test_clearing_only_a_loosened_bound_is_no_plain_pass() -> None:
    loose = replace(registry.claims()["depth.score"], bound=0.3, loosened_from=0.7)
    decision = Decision(Verdict.PASS, 0.45, Interval(0.4, 0.5, "any", 15), "observed 0.450")
    waiver = Waiver("depth.score[npo]", "agreed", date(2999, 1, 1), "waivers.toml:1", threshold=0.3)
    for waivers, flag in ((Waivers([waiver]), Flag.WAIVED), (Waivers(), None)):
        settled = made_rules(waivers=waivers).settle(loose, "npo", "node", decision, [], {})
        assert (settled.verdict, settled.flag) == (Verdict.FAIL, flag)


def test_a_users_test_may_not_loosen_a_claim_of_the_table(bench: Bench) -> None:
    bench.manifest()
    bench.test(
        """
@pytest.mark.claim("depth.score")
def test_score(uds_claim, uds_subject, uds_audit):
    uds_claim.threshold(uds_audit.score(uds_subject, "uds"), at_least=0.05)
"""
    )
    ran = bench.run()
    assert ran.code == 1, ran.text
    assert "a test may only tighten" in ran.text


@pytest.mark.parametrize("name", ["depth.score", "depth.mine", "{way}.score"])
def test_a_claim_of_one_audit_is_not_decided_by_another(bench: Bench, name: str) -> None:
    bench.manifest()
    bench.test(
        f"""
@pytest.mark.parametrize("way", ["depth"])
@pytest.mark.claim("{name}", audit="metrics")
def test_score(uds_claim, uds_subject, way):
    uds_claim.measured(1.0, None)
"""
    )
    ran = bench.run()
    assert ran.code == 4, ran.text
    assert f"{name.format(way='depth')} is a claim of depth, not of metrics: give it another name" in ran.text
    assert "Traceback" not in ran.text


def test_attacks_that_do_not_exist_are_not_scored_as_if_they_did(bench: Bench) -> None:
    bench.manifest()
    bench.test(
        """
@pytest.mark.claim("mine.attacked", audit="depth")
def test_attacked(uds_claim, uds_subject, uds_audit):
    uds_claim.threshold(uds_audit.score(uds_subject, "uds", attack="nf4"), at_least=0.7)
"""
    )
    ran = bench.run()
    assert ran.code == 1, ran.text
    assert "the manifest has no attack 'nf4': choose from none, or add [attacks] nf4" in ran.text


def test_the_retain_models_score_checks_the_stored_reading(models: Path, tmp_path: Path) -> None:
    """Another retain model's reading in the place of the right one: UDS of retain is then not 1."""
    from uds_bench.metrics.uds import ALIGNED
    from uds_bench.scoring.metric_runner import MetricRunner
    from uds_bench.scoring.runner import ScoreRequest
    from uds_bench.scoring.store import Store

    specs = {name: CheckpointSpec(str(models / name)) for name in small.NAMES}
    runner = MetricRunner(specs, load_facts(models / "facts.jsonl"), Store(tmp_path))
    honest = runner.score(ScoreRequest("retain", "uds"))
    assert depth.largest_distance(honest, 1.0) <= 1e-5
    wrong = MetricRunner(
        specs | {"retain": specs["retain2"]}, load_facts(models / "facts.jsonl"), Store(tmp_path / "b")
    )
    wrong._yardstick().reading("retain", ALIGNED)
    runner._yardstick()._arrays.update(wrong._yardstick()._arrays)
    (tmp_path / "cells").rename(tmp_path / "gone")
    runner._scores.clear()
    assert depth.largest_distance(runner.score(ScoreRequest("retain", "uds")), 1.0) > 1e-3


def steps(*differences: float) -> list[Step]:
    return [Step("a", "b", d, Interval(d - 0.05, d + 0.05, "any", 15)) for d in differences]


@pytest.mark.parametrize(("wrong", "verdict"), [((0.2, -0.2), "pass"), ((0.2, 0.2), "control")])
def test_an_order_that_holds_however_it_is_shuffled_is_none(wrong: tuple[float, ...], verdict: str) -> None:
    claim = Claim("depth.order", None, "node", made_rules())
    with contextlib.suppress(pytest.fail.Exception):
        claim.ordering(steps(0.2, 0.3), must_fail=steps(*wrong))
    assert (claim.record.cause or claim.record.verdict) == verdict
    (control,) = claim.record.controls
    assert control.held is (verdict == "pass")


@pytest.mark.parametrize("units", [4, 15])
def test_a_control_without_enough_units_is_no_miss_and_one_with_enough_is(units: int) -> None:
    few = Interval(0.85, 0.95, "any", 4)
    decision = decide_threshold(0.9, few, ">=", 0.7, "authors")
    control = Control("full2", "fail", "undecided", 0.2, replace(few, units=units), held=False)
    known = made_rules()
    settled = known.settle(registry.claims()["depth.score"], "npo", "node", decision, [control], {})
    assert settled.cause is (Cause.UNITS if units == 4 else Cause.CONTROL)
    assert "full2" in settled.message
    enough = decide_threshold(0.9, replace(few, units=15), ">=", 0.7, "authors")
    settled = known.settle(registry.claims()["depth.score"], "npo", "node", enough, [control], {})
    assert settled.cause is Cause.CONTROL


RIGHT, WRONG, OPEN = (0.1, 0.2), (0.8, 0.9), (0.65, 0.75)
"""Intervals of models that know, held against 0.70."""


@pytest.mark.parametrize(
    ("knowing", "valid"),
    [
        ([RIGHT], True),
        ([RIGHT, RIGHT, OPEN], True),
        ([OPEN], False),
        ([RIGHT, OPEN], False),
        ([RIGHT, OPEN, OPEN], False),
        ([RIGHT, RIGHT, RIGHT, WRONG], False),
    ],
)
def test_a_pool_may_hold_a_borderline_model_but_none_that_comes_out_wrong(
    knowing: list[tuple[float, float]], valid: bool
) -> None:
    claim = Claim("depth.score", "npo", "node", made_rules())
    subjects = [
        ControlSubject(f"knows {i}", "fail", sum(pair) / 2, Interval(*pair, "any", 15))
        for i, pair in enumerate(knowing)
    ]
    good = Score("npo", "none", "uds", "block", 0.95, Interval(0.9, 1.0, "any", 15), (FactScore("f", "a", 0.95),))
    if valid:
        assert claim.threshold(good, pools=subjects).verdict is Verdict.PASS
    else:
        with pytest.raises(pytest.fail.Exception, match=r"UNDECIDED \(control\)"):
            claim.threshold(good, pools=subjects)


@pytest.mark.parametrize(
    ("value", "low", "high", "valid"),
    [
        (0.01, 0.0, 0.03, True),
        (0.04, 0.01, 0.08, True),
        (0.2, 0.1, 0.3, False),
        (float("nan"), float("nan"), float("nan"), False),
        (0.04, 0.0, float("inf"), False),
    ],
)
def test_a_control_near_the_bound_may_stay_open_but_not_come_out_wrong_or_as_no_number(
    value: float, low: float, high: float, valid: bool
) -> None:
    never = ControlSubject.passes("never saw them", Rate(value, Interval(low, high, "any", 70)), or_open=True)
    for control, expected in ((never, valid), (replace(never, or_open=False), valid and high < 0.05)):
        claim = Claim("association.forgotten", "npo", "node", made_rules())
        with contextlib.nullcontext() if expected else pytest.raises(pytest.fail.Exception, match="control"):
            claim.measured(0.0, Interval(-0.01, 0.02, "any", 70), controls=[control])
        assert [one.held for one in claim.record.controls] == [expected]
