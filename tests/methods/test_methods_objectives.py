"""Every objective against the formula written out in plain Python, and its gradient against finite differences."""

import math
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uds_bench.methods.objectives import dpo, grad_ascent, nll, npo, simnpo

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
@given(items(), BETAS, DELTAS, st.floats(0.01, 5))
def test_a_less_likely_answer_costs_less(rows: Items, beta: float, delta: float, fall: float) -> None:
    logp, reference, tokens = tensors(rows)
    for objective in (
        lambda x: grad_ascent(x, tokens),
        lambda x: npo(x, reference, beta),
        lambda x: simnpo(x, tokens, beta, delta),
    ):
        # Both fade: far below the reference the fall is lost in rounding, but it never turns round.
        assert objective(logp - fall) <= objective(logp)
    near = torch.full_like(logp, -1.0)
    assert npo(near - fall, near, beta) < npo(near, near, beta)
    assert simnpo(near - fall, tokens, beta, delta) < simnpo(near, tokens, beta, delta)
