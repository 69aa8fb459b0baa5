"""What metrics of teacher-forced answers share: one value a fact, and the reasons for having none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from uds_bench.facts import Fact
from uds_bench.inference.answers import AnswerScores
from uds_bench.metrics.metric import FactValue
from uds_bench.storage import content_key

Answers = Sequence[AnswerScores]
"""The answers of one form to one fact's question."""

EMPTY = "an answer is empty"
NOT_FINITE = "a log-probability is not finite"
NEAR_TIE = 1e-5
"""Logits of the two likeliest tokens this close may change places with batch size or padding."""


def fact_values(
    facts: Iterable[Fact],
    answers: Iterable[Answers],
    formula: Callable[[Answers], float],
    *,
    lacks: str = "answer",
    label: int | None = None,
) -> list[FactValue]:
    """A formula's value of each fact's answers; no value, and why, where there is none to compute it from.

    Args:
        facts: What was asked about, [facts].
        answers: The answers of one form to each fact's question, [facts].
        formula: From one fact's answers to a number.
        lacks: The field that a fact without answers of this form does not have.
        label: Which side of a comparison of two splits the facts stand on.

    Returns:
        One value a fact, in their order.

    Example:
        >>> from types import SimpleNamespace
        >>> facts = [SimpleNamespace(id="born"), SimpleNamespace(id="works")]
        >>> answer = SimpleNamespace(logp=np.array([-1.0, -3.0]), words=slice(0, 2))
        >>> [(one.value, one.reason) for one in fact_values(facts, [[answer], []], mean_logp)]
        [(-2.0, None), (None, 'the fact has no answer')]
    """
    rows = []
    for fact, found in zip(facts, answers, strict=True):
        reason = fault(found, lacks)
        rows.append(FactValue(fact.id, None if reason else formula(found), reason, label=label))
    return rows


def fault(found: Answers, lacks: str) -> str | None:
    """Why these answers cannot be scored; None where they can."""
    if not found:
        return f"the fact has no {lacks}"
    if any(not answer.logp[answer.words].size for answer in found):
        return EMPTY
    if not all(np.isfinite(answer.logp).all() for answer in found):
        return NOT_FINITE
    return None


def mean_logp(found: Answers) -> float:
    """Log of the geometric mean, over tokens and then over answers, of p(token); the closing token counts.

    Args:
        found: The answers of one form to one fact's question, [answers].

    Returns:
        Nats a token, at most 0; higher is more knowledge.

    Source: UDS guide, appendix I.

    Example:
        Means of -2 and -4 nats a token:

        >>> from types import SimpleNamespace
        >>> mean_logp([SimpleNamespace(logp=np.array([-1.0, -3.0])), SimpleNamespace(logp=np.array([-4.0]))])
        -3.0
    """
    return float(np.mean([answer.logp.mean() for answer in found]))


def near_ties(answers: Iterable[Answers]) -> int:
    """Tokens whose two likeliest candidates lie within `NEAR_TIE`: as many greedy choices may flip by rounding.

    Args:
        answers: The answers of one form to each fact's question, [facts].

    Returns:
        A count, 0 and above; higher is less sure.

    Example:
        Of three words one is nearly tied; the closing token is not looked at:

        >>> from types import SimpleNamespace
        >>> near_ties([[SimpleNamespace(lead=np.array([1.0, 1e-6, 0.5, 0.0]), words=slice(0, 3))]])
        1
    """
    return sum(int((one.lead[one.words] <= NEAR_TIE).sum()) for found in answers for one in found)


def rendered(*groups: Iterable[Answers]) -> str:
    """Digest of the token ids that the model saw."""
    return content_key([[[list(one.answer.ids) for one in found] for found in group] for group in groups])
