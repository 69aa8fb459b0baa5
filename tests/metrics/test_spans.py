"""Facts whose entity nobody marked: metrics of entities pass them over, metrics of answers do not."""

from dataclasses import replace

import pytest
from forced_subjects import FACTS
from layer_subjects import subject

from uds_bench.facts import FactSet, spanned
from uds_bench.facts.fact import NO_SPAN
from uds_bench.metrics import METRICS

UNMARKED = ("forget-1", "forget-6")
SOME = FactSet(replace(fact, doubt=NO_SPAN if fact.id in UNMARKED else None) for fact in FACTS)
MARKED = FactSet(fact for fact in FACTS if fact.id not in UNMARKED)


@pytest.mark.parametrize(
    ("metric", "variant"),
    [("uds", "block"), ("logit_lens", None), ("cka", None), ("fisher", None)]
    + [("entity_accuracy", variant) for variant in ("prefixed", "free")],
)
def test_an_entity_that_nobody_marked_is_in_no_metric_of_entities(metric: str, variant: str | None) -> None:
    one = METRICS[metric]
    found, alone = (one.compute(subject(facts=facts), one.variant(variant)) for facts in (SOME, MARKED))
    assert one.of is not None
    assert [value.id for value in found.values] == [fact.id for fact in one.of(SOME)]
    assert [value.value for value in found.values] == pytest.approx([value.value for value in alone.values], abs=1e-5)


@pytest.mark.parametrize("metric", ["prob", "para_prob", "em", "es", "truth_ratio", "rouge"])
def test_its_answer_is_in_every_metric_of_answers(metric: str) -> None:
    one = METRICS[metric]
    found = one.compute(subject(facts=SOME), one.variant(None))
    assert [value.id for value in found.values] == [fact.id for fact in SOME.split("forget")]
    assert one.of is None


def test_facts_without_that_doubt_are_all_spanned() -> None:
    assert spanned(FACTS) == FACTS.split("forget")
    assert spanned(FACTS).digest == FACTS.split("forget").digest
