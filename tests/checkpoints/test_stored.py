"""Tensors read by rows straight from their files: the same as whole, and a line where they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from uds_bench.checkpoints import stored as module
from uds_bench.checkpoints.stored import pieces, stored
from uds_bench.errors import CheckpointError

KINDS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int32]
STATUS = Path("/proc/self/status")


def mapped() -> int:
    """Bytes of files that this process holds in memory."""
    said = next(line for line in STATUS.read_text().splitlines() if line.startswith("RssFile"))
    return int(said.split()[1]) << 10


def made() -> dict[str, torch.Tensor]:
    """Of every type and of some shapes, in an order that is not the file's."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(7, 5), (1,), (0, 3), (4, 0), (3, 2, 2)]
    return {
        f"{str(kind)[6:]}.{at}": (100 * torch.randn(shape, generator=generator)).to(kind)
        for kind in reversed(KINDS)
        for at, shape in enumerate(shapes)
    }


@pytest.mark.parametrize("rows", [slice(0, 1), slice(2, 5), slice(None), slice(6, 99), slice(3, 3)])
def test_rows_are_those_of_the_whole(tmp_path: Path, rows: slice) -> None:
    tensors = made()
    save_file(tensors, tmp_path / "t.safetensors", {"said": "so"})
    found, metadata = stored(tmp_path / "t.safetensors")
    assert metadata == {"said": "so"}
    assert list(found) == sorted(tensors)
    for name, tensor in tensors.items():
        assert (found[name].dtype, found[name].shape) == (tensor.dtype, tuple(tensor.shape))
        assert torch.equal(found[name][rows], tensor[rows])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple), st.integers(1, 30))
def test_pieces_make_up_the_whole(shape: tuple[int, ...], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", size)
        found = list(pieces(shape))
    assert [row for piece in found for row in range(shape[0])[piece]] == list(range(shape[0]))
    row = torch.Size(shape[1:]).numel()
    assert all((piece.stop - piece.start) * row <= max(size, row) for piece in found)


def test_other_steps_are_refused(tmp_path: Path) -> None:
    save_file({"w": torch.zeros(4, 4)}, tmp_path / "t.safetensors")
    with pytest.raises(ValueError, match="not consecutive"):
        stored(tmp_path / "t.safetensors")[0]["w"][::2]


def test_a_type_that_is_no_weight_is_named_when_it_is_asked_for(tmp_path: Path) -> None:
    save_file({"w": torch.zeros(4), "seen": torch.zeros(1, dtype=torch.int64)}, tmp_path / "t.safetensors")
    found, _ = stored(tmp_path / "t.safetensors")
    assert found["w"][:].tolist() == [0.0] * 4
    with pytest.raises(CheckpointError, match="seen is stored as I64"):
        found["seen"][:]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    save_file({"w": torch.zeros(40, 40)}, path)
    found = stored(path)[0]["w"]
    path.write_bytes(path.read_bytes()[:-1])
    assert found[0:39].shape == (39, 40)
    with pytest.raises(CheckpointError, match="was cut short"):
        found[39:40]
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        stored(path)
    path.unlink()
    with pytest.raises(CheckpointError, match="cannot be read"):
        found[0:1]
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        stored(path)


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux tells what is mapped")
def test_no_page_of_a_file_stays_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    save_file({"w": torch.zeros(1 << 14, 1 << 10)}, path)
    tensor = stored(path)[0]["w"]
    before = mapped()
    for rows in pieces(tensor.shape):
        assert not tensor[rows].any()
        assert mapped() - before < 16 << 20, "of 64 MiB that are read"
