"""Scores of checkpoints on disk against their masks: identities, blind updates, files that do not belong together."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from written_weights import (
    GROUPS,
    INJECTED,
    MASKS,
    NAMES,
    SHAPES,
    Tensors,
    auc_of,
    lineup,
    noise,
    only,
    plus,
    read_alone,
)

from uds_bench.audits.localization import composite
from uds_bench.audits.localization.auc import null_band
from uds_bench.audits.localization.composite import _out_of_fold, composite_auc, sides
from uds_bench.audits.localization.controls import random_update
from uds_bench.audits.localization.families import FAMILIES, Part
from uds_bench.audits.localization.names import TARGETS, Target
from uds_bench.audits.localization.reading import CheckpointSet, group
from uds_bench.audits.localization.sweep import sweep
from uds_bench.audits.localization.weights import WeightScores, weigh
from uds_bench.checkpoints import stored
from uds_bench.checkpoints.mask_draws import draw_weights
from uds_bench.checkpoints.masks import read_masks, write_masks
from uds_bench.errors import CheckpointError


def test_the_auc_is_that_of_all_weights_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read piece by piece from files, beside one array of everything."""
    monkeypatch.setattr(stored, "PIECE", 700)
    control = {"unmasked": noise(7), "unmasked_unlearned": plus(noise(7), noise(8, 0.05))}
    write_masks(MASKS, tmp_path / "masks.safetensors")
    seen = lineup(tmp_path, plus(INJECTED, noise(3, 0.05)), read_masks(tmp_path / "masks.safetensors"), **control)
    found, spread = sweep(seen, [*FAMILIES.values()]), dict[str, list[np.ndarray]]()
    for name in NAMES:
        spread.setdefault(group(name), []).append(seen.change(FAMILIES["raw"], name).unlearning.ravel())
    scale = {key: float(np.concatenate(moved).astype(float).std()) for key, moved in spread.items()}
    for family, score in FAMILIES.items():
        scores = [score.score(seen.change(score, name, scale[group(name)])).ravel() for name in NAMES]
        for target in TARGETS:
            both = zip(*(sides(MASKS, name, target) for name in NAMES), strict=True)
            inside, outside = (np.concatenate([one.ravel() for one in side]) for side in both)
            assert not (inside & outside).any()
            expected = roc_auc_score(inside[inside | outside], np.concatenate(scores)[inside | outside])
            assert found.auc(family, target).value == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("target", "others"), [("forget_among_groups", 2400), ("forget", 9600), ("forget_or_retain", 8400)]
)
def test_what_is_found_and_what_it_is_held_against(target: Target, others: int) -> None:
    both = [sides(MASKS, name, target) for name in NAMES]
    assert sum(int(inside.sum()) for inside, _ in both) == (3600 if target == "forget_or_retain" else 2400)
    assert sum(int(outside.sum()) for _, outside in both) == others


@pytest.mark.parametrize("target", ["forget_among_groups", "forget"])
def test_an_oracle_is_one_less_half_of_what_it_left(tmp_path: Path, target: Target) -> None:
    moved = noise(4)
    for name in NAMES:
        moved[name][torch.rand(SHAPES[name], generator=torch.Generator().manual_seed(5)) < 0.17] = 0
    seen = lineup(tmp_path, plus(INJECTED, moved, only("forget")))
    left = sweep(seen, []).touched
    assert (left.wanted, left.elsewhere) == (2400, 0)
    assert 0.1 < left.share < 0.25
    assert auc_of(seen, FAMILIES["raw"], target).value == pytest.approx(1 - left.share / 2, abs=1e-12)


@pytest.mark.parametrize("family", ["raw", "qtile", "layernorm", "signrev", "reversal", "dirreversal"])
def test_a_blind_update_finds_nothing_among_groups(tmp_path: Path, family: str) -> None:
    seen = lineup(tmp_path, plus(INJECTED, noise(6, 0.05)))
    band = null_band(2400, 2400, families=6)
    assert band.low <= auc_of(seen, FAMILIES[family], "forget_among_groups").value <= band.high


def test_among_all_weights_a_blind_update_is_found_by_what_injection_did(tmp_path: Path) -> None:
    """Why the headline is another target: reversal sees the injection, not the method."""
    seen = lineup(tmp_path, plus(INJECTED, noise(6, 0.05)))
    assert auc_of(seen, FAMILIES["reversal"], "forget").value > 0.8


