"""Models on a GPU: in 16 bits and in four, larger than the room that they have, and with too little for a batch."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
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
from uds_bench.facts import FactSet, embedded
from uds_bench.inference.gradients import block_sizes
from uds_bench.inference.target import PatchingTarget
from uds_bench.retrieval.encoder import Encoder
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store

pytestmark = pytest.mark.needs("gpu")

FACTS = embedded(forget=8, retain=4, holdout=0)
LONG = 40
"""Times that a question is repeated: some 2,000 tokens."""


def logits(checkpoint: Checkpoint) -> torch.Tensor:
    ids = checkpoint.tokenizer(PROBE, return_tensors="pt").to(checkpoint.device)
    with torch.no_grad():
        found: torch.Tensor = checkpoint.model(**ids).logits.float().cpu()
    return found


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_each_family_loads_in_16_bits_in_eight_and_in_four(family: str, device: str, tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    folder = str(save_checkpoint(tmp_path / family, FAMILIES[family](len(tokenizer)), tokenizer))
    exact = logits(load(CheckpointSpec(folder)))
    for dtype, near in (("float32", 1e-4), ("bfloat16", 0.1), ("float16", 0.01)):
        checkpoint = load(CheckpointSpec(folder, dtype=dtype), device)
        assert (checkpoint.model.dtype, checkpoint.device.type) == (getattr(torch, dtype), device)
        assert (logits(checkpoint) - exact).norm() <= near * exact.norm()
    if family != "qwen3_moe":
        four, here = (load(CheckpointSpec(folder, None, "nf4", "float32"), where) for where in (device, "cpu"))
        assert quantized_share(four.anatomy) == 1.0
        assert 0.005 < (logits(four) - exact).norm() / exact.norm() < 0.6, "NF4 changes logits, and not much"
        # The same codes of the same scales, but where a weight lies between two codes to the last bit.
        assert (logits(four) - logits(here)).norm() <= 0.01 * exact.norm()
        eight, here = (load(CheckpointSpec(folder, None, "int8", "float32"), where) for where in (device, "cpu"))
        assert quantized_share(eight.anatomy) == 1.0
        assert 0.0005 < (logits(eight) - exact).norm() / exact.norm() < 0.06, "int8 changes logits less"
        # Rows are rounded in 16 bits, which processors do alike but for the last code.
        assert (logits(eight) - logits(here)).norm() <= 0.01 * exact.norm()


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
    monkeypatch.setattr(placement, "_free_bytes", lambda _: 0.6 * size / placement.SHARE)
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
def room(device: str, most: int) -> Iterator[None]:
    """A process that asks for more bytes than that, all in all, is told that memory is out, as on a full GPU."""
    clear(device)
    torch.cuda.set_per_process_memory_fraction(most / torch.cuda.get_device_properties(device).total_memory)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def clear(device: str) -> None:
    """Gives back what nobody holds, and counts the most that is taken from here on."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)


def test_too_little_memory_halves_the_batch_and_scores_stay(device: str, tmp_path: Path) -> None:
    """The room lies between what 4 and what 16 facts at a time were seen to take."""
    tokenizer = tiny_tokenizer()
    for seed, name in enumerate(("full", "retain", "npo")):
        save_checkpoint(tmp_path / name, FAMILIES["llama"](len(tokenizer), seed=seed), tokenizer, shards=1)
    specs = {name: CheckpointSpec(str(tmp_path / name), dtype="float32") for name in ("full", "retain", "npo")}
    # Of long questions a batch takes as much more as it has rows; the table over the vocabulary is read in steps.
    short = embedded(forget=2, retain=2, holdout=0)
    facts = FactSet(replace(fact, question=" ".join([fact.question] * LONG)) for fact in short)
    stores = count()

    def scored(at_a_time: int) -> tuple[float, str, int]:
        """The score, how it was batched, and the most bytes that the process held."""
        clear(device)
        runner = MetricRunner(specs, facts, Store(tmp_path / f"store{next(stores)}"), device, at_a_time)
        score = runner.score(ScoreRequest("npo", "uds"))
        assert score.value is not None
        return score.value, score.provenance["batches"], torch.cuda.max_memory_reserved(device)

    scored(16)  # what a process takes once stays, and is in all figures after this
    value, batches, most = scored(16)
    _, _, fewer = scored(4)
    assert batches == "right padding, at most 16 facts of like length"
    assert fewer < 0.7 * most, "or there is no room between them"
    with room(device, (most + fewer) // 2):
        again, halved, held = scored(16)
    assert held < most
    assert halved in ("right padding, at most 8 facts of like length", "right padding, at most 4 facts of like length")
    assert again == pytest.approx(value, abs=1e-5)


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
