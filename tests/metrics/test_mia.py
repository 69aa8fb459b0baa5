"""Membership inference: the four scores and their AUC, and what they say beside the retain model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES
from forced_subjects import FACTS, checkpoint, subject
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from references import outputs
from test_output_metrics import FROM_LOGITS, THROUGH_MODEL, plain, random_answer

from uds_bench.errors import UdsError
from uds_bench.facts import FactSet
from uds_bench.metrics import METRICS, mia, mia_retain
from uds_bench.metrics.metric import FactValue, MetricSummary
from uds_bench.metrics.subject import ReferenceModels, Subject

RAW = ("mia_loss", "mia_zlib", "mia_min_k", "mia_min_k_plus_plus")
SHARES = (0.4, 0.2, 0.1)
AUCS = st.floats(0, 1)
SCORES = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=12)


# ---- the four scores


@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0, 40.0])
@pytest.mark.parametrize(("words", "ends"), [(1, True), (2, False), (5, True), (31, True)])
def test_scores_from_given_logits(words: int, ends: bool, scale: float) -> None:
    for seed in range(4):
        scores, rows, tokens = random_answer(seed, words, ends, scale)
        assert mia.loss(scores, math.nan) == pytest.approx(outputs.nll(rows, tokens), abs=FROM_LOGITS)
        expected = outputs.zlib_loss(rows, tokens, scores.answer.text)
        assert mia.zlib_loss(scores, math.nan) == pytest.approx(expected, abs=FROM_LOGITS)
        for k in SHARES:
            assert mia.min_k(scores, k) == pytest.approx(outputs.min_k(rows, tokens, ends, k), abs=FROM_LOGITS)
            expected = outputs.min_k_plus_plus(rows, tokens, ends, k)
            assert mia.min_k_plus_plus(scores, k) == pytest.approx(expected, abs=FROM_LOGITS, rel=1e-9)


@cache
def slowly(model: Any, question: str, answer: str) -> tuple[Any, Any]:
    return plain(model, question, answer)


def reference(name: str, model: Any, facts: FactSet, k: float) -> list[float]:
    found = []
    for fact in facts:
        rows, tokens = slowly(model, fact.question, fact.answer)
        found.append(
            {
                "mia_loss": lambda r, t, _: outputs.nll(r, t),
                "mia_zlib": lambda r, t, answer: outputs.zlib_loss(r, t, f" {answer}"),
                "mia_min_k": lambda r, t, _: outputs.min_k(r, t, True, k),
                "mia_min_k_plus_plus": lambda r, t, _: outputs.min_k_plus_plus(r, t, True, k),
            }[name](rows, tokens, fact.answer)
        )
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_through_models_in_every_batch_size(family: str) -> None:
    loaded = checkpoint(family)
    subjects = {size: subject(loaded, batch_size=size) for size in (1, 4, 8)}
    for name in RAW:
        metric = METRICS[name]
        for variant in metric.variants:
            k = float(variant[1:]) if variant.startswith("k") else math.nan
            sides = [reference(name, loaded.model, FACTS.split(split), k) for split in mia.SPLITS]
            for one in subjects.values():
                found = metric.compute(one, variant)
                assert [v.label for v in found.values] == [0] * 8 + [1] * 6
                values = [v.value for v in found.values]
                np.testing.assert_allclose(values, sides[0] + sides[1], rtol=0, atol=THROUGH_MODEL)
                assert found.summary is not None
                assert found.summary.value == pytest.approx(outputs.auc(values[:8], values[8:]), abs=1e-12)
                assert found.summary.interval is not None
                assert found.summary.interval.low <= found.summary.value <= found.summary.interval.high


def test_default_k_is_four_tenths() -> None:
    for name in ("mia_min_k", "mia_min_k_plus_plus", "s_min_k", "s_min_k_plus_plus", "privleak"):
        assert METRICS[name].variants[0] == "k0.4"


@given(SCORES, SCORES, st.floats(0.1, 9), st.floats(-5, 5))
def test_auc_sees_order_only(forget: list[float], holdout: list[float], scale: float, shift: float) -> None:
    def value(change: Any) -> float:
        rows = [FactValue(str(i), change(v), label=0) for i, v in enumerate(forget)]
        rows += [FactValue(f"h{i}", change(v), label=1) for i, v in enumerate(holdout)]
        return mia.SplitScores.of(rows, {row.id: row.id for row in rows}).auc

    plainly = value(lambda x: x)
    assert plainly == outputs.auc(forget, holdout)
    assert plainly == value(lambda x: scale * x + shift)
    assert plainly == value(lambda x: math.exp(x) + 2 * x)
    assert plainly == pytest.approx(1 - value(lambda x: -x))


# ---- beside the retain model


def test_similarity_at_a_retain_model_of_zero_is_its_limit() -> None:
    assert mia_retain.similarity(0.0, 0.0) == 1
    assert mia_retain.similarity(0.1, 0.0) == 0
    assert np.isinf(mia_retain.leak(0.5, 1.0))
    assert mia_retain.leak(1.0, 1.0) == 0


@given(AUCS, st.floats(0.01, 1))
def test_similarity_is_the_reference_and_bounded(own: float, retain: float) -> None:
    found = float(mia_retain.similarity(own, retain))
    assert found == pytest.approx(outputs.similarity(own, retain))
    assert 0 <= found <= 1


@given(st.floats(0.01, 1), st.floats(0, 1))
def test_similarity_is_whole_only_at_the_retain_model_and_saturates(retain: float, apart: float) -> None:
    assert mia_retain.similarity(retain, retain) == 1
    assert mia_retain.similarity(2 * retain + apart, retain) == 0
    assert mia_retain.similarity(0.0, retain) == 0
    assume(retain * (1 + apart) > retain)
    assert mia_retain.similarity(retain * (1 + apart), retain) == pytest.approx(
        float(mia_retain.similarity(retain * (1 - apart), retain)), abs=1e-9
    )
    assume(apart > 1e-9)
    assert mia_retain.similarity(retain * (1 + apart), retain) < 1


@given(AUCS, st.floats(0, 0.99))
def test_leak_is_the_reference(own: float, retain: float) -> None:
    found = float(mia_retain.leak(own, retain))
    assert found == pytest.approx(outputs.privleak(own, retain), abs=1e-9)
    assert found >= -100 - 1e-9
    assert mia_retain.leak(retain, retain) == 0
    assert mia_retain.leak(1.0, retain) == pytest.approx(-100)


def rows(forget: Sequence[float], holdout: Sequence[float]) -> list[FactValue]:
    found = [FactValue(f.id, v, label=0) for f, v in zip(FACTS.split("forget"), forget, strict=True)]
    return found + [FactValue(f.id, v, label=1) for f, v in zip(FACTS.split("holdout"), holdout, strict=True)]


def beside(name: str, retain: Sequence[FactValue]) -> Any:
    metric = METRICS[name]
    return metric.compute(subject(retain=dict.fromkeys(RAW, retain)), metric.variants[0])


@pytest.mark.parametrize("name", ["s_loss", "s_zlib", "s_min_k", "s_min_k_plus_plus", "privleak"])
def test_values_beside_the_retain_model(name: str) -> None:
    raw = "mia_min_k" if name == "privleak" else f"mia_{name[2:]}"
    own = METRICS[raw].compute(subject(), METRICS[raw].variants[0])
    retain = rows([1, 2, 3, 4, 5, 6, 7, 8], [0.5, 2.5, 4.5, 6.5, 7.5, 8.5])
    found = beside(name, retain)
    formula = outputs.privleak if name == "privleak" else outputs.similarity
    mark = outputs.auc([1, 2, 3, 4, 5, 6, 7, 8], [0.5, 2.5, 4.5, 6.5, 7.5, 8.5])
    assert found.summary.value == pytest.approx(formula(own.summary.value, mark))
    assert found.summary.interval.low <= found.summary.value <= found.summary.interval.high
    assert (found.notes["auc"], found.notes["auc_retain"]) == (own.summary.value, pytest.approx(mark))
    assert [(v.id, v.value, v.label) for v in found.values] == [(v.id, v.value, v.label) for v in own.values]
    assert METRICS[name].reads == (raw,)


def test_the_same_model_is_drawn_the_same() -> None:
    own = METRICS["mia_loss"].compute(subject(), "default")
    assert own.summary is not None
    assert 0 < (own.summary.value or 0) < 1, "a case at an end would not show pairing"
    found = beside("s_loss", own.values)
    assert (found.summary.value, found.summary.interval.low, found.summary.interval.high) == (1, 1, 1)


def test_saturation_is_told() -> None:
    found = beside("s_loss", rows(range(8), [0.5, *[-1] * 5]))
    assert found.summary.value == 0
    assert found.notes["saturated"]
    assert not beside("s_loss", METRICS["mia_loss"].compute(subject(), "default").values).notes["saturated"]


def test_saturated_is_from_twice_the_retain_models_value_on() -> None:
    """Beside a retain model with so many pairs in order: half as many, and fewer."""
    own = METRICS["mia_loss"].compute(subject(), "default").summary
    assert own is not None
    assert own.value is not None
    for share in (2, 2.5):
        wins = round(48 * own.value / share)
        won = [min(6, max(0, wins - 6 * at)) - 0.5 for at in range(8)]
        found = beside("s_loss", rows([-one for one in won], range(0, -6, -1)))
        assert found.notes["auc_retain"] == wins / 48
        assert found.notes["saturated"] is (own.value >= wins / 24)


@pytest.mark.parametrize("variant", ["k0.4", "k0.2"])
def test_the_retain_model_is_asked_for_the_same_variant(variant: str) -> None:
    read: list[tuple[str, str]] = []

    def recorded(metric: str, variant: str | None) -> Sequence[FactValue]:
        read.append((metric, str(variant)))
        return rows(range(8), range(6))

    def never(which: str) -> Any:
        raise AssertionError(which)

    references = ReferenceModels(never, {}, FACTS, recorded=recorded)
    METRICS["s_min_k"].compute(Subject(checkpoint(), references), variant)
    assert read == [("mia_min_k", variant)]


def test_a_split_that_the_retain_model_lacks_is_undefined_and_its_facts_are_kept() -> None:
    retain = [replace(one, value=None, reason="broken") if one.label else one for one in rows(range(8), range(6))]
    found = beside("s_loss", retain)
    assert found.summary == MetricSummary(None, None)
    assert found.notes["undefined"] == "a split has no scored fact"
    assert found.notes["auc"] is None
    own = METRICS["mia_loss"].compute(subject(), "default")
    assert [(one.id, one.label) for one in found.values] == [(one.id, one.label) for one in own.values]
    assert [one.reason for one in found.values[8:]] == ["retain model: broken"] * 6


def test_a_retain_model_at_an_end() -> None:
    never, always = rows(range(10, 18), range(6)), rows(range(8), range(10, 16))
    assert beside("s_loss", never).summary.value == 0
    leaking = beside("privleak", always)
    assert leaking.summary.value is None
    assert leaking.summary.interval is None
    assert "AUC is 1" in leaking.notes["undefined"]
    assert beside("privleak", never).summary.value is not None


@pytest.mark.parametrize("formula", [mia_retain.similarity, mia_retain.leak])
def test_both_models_are_drawn_together_and_ends_are_draws(formula: mia_retain.Formula) -> None:
    """Of 10,000 draws in order the 250th or 251st, and so from above; people of the smaller side are its units."""
    people = [str(at) for at in range(20)], [str(at) for at in range(20, 36)]
    luck = np.random.default_rng(0).standard_normal(72)
    own, retain = mia.SplitScores(luck[:20], luck[20:36], *people), mia.SplitScores(luck[36:56], luck[56:], *people)
    draws = sorted(float(formula(a, r)) for a, r in zip(own.resamples, retain.resamples, strict=True))
    found = mia_retain.compare(own, retain, formula)
    assert found.value == float(formula(own.auc, retain.auc))
    assert found.interval is not None
    assert found.interval.low in draws[249:251]
    assert found.interval.high in draws[9749:9751]
    assert draws[249] < draws[250] or draws[9749] < draws[9750], "else what lies between two draws would do"
    assert found.interval.units == 16
    assert mia_retain.compare(own, own, formula).interval.width == 0  # type: ignore[union-attr]


def test_where_an_end_is_no_number_there_is_no_interval() -> None:
    """Without the one who stands apart the retain model's AUC is 1, in a third of the draws."""
    people = [str(at) for at in range(5)], [str(at) for at in range(5, 10)]
    retain = mia.SplitScores([9.0] * 5, [1.0, 1.0, 1.0, 1.0, 20.0], *people)
    own = mia.SplitScores([1.0, 2.0, 3.0, 4.0, 5.0], [1.5, 2.5, 3.5, 4.5, 0.5], *people)
    found = mia_retain.compare(own, retain, mia_retain.leak)
    assert found.value == pytest.approx(outputs.privleak(own.auc, 0.8))
    assert found.interval is None
    assert mia_retain.compare(own, retain, mia_retain.similarity).interval is not None


