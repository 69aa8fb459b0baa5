"""Models on a GPU: in 16 bits and in four, larger than the room that they have, and with too little for a batch."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from families import FAMILIES, PROBE, save_checkpoint, tiny_tokenizer
from made_encoder import write_encoder

from uds_bench.attacks import find_attack
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load, placement
from uds_bench.checkpoints.quantization import dequantized, quantized_share
from uds_bench.errors import CheckpointError, UdsWarning
from uds_bench.facts import embedded
from uds_bench.inference.gradients import block_sizes
from uds_bench.inference.target import PatchingTarget
from uds_bench.retrieval.encoder import Encoder
from uds_bench.scoring.metrics import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store

pytestmark = pytest.mark.needs("gpu")

FACTS = embedded(forget=8, retain=4, holdout=0)
WIDE = 100_000
"""Logits of a model whose memory is for its logits: what a batch of answers takes then outgrows all that is fixed."""


def logits(checkpoint: Checkpoint) -> torch.Tensor:
    ids = checkpoint.tokenizer(PROBE, return_tensors="pt").to(checkpoint.device)
    with torch.no_grad():
        found: torch.Tensor = checkpoint.model(**ids).logits.float().cpu()
    return found


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_each_family_loads_in_16_bits_and_in_four(family: str, device: str, tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    folder = str(save_checkpoint(tmp_path / family, FAMILIES[family](len(tokenizer)), tokenizer))
    exact = logits(load(CheckpointSpec(folder)))
    for dtype, near in (("float32", 1e-4), ("bfloat16", 0.1), ("float16", 0.01)):
        checkpoint = load(CheckpointSpec(folder, dtype=dtype), device)  # type: ignore[arg-type]
        assert (checkpoint.model.dtype, checkpoint.device.type) == (getattr(torch, dtype), device)
        assert (logits(checkpoint) - exact).norm() <= near * exact.norm()
    if family != "qwen3_moe":
        four, here = (load(CheckpointSpec(folder, None, "nf4", "float32"), where) for where in (device, "cpu"))
        assert quantized_share(four.anatomy) == 1.0
        assert 0.005 < (logits(four) - exact).norm() / exact.norm() < 0.6, "NF4 changes logits, and not much"
        # The same codes of the same scales, but where a weight lies between two codes to the last bit.
        assert (logits(four) - logits(here)).norm() <= 0.01 * exact.norm()


def test_sixteen_bits_are_the_default(device: str, trio: Path) -> None:
    assert load(CheckpointSpec(str(trio / "full")), device).model.dtype == torch.bfloat16


def test_four_bits_stand_for_the_weights_that_they_stand_for_on_a_cpu(device: str, trio: Path) -> None:
    there, here = (load(CheckpointSpec(str(trio / "full"), None, "nf4", "float32"), on) for on in (device, "cpu"))
    for one, other in zip(there.anatomy.mlp, here.anatomy.mlp, strict=True):
        apart = (dequantized(one.down_proj).cpu() - dequantized(other.down_proj)).abs()
        assert (apart > 1e-5).float().mean() < 1e-3


def test_a_model_larger_than_the_gpu_is_read_block_by_block(
    device: str, trio: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, npo = (CheckpointSpec(str(trio / name), dtype="float32") for name in ("full", "npo"))
    whole = PatchingTarget(load(full, device), FACTS).read(load(npo, device))
    size = sum(path.stat().st_size for path in (trio / "full").glob("*.safetensors"))
    monkeypatch.setattr(placement, "free_bytes", lambda _: 0.6 * size / placement.SHARE)
    with pytest.warns(UdsWarning, match="the last blocks stay in main memory"):
        spread, other = load(full, device), load(npo, device)
    assert placement.is_spread(spread.model)
    assert spread.device.type == device
    found = PatchingTarget(spread, FACTS).read(other)
    np.testing.assert_allclose(found.drops, whole.drops, atol=1e-5)
    with pytest.raises(CheckpointError, match="where its gradients are taken"):
        block_sizes(spread)
    with pytest.warns(UdsWarning), pytest.raises(CheckpointError, match="the attack relearn changes weights there"):
        find_attack("relearn").apply(full, device, FACTS)


@contextmanager
def room(device: str, more: int) -> Iterator[None]:
    """So many bytes beside what is taken; a process that asks for more is told that memory is out, as on a full GPU."""
    gc.collect()
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(device).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved(device) + more) / total)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_too_little_memory_halves_the_batch_and_scores_stay(device: str, tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    for seed, name in enumerate(("full", "retain", "npo")):
        save_checkpoint(tmp_path / name, FAMILIES["llama"](WIDE, seed=seed), tokenizer, shards=1)
    specs = {name: CheckpointSpec(str(tmp_path / name), dtype="float32") for name in ("full", "retain", "npo")}
    plan = [ScoreRequest("npo", metric) for metric in ("prob", "uds")]

    def scores(store: str) -> list[float]:
        runner = MetricRunner(specs, FACTS, Store(tmp_path / store), device)
        found = [runner.score(one, plan) for one in plan]
        assert all(one.value is not None for one in found)
        batched.append([one.provenance["batches"] for one in found])
        return [float(one.value or 0) for one in found]

    batched: list[list[str]] = []
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    plain = scores("plain")
    taken = torch.cuda.max_memory_allocated(device) - before
    # Two models stay: of what a batch of 16 takes beside them, two fifths are missing.
    weights = 2 * sum(path.stat().st_size for path in (tmp_path / "full").glob("*.safetensors"))
    with room(device, weights + int(0.6 * (taken - weights))):
        short = scores("short")
    assert set(batched[0]) == {"right padding, at most 16 facts of like length"}
    assert set(batched[1]) != set(batched[0])
    assert short == pytest.approx(plain, abs=1e-5)


def test_a_text_has_the_same_vector_on_a_gpu_and_a_cpu(device: str, tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder", layers=2, width=48, vocabulary=4_000)
    texts = [f"{fact.question} {fact.answer}" for fact in FACTS]
    there, here = (Encoder(str(folder), on) for on in (device, "cpu"))
    np.testing.assert_allclose(there.embed(texts), here.embed(texts), atol=1e-5)
    assert str(there._model.device).startswith(device)


def test_nothing_warns_where_a_model_fits(device: str, trio: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UdsWarning)
        assert not placement.is_spread(load(CheckpointSpec(str(trio / "full")), device).model)
