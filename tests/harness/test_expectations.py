"""Declared misses: shown apart where they come true, a failure where they do not, an error where they match nothing."""

import re

import pytest
from small_runs import DEPTH, Bench


def expect(name: str, verdict: str = "fail", reason: str = "it is the full model") -> str:
    return f'[expect]\n"{name}" = {{ verdict = "{verdict}", reason = "{reason}" }}\n'


def test_a_miss_that_was_declared_is_no_pass_and_no_failure(bench: Bench) -> None:
    bench.manifest(["copy"], more=expect("depth.score[copy]"))
    ran = bench.run(DEPTH, "-k", "test_score")
    assert ran.code == 0, ran.text
    assert ran.counts == {"declared": 1}
    assert "it is the full model" in ran.text
    claim = ran.claims["depth.score[copy]"]
    assert (claim["expected"]["verdict"], claim["outcome"]) == ("fail", "fail")


def test_a_miss_that_does_not_come_true_fails(bench: Bench) -> None:
    bench.manifest(["retain3"], more=expect("depth.score[retain3]"))
    ran = bench.run(DEPTH, "-k", "test_score")
    assert ran.code == 1
    assert ran.counts == {"fail": 1}
    assert "declared to come out fail but came out pass" in ran.text


@pytest.mark.parametrize("name", ["depth.score[nobody]", "depth.scores[copy]", "depth.score", "depth.order[copy]"])
def test_an_expectation_of_no_claim_is_an_error(bench: Bench, name: str) -> None:
    bench.manifest(["copy"], more=expect(name))
    said = bench.refused(DEPTH)
    assert re.search(rf"uds\.toml, line \d+: \[expect\] entry '{re.escape(name)}' matches no claim", said)


def test_a_bound_of_no_candidate_is_an_error_and_holds_nobody(bench: Bench) -> None:
    bench.manifest(["copy", "retain3"], more='[thresholds]\n"depth.score[retan3]" = 0.99\n')
    said = bench.refused(DEPTH)
    assert "[thresholds] entry 'depth.score[retan3]' matches no claim: did you mean 'depth.score[retain3]'" in said
    assert "depth.score" in bench.refused(DEPTH, "-k", "test_score")


@pytest.mark.parametrize("name", ["depth.score", "depth.score[retain3]", "faithfulness.es"])
def test_a_bound_of_a_claim_or_a_candidate_is_none(bench: Bench, name: str) -> None:
    bench.manifest(["retain3"], more=f'[thresholds]\n"{name}" = 0.99\n')
    assert bench.run(f"{DEPTH}::test_self_patch").code == 0


def test_a_selection_by_name_leaves_the_other_expectations_alone(bench: Bench) -> None:
    more = expect("depth.score[copy]") + '"depth.score[shallow]" = { verdict = "fail", reason = "one block" }\n'
    bench.manifest(["copy", "shallow", "retain3"], more=more)
    assert bench.run(DEPTH, "-k", "test_score and retain3").code == 0
    assert bench.run(f"{DEPTH}::test_score[retain3]").code == 0
    assert bench.run(f"{DEPTH}::test_self_patch").code == 0


def test_a_missed_control_is_never_an_expected_miss(bench: Bench) -> None:
    bench.manifest(["copy"], positive=["retain2"], negative=["retain3"], more=expect("depth.score[copy]"))
    ran = bench.run(DEPTH, "-k", "test_score")
    assert ran.code == 1
    assert ran.counts == {"control": 1}


def test_a_crash_is_never_an_expected_miss(bench: Bench) -> None:
    bench.manifest(more=expect("mine.odd"))
    ran = bench.run(bench.test('@pytest.mark.claim("mine.odd")\ndef test_odd(uds_claim):\n    raise OSError("x")\n'))
    assert ran.code == 1
    assert ran.counts == {"crashed": 1}
