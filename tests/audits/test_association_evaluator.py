"""A model's score of people, kept and read back, and what it comes to over people."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from families import FAMILIES, in_memory, tiny_tokenizer
from test_association_scoring import JANE, JOHN, PROPERTIES

from uds_bench.audits.association.evaluator import AssociationEvaluator, held_of, ranks_of
from uds_bench.audits.association.likelihoods import of_checkpoint
from uds_bench.audits.association.probe_items import ProbeItem, ask_about
from uds_bench.audits.association.rates import Memorization, nothing_of, over
from uds_bench.audits.association.scoring import scored
from uds_bench.errors import FactError
from uds_bench.scores import Score, summarise

ASKED = tuple(ask_about([JANE, JOHN], PROPERTIES, None))


@pytest.fixture(scope="module")
def model() -> Any:
    return in_memory(FAMILIES["llama"](384, seed=2), tiny_tokenizer(), "full")


def test_a_score_holds_every_rank(model: Any) -> None:
    evaluator = AssociationEvaluator(ASKED)
    measured = evaluator.evaluate(model)
    score = summarise(
        evaluator.measure, measured, evaluator.units, checkpoint="m", attack="none", variant="default", provenance={}
    )
    again = Score.from_json(json.loads(json.dumps(score.to_json(), allow_nan=False, sort_keys=True)))
    assert ranks_of(again) == dict(zip([one.id for one in ASKED], scored(ASKED, of_checkpoint(model)), strict=True))
    found = held_of(again, ASKED)
    assert [fact.value for fact in again.per_fact] == [found[one.id].mean for one in ASKED]


def test_the_digest_names_all_that_is_asked() -> None:
    def of(asked: tuple[ProbeItem, ...] = ASKED, alpha: float = 1.0) -> str:
        return AssociationEvaluator(asked, alpha).digest

    first, *others = ASKED
    template = replace(first, topic=replace(first.topic, templates=first.topic.templates[:1]))
    fewer = replace(first, candidates=replace(first.candidates, others=first.candidates.others[:1]))
    swapped = replace(first, candidates=replace(first.candidates, truths=first.candidates.truths[:1]))
    labelled = replace(first, topic=replace(first.topic, label="colour of the walls"))
    named = replace(first, names=first.names[:2])
    changed = [of((one, *others)) for one in (template, fewer, swapped, labelled, named)]
    assert len({of(), of(ASKED[:1]), of(alpha=0.5), *changed}) == 8
    assert of() == of()


def test_nobody_is_scored_whose_name_the_tokenizer_does_not_know(model: Any) -> None:
    strange = in_memory(model.model, tiny_tokenizer())
    ids = strange.tokenizer("J", add_special_tokens=False)["input_ids"]
    strange.tokenizer.unk_token = strange.tokenizer.convert_ids_to_tokens(ids[0])
    with pytest.raises(FactError, match="the tokenizer does not know"):
        AssociationEvaluator(ASKED).evaluate(strange)


def told(mean: float, strength: float = 0.0) -> Memorization:
    return Memorization(mean, mean == 1, mean > 0, mean, strength, 0.25, mean, mean)


FOUND = dict(zip([one.id for one in ASKED], [told(1.0, 3.0), told(0.0, -1.0), told(0.0, 1.0)], strict=True))


def test_over_people() -> None:
    assert over(ASKED, FOUND).value == pytest.approx(1 / 3)
    assert over(ASKED, FOUND).interval.units == 2, "people, not properties"
    assert over(ASKED[1:], FOUND).interval.high == pytest.approx(1 - 0.025 ** (1 / 2)), "none of two proves little"
    assert over(ASKED, FOUND, "strength").value == pytest.approx(1.0), "of what is not memorized too"
    assert over(ASKED, FOUND, "chance").value == 0.25
    assert math.isnan(over([], FOUND).value)
    every, mean, some = (over(ASKED, FOUND, reading).value for reading in ("every", "mean", "some"))
    assert every <= mean <= some


def test_of_whom_nothing_is_memorized() -> None:
    assert nothing_of(ASKED, FOUND) == ["q2"]
    assert nothing_of(ASKED, {**FOUND, "q2/P106": told(0.1)}) == []
    assert nothing_of([], FOUND) == []
