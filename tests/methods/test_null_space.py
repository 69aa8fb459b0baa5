"""The closed form of AlphaEdit: against NumPy, and what it promises to what is kept."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import editing

from uds_bench.methods.alphaedit import null_projection, null_space_edit

unhurried = settings(deadline=None, max_examples=40)
INNER, OUT = 12, 7


def keys_of(seed: int, count: int, rank: int = INNER) -> np.ndarray:
    """[inner, count] keys that span `rank` directions."""
    random = np.random.default_rng(seed)
    return random.normal(size=(INNER, rank)) @ random.normal(size=(rank, count))


def moment_of(keys: np.ndarray) -> torch.Tensor:
    return torch.tensor(keys @ keys.T / keys.shape[1])


@unhurried
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, INNER), st.floats(1e-9, 1e2))
def test_the_projection_is_one_and_is_the_reference(seed: int, count: int, rank: int, threshold: float) -> None:
    keys = keys_of(seed, count, rank)
    moment = moment_of(keys)
    if any(abs(value / threshold - 1) < 1e-6 for value in torch.linalg.eigvalsh(moment).tolist()):
        return  # too close to the threshold for two algorithms to agree
    p = null_projection(moment, threshold)
    torch.testing.assert_close(p @ p, p)
    torch.testing.assert_close(p, p.T)
    torch.testing.assert_close(p, torch.tensor(editing.projector(keys, threshold)), atol=1e-6, rtol=1e-6)


@unhurried
@given(st.integers(0, 10**6), st.integers(1, INNER - 1))
def test_kept_keys_are_projected_to_nothing(seed: int, rank: int) -> None:
    """Keys that span fewer directions than there are: the rest is free, and holds nothing of them."""
    keys = keys_of(seed, 3 * INNER, rank)
    p = null_projection(moment_of(keys), 1e-9)
    assert round(float(p.trace())) == INNER - rank
    assert float((p @ torch.tensor(keys)).abs().max()) < 1e-6 * np.abs(keys).max()


class Edit:
    """One random case: kept keys of few directions, earlier edits, and edits that are wanted."""

    def __init__(self, seed: int, items: int, earlier: int, l2: float, rank: int = 5) -> None:
        random = np.random.default_rng([seed, 1])
        self.kept = keys_of(seed, 30, rank)
        self.keys, self.earlier = random.normal(size=(INNER, items)), random.normal(size=(INNER, earlier))
        self.residual, self.l2 = random.normal(size=(OUT, items)), l2
        self.p = null_projection(moment_of(self.kept), 1e-9)

    def solved(self, p: torch.Tensor | None = None) -> torch.Tensor:
        rows = (torch.tensor(matrix.T) for matrix in (self.keys, self.residual, self.earlier))
        return null_space_edit(*rows, self.p if p is None else p, self.l2)


CASES = st.builds(
    Edit, st.integers(0, 10**6), st.integers(1, 15), st.integers(0, 15), st.sampled_from([1e-3, 0.1, 1.0, 10.0])
)


@unhurried
@given(CASES)
def test_the_edit_is_the_papers(case: Edit) -> None:
    wanted = editing.update(case.residual, case.keys, case.earlier, case.p.numpy(), case.l2)
    torch.testing.assert_close(case.solved(), torch.tensor(wanted), atol=1e-7, rtol=1e-7)


@unhurried
@given(CASES, st.integers(0, 10**6))
def test_no_other_edit_is_better(case: Edit, seed: int) -> None:
    found = case.solved().numpy()
    rest = (case.residual, case.keys, case.earlier, case.p.numpy(), case.l2)
    other = found + 1e-3 * np.random.default_rng(seed).normal(size=found.shape) @ case.p.numpy()
    assert editing.objective(found, *rest) < editing.objective(other, *rest)


@unhurried
@given(CASES)
def test_what_is_kept_says_the_same_and_without_the_projection_it_does_not(case: Edit) -> None:
    def moved(change: torch.Tensor) -> float:
        return float((change @ torch.tensor(case.kept)).norm() / change.norm())

    free, bound = case.solved(), case.solved(p=torch.eye(INNER, dtype=torch.float64))
    assert moved(free) < 1e-6
    assert moved(bound) > 1e3 * moved(free)
    assert float(free.norm()) > 0
