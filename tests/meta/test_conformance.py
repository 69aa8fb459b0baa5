"""Bring your own metric: a good one passes every check, and each kind of broken one is caught by the check for it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from books import DOCS, blocks
from small_runs import Bench

from uds_bench.attacks import find_attack
from uds_bench.audits.metrics import (
    CheckContext,
    CheckResult,
    Models,
    check_metric,
    conformance,
    metric_checks,
    zoo_context,
)
from uds_bench.audits.metrics.checks import CHECKS
from uds_bench.errors import ConfigurationError
from uds_bench.facts import load_facts
from uds_bench.metrics import find_metric
from uds_bench.metrics.metric import FactValue, Measured, Metric
from uds_bench.metrics.subject import Subject

UDS, ACCURACY = find_metric("uds"), find_metric("entity_accuracy")
NOT_ROBUST = {"relearning": "what only fell silent comes back, and in the retain model nothing does"}


@pytest.fixture(scope="session")
def small(models: Path) -> CheckContext:
    """Two models that know, two that never knew, and as candidates one that forgot and one that is only silent."""
    attacks = {"nf4": find_attack("nf4"), "relearn": find_attack("relearn", epochs=4, lr=3e-3, batch_size=6)}
    return CheckContext.of(
        load_facts(models / "facts.jsonl"),
        full=models / "full",
        retain=models / "retain",
        positive={"full2": models / "full2"},
        negative={"retain2": models / "retain2"},
        candidates={"retain3": models / "retain3", "shallow": models / "shallow"},
        attacks=attacks,
        keep=32,
    )


def failed(results: list[CheckResult]) -> set[str]:
    assert [result.check for result in results] == list(CHECKS)
    assert all(result.text for result in results)
    return {result.check for result in results if result.outcome == "fail"}


def changed(metric: Metric, change: Callable[[Subject, FactValue], FactValue], name: str) -> Metric:
    """The metric with every value of a fact passed through `change`."""

    def compute(subject: Subject, variant: str) -> Measured:
        found = metric.compute(subject, variant)
        return Measured([change(subject, value) for value in found.values], found.notes)

    return replace(metric, name=name, compute=compute)


def valued(value: Callable[[Subject, float], float | None], metric: Metric = UDS, name: str = "own") -> Metric:
    return changed(metric, lambda s, v: replace(v, value=None if v.value is None else value(s, v.value)), name)


def test_a_good_metric_passes_every_check(small: CheckContext) -> None:
    results = check_metric(UDS, small)
    assert {result.outcome for result in results} == {"pass"}, results


def test_entity_accuracy_passes_but_for_what_it_is_known_to_miss(small: CheckContext) -> None:
    assert failed(check_metric(ACCURACY, small)) == {"relearning"}
    results = check_metric(ACCURACY, small, expected_failures=NOT_ROBUST)
    assert all(result.ok for result in results)
    (expected,) = (result for result in results if result.outcome == "expected failure")
    assert (expected.check, expected.reason) == ("relearning", NOT_ROBUST["relearning"])
    assert NOT_ROBUST["relearning"] in str(expected)


# ---- broken metrics


def test_a_wrong_sign_is_caught_by_direction_and_faithfulness(small: CheckContext) -> None:
    wrong = replace(UDS, name="wrong_sign", direction="knowledge")
    assert failed(check_metric(wrong, small)) >= {"direction", "faithfulness"}
    assert not failed(check_metric(wrong, small)) & {"values", "range", "determinism", "batch_invariance"}


def test_a_constant_is_caught_by_direction_and_faithfulness(small: CheckContext) -> None:
    found = failed(check_metric(valued(lambda s, v: 0.5), small))
    assert found >= {"direction", "faithfulness"}
    assert not found & {"values", "range", "determinism", "batch_invariance"}


@pytest.mark.parametrize("name", ["full", "retain", "full2", "retain2", "retain3", "shallow"])
def test_nan_on_one_model_is_caught_by_values(small: CheckContext, name: str) -> None:
    broken = valued(lambda s, v: math.nan if Path(s.checkpoint.spec.model).name == name else v)
    (result,) = (r for r in check_metric(broken, small) if r.check == "values")
    assert result.outcome == "fail"
    assert f"{name}: no finite value" in result.text


def test_one_nan_among_the_facts_is_caught_by_values(small: CheckContext) -> None:
    first = next(iter(small.facts.split("forget"))).id
    broken = changed(UDS, lambda s, v: replace(v, value=math.nan) if v.id == first else v, "one_nan")
    assert "values" in failed(check_metric(broken, small))


def test_none_without_a_reason_is_caught_by_values(small: CheckContext) -> None:
    assert "values" in failed(check_metric(valued(lambda s, v: None), small))


def test_facts_dropped_silently_are_caught_by_values(small: CheckContext) -> None:
    def compute(subject: Subject, variant: str) -> Measured:
        return Measured(UDS.compute(subject, variant).values[1:])

    assert failed(check_metric(replace(UDS, name="drops", compute=compute), small)) == {"values"}


def last_state(subject: Subject, variant: str) -> Measured:
    """Right-padded batches without a mask, and the state read in the last column: the classic slip."""
    checkpoint, size = subject.checkpoint, subject.references.batch_size
    ids = [checkpoint.tokenizer(f"{fact.question} {fact.answer}")["input_ids"] for fact in subject.facts]
    values = []
    for start in range(0, len(ids), size):
        rows = ids[start : start + size]
        width = max(map(len, rows))
        with torch.no_grad():
            logits = checkpoint.model(torch.tensor([row + [0] * (width - len(row)) for row in rows])).logits
        values += torch.sigmoid(logits[:, -1].mean(-1)).tolist()
    return Measured([FactValue(fact.id, value) for fact, value in zip(subject.facts, values, strict=True)])


def test_dependence_on_the_batch_is_caught_by_batch_invariance(small: CheckContext) -> None:
    sloppy = replace(UDS, name="sloppy", compute=last_state)
    found = failed(check_metric(sloppy, small))
    assert "batch_invariance" in found
    assert not found & {"values", "range", "determinism"}


def test_chance_is_caught_by_determinism(small: CheckContext) -> None:
    numbers: Iterator[int] = iter(range(10**9))
    noisy = valued(lambda s, v: min(1.0, 0.9 * v + 1e-9 * (next(numbers) % 7)))
    assert failed(check_metric(noisy, small)) == {"determinism"}


def test_a_value_outside_its_limits_is_caught_by_range(small: CheckContext) -> None:
    assert failed(check_metric(valued(lambda s, v: 1.5 * v), small)) == {"range"}


def test_reading_the_rounding_of_weights_is_caught_by_quantization(small: CheckContext) -> None:
    def fineness(subject: Subject, value: float) -> float:
        weight = subject.checkpoint.model.model.layers[0].mlp.up_proj.weight
        return value * min(1.0, weight.unique().numel() / 1000)

    assert "quantization" in failed(check_metric(valued(fineness), small))


def test_moving_where_the_retain_model_does_not_is_caught_by_relearning(small: CheckContext) -> None:
    """Erased while the weights are as they were published, and intact from the first step of training on."""
    before = {small.open(name).checkpoint.model.model.norm.weight.sum().item() for name in ("retain", "retain3")}

    def brittle(subject: Subject, value: float) -> float:
        known = Path(subject.checkpoint.spec.model).name == "retain"
        moved = subject.checkpoint.model.model.norm.weight.sum().item() not in before
        return 0.0 if moved and not known else value

    found = failed(check_metric(valued(brittle), small))
    assert "relearning" in found
    assert not found & {"values", "range", "determinism", "batch_invariance"}


def test_a_metric_that_raises_fails_and_does_not_stop_the_others(small: CheckContext) -> None:
    def compute(subject: Subject, variant: str) -> Measured:
        raise ValueError("no such layer")

    results = check_metric(replace(UDS, compute=compute), small)
    assert failed(results) == set(CHECKS)
    assert all("ValueError: no such layer" in result.text for result in results)


def test_a_metric_of_utility_is_not_judged_as_one_of_knowledge(small: CheckContext) -> None:
    results = check_metric(replace(UDS, direction="utility"), small)
    assert failed(results) == {"direction", "faithfulness", "quantization", "relearning"}
    assert all("says nothing of what a model knows" in r.text for r in results if not r.ok)


# ---- the kit


def test_a_failure_that_does_not_come_is_no_good_news(small: CheckContext) -> None:
    results = check_metric(UDS, small, expected_failures={"range": "it once did"})
    assert [(r.check, r.outcome) for r in results if not r.ok] == [("range", "unexpected pass")]


@pytest.mark.parametrize("expected", [{"rnage": "a slip"}, {"range": " "}])
def test_an_expectation_names_a_check_and_a_reason(small: CheckContext, expected: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        check_metric(UDS, small, expected_failures=expected)
    with pytest.raises(ConfigurationError):
        list(metric_checks([UDS], expected_failures={"uds": expected}))


def test_an_expectation_names_a_metric() -> None:
    with pytest.raises(ConfigurationError, match="nobody"):
        list(metric_checks([UDS], expected_failures={"nobody": NOT_ROBUST}))


def test_without_attacks_two_checks_do_not_apply(small: CheckContext) -> None:
    models = Models("full", "retain", ("full2",), ("retain2",), ("retain3",))
    bare = CheckContext(models, small.facts, small.open)
    results = check_metric(UDS, bare)
    assert [r.check for r in results if r.outcome == "not applicable"] == ["quantization", "relearning"]
    assert not failed(results)


def test_a_metric_that_needs_a_split_says_so(small: CheckContext) -> None:
    (first, *_) = check_metric(replace(UDS, splits=("forget", "holdout")), small)
    assert first.outcome == "fail"
    assert "split holdout" in first.text


(EXAMPLE,) = (one.text for one in blocks(DOCS / "howto" / "metric.md") if one.language == "python")
ATTACKS = "[attacks]\nnf4 = {}\nrelearn = { epochs = 4, lr = 3e-3, batch_size = 6 }\n"


def test_without_a_trial_it_is_the_shipped_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is trained; the attacks are those of the zoo."""
    context = zoo_context()
    assert context.attacks == ("nf4", "relearn")
    assert len(context.models.positive) == len(context.models.negative) == 3
    monkeypatch.setattr(conformance, "zoo_context", lambda: context)
    monkeypatch.setattr(conformance, "CHECKS", {"direction": CHECKS["direction"]})
    assert [result.outcome for result in check_metric(find_metric("prob"))] == ["pass"]