@pytest.mark.parametrize("end", [0.0, 1.0])
@pytest.mark.parametrize("whose", [0, 1])
def test_at_an_end_of_either_model_both_intervals_are_gone_through(end: float, whose: int) -> None:
    """The bootstrap of a perfect AUC has no width. Each at 97.5%, so that both hold in 95 of 100; where an end is
    infinite there is none."""
    people = [str(at) for at in range(12)], [str(at) for at in range(12, 28)]
    mixed = mia.SplitScores([1, 5, 2, 7, 4, 8] * 2, [1, 2, 3, 4, 5, 6, 0, 1] * 2, *people)
    last = mia.SplitScores([20 * end - 10] * 12, [0.0] * 16, *people)
    own, retain = (last, mixed) if whose == 0 else (mixed, last)
    reaches = [np.linspace(one.low, one.high, 200) for one in (own.interval(0.975), retain.interval(0.975))]
    for formula in (mia_retain.similarity, mia_retain.leak):
        found, grid = mia_retain.compare(own, retain, formula), formula(*np.meshgrid(*reaches))
        if not np.isfinite(grid).all():
            assert found.interval is None
            assert (found.value is None) is not math.isfinite(formula(own.auc, retain.auc))
            continue
        assert found.interval is not None
        assert found.interval.low == pytest.approx(grid.min(), abs=1e-9)
        assert found.interval.high >= grid.max() - 1e-9
        assert found.interval.high == pytest.approx(grid.max(), abs=0.02 * max(1, abs(grid.max())))
        assert (found.interval.units, found.interval.width > 0) == (12, True)