def test_other_masks_find_nothing_of_an_oracle(tmp_path: Path) -> None:
    """The null of permuted masks: as many weights, drawn anew."""
    seen = lineup(tmp_path, plus(INJECTED, noise(4), only("forget")), masks=draw_weights(SHAPES, GROUPS, 0.1, seed=9))
    band = null_band(2400, 2400)
    assert band.low <= auc_of(seen, FAMILIES["raw"], "forget_among_groups").value <= band.high


def test_equal_checkpoints_are_at_one_half(tmp_path: Path) -> None:
    seen = lineup(tmp_path, INJECTED)
    for family in ("raw", "qtile", "layernorm", "signrev", "reversal", "dirreversal"):
        assert auc_of(seen, FAMILIES[family], "forget_among_groups").value == 0.5
    left = sweep(seen, []).touched
    assert (left.share, left.elsewhere) == (1.0, 0)


def test_half_precision_and_shards_are_read(tmp_path: Path) -> None:
    half = {name: w.bfloat16() for name, w in plus(INJECTED, noise(4), only("forget")).items()}
    seen = lineup(tmp_path, half)
    assert 0.9 < auc_of(seen, FAMILIES["raw"], "forget_among_groups").value <= 1
    folder = seen.folders["unlearned"]
    (folder / "model.safetensors").unlink()
    for at, name in enumerate(NAMES):
        save_file({name: half[name]}, folder / f"model-{at}.safetensors")
    places = ", ".join(f'"{name}": "model-{at}.safetensors"' for at, name in enumerate(NAMES))
    (folder / "model.safetensors.index.json").write_text(f'{{"weight_map": {{{places}}}}}')
    again = CheckpointSet(seen.folders, MASKS)
    assert auc_of(again, FAMILIES["raw"], "forget") == auc_of(seen_whole(tmp_path, half), FAMILIES["raw"], "forget")


def seen_whole(folder: Path, unlearned: Tensors) -> CheckpointSet:
    (folder / "whole").mkdir()
    return lineup(folder / "whole", unlearned)


def test_checkpoints_that_do_not_belong_together(tmp_path: Path) -> None:
    fewer = {name: w for name, w in INJECTED.items() if name != NAMES[1]}
    (tmp_path / "a").mkdir()
    with pytest.raises(CheckpointError, match=rf"unlearned: has no tensor {NAMES[1]}"):
        lineup(tmp_path / "a", fewer)
    (tmp_path / "b").mkdir()
    with pytest.raises(CheckpointError, match=r"has shape \(50, 60\) and its mask \(60, 50\)"):
        lineup(tmp_path / "b", {name: w.T for name, w in INJECTED.items()})
    (tmp_path / "c").mkdir()
    with pytest.raises(CheckpointError, match="name both"):
        lineup(tmp_path / "c", INJECTED, unmasked=INJECTED)
    with pytest.raises(CheckpointError, match="localization needs injected, unlearned"):
        CheckpointSet({}, MASKS)


def without(seen: CheckpointSet, *parts: Part) -> CheckpointSet:
    return CheckpointSet({part: folder for part, folder in seen.folders.items() if part not in parts}, seen.masks)


def test_a_family_reads_its_own_checkpoints_and_no_other(tmp_path: Path) -> None:
    """One that is torn after it was looked at is no matter to the families that do not read it."""
    control = {"unmasked": noise(7), "unmasked_unlearned": noise(8)}
    seen = lineup(tmp_path, plus(INJECTED, noise(4), only("forget")), **control)
    expected = {name: read_alone(seen, family, "forget") for name, family in FAMILIES.items()}
    for part, kinds in {"pretrained": {"reversal"}, "unmasked": {"contrast"}, "injected": set(expected)}.items():
        file = seen.folders[part] / "model.safetensors"
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        for name, family in FAMILIES.items():
            if family.kind in kinds or part == "injected":
                with pytest.raises(CheckpointError, match=f"{part}.model.safetensors: was cut short"):
                    read_alone(seen, family, "forget")
            else:
                assert read_alone(seen, family, "forget") == expected[name]
        file.write_bytes(whole)


def test_a_family_whose_checkpoints_are_not_there_is_refused(tmp_path: Path) -> None:
    seen = lineup(tmp_path, INJECTED)
    pair = without(seen, "pretrained")
    offered = [[name for name, family in FAMILIES.items() if some.offers(family)] for some in (pair, seen)]
    assert offered[0] == ["raw", "qtile", "layernorm"]
    assert offered[1] == [*offered[0], "signrev", "reversal", "dirreversal"]
    with pytest.raises(CheckpointError, match="contrast needs unmasked, unmasked_unlearned: name the folders"):
        read_alone(seen, FAMILIES["contrast"], "forget")
    with pytest.raises(CheckpointError, match="signrev needs pretrained: name the folders"):
        read_alone(pair, FAMILIES["signrev"], "forget")
    assert read_alone(pair, FAMILIES["layernorm"], "forget") == read_alone(seen, FAMILIES["layernorm"], "forget")


