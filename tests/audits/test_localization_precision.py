"""An update beside drawn ones: which families count, what the best of them comes to, and that blindness is seen."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from written_weights import BEFORE, GROUPS, INJECTED, MASKS, NAMES, SHAPES, lineup, noise, only, plus

from uds_bench.audits.localization import precision
from uds_bench.audits.localization.auc import Auc, null_band
from uds_bench.audits.localization.claims import LOCALIZED
from uds_bench.audits.localization.controls import permuted, planted_update
from uds_bench.audits.localization.names import HEADLINE, PUBLISHED, SUBJECTS
from uds_bench.audits.localization.precision import Best, PrecisionOutcome
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.sweep import Touched, sweep
from uds_bench.audits.localization.weights import COMPOSITE, WeightScores, weigh
from uds_bench.checkpoints.mask_draws import draw_weights
from uds_bench.errors import CheckpointError

SAMPLED = 4000
"""Weights that the composite is learned from."""


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> WeightScores:
    """An update of every weight that knows nothing of the masks."""
    return weigh(lineup(tmp_path_factory.mktemp("blind"), plus(INJECTED, noise(5, 0.05))), most=SAMPLED)


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> WeightScores:
    """One of the forget masks alone, which goes back on the injection."""
    return weigh(
        lineup(tmp_path_factory.mktemp("oracle"), plus(INJECTED, noise(5, 0.05), only("forget"))), most=SAMPLED
    )


def test_a_blind_update_is_not_localized_however_well_reversal_finds_what_was_injected(blind: WeightScores) -> None:
    """The contract of the headline: an update that does not depend on the mask cannot look localized, although the
    published target says so of it."""
    families = precision.counting(blind, None)
    found = precision.best(blind, families)
    assert found is not None
    assert found.word is not PrecisionOutcome.LOCALIZED
    assert found.interval.high < LOCALIZED
    assert abs(found.auc.value - 0.5) < precision.MARGIN
    published = precision.published(blind)
    assert published.auc.value > 0.8, "what is written to at all is told by how little of it was changed"
    assert published.family in ("reversal", COMPOSITE)
    assert precision.published(blind, "random").auc.value > 0.8, "so it is for one that was drawn"


def test_a_contrast_with_what_the_masks_tell_does_not_count(tmp_path: Path) -> None:
    """The control moved everything but the forget masks: held against it, a blind update looks localized."""
    blind, others = plus(INJECTED, noise(5, 0.05)), plus(BEFORE, noise(6, 1e-3), only("retain", "held_out"))
    found = weigh(lineup(tmp_path, blind, unmasked=BEFORE, unmasked_unlearned=others), most=SAMPLED)
    assert found.aucs["unlearned"][HEADLINE]["eratio"].value > 0.9
    assert found.unmasked is not None
    assert found.unmasked.value < 0.1
    assert not {"contrast", "contrastnorm", "eratio"} & set(precision.counting(found, None))
    assert WeightScores.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_a_contrast_with_an_update_that_knew_no_mask_counts(tmp_path: Path) -> None:
    oracle, control = plus(INJECTED, noise(5, 0.05), only("forget")), plus(BEFORE, noise(6, 0.05))
    found = weigh(lineup(tmp_path, oracle, unmasked=BEFORE, unmasked_unlearned=control), most=SAMPLED)
    assert {"contrast", "contrastnorm"} <= set(precision.counting(found, None))


def test_masks_of_another_injection_are_told(tmp_path: Path, blind: WeightScores) -> None:
    other = draw_weights(SHAPES, GROUPS, 0.1, seed=9)
    (tmp_path / "other").mkdir()
    found = weigh(lineup(tmp_path / "other", plus(INJECTED, noise(5, 0.05)), other), most=SAMPLED)
    assert blind.written is not None
    assert blind.written.value > 0.99
    assert found.written is not None
    assert abs(found.written.value - 0.5) < precision.MARGIN


@pytest.mark.parametrize(
    ("before", "after"), [("float32", "bfloat16"), ("float16", "bfloat16"), ("float32", "float16")]
)
def test_weights_that_were_only_stored_more_coarsely_have_not_moved(tmp_path: Path, before: str, after: str) -> None:
    found = lineup(tmp_path, INJECTED)
    for part in ("pretrained", "injected", "unlearned"):
        path = found.folders[part] / "model.safetensors"
        kept = {name: tensor.to(getattr(torch, before)) for name, tensor in load_file(path).items()}
        if part == "unlearned":
            kept = {name: tensor.to(getattr(torch, after)) for name, tensor in kept.items()}
        save_file(kept, path)
    seen = CheckpointSet(found.folders, MASKS)
    assert precision.moves_nothing(weigh(seen, most=SAMPLED))
    told = sweep(seen, []).written
    assert told is not None
    assert told.value > 0.9, "nor has injection moved weights of no mask by that"


def test_an_update_stored_more_coarsely_has_moved_nothing_by_that(tmp_path: Path) -> None:
    found = lineup(tmp_path, plus(INJECTED, noise(5, 0.05), only("forget")))
    exact = weigh(found, most=SAMPLED)
    path = found.folders["unlearned"] / "model.safetensors"
    save_file({name: tensor.bfloat16() for name, tensor in load_file(path).items()}, path)
    coarse = weigh(CheckpointSet(found.folders, MASKS), most=SAMPLED)
    assert (exact.touched.elsewhere, coarse.touched.elsewhere) == (0, 0)
    assert precision.identity_gap(coarse) == pytest.approx(0, abs=1e-12)
    assert coarse.aucs["unlearned"][HEADLINE]["raw"].value == pytest.approx(
        1 - coarse.touched.untouched / coarse.touched.wanted / 2
    )
    assert coarse.touched.share < 0.05


def test_an_update_within_the_forget_mask_is_localized(oracle: WeightScores) -> None:
    families = precision.counting(oracle, None)
    found = precision.best(oracle, families)
    assert found is not None
    assert found.word is PrecisionOutcome.LOCALIZED
    assert precision.identity_gap(oracle) == 0
    assert precision.identity_gap(oracle, "random") is not None
    assert precision.identity_gap(oracle, "random") > 0.3


def test_one_that_changes_weights_of_no_group_too_is_seen_everywhere_alone(tmp_path: Path) -> None:
    """Among the groups it looks like the oracle; against all other weights it does not."""

    def spared(name: str) -> torch.Tensor:
        return ~MASKS.of(name, *MASKS.named("retain", "held_out"))

    found = weigh(lineup(tmp_path, plus(INJECTED, noise(5, 0.05), spared)), most=SAMPLED)
    among, everywhere = (
        precision.best(found, precision.counting(found, None, target), target=target)
        for target in (HEADLINE, PUBLISHED)
    )
    assert among is not None
    assert everywhere is not None
    assert among.word is PrecisionOutcome.LOCALIZED
    assert everywhere.interval.high < LOCALIZED


@pytest.mark.parametrize("how", ["drawn", "strengthened"])
def test_what_changes_everything_but_the_forget_mask_is_not_localized(tmp_path: Path, how: str) -> None:
    """Less change than elsewhere is no change, whatever a regression or a reversal makes of it."""

    def elsewhere(name: str) -> torch.Tensor:
        return ~MASKS.of(name, *MASKS.named("forget"))

    change = noise(5, 0.05)
    if how == "strengthened":
        further = {name: INJECTED[name] - BEFORE[name] for name in NAMES}
        change = {name: torch.where(further[name] == 0, change[name], 0.05 * further[name]) for name in NAMES}
    found = weigh(lineup(tmp_path, plus(INJECTED, change, elsewhere)), most=SAMPLED)
    assert max(auc.value for auc in found.aucs["unlearned"][HEADLINE].values()) > 0.95, "some families are told"
    for target in (HEADLINE, PUBLISHED):
        best = precision.best(found, precision.counting(found, None, target), target=target)
        assert best is not None
        assert best.auc.value < 0.5


def test_nothing_lies_outside_where_every_tensor_has_masks(blind: WeightScores) -> None:
    assert blind.outside == (0.0, 0.0)


def test_what_lies_outside_every_mask_is_told(tmp_path: Path) -> None:
    more = {"model.norm.weight": torch.ones(6000), "lm_head.weight": torch.ones(60, 50)}
    changed = {**more, "lm_head.weight": 2 * torch.ones(60, 50)}
    folders = lineup(tmp_path, plus(INJECTED, only_one(3.0))).folders
    for part, extra in (("pretrained", more), ("injected", more), ("unlearned", changed)):
        file = folders[part] / "model.safetensors"
        save_file({**load_file(file), **extra}, file)
    seen = CheckpointSet(folders, MASKS)
    share, alike = seen.outside(sum(sweep(seen, []).squares))
    assert share == pytest.approx(3000 / (3000 + 9))
    assert alike == pytest.approx(9000 / (9000 + 4 * 3000))
    save_file(load_file(folders["injected"] / "model.safetensors") | {"extra": torch.ones(1)}, file)
    with pytest.raises(CheckpointError, match="extra is in one of injected and unlearned alone"):
        CheckpointSet(folders, MASKS).require_kin()


@pytest.mark.parametrize("part", ["pretrained", "unlearned"])
def test_checkpoints_that_are_not_of_one_kind_are_one_line(tmp_path: Path, part: str) -> None:
    folders = lineup(tmp_path, plus(INJECTED, only_one(3.0))).folders
    for one, size in (("pretrained", 4), ("injected", 4), ("unlearned", 4), (part, 5)):
        file = folders[one] / "model.safetensors"
        save_file({**load_file(file), "lm_head.weight": torch.ones(size)}, file)
    with pytest.raises(CheckpointError, match=r"lm_head.weight has shape \(5,\), in the injected model \(4,\)"):
        CheckpointSet(folders, MASKS).require_kin()


def test_a_model_before_injection_is_another_one(tmp_path: Path) -> None:
    folders = lineup(tmp_path, plus(INJECTED, only_one(3.0))).folders
    with pytest.raises(CheckpointError, match="is the injected model's: name the model before injection"):
        CheckpointSet({**folders, "pretrained": folders["injected"]}, MASKS).require_kin()


def only_one(size: float) -> dict[str, torch.Tensor]:
    """A change of a single weight."""
    found = {name: torch.zeros(60, 50) for name in NAMES}
    found[NAMES[0]][0, 0] = size
    return found


def test_drawn_updates_and_masks_are_what_they_are_called(oracle: WeightScores) -> None:
    assert tuple(oracle.aucs) == SUBJECTS
    assert oracle.aucs["planted"][HEADLINE]["raw"].value == 1.0
    for subject in ("random", "permuted"):
        auc = oracle.aucs[subject][HEADLINE]["raw"]
        band = null_band(auc.positives, auc.negatives, 20)
        assert band.low <= auc.value <= band.high
    assert set(oracle.absent) == {"contrast", "contrastnorm", "eratio"}, "without a control there is none"


def test_a_record_is_read_back(blind: WeightScores) -> None:
    found = WeightScores.from_json(json.loads(json.dumps(blind.to_json(), sort_keys=True)))
    assert found == blind
    for subject, targets in blind.aucs.items():
        assert list(found.aucs[subject]) == list(targets)
        for target, row in targets.items():
            assert list(found.aucs[subject][target]) == list(row), "of equals the first is the best"


def test_an_update_that_moves_others_too_has_no_identity(blind: WeightScores) -> None:
    assert blind.touched.elsewhere
    assert precision.identity_gap(blind) is None


def test_no_change_at_all_is_one_half_for_every_family(tmp_path: Path) -> None:
    same = weigh(lineup(tmp_path, INJECTED), most=SAMPLED)
    assert same.touched.share == 1.0
    assert not same.touched.elsewhere
    for subject in ("unlearned", "random"):
        assert {auc.value for auc in same.aucs[subject][HEADLINE].values()} == {0.5}


def made(**values: float) -> WeightScores:
    """A record of AUCs that are given, a thousand weights a side; the random update's are one half."""
    aucs = {name: Auc(round(value * 2_000_000), 1000, 1000) for name, value in values.items()}
    half = dict.fromkeys(values, Auc(1_000_000, 1000, 1000))
    none = dict.fromkeys(values, Auc(0, 1000, 1000))
    subjects = {
        "unlearned": {HEADLINE: aucs, PUBLISHED: aucs},
        "random": {HEADLINE: half, PUBLISHED: half},
        "misplaced": {HEADLINE: none, PUBLISHED: none},
    }
    return WeightScores(subjects, Touched(1000, 0, 1000), 2000, (), (0.0, 0.5), inside={})


