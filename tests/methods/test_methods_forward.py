"""What a model says or holds at labelled tokens, and that the vocabulary is read out there alone."""

from __future__ import annotations

import math

import pytest
import torch
from families import FAMILIES
from hypothesis import given, settings
from hypothesis import strategies as st

from uds_bench.checkpoints import find_anatomy
from uds_bench.methods.examples import Example, pad
from uds_bench.methods.forward import answer_logits, answer_states
from uds_bench.methods.objectives import answer_logprobs, steering, undial

EXAMPLES = [Example((1, 5, 6, 7, 8, 9), 3), Example((1, 4, 3, 2), 3), Example((1, 7, 7, 7, 7), 1)]


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_at_labels_are_those_of_a_plain_pass(family: str) -> None:
    model = FAMILIES[family]()
    batch = pad(EXAMPLES)
    with torch.no_grad():
        logits, targets = answer_logits(model, batch)
        plain = model(**batch.inputs()).logits
    assert targets.tolist() == [[7, 8, 9, -100], [2, -100, -100, -100], [7, 7, 7, 7]]
    for row, example in enumerate(EXAMPLES):
        for k, at in enumerate(range(example.prompt_length, len(example.ids))):
            torch.testing.assert_close(logits[row, k], plain[row, at - 1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_states_at_labels_read_out_as_what_the_model_says_there(family: str) -> None:
    """The last block's output, read by the model's own norm and head: one position before each label."""
    model = FAMILIES[family]()
    batch, anatomy = pad(EXAMPLES), find_anatomy(model)
    with torch.no_grad():
        hidden, scored = answer_states(model, anatomy.blocks[-1], batch)
        logits, targets = answer_logits(model, batch)
        said = anatomy.readout(hidden)
    assert torch.equal(scored, targets != -100)
    torch.testing.assert_close(said[scored], logits[scored], rtol=1e-4, atol=1e-5)


unhurried = settings(deadline=None, max_examples=50)


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


@unhurried
@given(logits_and_labels(), st.integers(0, 999), st.sampled_from([0.5, 3.0, 10.0]))
def test_undial_is_a_plain_loop_and_its_gradient_the_difference_of_chances(
    case: tuple[torch.Tensor, torch.Tensor], seed: int, beta: float
) -> None:
    logits, labels = case[0].double().requires_grad_(True), case[1]
    if not (labels != -100).any():
        return
    teacher = 3 * torch.randn(logits.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    losses, wanted_gradient = [], torch.zeros_like(logits)
    count = int((labels != -100).sum())
    for row, place in (labels != -100).nonzero().tolist():
        adjusted = teacher[row, place].tolist()
        adjusted[int(labels[row, place])] -= beta
        wanted, said = chances(adjusted), chances(logits[row, place].tolist())
        losses.append(-sum(w * math.log(p) for w, p in zip(wanted, said, strict=True)))
        difference = [(p - w) / count for w, p in zip(wanted, said, strict=True)]
        wanted_gradient[row, place] = torch.tensor(difference, dtype=torch.float64)
    value = undial(logits, teacher, labels, beta)
    assert value.item() == pytest.approx(sum(losses) / count, rel=1e-9)
    (gradient,) = torch.autograd.grad(value, logits)
    torch.testing.assert_close(gradient, wanted_gradient, rtol=1e-6, atol=1e-9)
    assert torch.autograd.gradcheck(lambda x: undial(x, teacher, labels, beta), (logits,), atol=1e-5)


def chances(logits: list[float]) -> list[float]:
    top = max(logits)
    parts = [math.exp(value - top) for value in logits]
    return [part / sum(parts) for part in parts]


def test_undial_ends_at_the_adjusted_teacher_and_leaves_the_teacher_alone() -> None:
    teacher = torch.randn(1, 2, 5, generator=torch.Generator().manual_seed(0))
    kept, targets = teacher.clone(), torch.tensor([[3, 1]])
    student = teacher.clone()
    student[0, 0, 3] -= 10
    student[0, 1, 1] -= 10
    student.requires_grad_(True)
    (gradient,) = torch.autograd.grad(undial(student, teacher, targets, 10.0), student)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient), rtol=0, atol=1e-7)
    assert torch.equal(teacher, kept)
    teacher.requires_grad_(True)
    assert undial(student.detach(), teacher, targets, 10.0).grad_fn is None, "the teacher is not taught"


@unhurried
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5), st.integers(0, 999))
def test_steering_is_the_mean_squared_distance_and_pulls_straight(n: int, length: int, width: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(n, length, width, generator=generator, dtype=torch.float64).requires_grad_(True)
    target = torch.randn(width, generator=generator, dtype=torch.float64)
    scored = torch.rand(n, length, generator=generator) < 0.7
    scored[0, 0] = True
    places = scored.nonzero().tolist()
    distances = [sum((hidden[i, t, d].item() - target[d].item()) ** 2 for d in range(width)) for i, t in places]
    value = steering(hidden, target, scored)
    assert value.item() == pytest.approx(sum(distances) / len(places), rel=1e-9)
    (gradient,) = torch.autograd.grad(value, hidden)
    wanted = 2 * (hidden.detach() - target) / len(places) * scored.unsqueeze(-1)
    torch.testing.assert_close(gradient, wanted)
    assert torch.autograd.gradcheck(lambda x: steering(x, target, scored), (hidden,), atol=1e-5)
