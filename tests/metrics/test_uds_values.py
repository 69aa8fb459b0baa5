"""What UDS records of each fact beside its score."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from uds_bench.facts import EncodedFact, Fact
from uds_bench.inference.target import Reading
from uds_bench.metrics.erasure import TAU
from uds_bench.metrics.metric import FactValue
from uds_bench.metrics.uds import ALIGNED, FORMS, METRIC, NO_LAYER, NOT_FINITE

FROZEN = Path(__file__).parents[2] / "goldens" / "depth" / "frozen.json"
FACTS = [Fact(name, name, "forget", "?", "x", "", "x") for name in ("a", "b", "c")]
ENCODED = [EncodedFact(fact, (0, 1), 1, 1, 2) for fact in FACTS]


def reading(drops: list[list[float]]) -> Reading:
    table = np.array(drops)
    return Reading(table, -table, np.full(len(table), 0.25), np.ones(len(table)))


def values(retain: list[list[float]], own: list[list[float]]) -> list[FactValue]:
    """UDS of three facts whose drops are given."""
    subject: Any = SimpleNamespace(
        checkpoint=None,
        target=lambda _: SimpleNamespace(encoded=ENCODED, path=lambda *_: "streams", path_reason="", rendered=""),
        reading=lambda _, of=None: reading(retain if of else own),
    )
    return list(METRIC.compute(subject, "block").values)


def test_the_ratio_before_clipping_stands_beside_the_score() -> None:
    over, bare, broken = values([[1.0, 1.0], [0.0, 0.0], [1.0, np.nan]], [[3.0, -1.0], [1.0, 1.0], [1.0, 1.0]])
    assert over.value == 0.5
    assert over.detail["unclipped"] == 1.0
    assert over.detail["drops"] == [3.0, -1.0]
    assert over.detail["retain_drops"] == [1.0, 1.0]
    assert over.detail["knowledge_layers"] == [0, 1]
    assert over.detail["last_gap"] == 0.25
    assert [one.id for one in (over, bare, broken)] == ["a", "b", "c"]
    assert (bare.value, bare.reason, bare.detail["drops"]) == (None, NO_LAYER, [1.0, 1.0])
    assert "unclipped" not in bare.detail
    assert (broken.value, broken.reason) == (None, NOT_FINITE)


@pytest.mark.parametrize("variant", METRIC.variants)
def test_each_variant_is_held_against_the_retain_model_in_the_same_form(variant: str) -> None:
    """A turned candidate beside one that is not turned; in a basis that is fitted, how well it fits is told."""
    how = FORMS[variant]
    own, retain = (
        replace(reading([[drop, 0.0]] * 3), fit=np.array([fit]), open=np.array([2.0, 5.0]))
        for drop, fit in ((0.5, 0.75), (1.0, 0.875))
    )
    read = {(how, None): own, (ALIGNED if variant == "turned" else how, "retain"): retain}
    full = SimpleNamespace(model=SimpleNamespace(dtype=torch.float32))
    made = SimpleNamespace(encoded=ENCODED, path_reason="by hand", rendered="key", path=lambda *asked: asked, full=full)
    subject: Any = SimpleNamespace(
        checkpoint="candidate",
        target=lambda form: {how: made}[form],
        reading=lambda form, of=None: read[form, of],
        references=SimpleNamespace(fitted=SimpleNamespace(positions=7, encoded=ENCODED[:2])),
    )
    found = METRIC.compute(subject, variant)
    assert [(one.id, one.value, one.detail["entity_tokens"]) for one in found.values] == [
        (fact.id, 0.5, 1) for fact in FACTS
    ]
    told = {"tau": TAU, "patching": (how.scope, "candidate"), "patching_reason": "by hand", "rendered": "key"}
    fitted = {"fit": [0.75], "retain_fit": [0.875], "open": 5, "people": 2, "positions": 7}
    assert found.notes == told | (fitted if variant in ("aligned", "turned") else {})


@pytest.mark.parametrize("drops", [[2.0, 2.0], [-1.0, -1.0]])
def test_more_than_erased_and_less_than_intact_are_told_apart_from_the_score(drops: list[float]) -> None:
    for fact in values([[1.0, 1.0]] * 3, [drops] * 3):
        assert fact.detail["unclipped"] == drops[0]
        assert fact.value == min(1.0, max(0.0, drops[0]))


def test_the_threshold_of_a_knowledge_layer_is_the_published_one() -> None:
    """tau = 0.05 nats (UDS guide, section 3.3): the frozen scores, which no one tunes, were made with it."""
    assert TAU == 0.05
    assert json.loads(FROZEN.read_text())["tau"] == TAU
    assert [fact.detail["knowledge_layers"] for fact in values([[0.05, 0.0501, 0.09]] * 3, [[0.0] * 3] * 3)] == [
        [1, 2]
    ] * 3
