"""One read of an update beside a read a family and target, and what controls are drawn on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from scipy.stats import rankdata
from written_weights import GROUPS, INJECTED, MASKS, NAMES, SHAPES, Tensors, lineup, noise, only, plus, read_alone

from uds_bench.audits.localization import auc_tally, sample
from uds_bench.audits.localization.composite import sides
from uds_bench.audits.localization.controls import planted_update, random_update
from uds_bench.audits.localization.families import FAMILIES, INJECTION
from uds_bench.audits.localization.names import HEADLINE, SUBJECTS, TARGETS
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.sample import WeightSample
from uds_bench.audits.localization.sweep import CLASSES, SIDES, classes, quantiles, sweep
from uds_bench.audits.localization.weights import weigh
from uds_bench.checkpoints import stored
from uds_bench.checkpoints.masks import MaskGroup, Masks
from uds_bench.errors import CheckpointError

EVERY = [*FAMILIES.values()]


def sparse(seed: int) -> Tensors:
    """An update that leaves a third of the weights, one tensor whole, and moves others alike."""
    found = noise(seed, 0.05)
    for at, name in enumerate(NAMES):
        luck = torch.rand(SHAPES[name], generator=torch.Generator().manual_seed(at))
        found[name][luck < 0.33] = 0
        found[name] = found[name].mul(32).round().div(32) if at == 1 else found[name]
    found[NAMES[2]].zero_()
    return found


UPDATES = {
    "everywhere": noise(3, 0.05),
    "sparse": sparse(4),
    "oracle": {name: noise(5)[name] * only("forget")(name) for name in NAMES},
    "none": noise(6, 0.0),
}


def seen(folder: Path, update: Tensors, dtype: torch.dtype = torch.float32) -> CheckpointSet:
    control = {"unmasked": noise(7), "unmasked_unlearned": plus(noise(7), sparse(8))}
    found = lineup(folder, plus(INJECTED, update), **control)
    for place in found.folders.values():
        file = place / "model.safetensors"
        save_file({name: one.to(dtype) for name, one in load_file(file).items()}, file)
    return CheckpointSet(found.folders, MASKS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("update", UPDATES)
def test_one_read_tells_what_a_read_for_each_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update: str, dtype: torch.dtype
) -> None:
    monkeypatch.setattr(stored, "PIECE", 700)
    checkpoints = seen(tmp_path, UPDATES[update], dtype)
    found = sweep(checkpoints, EVERY)
    for family in EVERY:
        for target in TARGETS:
            one, other = found.auc(family.name, target), read_alone(checkpoints, family, target)
            if family.name == "layernorm":  # its spread is summed up in another order
                assert one.value == pytest.approx(other.value, abs=1e-6)
            else:
                assert one == other
    raw, wanted, others = FAMILIES["raw"], 0, 0
    inside = length = 0.0
    for name, size in checkpoints.scores(raw).items():
        ours, theirs = sides(MASKS, name, HEADLINE)
        wanted += int((size[ours] == 0).sum())
        others += int((size[theirs] != 0).sum())
        inside += float((size[ours].astype(float) ** 2).sum())
        length += float((size.astype(float) ** 2).sum())
    assert (found.touched.untouched, found.touched.elsewhere) == (wanted, others)
    assert found.inside() == pytest.approx(inside / length if length else np.nan, nan_ok=True)


@pytest.mark.parametrize("update", ["sparse", "oracle"])
def test_in_buckets_it_is_as_near_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update: str) -> None:
    checkpoints = seen(tmp_path, UPDATES[update], torch.bfloat16)
    exact = sweep(checkpoints, EVERY)
    monkeypatch.setattr(auc_tally, "EXACT_SCORES", 100)
    found = sweep(checkpoints, EVERY)
    for family in EVERY:
        for target in TARGETS:
            one, other = found.auc(family.name, target), exact.auc(family.name, target)
            assert abs(one.twice_wins - other.twice_wins) <= one.unsure
            assert one.slack < 1e-2, "of 2,400 weights a side, few come often"
    if update == "oracle":
        assert found.auc("raw", HEADLINE).value == 1 - found.touched.share / 2, "zeros are ties, and known to be"


def test_what_injection_wrote_and_what_contrasts_are_held_against(tmp_path: Path) -> None:
    checkpoints = seen(tmp_path, UPDATES["sparse"])
    found = sweep(checkpoints, [])
    scores = np.concatenate([one.ravel() for one in checkpoints.scores(INJECTION).values()])
    word = np.concatenate([MASKS.words[name][:].numpy().ravel() for name in NAMES])
    forget = np.concatenate([MASKS.of(name, *MASKS.named("forget")).numpy().ravel() for name in NAMES])
    ours, theirs = scores[forget], np.sort(scores[word == 0])
    assert found.written is not None
    assert found.written.twice_wins == sum(int(theirs.searchsorted(ours, side).sum()) for side in ("left", "right"))
    assert found.unmasked is not None
    control = {"injected": checkpoints.folders["unmasked"], "unlearned": checkpoints.folders["unmasked_unlearned"]}
    assert found.unmasked == read_alone(CheckpointSet(control, MASKS), FAMILIES["raw"], HEADLINE)


def test_classes_are_what_targets_hold_against_each_other(tmp_path: Path) -> None:
    checkpoints, rows = lineup(tmp_path, INJECTED), slice(3, 40)
    kinds = classes(checkpoints, NAMES[0], rows)
    for target in TARGETS:
        for mine, theirs in zip(SIDES[target], sides(MASKS, NAMES[0], target), strict=True):
            np.testing.assert_array_equal(np.isin(kinds, mine), theirs[rows].ravel())


@pytest.mark.parametrize("ties", [False, True])
def test_quantiles_are_ranks_of_all_classes_at_once(ties: bool) -> None:
    sizes = [
        np.abs(np.random.default_rng(at).standard_normal(size)).astype(np.float32)
        for at, size in enumerate((90, 0, 40))
    ]
    sizes = [one.round(1) if ties else one for one in sizes]
    expected = (rankdata(np.concatenate(sizes)) - 0.5) / 130
    for found, one in zip(quantiles(sizes), np.split(expected, [90, 90]), strict=True):
        np.testing.assert_array_equal(found, np.sort(one.astype(np.float32)))


def test_a_tensor_of_one_weight_is_at_one_half_and_one_of_none_has_no_quantile() -> None:
    assert [one.tolist() for one in quantiles([np.float32([3.0])])] == [[0.5]]
    assert [one.tolist() for one in quantiles([np.float32([])])] == [[]]


def test_without_a_model_before_nothing_tells_what_injection_wrote(tmp_path: Path) -> None:
    folders = lineup(tmp_path, INJECTED).folders
    found = sweep(CheckpointSet({part: folders[part] for part in ("injected", "unlearned")}, MASKS), [])
    assert found.written is None
    assert found.unmasked is None


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_a_weight_that_is_no_number_is_named(tmp_path: Path, number: float) -> None:
    broken = {name: one.clone() for name, one in INJECTED.items()}
    broken[NAMES[3]][0, 1] = number
    with pytest.raises(CheckpointError, match=rf"unlearned: {NAMES[3]} holds NaN or infinity"):
        sweep(lineup(tmp_path, broken), [])


def test_a_sample_of_all_is_the_update_and_its_controls_are_the_whole_ones(tmp_path: Path) -> None:
    """Of few weights nothing is drawn: the scores of controls are those of whole tensors."""
    checkpoints = seen(tmp_path, UPDATES["sparse"])
    taken = WeightSample(checkpoints)
    whole, found = sweep(checkpoints, EVERY, taken), taken.lineup()
    assert found.masks.weights == MASKS.weights
    for name in NAMES:
        for part in checkpoints.folders:
            assert torch.equal(found.tensor(part, name), checkpoints.tensor(part, name).reshape(-1))
    again = sweep(found, EVERY)
    assert all(again.auc(f.name, t) == whole.auc(f.name, t) for f in EVERY if f.name != "layernorm" for t in TARGETS)
    pair = INJECTED[NAMES[0]], plus(INJECTED, UPDATES["sparse"])[NAMES[0]]
    flat = [one.reshape(-1) for one in pair]
    assert torch.equal(random_update("a", *pair).reshape(-1), random_update("a", *flat))
    inside = MASKS.of(NAMES[0], "f")
    assert torch.equal(
        planted_update("a", pair[0], inside).reshape(-1), planted_update("a", flat[0], inside.reshape(-1))
    )


def test_a_sample_hangs_on_names_and_seed_not_on_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = seen(tmp_path, UPDATES["sparse"])

    def drawn(seed: int) -> dict[str, torch.Tensor]:
        taken = WeightSample(checkpoints, seed, most=3000)
        sweep(checkpoints, [], taken)
        found = taken.lineup()
        return {name: found.tensor("unlearned", name) for name in found.masks.words}

    monkeypatch.setattr(sample, "LEAST", 0)
    one, other = drawn(0), drawn(1)
    monkeypatch.setattr(stored, "PIECE", 700)
    again = drawn(0)
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert any(len(one[name]) != len(other[name]) or not torch.equal(one[name], other[name]) for name in one)
    assert abs(sum(map(len, one.values())) - 3000) < 5 * (3000 * 0.75) ** 0.5


def test_small_masks_are_taken_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget masks of forty weights, of which a uniform draw would leave one or none."""
    words = {name: torch.zeros(shape, dtype=torch.int32) for name, shape in SHAPES.items()}
    for name in NAMES:
        words[name][0, :10], words[name][1:30] = 1, 2
    masks = Masks(words, (MaskGroup("few", "forget"), MaskGroup("many", "held_out")))
    monkeypatch.setattr(sample, "LEAST", 100)
    checkpoints = replace(seen(tmp_path, UPDATES["everywhere"]), masks=masks)
    taken = WeightSample(checkpoints, most=240)
    sweep(checkpoints, [], taken)
    found = taken.lineup()
    assert [group.role for group in found.masks.groups] == ["forget", "held_out"]
    assert found.masks.sizes()["forget"] == 40
    assert 50 < found.masks.sizes()["held_out"] < 200


