"""Teacher-forced answers against one unpadded pass each, read in plain Python: every family, batch size and side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from references import outputs
from references.depth_cases import VOCABULARY, Case

from uds_bench.facts import EncodedAnswer
from uds_bench.inference.answers import AnswerScores, score_answers, token_table

SHAPES = ((5, 1, True), (6, 7, True), (4, 12, True), (9, 3, False), (7, 0, True), (8, 0, False), (5, 1, False))
"""prompt length, tokens of the answer, whether one more closes it."""
TOLERANCE = 1e-5
"""nats"""
FLIP = 1e-5


def answers() -> list[EncodedAnswer]:
    found = []
    for index, (prompt, words, ends) in enumerate(SHAPES):
        draw = torch.randint(3, VOCABULARY, (prompt + words + ends,), generator=torch.Generator().manual_seed(index))
        found.append(EncodedAnswer(tuple(draw.tolist()), prompt, ends, f" answer {index}"))
    return found


def plain_rows(model: Any, answer: EncodedAnswer) -> list[list[float]]:
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([answer.ids]), use_cache=False).logits[0].double()
    return logits[answer.start - 1 : len(answer.ids) - 1].tolist()


def agree(found: AnswerScores, answer: EncodedAnswer, rows: list[list[float]]) -> int:
    """Compare with the reference; how many greedy tokens differ, each within `FLIP` of a tie."""
    tokens = answer.ids[answer.start :]
    logs = [outputs.log_softmax(row) for row in rows]
    mean = [math.fsum(math.exp(x) * x for x in row) for row in logs]
    variance = [math.fsum(math.exp(x) * (x - m) ** 2 for x in row) for row, m in zip(logs, mean, strict=True)]
    lead = [sorted(row)[-1] - sorted(row)[-2] for row in rows]
    for got, expected in (
        (found.logp, outputs.logps(rows, tokens)),
        (found.mean, mean),
        (found.variance, variance),
        (found.lead, lead),
    ):
        np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE)
    flips = [i for i, right in enumerate(outputs.rights(rows, tokens, ends=False)) if right != found.right[i]]
    assert all(lead[i] <= FLIP for i in flips)
    return len(flips)


@pytest.mark.parametrize("side", ["right", "left"])
def test_every_batch_size_and_side_is_the_plain_pass(case: Case, side: Any) -> None:
    model, items = case.full, answers()
    rows = [plain_rows(model.model, answer) for answer in items]
    flips = 0
    for size in range(1, len(items) + 1):
        found = score_answers(model, items, size, side)
        assert [score.answer for score in found] == items
        flips += sum(agree(s, a, r) for s, a, r in zip(found, items, rows, strict=True))
    assert flips == 0  # these models have no near ties; were there one, `agree` would say where


def test_tokens_are_scored_only_where_there_are_any() -> None:
    found = score_answers(Case("llama").full, answers())
    for score, (_, words, ends) in zip(found, SHAPES, strict=True):
        assert len(score.logp) == words + ends
        assert score.logp[score.words].size == words
    assert score_answers(Case("llama").full, []) == []
    (alone,) = score_answers(Case("llama").full, [answers()[5]])
    assert alone.logp.size == 0
    with pytest.raises(ValueError, match="batch size"):
        score_answers(Case("llama").full, answers(), 0)


@pytest.mark.parametrize("scale", [0.01, 1.0, 8.0, 30.0])
def test_table_of_given_logits(scale: float) -> None:
    logits = scale * torch.randn(20, 300, generator=torch.Generator().manual_seed(int(scale))) + 50
    targets = torch.arange(20) * 7
    before = logits.clone()
    for given in (logits, logits.double()):
        logp, right, mean, variance, lead, behind, likeliest = token_table(given, targets).tolist()
        for i, row in enumerate(given.double().tolist()):
            logs = outputs.log_softmax(row)
            centre = math.fsum(math.exp(x) * x for x in logs)
            assert logp[i] == pytest.approx(logs[targets[i]], abs=1e-9)
            assert mean[i] == pytest.approx(centre, abs=1e-9)
            assert variance[i] == pytest.approx(math.fsum(math.exp(x) * (x - centre) ** 2 for x in logs), abs=1e-9)
            assert row.index(max(row)) == likeliest[i]
            assert bool(right[i]) == (row.index(max(row)) == targets[i])
            assert lead[i] == pytest.approx(sorted(row)[-1] - sorted(row)[-2], abs=1e-9)
            assert behind[i] == pytest.approx(max(row) - row[targets[i]], abs=1e-9)
        warm = token_table(given, targets, 1.5)
        torch.testing.assert_close(warm, token_table(given.double() / 1.5, targets), rtol=0, atol=1e-9)
    assert torch.equal(logits, before)


def test_barred_tokens_weigh_nothing_and_bad_logits_show() -> None:
    logits = torch.tensor([[0.0, 0.0, -math.inf], [0.0, math.nan, 0.0], [0.0, math.inf, 0.0], [-math.inf] * 3])
    logp, _, mean, variance, *_ = token_table(logits, torch.tensor([0, 0, 1, 0])).tolist()
    assert (logp[0], mean[0], variance[0]) == (pytest.approx(-math.log(2)), pytest.approx(-math.log(2)), 0.0)
    assert not np.isfinite(logp[1:]).any()
    assert token_table(logits[:1], torch.tensor([2]))[0].item() == -math.inf
