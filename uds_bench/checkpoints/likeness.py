"""Whether two checkpoints come from one base: what training changes of a large matrix is little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from uds_bench.checkpoints.weights import opened, weight_files

ROWS = 256
"""Of the matrix: more cost time and change little."""
OF_ONE_BASE = 0.5
"""Matrices of one base are far above, those of two initializations near 0."""


def likeness(first: Path, second: Path) -> tuple[str, float] | None:
    """How alike the first rows are of the largest matrix that two models share.

    Args:
        first: A folder with weights.
        second: Another one.

    Returns:
        The matrix and the cosine, -1 to 1, 1 is equal; None where they share none.

    Raises:
        CheckpointError: Weights are missing, truncated or lack a tensor.

    Example:
        >>> import tempfile, torch
        >>> from safetensors.torch import save_file
        >>> folder = Path(tempfile.mkdtemp())
        >>> save_file({"embed": torch.eye(2), "norm": torch.ones(2)}, folder / "model.safetensors")
        >>> name, alike = likeness(folder, folder)
        >>> name, round(alike, 6)
        ('embed', 1.0)
    """
    places: list[dict[str, Path]] = []
    sizes: dict[str, int] = {}
    for folder in (first, second):
        places.append({})
        for file in weight_files(folder):
            with opened(file) as content:
                for name in content.keys():  # noqa: SIM118  it is no mapping
                    shape = content.get_slice(name).get_shape()
                    if len(shape) == 2:
                        places[-1][name], sizes[name] = file, shape[0] * shape[1]
    shared = places[0].keys() & places[1].keys()
    if not shared:
        return None
    largest = max(shared, key=lambda name: (sizes[name], name))
    one, other = (_rows(place[largest], largest) for place in places)
    if one.shape != other.shape:
        return None
    return largest, float((one * other).sum() / (one.norm() * other.norm()))


def _rows(file: Path, name: str) -> Any:
    with opened(file) as content:
        return content.get_slice(name)[:ROWS].double()
