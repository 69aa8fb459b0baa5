"""Every objective against the formula written out in plain Python, and its gradient against the paper's weight."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uds_bench.methods.objectives import answer_logprobs, grad_ascent, grad_diff, nll, npo, simnpo

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
@given(items(), items(), st.floats(0, 5), st.floats(0, 5))
def test_grad_diff_weighs_both_terms(forget: Items, retain: Items, gamma: float, alpha: float) -> None:
    (lf, _, tf), (lr, _, tr) = tensors(forget), tensors(retain)
    ascent = sum(row[0] for row in forget) / sum(row[2] for row in forget)
    kept = -sum(row[0] for row in retain) / sum(row[2] for row in retain)
    assert close(grad_diff((lf, tf), (lr, tr), gamma, alpha), gamma * ascent + alpha * kept)


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


@st.composite
def logits_and_labels(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    count, length, vocabulary = draw(st.integers(1, 4)), draw(st.integers(2, 7)), draw(st.integers(2, 9))
    logits = 5 * torch.randn(
        count, length, vocabulary, generator=torch.Generator().manual_seed(draw(st.integers(0, 999)))
    )
    label = st.sampled_from([-100, *range(vocabulary)])
    rows = st.lists(label, min_size=length, max_size=length)
    return logits, torch.tensor(draw(st.lists(rows, min_size=count, max_size=count)))


@unhurried
@given(logits_and_labels())
def test_answer_logprobs_is_a_plain_loop(case: tuple[torch.Tensor, torch.Tensor]) -> None:
    logits, labels = case
    sums, counts = answer_logprobs(*case)
    for row in range(len(labels)):
        total, n = 0.0, 0
        for t in range(labels.shape[1]):
            if (label := int(labels[row, t])) != -100:
                values = logits[row, t].double().tolist()
                top = max(values)
                total += values[label] - top - math.log(sum(math.exp(v - top) for v in values))
                n += 1
        assert float(sums[row]) == pytest.approx(total, rel=1e-5, abs=1e-4)
        assert int(counts[row]) == n


@unhurried
@given(logits_and_labels())
def test_only_positions_that_predict_a_label_have_a_gradient(case: tuple[torch.Tensor, torch.Tensor]) -> None:
    logits, labels = case
    logits.requires_grad_(True)
    (gradient,) = torch.autograd.grad(answer_logprobs(logits, labels)[0].sum(), logits)
    predicts = labels != -100
    assert torch.equal(gradient[~predicts], torch.zeros_like(gradient[~predicts]))
    wanted = torch.nn.functional.one_hot(labels.clamp(min=0), logits.shape[-1]) - logits.softmax(-1)
    torch.testing.assert_close(gradient[predicts], wanted.detach()[predicts])


@unhurried
@given(logits_and_labels(), st.integers(1, 4), st.sampled_from(["left", "right"]))
def test_padding_on_either_side_changes_nothing(case: tuple[torch.Tensor, torch.Tensor], extra: int, side: str) -> None:
    logits, labels = case
    more = torch.randn(len(logits), extra, logits.shape[-1]), torch.full((len(labels), extra), -100)
    parts = [(logits, labels), more] if side == "right" else [more, (logits, labels)]
    padded = torch.cat([p[0] for p in parts], 1), torch.cat([p[1] for p in parts], 1)
    for value, wanted in zip(answer_logprobs(*padded), answer_logprobs(logits, labels), strict=True):
        torch.testing.assert_close(value, wanted)


def test_a_token_that_cannot_occur_does_not_spoil_unscored_positions() -> None:
    """Token 0 stands in for the label of an unscored position; some models bar it with a logit of -inf."""
    logits = torch.zeros(1, 3, 4)
    logits[..., 0] = -math.inf
    logits.requires_grad_(True)
    value, count = answer_logprobs(logits, torch.tensor([[-100, -100, 2]]))
    assert value.item() == pytest.approx(-math.log(3))
    assert int(count) == 1
    (gradient,) = torch.autograd.grad(value.sum(), logits)
    assert torch.isfinite(gradient).all()


def test_the_likelihoods_of_half_precision_logits_are_summed_in_single() -> None:
    logits = torch.randn(2, 40, 300, generator=torch.Generator().manual_seed(0))
    labels = torch.randint(0, 300, (2, 40), generator=torch.Generator().manual_seed(1))
    half, _ = answer_logprobs(logits.bfloat16(), labels)
    whole, _ = answer_logprobs(logits.bfloat16().float(), labels)
    assert half.dtype == torch.float32
    assert torch.equal(half, whole)