def test_facts_that_the_retain_model_lacks_count_as_invalid() -> None:
    retain = rows(range(8), range(6))
    retain[0] = FactValue(retain[0].id, None, "an answer is empty", label=0)
    del retain[1]
    found = beside("s_loss", retain)
    assert [v.reason for v in found.values[:3]] == ["retain model: an answer is empty", "retain model: no value", None]
    assert len(found.values) == 14
    assert found.notes["auc_retain"] == outputs.auc(list(range(2, 8)), list(range(6)))


@pytest.mark.parametrize("name", ["s_loss", "s_zlib", "s_min_k", "s_min_k_plus_plus", "privleak"])
def test_no_retain_values_is_an_error(name: str) -> None:
    with pytest.raises(UdsError, match="of the retain model, which has no value"):
        beside(name, [FactValue(v.id, None, "broken", label=v.label) for v in rows(range(8), range(6))])
    with pytest.raises(ValueError, match="retain model is not at hand"):
        METRICS[name].compute(subject(), METRICS[name].variants[0])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 6).map(float), min_size=14, max_size=14), st.permutations(range(14)))
def test_order_of_facts_changes_nothing(values: list[float], order: list[int]) -> None:
    clusters = {f.id: f.cluster for f in FACTS}
    table = rows(values[:8], values[8:])
    sides = [mia.SplitScores.of(some, clusters) for some in (table, [table[i] for i in order])]
    assert sides[0].auc == sides[1].auc
    np.testing.assert_allclose(sides[0].resamples, sides[1].resamples, atol=1e-12)


def test_one_label_alone_is_undefined_and_its_facts_are_kept() -> None:
    torch.manual_seed(0)
    facts = FactSet(FACTS.split("forget"))
    found = METRICS["mia_loss"].compute(subject(facts=facts), "default")
    assert found.summary == MetricSummary(None, None)
    assert found.notes["undefined"] == "a split has no scored fact"
    assert [one.id for one in found.values] == [fact.id for fact in facts]


def test_who_has_no_value_or_no_label_is_on_neither_side() -> None:
    table = rows(range(8), range(6))
    lacking = [FactValue("a", None, "broken", label=0), FactValue("b", math.nan, label=1), FactValue("c", 1.0)]
    clusters = {one.id: one.id for one in [*table, *lacking]}
    assert mia.SplitScores.of([*lacking, *table], clusters) == mia.SplitScores.of(table, clusters)


def test_an_interval_of_a_lower_level_is_narrower() -> None:
    sides = mia.SplitScores.of(rows(range(8), range(6)), {fact.id: fact.cluster for fact in FACTS})
    assert 0 < sides.interval(0.5).width < sides.interval().width
