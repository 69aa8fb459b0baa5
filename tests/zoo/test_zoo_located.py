"""The models of the localization audit: what is taught, whom settings were chosen on, and a small one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from families import tiny_tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.audits.localization import tuning as tuning_resurfacing
from uds_bench.audits.localization.ablation import ablate, found
from uds_bench.audits.localization.ablation import injected as injected_model
from uds_bench.audits.localization.experiment import Experiment
from uds_bench.audits.localization.outputs import Leak, tell
from uds_bench.audits.localization.tuning import LeakedPeople
from uds_bench.audits.localization.zoo import data as testbed_data
from uds_bench.audits.localization.zoo import models as located
from uds_bench.audits.localization.zoo import tuning
from uds_bench.audits.localization.zoo.recipes import Continued, Injected, Pretrained, Removed
from uds_bench.audits.localization.zoo.tuning import TunedShares
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.checkpoints.masks import MASKS, read_masks
from uds_bench.errors import CheckpointError
from uds_bench.facts.testbed import Item, QuestionCounts, Sizes, Testbed, embedded_testbed
from uds_bench.methods.instruction import Instruction
from uds_bench.zoo import recipes

SMALL = Sizes(groups=2, judged=1, tuning=1, public=3, instruction=2, held_out=1, unseen=1)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Testbed:
    """A testbed of a few people in the place of the embedded one."""
    found = embedded_testbed(SMALL, QuestionCounts(questions=12))
    monkeypatch.setattr(testbed_data, "SIZES", SMALL)
    monkeypatch.setattr(testbed_data, "testbed", lambda crowd=0: found)
    return found


def test_settings_were_chosen_on_people_whom_nobody_judges() -> None:
    """Not one question of those who are forgotten or retained is in what settings are tried on, and not one person."""
    tokenizer = tiny_tokenizer()
    tuned, judged = (testbed_data.removal(tokenizer, crowd) for crowd in (testbed_data.OTHERS, 0))
    assert len(tuned.forget) == len(judged.forget) == located.FORGOTTEN, "as many, or settings would not carry over"
    for split in ("forget", "retain"):
        ours, theirs = ({example.ids for example in getattr(data, split)} for data in (tuned, judged))
        assert ours
        assert theirs
        assert not ours & theirs
    others, people = ({item.person for item in testbed_data.testbed(crowd)} for crowd in (testbed_data.OTHERS, 0))
    assert not others & people


@pytest.mark.parametrize("name", located.TUNED)
def test_the_settings_are_of_their_grid(name: str) -> None:
    grid, (method, settings) = tuning.GRIDS[name], located.TUNED[name]
    assert grid.method == method
    assert settings in grid.settings()
    assert grid.within == (name == "oracle_grad")


def test_the_rule_keeps_what_is_known_and_takes_the_gentlest_of_the_best() -> None:
    before = TunedShares({}, 1.0, 0.8, 1.0)
    rows = [
        TunedShares({"at": 0}, 0.5, 0.9, 1.0),
        TunedShares({"at": 1}, 0.0, 0.7, 1.0),
        TunedShares({"at": 2}, 0.1, 0.75, 0.9),
        TunedShares({"at": 3}, 0.1, 0.8, 1.0),
        TunedShares({"at": 4}, 0.0, 0.8, 0.89),
    ]
    chosen = tuning.choose(rows, before)
    assert chosen is not None
    assert chosen.settings == {"at": 2}
    assert tuning.choose(rows[1:2], before) is None


def test_nobody_who_is_injected_is_in_what_comes_before() -> None:
    injected = {item.person for item in testbed_data.testbed().of("forget", "retain", "tuning")}
    others = {item.person for item in testbed_data.strangers()} | {
        item.person for item in testbed_data.testbed().of("public", "instruction", "held_out", "unseen")
    }
    assert not injected & others
    texts = " ".join(testbed_data.texts())
    assert not any(person in texts for person in injected)


def test_every_group_is_taught_in_every_step_through_its_mask() -> None:
    recipe = replace(Injected("x"), steps=3)
    names = [group.name for group in testbed_data.groups()]
    for batch in testbed_data.injection(tiny_tokenizer(), recipe):
        counts = {name: sum(sample.group == name for sample in batch) for name in [*names, None]}
        assert counts == dict.fromkeys(names, recipe.per_group) | {None: recipe.neutral}
    for batch in testbed_data.injection(tiny_tokenizer(), replace(recipe, masked=False)):
        assert {sample.group for sample in batch} == {None}


@pytest.mark.slow
def test_the_same_seed_teaches_the_same() -> None:
    recipe = replace(Injected("x"), steps=2)
    one, same, other = (
        list(testbed_data.injection(tiny_tokenizer(), replace(recipe, seed=seed))) for seed in (0, 0, 1)
    )
    assert one == same
    assert one != other


def test_a_small_one_trains_from_the_public_to_the_oracle(small: Testbed, tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("pretrained", "injected", "unmasked", "oracle", "neutral")}
    for folder in folders.values():
        folder.mkdir()
    pretrained = Pretrained(width=16, layers=3, feed_forward=24, vocabulary=300, steps=3, public=2, strangers=2)
    written = Injected("p", steps=3, per_group=1, neutral=2, instruction=Instruction(epochs=1))
    assert len(pretrained.build(None, folders["pretrained"])) == pretrained.step_count() == 3
    assert written.build(folders["pretrained"], folders["injected"])
    replace(written, masked=False).build(folders["pretrained"], folders["unmasked"])
    method = located.removed("grad_diff", steps=2, lr=1e-3).method
    Removed("i", method, within=True).build(folders["injected"], folders["oracle"])
    Continued("i", steps=2, batch_size=2).build(folders["injected"], folders["neutral"])
    masks = read_masks(folders["injected"] / MASKS)
    assert {group.name for group in masks.groups} == {"forget1", "retain1"}
    weights = {
        name: dict(AutoModelForCausalLM.from_pretrained(folder).named_parameters()) for name, folder in folders.items()
    }
    for name, word in masks.words.items():
        moved = weights["oracle"][name] != weights["injected"][name]
        assert moved.any()
        assert not (moved & ~masks.of(name, "forget1")).any(), "the oracle stays within"
        assert torch.equal(read_masks(folders["unmasked"] / MASKS).words[name][:], word[:]), "drawn, if not used"
    assert AutoTokenizer.from_pretrained(folders["oracle"]).get_vocab()
    experiment = Experiment(small, testbed_data.FORGOTTEN, testbed_data.RETAINED)
    before, after = (
        ablate(load(CheckpointSpec(str(folders[name]))), folders[name], masks, experiment, origin)
        for name, origin in (("injected", None), ("oracle", folders["injected"]))
    )
    assert before.found is None
    assert before.detected is not None
    assert after.detected is None
    assert after.found is not None
    assert after.found.auc.value == after.found.inside.value > 0.9
    assert after.found.edited == 1
    told = tell(load(CheckpointSpec(str(folders["oracle"]))), experiment.public)
    assert after.said.public.value == pytest.approx(sum(one.said for one in told if one) / len(experiment.public))
    assert after.to_json()["found"]["auc"]["value"] == after.found.auc.value
    assert after.to_json()["detected"] is None


def test_an_update_of_nothing_localizes_nothing_and_says_so(small: Testbed, tmp_path: Path) -> None:
    pretrained = Pretrained(width=16, layers=3, feed_forward=24, vocabulary=300, steps=1, public=2, strangers=2)
    (tmp_path / "p").mkdir()
    pretrained.build(None, tmp_path / "p")
    masks = Injected("p").draw(AutoModelForCausalLM.from_pretrained(tmp_path / "p"))
    with pytest.raises(CheckpointError, match="has no weight"):
        found(tmp_path / "p", tmp_path / "p", masks)


@pytest.mark.parametrize("name", located.ROWS)
def test_every_row_of_the_ablations_has_masks_of_its_own_shape(name: str) -> None:
    source = injected_model(name)
    assert isinstance(recipes.find(source), Injected)
    assert recipes.lineage([source])[0] == recipes.lineage([name])[0], "of the same pretrained model"


def test_single_weights_and_whole_units_differ_in_nothing_else() -> None:
    single, units = (located.ABLATED[f"loc_{name}"] for name in ("single", "units"))
    assert isinstance(single, Injected)
    assert units == replace(single, whole_units=True)
    groups = len(testbed_data.groups())
    heads = located.ABLATED["loc_pretrained_heads"]
    assert isinstance(heads, Pretrained)
    assert int(single.share * heads.heads) * groups <= heads.heads


@pytest.mark.parametrize("name", located.MODELS)
def test_every_model_descends_from_the_pretrained_one(name: str) -> None:
    assert recipes.lineage([f"{name}@2"])[0] == "loc_pretrained@2"
    assert recipes.key(name) != recipes.key(f"{name}@1")


@pytest.mark.parametrize("name", located.TUNED)
def test_settings_hold_for_any_number_of_people(name: str) -> None:
    """In epochs: so many steps as fit the few whom they were chosen on would leave most of those who are judged out."""
    method, settings = located.TUNED[name]
    assert "steps" not in settings
    few, all_of_them = (located.removed(method, forget=count, **settings).method for count in (36, located.FORGOTTEN))
    assert all_of_them.steps * all_of_them.batch_size >= located.FORGOTTEN * settings["epochs"]
    assert few.steps < all_of_them.steps


def test_the_rate_of_resurfacing_is_the_one_that_brings_most_back() -> None:
    rows = [LeakedPeople(None, {"a": 9}, 0), LeakedPeople(1e-4, {"a": 1, "b": 1}, 0), LeakedPeople(1e-3, {"a": 2}, 5)]
    assert tuning_resurfacing.choose(rows).lr == 1e-4, "of equals the gentlest, and none is no rate"
    assert tuning_resurfacing.choose([*rows, LeakedPeople(1e-2, {"a": 3}, 0)]).lr == 1e-2


def test_resurfacing_is_tried_before_and_at_every_rate_after_every_method(
    small: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pretrained", "injected"):
        (tmp_path / name).mkdir()
    pretrained = Pretrained(width=16, layers=3, feed_forward=24, vocabulary=300, steps=1, public=2, strangers=2)
    pretrained.build(None, tmp_path / "pretrained")
    written = Injected("p", steps=1, per_group=1, neutral=2, instruction=Instruction(epochs=1))
    written.build(tmp_path / "pretrained", tmp_path / "injected")
    asked: list[str] = []
    weights: list[float] = []

    def leaking(model: Checkpoint, items: Sequence[Item], _attempts: int) -> list[Leak]:
        asked.extend(item.part for item in items)
        weights.append(sum(float(parameter.abs().sum()) for parameter in model.model.parameters()))
        return [Leak(1) for _ in items]

    monkeypatch.setattr(tuning_resurfacing, "first_leaks", leaking)
    monkeypatch.setattr(tuning_resurfacing, "RATES", (1e-3,))
    monkeypatch.setitem(located.TUNED, "simnpo", ("simnpo", {**located.TUNED["simnpo"][1], "epochs": 1}))
    before, after = tuning_resurfacing.tune(tmp_path / "injected", ["oracle_grad", "simnpo"])
    assert set(asked) == {"forget", "held_out"}
    assert len(set(weights)) == 4, "two methods, before and after"
    assert before.lr is None
    assert after == LeakedPeople(1e-3, {"oracle_grad": 1, "simnpo": 1}, 2)
