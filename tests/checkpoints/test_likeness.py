"""Whether two checkpoints come from one base, however their files are cut."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from uds_bench.checkpoints.likeness import OF_ONE_BASE, likeness
from uds_bench.errors import CheckpointError
from uds_bench.zoo import specimens

FULL, TRAINED = (specimens.folder(f"specimen:{name}") for name in ("full", "npo"))


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The full model in several files, in 16 bits."""
    folder = tmp_path_factory.mktemp("cut")
    AutoModelForCausalLM.from_pretrained(FULL, dtype=torch.bfloat16).save_pretrained(folder, max_shard_size="100KB")
    assert len(list(folder.glob("*.safetensors"))) > 1
    return folder


def test_a_model_in_several_files_is_as_like_as_in_one(cut: Path) -> None:
    whole, parted = likeness(FULL, TRAINED), likeness(cut, TRAINED)
    assert whole is not None
    assert parted is not None
    assert whole[0] == parted[0]
    assert parted[1] == pytest.approx(whole[1], abs=1e-3)
    assert parted[1] > OF_ONE_BASE


def test_weights_of_another_draw_are_unlike_wherever_they_lie(cut: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(FULL)
    for weight in model.parameters():
        torch.nn.init.normal_(weight)
    model.save_pretrained(tmp_path, max_shard_size="100KB")
    found = likeness(cut, tmp_path)
    assert found is not None
    assert abs(found[1]) < OF_ONE_BASE / 2


def test_weights_of_a_type_that_nothing_reads_are_a_line(tmp_path: Path) -> None:
    """A header may name types of six bits, which torch has not."""
    file = Path(shutil.copytree(FULL, tmp_path / "six")) / "model.safetensors"
    raw = file.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    one = header["model.embed_tokens.weight"]
    rows, (first, last) = one["shape"][0], one["data_offsets"]
    one |= {"dtype": "F6_E2M3", "shape": [rows, (last - first) * 8 // 6 // rows]}
    told = json.dumps(header).encode()
    told += b" " * (-len(told) % 8)
    file.write_bytes(len(told).to_bytes(8, "little") + told + raw[start:])
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        likeness(file.parent, FULL)