MAGNITUDE_AND_REVERSAL = [family for family in FAMILIES.values() if not family.needs_control]


@pytest.mark.parametrize("most", [10**9, 6000])
def test_the_composite_finds_an_oracle_and_nothing_of_a_blind_update(tmp_path: Path, most: int) -> None:
    (tmp_path / "oracle").mkdir()
    oracle = lineup(tmp_path / "oracle", plus(INJECTED, noise(4), only("forget")))
    found = composite_auc(oracle, MAGNITUDE_AND_REVERSAL, "forget_among_groups", most=most)
    assert found.value > 0.99
    drawn = {name: random_update(name, INJECTED[name], oracle_of(name)) for name in NAMES}
    (tmp_path / "blind").mkdir()
    blind = lineup(tmp_path / "blind", drawn)
    found = composite_auc(blind, MAGNITUDE_AND_REVERSAL, "forget_among_groups", most=most)
    band = null_band(found.positives, found.negatives, families=2)
    assert band.low <= found.value <= band.high
    assert (found.positives + found.negatives < 4000) is (most == 6000)


def test_the_composite_draws_as_many_weights_as_are_asked_for(tmp_path: Path) -> None:
    seen = lineup(tmp_path, plus(INJECTED, noise(3, 0.05)))
    families = [FAMILIES[name] for name in ("raw", "signrev", "qtile")]
    whole, other = (composite_auc(seen, families, "forget", seed, 3000) for seed in (0, 1))
    assert composite_auc(seen, families, "forget", 0, 3000) == whole != other
    drawn = whole.positives + whole.negatives
    assert abs(drawn - 3000) < 5 * (3000 * (1 - 3000 / MASKS.weights)) ** 0.5


def oracle_of(name: str) -> torch.Tensor:
    return plus(INJECTED, noise(4), only("forget"))[name]


def test_the_composite_scores_no_weight_that_it_learned_from(tmp_path: Path) -> None:
    """Of few weights that nothing tells apart, a regression fits what there is by luck, and finds nothing elsewhere."""
    blind = lineup(tmp_path, plus(INJECTED, noise(5, 0.05)))
    found = [
        composite_auc(blind, MAGNITUDE_AND_REVERSAL, "forget_among_groups", seed, most=150).value for seed in range(12)
    ]
    assert sum(found) / len(found) < 0.53


def test_the_composite_of_equal_checkpoints_is_one_half(tmp_path: Path) -> None:
    assert composite_auc(lineup(tmp_path, INJECTED), MAGNITUDE_AND_REVERSAL, "forget").value == 0.5


def test_a_random_update_is_as_long_and_as_sparse_and_of_its_own_seed() -> None:
    name = NAMES[0]
    found, again, other = (random_update(name, INJECTED[name], oracle_of(name), seed) for seed in (0, 0, 1))
    assert torch.equal(found, again)
    assert not torch.equal(found, other)
    change, own = found - INJECTED[name], oracle_of(name) - INJECTED[name]
    assert float(change.norm()) == pytest.approx(float(own.norm()), rel=1e-4)
    assert abs(int((change != 0).sum()) - int((own != 0).sum())) <= 2
    assert torch.equal(random_update(name, INJECTED[name], INJECTED[name]), INJECTED[name])


def test_a_regression_reads_ranks_between_0_and_1_and_one_family_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, read = lineup(tmp_path, plus(INJECTED, noise(4), only("forget"))), []

    def out_of_fold(features: np.ndarray, labels: np.ndarray, seed: int) -> np.ndarray:
        read.append(features)
        return _out_of_fold(features, labels, seed)

    monkeypatch.setattr(composite, "_out_of_fold", out_of_fold)
    assert composite_auc(seen, [FAMILIES["raw"]], "forget_among_groups").value > 0.99
    (ranks,) = read[0].T
    assert ranks.max() == 1
    assert ranks.mean() == pytest.approx((1 + 1 / len(ranks)) / 2, abs=1e-6)