def test_controls_on_a_sample_come_out_as_on_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = seen(tmp_path, UPDATES["oracle"])
    whole = weigh(checkpoints, most=2000)
    monkeypatch.setattr("uds_bench.audits.localization.weights.CONTROLLED", 6000)
    monkeypatch.setattr(sample, "LEAST", 0)
    found = weigh(checkpoints, most=2000)
    assert (whole.drawn and whole.drawn.weights, found.drawn and found.drawn.seed) == (12000, 0)
    assert found.drawn is not None
    assert 5500 < found.drawn.weights < 6500
    assert found.touched == whole.touched
    for subject in SUBJECTS:
        for family, auc in whole.aucs[subject][HEADLINE].items():
            near = found.aucs[subject][HEADLINE][family]
            if family == "composite":
                continue  # learned of other weights
            if subject == "unlearned":
                assert near == auc, "the update itself is told by all of its weights"
            else:
                assert near.value == pytest.approx(auc.value, abs=5 * 0.5 / near.positives**0.5)


def test_nothing_is_written_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = seen(tmp_path, UPDATES["oracle"])
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    before = sorted(tmp_path.rglob("*"))
    weigh(checkpoints, most=1000)
    assert sorted(tmp_path.rglob("*")) == before


def test_every_weight_is_in_one_class() -> None:
    assert len(CLASSES) == 4
    assert {kind for both in SIDES.values() for side in both for kind in side} == set(CLASSES)
    assert not any(set(ours) & set(theirs) for ours, theirs in SIDES.values())
    assert len(GROUPS) == 4
