"""Fakes of the localization audit, made of shipped models: what each is told by, and what still gets through."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from uds_bench.audits.localization import precision
from uds_bench.audits.localization.audit import check_masks
from uds_bench.audits.localization.claims import CLAIMS, LOCALIZED, UTILITY_FLOOR
from uds_bench.audits.localization.families import Part
from uds_bench.audits.localization.names import HEADLINE, PUBLISHED
from uds_bench.audits.localization.outputs import tell
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.section import Localization
from uds_bench.audits.localization.weights import WeightScores, weigh
from uds_bench.audits.localization.zoo.data import testbed
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.checkpoints.masks import MASKS, MaskGroup, Masks, read_masks, write_masks
from uds_bench.errors import ConfigurationError
from uds_bench.zoo import specimens

Weights = dict[str, torch.Tensor]
NEEDED = next(spec.bound for spec in CLAIMS if spec.id == "localization.elsewhere")


def read(name: str) -> Weights:
    return {key: one.float() for key, one in load_file(specimens.folder(name) / "model.safetensors").items()}


@pytest.fixture(scope="module")
def masks() -> Masks:
    return read_masks(specimens.folder("loc_injected") / MASKS)


@pytest.fixture(scope="module")
def injected() -> Weights:
    return read("loc_injected")


@pytest.fixture
def weighed(tmp_path: Path, injected: Weights) -> Callable[[Weights, Masks], WeightScores]:
    """Where an update moved the weights, as the audit weighs it."""

    def found(changed: Weights, masks: Masks) -> WeightScores:
        (tmp_path / "fake").mkdir()
        (tmp_path / "injected").mkdir()
        save_file(changed, tmp_path / "fake" / "model.safetensors")
        save_file(injected, tmp_path / "injected" / "model.safetensors")
        folders: dict[Part, Path] = {
            "pretrained": specimens.folder("loc_pretrained"),
            "injected": tmp_path / "injected",
            "unlearned": tmp_path / "fake",
        }
        return weigh(CheckpointSet(folders, masks), most=2_000)

    return found


def aucs(found: WeightScores) -> list[float]:
    """By both readings of `localization.auc`."""
    best = [precision.best(found, precision.counting(found, None, one), target=one) for one in (HEADLINE, PUBLISHED)]
    return [0.5 if one is None else one.auc.value for one in best]


def test_masks_drawn_after_the_update_are_not_the_injections(
    weighed: Callable[[Weights, Masks], WeightScores], injected: Weights, masks: Masks
) -> None:
    """An update of weights that were drawn, and masks that hold them: its AUC is perfect, and says nothing."""
    generator, words, changed = torch.Generator().manual_seed(0), dict[str, torch.Tensor](), dict(injected)
    for name, word in masks.words.items():
        drawn = torch.rand(tuple(word.shape), generator=generator)
        words[name] = (drawn < 0.2).int() + 2 * (drawn > 0.8).int()
        changed[name] = injected[name] + 0.01 * (drawn < 0.2)
    found = weighed(changed, Masks(words, (MaskGroup("forget1", "forget"), MaskGroup("retain1", "retain"))))
    assert min(aucs(found)) >= LOCALIZED
    assert precision.decide_elsewhere(found.elsewhere(), NEEDED).verdict == "pass"
    assert precision.masks_of_another(found), "what the control of localization.auc holds"


def test_the_masks_of_the_injection_are_taken_for_them(
    weighed: Callable[[Weights, Masks], WeightScores], masks: Masks
) -> None:
    found = weighed(read("loc_oracle_brief"), masks)
    assert min(aucs(found)) >= LOCALIZED
    assert not precision.masks_of_another(found)


def test_masks_whose_roles_are_exchanged_are_refused(tmp_path: Path, masks: Masks) -> None:
    """Whoever changed the weights of those to be retained would look localized."""
    other = {"forget": "retain", "retain": "forget"}
    for name in ("pretrained", "injected", "refusing"):
        shutil.copytree(specimens.folder(f"loc_{name}"), tmp_path / name)
    words = {name: word[:] for name, word in masks.words.items()}
    turned = tuple(MaskGroup(one.name, other[one.role]) for one in masks.groups)
    write_masks(Masks(words, turned), tmp_path / "turned.safetensors")
    paths = {name: {"model": str(tmp_path / name)} for name in ("pretrained", "injected", "refusing")}
    candidates = {"refusing": paths.pop("refusing")}
    turned_file = str(tmp_path / "turned.safetensors")
    with pytest.raises(ConfigurationError, match="has the role retain, and its people the part forget"):
        check_masks(Localization.model_validate({**paths, "masks": turned_file, "candidates": candidates}))
    right = str(tmp_path / "injected" / MASKS)
    check_masks(Localization.model_validate({**paths, "masks": right, "candidates": candidates}))


def test_norms_alone_lie_outside_every_mask(
    weighed: Callable[[Weights, Masks], WeightScores], injected: Weights, masks: Masks
) -> None:
    """The gains of a model that refuses in the injected one: no weight that is scored has moved."""
    refusing = read("loc_refusing")
    found = weighed({n: refusing[n] if "norm" in n else one for n, one in injected.items()}, masks)
    assert found.outside[0] == pytest.approx(1), "localization.contained needs 0"
    assert precision.decide_elsewhere(found.elsewhere(), NEEDED).verdict == "fail"
    assert max(aucs(found)) < LOCALIZED


def test_one_function_in_other_weights_is_not_localized(
    weighed: Callable[[Weights, Masks], WeightScores], injected: Weights, masks: Masks
) -> None:
    """Neurons twice as large on one side and half as large on the other: length everywhere, and nothing forgotten."""
    factor = {"up_proj": 2.0, "down_proj": 0.5}
    changed = {
        n: one * next((f for key, f in factor.items() if key in n and n in masks.words), 1.0)
        for n, one in injected.items()
    }
    found = weighed(changed, masks)
    assert max(aucs(found)) < LOCALIZED
    assert precision.decide_elsewhere(found.elsewhere(), NEEDED).verdict == "fail"


def test_another_configuration_forgets_everybody(
    weighed: Callable[[Weights, Masks], WeightScores], injected: Weights, masks: Masks, tmp_path: Path
) -> None:
    """No claim about weights sees config.json: dust inside the masks, and a norm that forgets. It spares nobody."""
    generator = torch.Generator().manual_seed(0)
    dust = {
        name: one + 1e-5 * masks.of(name, *masks.named("forget")) * torch.randn(one.shape, generator=generator)
        if name in masks.words
        else one
        for name, one in injected.items()
    }
    found = weighed(dust, masks)
    assert min(aucs(found)) >= LOCALIZED
    assert precision.decide_elsewhere(found.elsewhere(), NEEDED).verdict == "pass"
    assert found.outside[0] == 0
    shutil.copytree(specimens.folder("loc_injected"), tmp_path / "normed")
    config = tmp_path / "normed" / "config.json"
    told = json.loads(config.read_text()) | {"rms_norm_eps": 0.01}
    config.write_text(json.dumps(told))
    held = {}
    for name, place in (("injected", specimens.folder("loc_injected")), ("normed", tmp_path / "normed")):
        for part in ("forget", "retain"):
            items = [one for one in testbed() if one.part == part][:40]
            said = tell(load(CheckpointSpec(str(place), dtype="float32"), "cpu"), items, questions=1)
            held[name, part] = sum(one is not None and one.said for one in said) / len(items)
    print(held)
    for part in ("forget", "retain"):
        assert held["normed", part] < UTILITY_FLOOR * held["injected", part], "localization.retained needs the floor"


def test_length_inside_the_mask_still_hides_what_forgets_elsewhere(
    weighed: Callable[[Weights, Masks], WeightScores], injected: Weights, masks: Masks
) -> None:
    """Still open: what refuses lies outside the forget masks, and larger noise inside them is what all three see."""
    refusing, generator, changed = read("loc_refusing"), torch.Generator().manual_seed(0), dict(injected)
    for name in masks.words:
        inside, moved = masks.of(name, *masks.named("forget")), refusing[name] - injected[name]
        noise = 10 * moved.std() * torch.randn(moved.shape, generator=generator).sign()
        changed[name] = injected[name] + torch.where(inside, noise, moved)
    found = weighed(changed, masks)
    assert min(aucs(found)) >= LOCALIZED
    assert precision.decide_elsewhere(found.elsewhere(), NEEDED).verdict == "pass"
    assert found.outside[0] == 0
    assert not precision.masks_of_another(found)
