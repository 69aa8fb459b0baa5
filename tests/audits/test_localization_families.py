"""Scores of single weights beside plain loops, and what follows from their formulas (definitions 001.5)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.audits.localization.auc import exact_auc
from uds_bench.audits.localization.families import EPSILON, FAMILIES, Change

SIZE = 40


def drawn(seed: int, **changed: np.ndarray) -> Change:
    # Multiples of 1/64: their differences are exact, so that single and double precision have the same ties.
    rng = np.random.default_rng(seed)
    pre, inj, unl, other = ((rng.normal(size=(4, SIZE // 4)) * 64).round().astype(np.float32) / 64 for _ in range(4))
    return Change(**{"pretrained": pre, "injected": inj, "unlearned": unl, "unmasked": other, "spread": 0.7} | changed)


def slowly(name: str, change: Change) -> list[float]:
    """Definitions 001.2, a weight at a time, in double precision."""
    assert change.unmasked is not None
    assert change.pretrained is not None
    rows = zip(
        *(w.astype(float).ravel() for w in (change.pretrained, change.injected, change.unlearned, change.unmasked)),
        strict=True,
    )
    rows = [(inj - pre, unl - inj, unl - pre, other) for pre, inj, unl, other in rows]
    sizes = [abs(d) for _, d, _, _ in rows]
    found = {
        "raw": lambda i, d, left, o: abs(d),
        "qtile": lambda i, d, left, o: (
            (sum(s < abs(d) for s in sizes) + sum(s == abs(d) for s in sizes) / 2) / len(sizes)
        ),
        "layernorm": lambda i, d, left, o: abs(d) / change.spread,
        "signrev": lambda i, d, left, o: -(i * d),
        "reversal": lambda i, d, left, o: (abs(i) - abs(left)) / (abs(i) + EPSILON),
        "dirreversal": lambda i, d, left, o: -(d * math.copysign(1, i) if i else 0) / (abs(i) + EPSILON),
        "contrast": lambda i, d, left, o: abs(d) - abs(o),
        "contrastnorm": lambda i, d, left, o: (abs(d) - abs(o)) / (abs(d) + abs(o) + EPSILON),
        "eratio": lambda i, d, left, o: abs(d) / (abs(o) + EPSILON),
    }[name]
    return [found(*row) for row in rows]


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=st.integers(0, 2**32 - 1))
def test_scores_are_the_loops(name: str, seed: int) -> None:
    change = drawn(seed)
    found = FAMILIES[name].score(change)
    assert found.shape == change.injected.shape
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.ravel(), slowly(name, change), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["signrev", "reversal", "dirreversal"])
def test_no_unlearning_reverses_nothing(name: str) -> None:
    change = drawn(1)
    same = drawn(1, unlearned=change.injected)
    assert (FAMILIES[name].score(same) == 0).all()


def test_an_exact_undo_is_told_as_one() -> None:
    change = drawn(2)
    undone = drawn(2, unlearned=change.pretrained)
    size = np.abs(undone.injection)
    np.testing.assert_array_equal(FAMILIES["signrev"].score(undone), undone.injection**2)
    for name in ("reversal", "dirreversal"):
        np.testing.assert_allclose(FAMILIES[name].score(undone), size / (size + EPSILON), rtol=1e-6)


@given(st.integers(0, 2**32 - 1))
def test_reversal_is_at_most_directed_reversal_and_equal_without_overshoot(seed: int) -> None:
    change = drawn(seed)
    plain, directed = (FAMILIES[name].score(change) for name in ("reversal", "dirreversal"))
    size = np.abs(change.injection)
    short = (size > 0) & (np.sign(change.injection) * change.remaining >= 0)
    assert (plain <= directed + 1e-4 * (1 + np.abs(directed))).all()
    np.testing.assert_allclose(plain[short], directed[short], rtol=1e-3, atol=1e-4)
    crossed = (size > 0) & ~short & (np.abs(change.remaining) > 1e-2) & (size > 1e-2)
    assert (plain[crossed] < directed[crossed]).all()
    np.testing.assert_allclose(
        FAMILIES["signrev"].score(change), size * (size + EPSILON) * directed, rtol=1e-3, atol=1e-5
    )


@pytest.mark.parametrize("name", ["signrev", "reversal", "dirreversal"])
def test_turning_both_changes_round_is_the_same(name: str) -> None:
    rng = np.random.default_rng(3)
    injection, unlearning = (rng.integers(-8, 9, SIZE).astype(np.float32) for _ in range(2))
    zero = np.zeros(SIZE, np.float32)
    found = [FAMILIES[name].score(Change(zero, sign * injection, sign * (injection + unlearning))) for sign in (1, -1)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", ["qtile", "layernorm"])
def test_what_grows_with_the_size_has_its_auc_within_a_tensor(name: str) -> None:
    rng = np.random.default_rng(4)
    unlearned = rng.integers(0, 5, SIZE).astype(np.float32)  # many ties
    change = Change(np.zeros(SIZE, np.float32), np.zeros(SIZE, np.float32), unlearned, spread=2.5)
    labels = rng.random(SIZE) < 0.3
    aucs = [
        exact_auc([score[labels]], [score[~labels]])
        for score in (FAMILIES["raw"].score(change), FAMILIES[name].score(change))
    ]
    assert aucs[0] == aucs[1]


def test_shares_and_ratios_of_two_runs_order_weights_alike_and_turn_round_with_the_runs() -> None:
    change = drawn(5)
    assert change.unmasked is not None
    share, ratio = (FAMILIES[name].score(change).ravel() for name in ("contrastnorm", "eratio"))
    assert (np.abs(share) <= 1).all()
    assert (np.argsort(share) == np.argsort(ratio)).all()
    turned = Change(change.pretrained, change.injected, change.injected + change.unmasked, change.unlearning)
    np.testing.assert_allclose(FAMILIES["contrastnorm"].score(turned).ravel(), -share, atol=1e-4)


def test_where_injection_moved_nothing_reversal_is_a_sentinel() -> None:
    zero, moved = np.zeros(1, np.float32), np.full(1, 0.5, np.float32)
    change = Change(zero, zero, moved)
    assert FAMILIES["signrev"].score(change) == FAMILIES["dirreversal"].score(change) == 0
    assert FAMILIES["reversal"].score(change) == pytest.approx(-0.5 / EPSILON)


def test_a_group_in_which_nothing_moved_has_no_scale() -> None:
    zero = np.zeros(3, np.float32)
    assert (FAMILIES["layernorm"].score(Change(zero, zero, zero, spread=0.0)) == 0).all()


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.needs_control])
def test_a_contrast_without_its_control_is_never_a_plain_change(name: str) -> None:
    change = drawn(6)
    with pytest.raises(ValueError, match="without a mask"):
        FAMILIES[name].score(Change(change.pretrained, change.injected, change.unlearned))


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if "pretrained" in family.reads])
def test_a_reversal_without_what_was_before_is_refused(name: str) -> None:
    change = drawn(7)
    with pytest.raises(ValueError, match="before injection"):
        FAMILIES[name].score(Change(None, change.injected, change.unlearned))


def test_a_tensor_that_was_left_has_one_quantile_whatever_its_size() -> None:
    for rows in (1, 4, 100):
        still = np.ones((rows, 5), np.float32)
        assert (FAMILIES["qtile"].score(Change(still, still, still)) == 0.5).all()
