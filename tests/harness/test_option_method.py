"""--uds-method: an unlearning method is tried, and what it makes is judged in the same run."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from small_runs import DEPTH, Bench

from uds_bench.claims.rules import IS_PASSED

METHOD = """
def forget(model, tokenizer, forget, retain, seed):
    if seed == 2:
        raise ValueError("no luck")
    return model
"""


@pytest.fixture(autouse=True)
def of_depth_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uds_bench.trials.beds.beds", lambda: ["depth"])


def test_what_a_method_makes_is_judged_and_what_it_fails_at_is_told(bench: Bench) -> None:
    (bench.folder / "ours.py").write_text(METHOD)
    ran = bench.run(DEPTH, "--uds-method", "ours:forget", "-k", "frozen", "--junitxml", bench.folder / "junit.xml")
    assert ran.code == 1, ran.text
    assert ran.verdicts == {"depth.frozen": "pass"}
    assert "ours:forget crashed (ValueError: no luck): depth, seed 2" in ran.report["summary"]["problems"][0]
    assert "ours:forget left the model as it was" in ran.text
    assert "\nuds_bench: what ours:forget makes: RED: " in ran.text
    assert ran.report["manifest"]["path"].endswith("uds.toml")
    junit = ElementTree.parse(bench.folder / "junit.xml")
    (failure,) = junit.iter("failure")
    assert "ours:forget crashed (ValueError: no luck): depth, seed 2" in str(failure.text)
    told = [one.get("value") for one in junit.iter("property") if one.get("name") == "uds_remark"]
    assert any("ours:forget left the model as it was" in str(one) for one in told)
    (suite,) = junit.iter("testsuite")
    assert (suite.get("failures"), suite.get("tests")) == ("1", "2")


@pytest.mark.slow
def test_a_model_that_forgot_nothing_fails_by_every_seed(bench: Bench) -> None:
    (bench.folder / "ours.py").write_text(METHOD)
    ran = bench.run(DEPTH, "--uds-method", "ours:forget")
    assert {ran.verdicts[f"depth.score[forget-seed{seed}]"] for seed in (0, 1)} == {"fail"}


@pytest.mark.slow
def test_what_it_is_not_meant_to_pass_is_declared_and_no_excuse_for_a_pass(bench: Bench) -> None:
    excused = {"depth.score": "it does nothing", "depth.spared": "nor here", "bypass.verdict": "of an audit not tried"}
    (bench.folder / "ours.py").write_text(f"{METHOD}\nforget.expected_failures = {excused}\n")
    ran = bench.run(DEPTH, "--uds-method", "ours:forget")
    flags = {name: claim["flag"] for name, claim in ran.claims.items()}
    assert {flags[f"depth.score[forget-seed{seed}]"] for seed in (0, 1)} == {"declared"}
    assert {flags[f"depth.spared[forget-seed{seed}]"] for seed in (0, 1)} == {None}
    assert f"depth.spared {IS_PASSED}" in ran.report["summary"]["problems"]
    assert not any(IS_PASSED in one for one in ran.report["summary"]["problems"] if "spared" not in one)


@pytest.mark.slow
def test_beside_a_manifest_it_makes_the_run_red_and_no_candidate(bench: Bench) -> None:
    (bench.folder / "ours.py").write_text(METHOD)
    ran = bench.run(DEPTH, "--uds-method", "ours:forget", manifest=bench.manifest({"good": bench.models / "retain3"}))
    assert ran.code == 1, ran.text
    assert ran.verdicts["depth.score[good]"] == "pass"
    summary, told = ran.report["summary"], {one["id"]: one for one in ran.report["of_method"]}
    assert (summary["problems"], summary["ok"]) == ([], False)
    assert summary["planned"] == len(ran.verdicts), "no claim of the run is about the method"
    assert (told["depth.score"]["subject"], told["depth.score"]["verdict"]) == ("method ours:forget", "fail")
    assert told["depth.score"]["message"].startswith("depth.score [method ours:forget]: seeds: 2 fail; mean ")
    assert told["depth.spared"]["verdict"] == "pass"
    assert "forget-seed0: observed " in told["depth.score"]["message"], "why one of them fails"
    assert told["depth.score"]["reproduce"] == "uds-bench gate-method ours:forget --audits depth"
    assert told["depth.score"]["advice"].startswith("the facts are still there")
    assert "ours:forget crashed (ValueError: no luck): depth, seed 2" in told["method.itself"]["message"]
    assert re.search(rf"^{len(ran.verdicts) + len(told)} claims planned = ", ran.text, re.MULTILINE)
    assert f"FAIL: {told['depth.score']['message']}\n" in ran.text
    assert re.search(r"^method ours:forget +\d+ FAIL, ", ran.text, re.MULTILINE)
    assert re.search(r"do not release method ours:forget.*; what was asked holds for good\.$", ran.text, re.MULTILINE)
