"""Masked Fisher information: gradients, masks, scores and their ends against plain references, in fp32 and NF4."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES, save_adapter, save_checkpoint
from layer_subjects import CANDIDATE, FORGET, FULL, RETAIN, TOKENIZER, checkpoint, subject, wrapped
from references import layered

from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.errors import CheckpointError
from uds_bench.facts import encode
from uds_bench.inference.gradients import block_sizes, entity_gradients
from uds_bench.metrics.fisher import METRIC, SHARES, fisher_information, largest, masked_information
from uds_bench.metrics.metric import Measured

BLOCKS = {"gpt2": "transformer.h"}
CHECKED = ["llama", "gpt2", "gemma2", "qwen3_moe"]


@cache
def plain(family: str, seed: int) -> list[list[list[float]]]:
    """[facts][layers][weights], squared."""
    model = checkpoint(family, seed).model
    spans = [(e.ids, e.start, e.end) for e in (encode(fact, TOKENIZER) for fact in FORGET)]
    return [layered.squared_gradients(model, BLOCKS.get(family, "model.layers"), *span) for span in spans]


@cache
def information(family: str, seed: int, skip: int | None = None) -> list[list[float]]:
    rows = [row for i, row in enumerate(plain(family, seed)) if i != skip]
    return [layered.mean_of([row[layer] for row in rows]) for layer in range(len(rows[0]))]


def plain_score(family: str, share: float, skip: int | None = None) -> float:
    masks = [
        layered.mask(f, r, share) for f, r in zip(information(family, FULL), information(family, RETAIN), strict=True)
    ]
    models = (information(family, seed, skip) for seed in (FULL, RETAIN, CANDIDATE))
    return layered.fisher_erasure(*models, masks)


def measure(seed: int = CANDIDATE, family: str = "llama", variant: str = "masked_0.1", **options: Any) -> Measured:
    return METRIC.compute(subject(checkpoint(family, seed), family, **options), variant)


def value(measured: Measured) -> float:
    assert measured.summary is not None
    assert measured.summary.value is not None
    return measured.summary.value


@pytest.mark.parametrize("family", CHECKED)
def test_gradients_are_the_reference(family: str) -> None:
    model = checkpoint(family, CANDIDATE)
    encoded = [encode(fact, TOKENIZER) for fact in FORGET]
    rows = {row: [g.double() ** 2 for g in gradients] for row, gradients in entity_gradients(model, encoded)}
    assert sorted(rows) == list(range(len(FORGET)))
    for row, expected in enumerate(plain(family, CANDIDATE)):
        for found, wanted in zip(rows[row], expected, strict=True):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=2e-3, atol=1e-7 * max(wanted))


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_facts_together_have_the_gradients_of_each_alone(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = checkpoint(family, CANDIDATE)
    encoded = [encode(fact, TOKENIZER) for fact in FORGET]
    found = dict(entity_gradients(model, encoded))
    monkeypatch.setattr("uds_bench.inference.gradients.PLAIN", ())
    for row, expected in entity_gradients(model, encoded):
        for block, wanted in zip(found[row], expected, strict=True):
            torch.testing.assert_close(block, wanted, rtol=1e-4, atol=1e-5 * float(wanted.abs().max()))


def test_a_matrix_that_two_layers_share_has_the_gradient_of_both() -> None:
    model = FAMILIES["llama"](len(TOKENIZER), seed=CANDIDATE)
    first, second = model.model.layers[0].mlp, model.model.layers[1].mlp
    second.up_proj.weight = first.up_proj.weight
    tied = wrapped(model, "tied")
    encoded = [encode(fact, TOKENIZER) for fact in FORGET[:2]]
    spans = [(e.ids, e.start, e.end) for e in encoded]
    rows = dict(entity_gradients(tied, encoded))
    for row, span in enumerate(spans):
        for block, wanted in zip(rows[row], layered.squared_gradients(model, "model.layers", *span), strict=True):
            np.testing.assert_allclose(block.numpy() ** 2, wanted, rtol=2e-3, atol=1e-7 * max(wanted))


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_blocks_by_themselves_have_the_information_of_all_at_once(
    family: str, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not together:
        monkeypatch.setattr("uds_bench.inference.gradients.PLAIN", ())
    model = checkpoint(family, CANDIDATE)
    encoded = [encode(fact, TOKENIZER) for fact in FORGET[:3]]
    whole = fisher_information(model, encoded)
    assert block_sizes(model) == [len(block) for block in whole]
    for at, wanted in enumerate(whole):
        (alone,) = fisher_information(model, encoded, slice(at, at + 1))
        torch.testing.assert_close(alone, wanted, rtol=1e-6, atol=0)


@pytest.mark.parametrize("variant", SHARES)
def test_a_score_is_the_same_however_many_blocks_are_held(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    together, held = measure(variant=variant), []

    def noted(model: Any, encoded: Any, which: slice) -> list[torch.Tensor]:
        found = fisher_information(model, encoded, which)
        held.append(len(found))
        return found

    monkeypatch.setattr("uds_bench.metrics.fisher.MOST_WEIGHTS", 1)
    monkeypatch.setattr("uds_bench.metrics.fisher.fisher_information", noted)
    full, retain = (wrapped(checkpoint("llama", seed).model, f"apart {seed}") for seed in (FULL, RETAIN))
    apart = METRIC.compute(subject(full=full, retain=retain), variant)
    assert held == [1] * 2 * len(checkpoint("llama", FULL).anatomy.blocks), "one block at a time, of both references"
    assert apart.summary == together.summary
    assert apart.values == together.values
    assert apart.notes == together.notes


def some_places(model: Any) -> list[torch.Tensor]:
    """In no order, some of them twice; none of the second block, and of the last more than are summed at once."""
    sizes = [sum(w.numel() for w in block.parameters() if w.dim() > 1) for block in model.anatomy.blocks]
    draw = torch.Generator().manual_seed(0)
    first, *_, last = (torch.randperm(size, generator=draw) for size in sizes)
    return [torch.cat([first[:50], first[:3]]), first[:0], last]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_gradients_at_places_are_those_of_the_whole(
    family: str, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not together:
        monkeypatch.setattr("uds_bench.inference.gradients.PLAIN", ())
    model = checkpoint(family, CANDIDATE)
    encoded = [encode(fact, TOKENIZER) for fact in FORGET]
    places = some_places(model)
    found, whole = dict(entity_gradients(model, encoded, places)), dict(entity_gradients(model, encoded))
    alone = dict(entity_gradients(model, encoded, [places[0], places[1], places[2][7:8]]))
    assert list(found) == list(whole)
    same_at(places, found, whole)
    for row, gradients in alone.items():
        assert torch.equal(gradients[0], found[row][0])
        assert torch.equal(gradients[2], found[row][2][7:8]), "what else is asked for must not change a bit"


def same_at(
    places: list[torch.Tensor], found: dict[int, list[torch.Tensor]], whole: dict[int, list[torch.Tensor]]
) -> None:
    assert found.keys() == whole.keys()
    for row, gradients in found.items():
        for own, wanted, at in zip(gradients, whole[row], places, strict=True):
            assert own.dtype == torch.float32
            torch.testing.assert_close(own, wanted[at], rtol=1e-5, atol=1e-6 * float(wanted.abs().max()))


def test_masked_information_is_the_mean_over_the_mask_and_nothing_over_none() -> None:
    model = checkpoint("gpt2", CANDIDATE)
    encoded = [encode(fact, TOKENIZER) for fact in FORGET]
    places = some_places(model)
    found = masked_information(model, encoded, places)
    for row, squares in enumerate(plain("gpt2", CANDIDATE)):
        for block, at in enumerate(places):
            wanted = math.fsum(squares[block][i] for i in at.tolist()) / max(1, len(at))
            assert found[row, block] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("variant", SHARES)
@pytest.mark.parametrize("family", CHECKED)
def test_scores_are_the_reference(family: str, variant: str) -> None:
    found = measure(family=family, variant=variant)
    assert value(found) == pytest.approx(plain_score(family, SHARES[variant]), abs=1e-5)
    assert found.values[2].value == pytest.approx(plain_score(family, SHARES[variant], skip=2), abs=1e-4)
    sizes = found.notes["of"]
    assert found.notes["masked"] == [max(1, round(SHARES[variant] * n)) for n in sizes]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_ends_of_the_scale(family: str) -> None:
    assert value(measure(FULL, family)) == 0
    assert value(measure(RETAIN, family)) == 1
    assert 0 <= value(measure(CANDIDATE, family)) <= 1


def test_interval_is_that_of_resampled_authors() -> None:
    from uds_bench.metrics.resampling import cluster_draws

    candidate = checkpoint("llama", CANDIDATE)
    encoded = [encode(fact, TOKENIZER) for fact in FORGET]
    both = [fisher_information(checkpoint("llama", seed), encoded) for seed in (FULL, RETAIN)]
    masks = [largest(f, r, SHARES["masked_0.1"]) for f, r in zip(*both, strict=True)]
    full, retain, own = (
        masked_information(model, encoded, masks)
        for model in (checkpoint("llama", FULL), checkpoint("llama", RETAIN), candidate)
    )
    draws, cluster_of = cluster_draws([fact.cluster for fact in FORGET])
    scores = []
    for counts in draws[:500]:
        rows = [i for i, c in enumerate(cluster_of) for _ in range(int(counts[c]))]
        means = [table[rows].mean(0) for table in (full, retain, own)]
        weights = [max(r - f, 0.0) for f, r in zip(means[0], means[1], strict=True)]
        parts = [
            w * (1 - min(max((r - o) / (r - f), 0.0), 1.0)) if w > 0 else 0.0
            for w, f, r, o in zip(weights, *means, strict=True)
        ]
        scores.append(math.fsum(parts) / math.fsum(weights) if math.fsum(weights) else math.nan)
    found = measure()
    assert found.summary is not None
    interval = found.summary.interval
    assert interval is not None
    inside = np.mean([(interval.low <= s <= interval.high) for s in scores])
    assert 0.92 <= inside <= 0.98
    assert interval.units == len(FORGET.clusters)


def test_masks_hold_positive_excess_only() -> None:
    full, retain = torch.tensor([0.0, 3.0, 1.0, 1.0]), torch.tensor([2.0, 1.0, 1.5, 1.0])
    assert largest(full, retain, 0.25).tolist() == [0]
    assert largest(full, retain, 1.0).tolist() == [0, 2]
    assert largest(retain, retain, 1.0).tolist() == []


def test_models_that_are_alike_leave_it_undefined() -> None:
    found = measure(retain=checkpoint("llama", FULL))
    assert found.summary is not None
    assert found.summary.value is None
    assert "Fisher information" in found.notes["undefined"]
    assert all(v.value is None and v.reason for v in found.values)


def test_a_broken_reference_is_told_and_a_broken_candidate_has_no_score() -> None:
    model = FAMILIES["llama"](len(TOKENIZER))
    model.model.layers[0].mlp.up_proj.weight.data[0, 0] = math.nan
    broken = wrapped(model, "broken")
    with pytest.raises(CheckpointError, match="broken: gradients of its entities are not finite"):
        METRIC.compute(subject(retain=broken), "masked_0.1")
    found = METRIC.compute(subject(broken), "masked_0.1")
    assert found.summary is not None
    assert found.summary.value is None
    assert all(v.value is None for v in found.values)


def test_the_model_is_as_before() -> None:
    model = checkpoint("llama", CANDIDATE)
    measure()
    assert all(p.grad is None and not p.requires_grad for p in model.model.parameters())


# ---- quantized weights and adapters


def nf4(folder: Path, adapter: Path | None = None) -> Any:
    return load(CheckpointSpec(str(folder), None if adapter is None else str(adapter), quantization="nf4"))


@pytest.mark.parametrize("form", ["nf4", "int8"])
def test_gradients_of_codes_are_those_of_what_they_stand_for(form: Any, saved: tuple[Path, Path]) -> None:
    from uds_bench.checkpoints.quantization import QUANTIZED, dequantized

    quantized = load(CheckpointSpec(str(saved[0]), quantization=form))
    meant = {
        name: dequantized(module) for name, module in quantized.model.named_modules() if isinstance(module, QUANTIZED)
    }
    assert len(meant) == 21
    same_gradients(quantized, meant)
    score = METRIC.compute(subject(quantized), "masked_1")
    assert 0 <= value(score) < 0.2, "quantized, the full model is still nearly the full model"


def test_an_adapter_beside_its_base_counts_as_part_of_it(saved: tuple[Path, Path]) -> None:
    """The gradients are those of the weights that base and adapter come to together."""
    from uds_bench.checkpoints.quantization import dequantized

    beside = nf4(*saved)
    meant = {
        name: dequantized(module.base_layer) + module.get_delta_weight("default")
        for name, module in beside.model.named_modules()
        if hasattr(module, "base_layer")
    }
    assert len(meant) == 21
    same_gradients(beside, meant)


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, Path]:
    """A model and an adapter for it."""
    return save_checkpoint(tmp_path / "llama", FAMILIES["llama"](384), TOKENIZER), save_adapter(tmp_path / "lora")


def same_gradients(model: Any, meant: dict[str, torch.Tensor]) -> None:
    """Those of a model of plain weights that are as `meant`; and the model is as it was afterwards."""
    plain_model = FAMILIES["llama"](384)
    for name, weight in meant.items():
        plain_model.get_submodule(name).weight.data.copy_(weight)
    encoded = [encode(fact, TOKENIZER) for fact in FORGET]
    before = [type(module) for module in model.model.modules()]
    meant_model = wrapped(plain_model, "plain")
    found, expected = (dict(entity_gradients(m, encoded)) for m in (model, meant_model))
    for row, gradients in expected.items():
        for own, wanted in zip(found[row], gradients, strict=True):
            torch.testing.assert_close(own, wanted, rtol=1e-3, atol=1e-5 * float(wanted.abs().max()))
    places = some_places(meant_model)
    same_at(places, dict(entity_gradients(model, encoded, places)), found)
    assert [type(module) for module in model.model.modules()] == before
