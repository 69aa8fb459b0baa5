"""What a reply's own probabilities allow, beside the normal and the bounds by hand, a hair on either side."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from uds_bench.audits.bypass.claims import BEHIND, ROUNDING, UNLIKELY
from uds_bench.audits.bypass.reply_origin import are_drawn, are_rounded, may_say, says


def reply(**tokens: Any) -> Any:
    return SimpleNamespace(**{key: np.array(numbers, dtype=float) for key, numbers in tokens.items()})


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_reply_is_its_weights_own_where_no_token_lies_too_far_behind(at: int) -> None:
    for behind, own in ((BEHIND, True), (math.nextafter(BEHIND, 2), False), (math.nan, False)):
        tokens = [0.0] * 3
        tokens[at] = behind
        assert says(reply(behind=tokens)) is own


@pytest.mark.parametrize("short", [-1, 1])
@pytest.mark.parametrize("variances", [[0.5, 0.75], [0.0, 0.0]])
def test_a_drawn_reply_may_be_so_unlikely_and_all_together_so_likely(short: int, variances: list[float]) -> None:
    """Room is five standard deviations and what rounding puts between; below, of each alone; above, of all together."""
    room = UNLIKELY * math.sqrt(sum(variances)) + BEHIND
    for apart, inside in ((room - 1e-9, True), (room + 1e-9, False), (math.nan, False)):
        found = reply(logp=[-1.0 - short * apart, -2.0], mean=[-1.0, -2.0], variance=variances)
        assert may_say(found) is (inside or (short < 0 and not math.isnan(apart)))
        assert are_drawn([found]) is (inside or (short > 0 and not math.isnan(apart)))
        halves = [reply(**{key: [getattr(found, key)[at]] for key in ("logp", "mean", "variance")}) for at in (0, 1)]
        assert are_drawn(halves) is are_drawn([found]), "tokens are added up whatever reply they are of"
    assert are_drawn([])


@pytest.mark.parametrize("parts", [1, 2])
def test_ties_are_turned_as_often_as_the_normal_lets_expect(parts: int) -> None:
    """Of each lead the chance that rounding exceeds it, by the error function."""
    lead = [0.0, 0.05, 0.1, 0.3, 2.0, 4.0]
    turned = [math.erfc(one / ROUNDING / math.sqrt(2)) / 2 for one in lead]
    expected = sum(one * p for one, p in zip(lead, turned, strict=True))
    spread = math.sqrt(sum(one**2 * p * (1 - p) for one, p in zip(lead, turned, strict=True)))
    bound = expected + UNLIKELY * spread + BEHIND
    for total, rounded in ((bound - 1e-9, True), (bound + 1e-9, False), (math.nan, False)):
        behind = [0.0, 0.0, 0.0, 0.1, 0.0, total - 0.1]
        cut = len(lead) // parts
        replies = [reply(lead=lead[at : at + cut], behind=behind[at : at + cut]) for at in range(0, len(lead), cut)]
        assert are_rounded(replies) is rounded
    assert are_rounded([])
