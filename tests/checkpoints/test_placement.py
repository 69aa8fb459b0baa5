"""Where weights go that one device does not hold: the same logits and readings, from memory and from disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from families import FAMILIES, save_checkpoint, tiny_tokenizer

from uds_bench.checkpoints import CheckpointSpec, load, loading, placement
from uds_bench.errors import CheckpointError, UdsWarning
from uds_bench.facts import embedded
from uds_bench.inference.gradients import block_sizes
from uds_bench.inference.target import PatchingTarget

FACTS = embedded(forget=2, retain=2, holdout=0)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[CheckpointSpec]:
    folder, tokenizer = tmp_path_factory.mktemp("pair"), tiny_tokenizer()
    for seed, name in enumerate(("full", "npo")):
        save_checkpoint(folder / name, FAMILIES["llama"](len(tokenizer), layers=4, seed=seed), tokenizer, shards=1)
    return [CheckpointSpec(str(folder / name)) for name in ("full", "npo")]


def size(spec: CheckpointSpec) -> int:
    return sum(path.stat().st_size for path in Path(spec.model).glob("*.safetensors"))


@pytest.mark.parametrize("room", [0.6, 0.9])
def test_a_model_of_which_a_part_waits_on_disk_is_read_as_the_whole_one(
    room: float, pair: list[CheckpointSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, npo = map(load, pair)
    whole = PatchingTarget(full, FACTS).read(npo)
    limits = {"device_map": "auto", "max_memory": {"cpu": int(room * size(pair[0]))}, "offload_folder": str(tmp_path)}
    monkeypatch.setattr(loading, "placement", lambda *_: limits)
    spread, other = map(load, pair)
    assert set(spread.model.hf_device_map.values()) == {"cpu", "disk"}
    assert placement.is_spread(spread.model)
    assert not placement.is_spread(full.model)
    np.testing.assert_allclose(PatchingTarget(spread, FACTS).read(other).drops, whole.drops, atol=1e-6)
    with pytest.raises(CheckpointError, match="where its gradients are taken"):
        block_sizes(spread)


def test_what_a_gpu_has_no_room_for_stays_in_main_memory(
    pair: list[CheckpointSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `from_pretrained` is told, of a GPU that has as many bytes free: nothing is loaded."""
    files, gpu = sorted(Path(pair[0].model).glob("*.safetensors")), torch.device("cuda:0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(placement, "_free_bytes", lambda _: 2 * size(pair[0]))
    assert placement.placement(pair[0], files, torch.float32, gpu) == {"device_map": {"": gpu}}
    monkeypatch.setattr(placement, "_free_bytes", lambda _: size(pair[0]))
    with pytest.warns(UdsWarning, match="the last blocks stay in main memory"):
        told = placement.placement(pair[0], files, torch.float32, gpu)
    assert told["device_map"] == "auto"
    assert told["max_memory"][0] == int(placement.SHARE * size(pair[0]))
    assert told["max_memory"]["cpu"] > 0.9 * size(pair[0])
    assert placement.placement(pair[0], files, torch.float16, gpu) == {"device_map": {"": gpu}}, "half as large"