@pytest.mark.parametrize(("wanted", "told"), [(0, False), (4, False), (5, True)])
def test_fewer_weights_than_folds_on_a_side_are_told_apart_by_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: int, told: bool
) -> None:
    """Each fold holds back a weight of either side; the first ones are wanted."""
    labels = np.arange(40) < wanted
    drawn = iter([(np.arange(40), labels), *[(np.arange(0), np.zeros(0, bool))] * (len(NAMES) - 1)])
    monkeypatch.setattr(composite, "_drawn", lambda *_: next(drawn))
    moved = {name: torch.zeros(SHAPES[name]) for name in NAMES}
    moved[NAMES[0]].view(-1)[: max(1, wanted)] = 1
    found = composite_auc(lineup(tmp_path, plus(INJECTED, moved)), [FAMILIES["raw"]], "forget")
    assert (found.positives, found.negatives) == (wanted, 40 - wanted)
    if wanted:
        assert found.value == (1 if told else 0.5)


def test_every_weight_is_scored_by_a_regression_that_never_saw_it() -> None:
    """Five folds, each scored by what was fitted on the other four, one after another."""
    luck = np.random.default_rng(3)
    labels = luck.random(400) < 0.3
    features = (luck.random((400, 3)) + 0.2 * labels[:, None]).astype(np.float32)
    expected = np.full(400, np.nan)
    parts = list(StratifiedKFold(5, shuffle=True, random_state=7).split(features, labels))
    assert sorted(np.concatenate([held for _, held in parts])) == list(range(400))
    for learned, held in parts:
        fitted = LogisticRegression().fit(features[learned], labels[learned])
        expected[held] = 1 / (1 + np.exp(-(features[held] @ fitted.coef_[0] + fitted.intercept_[0])))
    np.testing.assert_allclose(_out_of_fold(features, labels, 7), expected, atol=1e-6)


def nowhere(name: str) -> torch.Tensor:
    """Weights that no group could be written into."""
    return ~only("forget", "retain", "held_out")(name)


def test_dust_in_the_right_place_outranks_what_moves_the_model(tmp_path: Path) -> None:
    """Large edits outside every group, 1e-6 inside the forget masks: the AUC is of ranks, the length is not."""
    fake = plus(plus(INJECTED, noise(3, 0.5), nowhere), noise(4, 1e-6), only("forget"))
    found = weigh(lineup(tmp_path, fake), most=1000)
    assert found.aucs["unlearned"]["forget_among_groups"]["raw"].value > 0.95
    assert found.inside["unlearned"] < 1e-6
    assert found.elsewhere() > 1


def test_the_share_inside_is_that_of_the_squared_length(tmp_path: Path) -> None:
    update = noise(5, 0.05)
    seen = lineup(tmp_path, plus(INJECTED, update))
    moved = {name: (INJECTED[name] + update[name] - INJECTED[name]).double() for name in NAMES}
    inside = sum(float((moved[name] ** 2)[only("forget")(name)].sum()) for name in NAMES)
    total = sum(float((one**2).sum()) for one in moved.values())
    found = sweep(seen, [])
    assert found.inside() == pytest.approx(inside / total, rel=1e-6)
    assert found.inside(unmaskable=0.25) == pytest.approx(0.75 * inside / total, rel=1e-6)
    assert found.inside(unmaskable=1.0) == pytest.approx(0.0)


def test_an_update_in_its_place_and_one_that_is_not(tmp_path: Path) -> None:
    found = weigh(lineup(tmp_path, plus(INJECTED, noise(6, 0.05), only("forget"))), most=1000)
    assert found.elsewhere() == found.elsewhere("planted") == 0
    assert found.elsewhere("misplaced") > 1
    assert found.inside["random"] == pytest.approx(0.2, abs=0.03), "the forget groups have a fifth of the weights"
    assert WeightScores.from_json(found.to_json()).inside == found.inside


def test_where_nothing_moved_nothing_is_weighed(tmp_path: Path) -> None:
    assert math.isnan(weigh(lineup(tmp_path, INJECTED), most=1000).elsewhere())


def test_an_update_of_other_tensors_alone_lies_elsewhere(tmp_path: Path) -> None:
    seen = lineup(tmp_path, INJECTED)
    for part, norm in (("pretrained", 1.0), ("injected", 1.0), ("unlearned", 2.0)):
        file = seen.folders[part] / "model.safetensors"
        save_file({**load_file(file), "model.norm.weight": norm * torch.ones(50)}, file)
    found = weigh(CheckpointSet(seen.folders, MASKS), most=1000)
    assert found.outside[0] == 1
    assert found.inside["unlearned"] == 0
    assert found.elsewhere() == 1
