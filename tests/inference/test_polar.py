"""The nearest orthogonal matrix, beside the one that singular values give."""

from __future__ import annotations

import pytest
import torch

from uds_bench.inference import polar
from uds_bench.inference.basis_map import Map, PairMoments, _filled
from uds_bench.inference.polar import nearest_orthogonal


def made(width: int, smallest: float, seed: int = 0) -> torch.Tensor:
    """A matrix whose singular values fall from 1 to the smallest."""
    draw = torch.Generator().manual_seed(seed)
    left, right = (torch.linalg.qr(torch.randn(width, width, generator=draw, dtype=torch.float64))[0] for _ in range(2))
    sizes = torch.logspace(0, torch.tensor(smallest).log10().item(), width, dtype=torch.float64)
    return left * sizes @ right


def by_singular_values(matrix: torch.Tensor) -> torch.Tensor:
    left, _, right = torch.linalg.svd(matrix)
    return left @ right


def by_inverses(matrix: torch.Tensor) -> torch.Tensor | None:
    """The way of a GPU."""
    return polar._by_inverses(matrix, len(matrix) * torch.finfo(matrix.dtype).eps)


@pytest.mark.parametrize("width", [1, 2, 7, 64, 200])
@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-9])
@pytest.mark.parametrize("length", [1e-8, 1.0, 1e12])
def test_it_is_the_one_that_singular_values_give(width: int, smallest: float, length: float) -> None:
    matrix = length * made(width, smallest)
    found = by_inverses(matrix)
    assert found is not None
    assert nearest_orthogonal(matrix)[1] == 0
    assert (found.mT @ found - torch.eye(width)).abs().max() < 1e-13
    # The factor itself is as sure as rounding over the smallest singular value.
    assert (found - by_singular_values(matrix)).abs().max() < 1e-13 * max(1, 1e-2 / smallest)


@pytest.mark.parametrize("empty", [1, 3, 20])
def test_directions_in_which_a_matrix_is_empty_are_counted(empty: int) -> None:
    matrix = made(20, 1e-2)
    matrix[:, :empty] = 0
    found, left_open = nearest_orthogonal(matrix)
    assert left_open == empty
    assert (found.mT @ found - torch.eye(20)).abs().max() < 1e-13


@pytest.mark.parametrize("smallest", [1e-15, 1e-17])
def test_what_is_near_to_singular_goes_by_singular_values(smallest: float) -> None:
    matrix = made(64, smallest)
    assert by_inverses(matrix) is None
    found, left_open = nearest_orthogonal(matrix)
    assert torch.equal(found, by_singular_values(matrix))
    assert left_open == int((torch.linalg.svdvals(matrix) <= 64 * torch.finfo(torch.float64).eps).sum())


def test_one_that_does_not_settle_goes_by_singular_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polar, "STEPS", 2)
    assert by_inverses(made(30, 1e-6)) is None


def test_a_map_that_few_positions_leave_open_can_be_had_by_inverses() -> None:
    """It does to what was seen what the nearest map does, and says at least how many directions are open."""
    width, positions = 24, 10
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(1, positions, width, generator=draw, dtype=torch.float64)
    y = x @ made(width, 1.0) + 0.1 * torch.randn(1, positions, width, generator=draw, dtype=torch.float64)
    seen = PairMoments.of(x, y)
    ((xx, yy, xy),) = seen.about(seen.x / positions, seen.y / positions)
    nearest, left_open = nearest_orthogonal(xy)
    found = Map.fit(seen)
    assert by_inverses(_filled(xy)) is not None
    assert found.open == left_open == width + 1 - positions
    centred, factor = x[0] - x[0].mean(0), (yy / xx).sqrt()
    assert (centred @ found.turn[0] - factor * centred @ nearest).abs().max() < 1e-6
