"""Teacher-forced recall beside its floors: what the words around a canary give away to a model that never saw it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uds_bench.audits.bypass.record import Context, Probed
from uds_bench.facts.reasoning import Prefill
from uds_bench.statistics import Rate, cluster_interval, difference_interval, mean, paired_interval


@dataclass(frozen=True)
class Recall:
    """Top-1 accuracy of teacher-forced continuations under one prefill, a mean over authors of 0 to 1 (appendix I).

    `own`: after the author's own head. `wrong_author`: the same tokens after another author's prompt and head.
    `never_seen`: of authors that the model was not trained on, after their own heads. `above_wrong`, `above_never`:
    own minus each. `slots`: whether invented names alone are counted, or every token.
    """

    slots: bool
    own: Rate
    wrong_author: Rate
    never_seen: Rate
    above_wrong: Rate
    above_never: Rate


def recall(forget: Sequence[Probed], never: Sequence[Probed], prefill: Prefill) -> Recall:
    """Recall of the forget authors; of their names where every author has some, else of all tokens.

    Args:
        forget: Teacher-forced continuations of the authors to be forgotten, [authors].
        never: The same of authors that the model was not trained on, [strangers].
        prefill: The trace before the continuation.

    Returns:
        Shares of 0 to 1 and their differences of -1 to 1, higher is more knowledge; NaN of nobody.

    Source: Audit of reasoning traces, appendix I; the floors are ours.
    """
    slots = all(_top1(p, prefill, "own", True) is not None for p in [*forget, *never])
    listed = [(p.author, _top1(p, prefill, "own", slots), _top1(p, prefill, "wrong_author", slots)) for p in forget]
    own = [(author, value) for author, value, _ in listed if value is not None]
    wrong = [(author, value) for author, _, value in listed if value is not None]
    both = [(author, mine - other) for author, mine, other in listed if mine is not None and other is not None]
    strangers = [(p.author, value) for p in never if (value := _top1(p, prefill, "own", slots)) is not None]
    return Recall(
        slots,
        _rate(own),
        _rate(wrong),
        _rate(strangers),
        Rate(mean([d for _, d in both]), paired_interval([d for _, d in both], [a for a, _ in both])),
        _gap(own, strangers),
    )


def likelihood(probed: Sequence[Probed], prefill: Prefill) -> tuple[float, float]:
    """Mean log p and perplexity of teacher-forced continuations, each per author and then over authors.

    Args:
        probed: Teacher-forced continuations of each author, [authors].
        prefill: The trace before the continuation.

    Returns:
        Nats a token, at most 0, higher is more knowledge; perplexity, at least 1, lower is more knowledge. NaN where
        there is none.

    Source: Audit of reasoning traces, appendix I.

    Example:
        >>> from types import SimpleNamespace
        >>> from uds_bench.audits.bypass.record import Forced
        >>> found = Forced(logp=(-1.0, -3.0), right=(True, False), slot=(False, False), lead=1.0)
        >>> logp, perplexity = likelihood([SimpleNamespace(forced={"bio": {"own": found}})], "bio")
        >>> logp, round(perplexity, 3)  # exp(2)
        (-2.0, 7.389)
    """
    found = [p.forced[prefill]["own"] for p in probed if "own" in p.forced[prefill]]
    return mean([f.mean_logp for f in found]), mean([f.perplexity for f in found])


def all_tokens(probed: Sequence[Probed], prefill: Prefill, context: Context = "own") -> Rate:
    """Top-1 of every token, template words too: the published number, which needs its floor beside it.

    Args:
        probed: Teacher-forced continuations of each author, [authors].
        prefill: The trace before the continuation.
        context: Whose prompt and head stand before it.

    Returns:
        0 to 1, higher is more knowledge, with its interval over authors; NaN where there is none.

    Source: Audit of reasoning traces, appendix I.

    Example:
        >>> from types import SimpleNamespace
        >>> from uds_bench.audits.bypass.record import Forced
        >>> found = Forced(logp=(-1.0, -3.0), right=(True, False), slot=(False, False), lead=1.0)
        >>> all_tokens([SimpleNamespace(author="Ann", forced={"bio": {"own": found}})], "bio").value
        0.5
    """
    return _rate([(p.author, f.top1() or 0.0) for p in probed if (f := p.forced[prefill].get(context)) is not None])


def _top1(probed: Probed, prefill: Prefill, context: Context, slots: bool) -> float | None:
    found = probed.forced[prefill].get(context)
    return None if found is None else found.top1(slots)


def _rate(values: Sequence[tuple[str, float]]) -> Rate:
    numbers = [value for _, value in values]
    return Rate(mean(numbers), cluster_interval(numbers, [author for author, _ in values], limits=(0.0, 1.0)))


def _gap(own: Sequence[tuple[str, float]], strangers: Sequence[tuple[str, float]]) -> Rate:
    """Difference of the means of two groups of authors, each drawn apart; NaN where one is empty."""
    difference = mean([value for _, value in own]) - mean([value for _, value in strangers])
    return Rate(difference, difference_interval(own, strangers, (0.0, 1.0)))
