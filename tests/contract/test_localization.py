"""The promise of the localization audit: who did not see the mask cannot look localized, however injection was done."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from small_models import fresh_model

from uds_bench.audits.localization import precision
from uds_bench.audits.localization.precision import PrecisionOutcome
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.weights import WeightScores, weigh
from uds_bench.checkpoints.mask_draws import draw_weights, maskable
from uds_bench.checkpoints.masks import MaskGroup, Masks
from uds_bench.methods.data import Data
from uds_bench.methods.examples import Example
from uds_bench.methods.injection import InjectedExample, Rates, inject
from uds_bench.methods.method import Method
from uds_bench.methods.oracle import within
from uds_bench.methods.registry import unlearn

VOCABULARY, STEPS = 60, 30
GROUPS = (*(MaskGroup(f"f{at}", "forget") for at in range(3)), *(MaskGroup(f"r{at}", "retain") for at in range(3)))


def examples(seed: int, count: int = 8) -> list[Example]:
    generator = torch.Generator().manual_seed(seed)
    return [Example(tuple(torch.randint(3, VOCABULARY, (9,), generator=generator).tolist()), 5) for _ in range(count)]


FACTS = {group.name: examples(at) for at, group in enumerate(GROUPS)}
DATA = Data([e for g in ("f0", "f1", "f2") for e in FACTS[g]], [e for g in ("r0", "r1", "r2") for e in FACTS[g]], ())


@pytest.fixture(scope="module", params=["strict", "mixed"])
def injected(request: pytest.FixtureRequest) -> tuple[Any, Any, Masks]:
    """A model, itself after injection, and the masks; `mixed`: with neutral text beside the facts."""
    torch.manual_seed(0)
    model = fresh_model(VOCABULARY, layers=4, width=64)
    masks = draw_weights(maskable(model), GROUPS, 0.1, seed=0)
    before = copy.deepcopy(model)
    neutral = [InjectedExample(example) for example in examples(99, 4)] if request.param == "mixed" else []
    batch = [InjectedExample(example, group) for group, facts in FACTS.items() for example in facts] + neutral
    inject(model, [batch] * STEPS, masks, Rates(5e-3, 1e-3, separate=True))
    return before, model, masks


def saved(folder: Path, models: dict[str, Any], masks: Masks) -> WeightScores:
    for name, model in models.items():
        model.save_pretrained(folder / name)
    return weigh(CheckpointSet({name: folder / name for name in models}, masks), most=5_000)


def unlearned(model: Any, method: Method) -> Any:
    found = copy.deepcopy(model)
    unlearn(found, DATA, method)
    return found


def neutral(model: Any) -> Any:
    found = copy.deepcopy(model)
    unlearn(found, Data(examples(98), (), ()), Method("grad_ascent", steps=20, lr=1e-3))
    return found


def shaken(model: Any) -> Any:
    found, generator = copy.deepcopy(model), torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in found.parameters():
            parameter += 1e-2 * torch.randn(parameter.shape, generator=generator)
    return found


@pytest.mark.parametrize("update", [shaken, neutral])
def test_an_update_that_did_not_see_the_mask_does_not_look_localized(
    injected: tuple[Any, Any, Masks], tmp_path: Path, update: Any
) -> None:
    before, model, masks = injected
    found = saved(tmp_path, {"pretrained": before, "injected": model, "unlearned": update(model)}, masks)
    best = precision.best(found, precision.counting(found, None))
    assert best is not None
    assert best.word is not PrecisionOutcome.LOCALIZED
    assert best.interval.high < 0.6


@pytest.mark.parametrize("injected", ["strict"], indirect=True)
def test_against_all_other_weights_it_does_where_injection_moved_nothing_else(
    injected: tuple[Any, Any, Masks], tmp_path: Path
) -> None:
    """The published target: it is told by what was written to, and not by what was unlearned."""
    before, model, masks = injected
    found = saved(tmp_path, {"pretrained": before, "injected": model, "unlearned": shaken(model)}, masks)
    for subject in ("unlearned", "random"):
        assert precision.published(found, subject).auc.value > 0.7


def test_the_same_method_within_the_mask_does(injected: tuple[Any, Any, Masks], tmp_path: Path) -> None:
    before, model, masks = injected
    method, found = Method("grad_diff", steps=5, lr=1e-3), copy.deepcopy(model)
    with within(found, masks, *masks.named("forget")):
        unlearn(found, DATA, method)
    weighed = saved(tmp_path, {"pretrained": before, "injected": model, "unlearned": found}, masks)
    best = precision.best(weighed, precision.counting(weighed, None))
    assert best is not None
    assert best.word is PrecisionOutcome.LOCALIZED
    assert precision.identity_gap(weighed) == pytest.approx(0, abs=1e-12)