def beside(found: WeightScores, subject: str, target: str = HEADLINE, **values: float) -> WeightScores:
    """The same with other AUCs of a control against a target."""
    drawn = made(**values).aucs["unlearned"][HEADLINE]
    return replace(found, aucs={**found.aucs, subject: {**found.aucs[subject], target: drawn}})


def test_a_family_counts_where_neither_control_is_told_by_it() -> None:
    found, neutral = made(raw=0.95, signrev=0.97, contrast=0.6), made(raw=0.51, signrev=0.56)
    assert precision.counting(found, neutral) == ["raw", "contrast"], "a contrast has no second neutral training"
    assert precision.counting(found, None) == ["raw", "signrev", "contrast"]
    told = beside(found, "random", raw=0.54, signrev=0.5, contrast=0.5)
    assert precision.counting(told, None) == ["signrev", "contrast"]
    told = beside(found, "misplaced", raw=0.1, signrev=0.54, contrast=0.52)
    assert precision.counting(told, None) == ["raw", "contrast"]


def test_controls_are_looked_at_on_the_target_that_is_asked_for() -> None:
    found = made(raw=0.95, signrev=0.97)
    for subject in ("random", "misplaced"):
        told = beside(found, subject, PUBLISHED, raw=0.5, signrev=0.7)
        assert precision.counting(told, None) == ["raw", "signrev"]
        assert precision.counting(told, None, PUBLISHED) == ["raw"]
    neutral = beside(made(raw=0.5, signrev=0.5), "unlearned", PUBLISHED, raw=0.7, signrev=0.5)
    assert precision.counting(found, neutral) == ["raw", "signrev"]
    assert precision.counting(found, neutral, PUBLISHED) == ["signrev"]


