"""The tensors of a folder's safetensors files, one at a time, whatever the shard layout."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from uds_bench.errors import CheckpointError, one_line
from uds_bench.storage import load_json


def weight_files(folder: Path, stem: str = "model") -> tuple[Path, ...]:
    """The files that hold the weights, as HF chooses them: the single file, or else the index's shards.

    Every shard is opened, and every tensor of the index looked up: raises CheckpointError where a shard is
    missing, truncated or lacks a tensor.
    """
    single, index = folder / f"{stem}.safetensors", folder / f"{stem}.safetensors.index.json"
    if single.is_file():
        if index.is_file():
            raise CheckpointError(
                f"{folder}: holds {single.name} and {index.name}, of which libraries read one or the other: keep one"
            )
        names(single)
        return (single,)
    try:
        places: dict[str, str] = load_json(index.read_text(encoding="utf-8"))["weight_map"]
        shards = {name: folder / name for name in sorted(set(places.values()))}
        there = {name for name, path in shards.items() if path.is_file()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{index}: not a weight index ({one_line(error)}): copy the folder again") from error
    seen: set[str] = set()
    for name, path in shards.items():
        if Path(name).name != name:
            raise CheckpointError(f"{index}: shard {name!r} is a path: an index names files of its own folder only")
        if name not in there:
            raise CheckpointError(f"{index}: shard {name} is missing from the folder: copy or download it again")
        found = set(names(path))
        lost = sorted(tensor for tensor, place in places.items() if place == name and tensor not in found)
        if lost:
            raise CheckpointError(f"{path}: tensor {lost[0]} of the index is not in it: copy the shard again")
        # Of two copies some libraries read the one, and some the other.
        if twice := sorted(tensor for tensor in found if tensor in seen or places.get(tensor, name) != name):
            raise CheckpointError(f"{path}: tensor {twice[0]} is there and in another shard: save the model again")
        seen |= found
    return tuple(shards.values())


def tensors(path: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of a file in the order of their names, one in memory at a time.

    Args:
        path: A safetensors file.

    Yields:
        Name and tensor, one after the other.

    Raises:
        CheckpointError: The file is damaged.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from safetensors.torch import save_file
        >>> with TemporaryDirectory() as folder:
        ...     save_file({"norm": torch.ones(2), "head": torch.zeros(1)}, Path(folder) / "model.safetensors")
        ...     dict(tensors(Path(folder) / "model.safetensors"))
        {'head': tensor([0.]), 'norm': tensor([1., 1.])}
    """
    with opened(path) as file:
        for name in sorted(file.keys()):
            yield name, file.get_tensor(name)


def check_finite(path: Path) -> None:
    """Raises CheckpointError naming the first tensor of `path` that holds a NaN or an infinity."""
    for name, tensor in tensors(path):
        if not finite(tensor):
            raise not_finite(path, name)


def not_finite(path: Path, name: str) -> CheckpointError:
    """The error of a tensor that holds a NaN or an infinity."""
    return CheckpointError(
        f"{path}: tensor {name} holds NaN or infinity: the training diverged; use an earlier checkpoint"
    )


def finite(tensor: torch.Tensor) -> bool:
    """Whether every value is finite: one pass without a mask, since minimum and maximum keep a NaN."""
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return True
    if tensor.element_size() == 1:  # the 8-bit floats have no minimum and maximum
        tensor = tensor.float()
    low, high = torch.aminmax(tensor)
    return bool(torch.isfinite(low) and torch.isfinite(high))


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A safetensors file. Raises CheckpointError where it is damaged."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{path}: not a readable safetensors file ({one_line(error)}): it is truncated or damaged; copy it again"
        ) from error


@contextmanager
def alone(folder: Path, files: Iterable[Path]) -> Iterator[Path]:
    """A folder with only these files of another: whoever reads it reads nothing that is in no digest."""
    with TemporaryDirectory(prefix="uds-bench-") as place:
        for file in files:
            link = Path(place) / file.relative_to(folder)
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(file.resolve())
        yield Path(place)


def weight_count(path: Path) -> int:
    """How many numbers a file holds, told by its header.

    Args:
        path: A safetensors file.

    Returns:
        Numbers of all tensors, 0 and above.

    Raises:
        CheckpointError: The file is damaged.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from safetensors.torch import save_file
        >>> with TemporaryDirectory() as folder:
        ...     save_file({"norm": torch.ones(2), "head": torch.zeros(3, 2)}, Path(folder) / "model.safetensors")
        ...     weight_count(Path(folder) / "model.safetensors")
        8
    """
    with opened(path) as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in names(path))


def names(path: Path) -> list[str]:
    """The names of the tensors in a file, without reading them. Raises CheckpointError where it is damaged."""
    with opened(path) as file:
        return list(file.keys())
