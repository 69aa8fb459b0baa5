"""What the bypass cases look like: is the answer empty of everything but the question? Pure functions of texts."""

from __future__ import annotations

from dataclasses import dataclass

from uds_bench.audits.bypass.rates import Rows, in_answer, in_trace
from uds_bench.audits.bypass.reply import split_reply
from uds_bench.statistics import mean


@dataclass(frozen=True)
class TraceLeaks:
    """`cases`: authors whose trace leaks and whose answer does not; `bare`: those of them whose answer is the head that
    was prompted, word for word and nothing else. `length`: mean characters of their answers, `both_length` of the
    answers of authors on both of whose sides the canary stands; NaN where there is none (appendix D)."""

    cases: int
    bare: int
    both: int
    length: float
    both_length: float


def anatomy(rows: Rows) -> TraceLeaks:
    """What the model's own replies look like where the trace leaks and the answer does not.

    Args:
        rows: Canary and replies of each author, [authors].

    Returns:
        Counts of authors, and mean lengths in characters.

    Source: Audit of reasoning traces, appendix D.

    Example:
        The answer is the head that was prompted, and nothing else:

        >>> from types import SimpleNamespace
        >>> canary = SimpleNamespace(canary="It was red.", head="It was")
        >>> replies = {"auto": SimpleNamespace(text="<think>It was red.</think>It was")}
        >>> anatomy([(canary, SimpleNamespace(replies=replies))])
        TraceLeaks(cases=1, bare=1, both=0, length=6.0, both_length=nan)
    """
    answers = [
        (c, split_reply(p.replies["auto"].text).answer.strip(), in_trace()(c, p), in_answer()(c, p)) for c, p in rows
    ]
    cases = [(canary, answer) for canary, answer, leaks, says in answers if leaks and not says]
    both = [answer for _, answer, leaks, says in answers if leaks and says]
    bare = sum(answer == canary.head for canary, answer in cases)
    return TraceLeaks(len(cases), bare, len(both), mean([len(a) for _, a in cases]), mean([len(a) for a in both]))