def test_a_control_that_was_not_scored_holds_for_nothing() -> None:
    found = made(raw=0.95)
    assert precision.counting(beside(found, "random"), None) == []
    assert precision.counting(beside(found, "misplaced"), None) == []
    assert precision.best(found, []) is None


def test_the_maximum_shares_its_error_among_those_it_was_chosen_from() -> None:
    found = made(raw=0.6, qtile=0.7, layernorm=0.65)
    one, three = precision.best(found, ["qtile"]), precision.best(found, ["raw", "qtile", "layernorm"])
    assert one is not None
    assert three is not None
    assert (three.family, three.families) == ("qtile", 3)
    assert three.interval.low < one.interval.low < 0.7 < one.interval.high < three.interval.high
    assert three.null.high > one.null.high


@pytest.mark.parametrize(
    ("value", "weights", "word"),
    [
        (1.0, 10**5, PrecisionOutcome.LOCALIZED),
        (0.97, 10**5, PrecisionOutcome.LOCALIZED),
        (0.5, 10**5, PrecisionOutcome.BLIND),
        (0.7, 10**5, PrecisionOutcome.BETWEEN),
        (0.905, 100, PrecisionOutcome.OPEN),
        (0.5, 100, PrecisionOutcome.OPEN),
    ],
)
def test_words(value: float, weights: int, word: PrecisionOutcome) -> None:
    assert Best("raw", Auc(round(value * 2 * weights**2), weights, weights), 1).word is word


def test_a_planted_update_moves_the_mask_and_nothing_else() -> None:
    for name in NAMES:
        inside = MASKS.of(name, "f")
        moved = planted_update(name, BEFORE[name], inside) != BEFORE[name]
        assert torch.equal(moved, inside)
        word = MASKS.words[name][:]
        elsewhere = permuted(name, word)
        assert not torch.equal(elsewhere, word)
        assert torch.equal(elsewhere.flatten().sort().values, word.flatten().sort().values)


def test_an_auc_of_nothing_is_open() -> None:
    found = Best("raw", Auc(0, 0, 10), 1)
    assert math.isnan(found.auc.value)
    assert found.word is PrecisionOutcome.OPEN


def test_a_buffer_of_whole_numbers_beside_the_weights_is_read(tmp_path: Path) -> None:
    found = lineup(tmp_path, plus(INJECTED, noise(5, 0.05)))
    for folder in found.folders.values():
        path = folder / "model.safetensors"
        save_file(load_file(path) | {"model.positions": torch.arange(4, dtype=torch.int32)}, path)
    seen = CheckpointSet(found.folders, MASKS)
    share, _ = seen.outside(sum(sweep(seen, []).squares))
    assert share == 0