def test_a_check_in_a_test_fails_skips_and_misses_as_pytest_does(bench: Bench) -> None:
    expected = '{"said": {"faithfulness": "has the wrong sign"}}'
    broken = EXAMPLE.replace('"knowledge"', '"erasure"').replace("[SAID]", f"[SAID], expected_failures={expected}")
    bench.manifest()
    ran = bench.run(bench.test(broken, "test_said"))
    assert ran.code == 1
    assert "1 failed, 4 passed, 2 skipped, 1 xfailed" in ran.text
    assert "said: direction: fail: full 1" in ran.text


@pytest.mark.parametrize("error", [AssertionError, OSError, ValueError])
def test_a_crash_fails_and_is_no_expected_failure(small: CheckContext, error: type[Exception]) -> None:
    def compute(subject: Subject, variant: str) -> Measured:
        raise error("broken")

    broken = replace(ACCURACY, name="broken", compute=compute)
    results = check_metric(broken, small, expected_failures={"range": "it is known to exceed"})
    assert {result.outcome for result in results} <= {"fail", "not applicable"}
    assert not next(result for result in results if result.check == "range").ok
    (param,) = (p for p in metric_checks([broken]) if p.id == "broken-range")
    with pytest.raises(RuntimeError, match="broken: range: fail: raised"):
        param.values[1](broken, small)


def test_wide_limits_hide_no_dependence_on_batches(small: CheckContext) -> None:
    def compute(subject: Subject, variant: str) -> Measured:
        return Measured([FactValue(f.id, 0.5 + subject.batch_size / 1000) for f in subject.facts])

    wide = replace(ACCURACY, name="wide", limits=(0.0, 1e6), compute=compute)
    (found,) = (result for result in check_metric(wide, small) if result.check == "batch_invariance")
    assert found.outcome == "fail"


def test_a_value_that_is_a_number_in_one_batch_size_alone_depends_on_it(small: CheckContext) -> None:
    def compute(subject: Subject, variant: str) -> Measured:
        value = math.nan if subject.batch_size == 3 else 0.5
        return Measured([FactValue(fact.id, value) for fact in subject.facts])

    found = check_metric(replace(ACCURACY, name="now_and_then", compute=compute), small)
    assert next(result for result in found if result.check == "batch_invariance").outcome == "fail"
