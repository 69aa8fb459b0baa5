"""Every objective against the formula written out in plain Python, and its gradient against the paper's weight."""

import math
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uds_bench.methods.objectives import (
    dpo,
    grad_ascent,
    nll,
    npo,
    simnpo,
)

unhurried = settings(deadline=None, max_examples=50)
BETAS = st.sampled_from([0.01, 0.1, 1.0, 4.5, 10.0])
DELTAS = st.sampled_from([0.0, 0.5, 1.5])
Items = list[tuple[float, float, int]]
"""(log-probability of an answer, the same under the reference, its number of tokens)."""


@st.composite
def items(draw: st.DrawFn) -> Items:
    logp = st.floats(-80, -1e-3)
    return draw(st.lists(st.tuples(logp, logp, st.integers(1, 30)), min_size=1, max_size=6))


def tensors(rows: Items) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    logp, reference, tokens = zip(*rows, strict=True)
    double = torch.float64
    return torch.tensor(logp, dtype=double), torch.tensor(reference, dtype=double), torch.tensor(tokens)


def log_sigmoid(x: float) -> float:
    return x - math.log1p(math.exp(x)) if x < 0 else -math.log1p(math.exp(-x))


def close(value: torch.Tensor, wanted: float) -> bool:
    return value.shape == () and math.isclose(float(value), wanted, rel_tol=1e-9, abs_tol=1e-12)


@unhurried
@given(items())
def test_nll_is_the_mean_over_all_tokens_and_grad_ascent_its_negative(rows: Items) -> None:
    logp, _, tokens = tensors(rows)
    wanted = -sum(row[0] for row in rows) / sum(row[2] for row in rows)
    assert close(nll(logp, tokens), wanted)
    assert close(grad_ascent(logp, tokens), -wanted)


@unhurried
@given(items(), BETAS)
def test_npo_is_its_formula(rows: Items, beta: float) -> None:
    logp, reference, _ = tensors(rows)
    wanted = sum(-2 / beta * log_sigmoid(-beta * (p - r)) for p, r, _ in rows) / len(rows)
    assert close(npo(logp, reference, beta), wanted)


@unhurried
@given(items(), BETAS, DELTAS)
def test_simnpo_is_its_formula(rows: Items, beta: float, delta: float) -> None:
    logp, _, tokens = tensors(rows)
    wanted = sum(-2 / beta * log_sigmoid(-beta / n * p - delta) for p, _, n in rows) / len(rows)
    assert close(simnpo(logp, tokens, beta, delta), wanted)


@unhurried
@given(items(), st.randoms(use_true_random=False), BETAS)
def test_dpo_is_its_formula_and_npo_without_the_preferred_answer(rows: Items, random: Any, beta: float) -> None:
    rejected, before, _ = tensors(rows)
    others = [(random.uniform(-80, 0), random.uniform(-80, 0)) for _ in rows]
    preferred, preferred_before = (torch.tensor(column, dtype=torch.float64) for column in zip(*others, strict=True))
    margins = [(p - q) - (r - s) for (p, q), (r, s, _) in zip(others, rows, strict=True)]
    wanted = sum(-2 / beta * log_sigmoid(beta * margin) for margin in margins) / len(rows)
    assert close(dpo(preferred, rejected, preferred_before, before, beta), wanted)
    none = torch.zeros_like(preferred)
    assert torch.equal(dpo(none, rejected, none, before, beta), npo(rejected, before, beta))


@unhurried
@given(items(), BETAS)
def test_dpo_pulls_the_two_answers_apart_with_equal_weight(rows: Items, beta: float) -> None:
    """The gradient on the preferred answer is minus that on the rejected one: 2 sigma(-beta margin), at first 1."""
    preferred, rejected, _ = tensors(rows)
    preferred.requires_grad_(True)
    rejected.requires_grad_(True)
    start = dpo(preferred, rejected, preferred.detach(), rejected.detach(), beta)
    up, down = torch.autograd.grad(start, (preferred, rejected))
    torch.testing.assert_close(up, torch.full_like(up, -1 / len(rows)))
    torch.testing.assert_close(down, -up)
    moved = dpo(preferred, rejected, preferred.detach() - 0.7, rejected.detach() + 0.4, beta)
    up, down = torch.autograd.grad(moved, (preferred, rejected))
    weight = 2 / (1 + math.exp(beta * 1.1))
    torch.testing.assert_close(up, torch.full_like(up, -weight / len(rows)))
    torch.testing.assert_close(down, -up)


@unhurried
@given(items(), BETAS)
def test_npo_starts_at_two_log_two_over_beta(rows: Items, beta: float) -> None:
    logp, _, _ = tensors(rows)
    assert close(npo(logp, logp.clone(), beta), 2 / beta * math.log(2))


@unhurried
@given(items(), BETAS, DELTAS)
def test_the_gradients_are_those_of_finite_differences(rows: Items, beta: float, delta: float) -> None:
    logp, reference, tokens = tensors(rows)
    logp.requires_grad_(True)
    for objective in (
        lambda x: nll(x, tokens),
        lambda x: grad_ascent(x, tokens),
        lambda x: npo(x, reference, beta),
        lambda x: simnpo(x, tokens, beta, delta),
        lambda x: dpo(x, reference, reference, reference, beta),
        lambda x: dpo(reference, x, reference, reference, beta),
    ):
        assert torch.autograd.gradcheck(objective, (logp,), atol=1e-5)


@unhurried
@given(items(), BETAS, DELTAS)
def test_simnpo_weighs_an_answer_by_its_likelihood(rows: Items, beta: float, delta: float) -> None:
    logp, _, tokens = tensors(rows)
    logp.requires_grad_(True)
    (gradient,) = torch.autograd.grad(simnpo(logp, tokens, beta, delta), logp)
    for value, (p, _, n) in zip(gradient, rows, strict=True):
        likelihood = math.exp(beta * p / n)
        weight = 2 * likelihood / (math.exp(-delta) + likelihood)
        assert 0 <= weight < 2
        assert close(value, weight / n / len(rows))


@unhurried
@given(items())
def test_npo_becomes_gradient_ascent_as_beta_falls(rows: Items) -> None:
    logp, reference, _ = tensors(rows)
    logp.requires_grad_(True)
    (ascent,) = torch.autograd.grad(logp.mean(), logp)
    errors = []
    for beta in (1e-2, 1e-4, 1e-6):
        (gradient,) = torch.autograd.grad(npo(logp, reference, beta), logp)
        errors.append(float((gradient - ascent).abs().max()))
    assert errors[-1] < 1e-4
    assert errors[0] >= errors[1] >= errors[2]


@unhurried
@given(items(), BETAS, DELTAS, st.floats(0.01, 5))
def test_a_less_likely_answer_costs_less(rows: Items, beta: float, delta: float, fall: float) -> None:
    logp, reference, tokens = tensors(rows)
    for objective in (
        lambda x: grad_ascent(x, tokens),
        lambda x: npo(x, reference, beta),
        lambda x: simnpo(x, tokens, beta, delta),
    ):
        # Both fade: far below the reference the fall is lost in rounding, but it never turns round.
        assert objective(logp - fall) <= objective(logp)  # type: ignore[no-untyped-call]
    near = torch.full_like(logp, -1.0)
    assert npo(near - fall, near, beta) < npo(near, near, beta)
    assert simnpo(near - fall, tokens, beta, delta) < simnpo(near, tokens, beta, delta)
